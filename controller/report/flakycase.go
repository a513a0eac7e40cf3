package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/stats"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A FlakyCase is a flaky case: its measurements under one decision digest contradict
// each other more than by chance, see [stats.Flaky].
type FlakyCase struct {
	// Name is the key of the case, with the target if there are several.
	Name string `json:"name"`
	// Digest is the common decision digest of the measurements.
	Digest string `json:"digest"`
	// Model is the target's reported model name; empty without one.
	Model string `json:"model,omitempty"`
	// Usual is the most frequent verdict.
	Usual verdict.Verdict `json:"usual"`
	// Measurements were taken between Since and Until; Differ of them have a different
	// verdict than Usual.
	Measurements int       `json:"measurements"`
	Differ       int       `json:"differ"`
	Since        time.Time `json:"since"`
	Until        time.Time `json:"until"`
	// Rate estimates the share of differing measurements, see [stats.FlakeRate].
	Rate float64 `json:"rate"`
	// Disagrees is the newest differing measurement.
	Disagrees FlakyMeasurement `json:"disagrees"`
	// Cost is the cost of all stored samples of the case; null if not requested.
	Cost *FlakyCost `json:"cost,omitempty"`
}

// A FlakyMeasurement is one measurement of a case.
type FlakyMeasurement struct {
	// Ordinal is the ordinal of its first sample.
	Ordinal int             `json:"ordinal"`
	At      time.Time       `json:"at"`
	Verdict verdict.Verdict `json:"verdict"`
	// Score is null without a score.
	Score  *float64 `json:"score"`
	Reason string   `json:"reason"`
	// Reply is the target's last answer; empty if not requested.
	Reply string `json:"reply,omitempty"`
}

// A FlakyCost is the cost of samples, including judges.
type FlakyCost struct {
	Samples int   `json:"samples"`
	Calls   int   `json:"calls"`
	Tokens  int64 `json:"tokens"`
	// CostUSD is null if a price is unknown.
	CostUSD *float64 `json:"cost_usd"`
}

// ClassifyFlaky applies the rule to a case's measurements under one digest, the oldest
// first; it returns nil if the case is not flaky. Only judgements count, so errors are
// ignored. The result has no name and no digest yet.
func ClassifyFlaky(measurements []FlakyMeasurement) *FlakyCase {
	counts := map[verdict.Verdict]int{}
	judged := slices.DeleteFunc(slices.Clone(measurements), func(m FlakyMeasurement) bool { return m.Verdict.Rank() < 0 })
	for _, m := range judged {
		counts[m.Verdict]++
	}
	var usual verdict.Verdict
	for v, n := range counts {
		if n > counts[usual] || n == counts[usual] && v.Rank() > usual.Rank() {
			usual = v
		}
	}
	n := len(judged)
	differ := n - counts[usual]
	// With three verdicts more than half may differ from the most frequent one.
	rarer := min(differ, n/2)
	if !stats.Flaky(rarer, n) {
		return nil
	}
	c := &FlakyCase{Usual: usual, Measurements: n, Differ: differ, Rate: stats.FlakeRate(differ, n), Since: judged[0].At, Until: judged[n-1].At}
	for _, m := range judged {
		if m.Verdict != usual {
			c.Disagrees = m
		}
	}
	return c
}

// String formats the rate: "2 of 9 differ (about 25 %)".
func (c *FlakyCase) String() string {
	return fmt.Sprintf("%s (about %.0f %%)", c.Series(), math.Round(100*c.Rate))
}

// Series formats the count of differing measurements: "2 of 9 differ".
func (c *FlakyCase) Series() string {
	return fmt.Sprintf("%s of %s %s", textfmt.Int(int64(c.Differ)), textfmt.Int(int64(c.Measurements)), textfmt.Verb(c.Differ, "differs", "differ"))
}

// Fewest is the minimum number of measurements of a flaky case.
const Fewest = 4

// A FlakyList is the flaky cases among the examined ones.
type FlakyList struct {
	Cases []*FlakyCase `json:"cases"`
	// Examined counts the examined cases, and Unknown the ones among them with too few
	// measurements.
	Examined int `json:"examined"`
	Unknown  int `json:"unknown"`
}
