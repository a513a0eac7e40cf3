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

// A FlakyCase is one that is flaky: its measurements under one decision digest contradict
// each other more than by accident, see [stats.Flaky].
type FlakyCase struct {
	// Name is the key of the case, with the target where there are several.
	Name string `json:"name"`
	// Digest is the decision digest that all of the measurements have.
	Digest string `json:"digest"`
	// Model is what the target called itself; empty where it did not.
	Model string `json:"model,omitempty"`
	// Usual is the verdict that most of the measurements have.
	Usual verdict.Verdict `json:"usual"`
	// Measurements were taken between Since and Until; Differ of them have another
	// verdict than the usual one.
	Measurements int       `json:"measurements"`
	Differ       int       `json:"differ"`
	Since        time.Time `json:"since"`
	Until        time.Time `json:"until"`
	// Rate estimates how often the case differs, see [stats.FlakeRate].
	Rate float64 `json:"rate"`
	// Disagrees is the newest measurement that differs.
	Disagrees FlakyMeasurement `json:"disagrees"`
	// FlakyCost is what all stored samples of the case took; null where nobody asked.
	Cost *FlakyCost `json:"cost,omitempty"`
}

// A FlakyMeasurement is what a case showed once.
type FlakyMeasurement struct {
	// Ordinal is that of its first sample.
	Ordinal int             `json:"ordinal"`
	At      time.Time       `json:"at"`
	Verdict verdict.Verdict `json:"verdict"`
	// Score is null where there is none.
	Score  *float64 `json:"score"`
	Reason string   `json:"reason"`
	// Reply is the last answer of the target; empty where nobody asked for it.
	Reply string `json:"reply,omitempty"`
}

// A FlakyCost is what samples took, with their judges.
type FlakyCost struct {
	Samples int   `json:"samples"`
	Calls   int   `json:"calls"`
	Tokens  int64 `json:"tokens"`
	// CostUSD is null where a price is not known.
	CostUSD *float64 `json:"cost_usd"`
}

// ClassifyFlaky applies the rule to what a case showed under one digest, the oldest first; nil
// where it is not flaky. Only judgements count, so errors are left out. The result has
// no name and no digest yet.
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

// String says how often a case differs: "2 of 9 differ (about 25 %)".
func (c *FlakyCase) String() string {
	return fmt.Sprintf("%s (about %.0f %%)", c.Series(), math.Round(100*c.Rate))
}

// Series returns how many measurements differ: "2 of 9 differ".
func (c *FlakyCase) Series() string {
	return fmt.Sprintf("%s of %s %s", textfmt.Int(int64(c.Differ)), textfmt.Int(int64(c.Measurements)), textfmt.Verb(c.Differ, "differs", "differ"))
}

// Fewest is how many measurements a case has at least before it can be called flaky.
const Fewest = 4

// A FlakyList is the flaky ones among some cases.
type FlakyList struct {
	Cases []*FlakyCase `json:"cases"`
	// Examined counts the cases that were looked at, and Unknown those of them with
	// too few measurements to say anything.
	Examined int `json:"examined"`
	Unknown  int `json:"unknown"`
}
