package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/power"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// NoiseFindings are the findings of reruns about the differences between the sides. nil
// means no findings.
type NoiseFindings struct {
	confirm.Result
	// Index maps cases, by their ID at head, to their position in the findings.
	Index map[string]int
	// Samples are the reruns of each case, parallel to the findings.
	Samples [][]NoiseSample
	// Power is what they could have seen; nil if that was not asked, or something was.
	Power *power.Statement
	// Why is the reason why no reruns were made; empty without one.
	Why string
	// SavedCalls estimates the calls saved by measurements made only for the history.
	SavedCalls int
}

// A NoiseSample is a rerun of a case.
type NoiseSample struct {
	// Side is base or head.
	Side    string          `json:"side"`
	Verdict verdict.Verdict `json:"verdict"`
	Score   *float64        `json:"score"`
}

// A Confirmation is the result of a row's reruns.
type Confirmation struct {
	// Confirmed means that the class is a regression or an improvement, and not noise.
	Confirmed bool `json:"confirmed"`
	// Open means that the gate has no answer about the case.
	Open bool `json:"open"`
	// BaseNotMeasured means that base cannot be measured again, so only head was.
	BaseNotMeasured bool `json:"base_not_measured_again,omitempty"`
	// MostlyWorse means that most but not all reruns at head are worse than base's
	// stored verdict, so that head alone does not settle it. The gate reads it.
	MostlyWorse bool `json:"-"`
	// Held reports whether the rule of new cases holds, for a new case, and for a required
	// one that base fails as well. Unsteady means that it does although a run failed.
	Held     *bool `json:"held,omitempty"`
	Unsteady bool  `json:"-"`
	// Sentence explains the class; empty if the verdicts do.
	Sentence string `json:"sentence"`
	// P is the p-value after all looks; null if nothing was tested.
	P *float64 `json:"p"`
	// Samples are the reruns in order.
	Samples []NoiseSample `json:"samples"`
}

// A Noise summarizes the reruns of all cases.
type Noise struct {
	// Line is the verdict in a line, such as "2 regressions (confirmed), 3 unclear, 1
	// flaky"; empty if nothing had to be measured again.
	Line         string `json:"line"`
	Measurements int    `json:"measurements"`
	// Retaken counts the ones in the place of first measurements that were errors, or that
	// were made while others were. Outages are the windows of time of these.
	Retaken int      `json:"retaken,omitempty"`
	Outages []outage `json:"outages,omitempty"`
	// Alpha is the chance of a false alarm that the comparison may have, and Push the push
	// whose share of the team's alpha that is; 0 if each push has all of it.
	Alpha float64 `json:"alpha"`
	Push  int     `json:"push,omitempty"`
	// Complete means that nothing was left to measure; Why is the obstacle otherwise.
	Complete bool   `json:"complete"`
	Why      string `json:"why,omitempty"`
	// Stale means that base differs from its stored results.
	Stale bool `json:"stale,omitempty"`
	// SavedCalls estimates the calls saved by the schedule's measurements for the
	// history.
	SavedCalls int       `json:"saved_calls,omitempty"`
	Mean       noiseMean `json:"mean"`
	// Scores is the test whether the scores fell, whatever the verdicts are.
	Scores noiseScores `json:"scores"`
}

// A noiseScores is the test whether the scores of all cases together fell.
type noiseScores struct {
	// State is the state of the mean.
	State string `json:"state"`
	// Called says that they did, by Fall on the mean.
	Called bool    `json:"called"`
	P      float64 `json:"p"`
	Fall   float64 `json:"fall"`
}

// An outage is a window of time with errors of one cause. All cases that were measured
// in it were measured again, on both sides, whatever they had shown.
type outage struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Cases int       `json:"cases"`
}

// String writes the outage: "12 cases were measured again after errors between 14:02 and
// 14:03 UTC".
func (o outage) String() string {
	from, to := o.From.UTC().Format("15:04"), o.To.UTC().Format("15:04")
	when := "between " + from + " and " + to
	if from == to {
		when = "at " + from
	}
	return fmt.Sprintf("%s %s measured again after errors %s UTC", textfmt.Count(o.Cases, "case"), textfmt.Verb(o.Cases, "was", "were"), when)
}

// A noiseMean is the test whether the cases got worse on average.
type noiseMean struct {
	// State is tested, quiet (nothing suggested a difference), spared (a regression
	// decides without it) or open (it could not be made).
	State string `json:"state"`
	// Called means that they got worse.
	Called bool    `json:"called"`
	P      float64 `json:"p"`
	Worse  int     `json:"worse"`
	Better int     `json:"better"`
}

// Finding returns the finding about a row of the plan; nil without one.
func (all *NoiseFindings) Finding(row *plan.Row) *confirm.Finding {
	if all == nil || row.Head == nil {
		return nil
	}
	if i, ok := all.Index[row.Head.ID()]; ok {
		return &all.Result.Findings[i]
	}
	return nil
}

// Confirmation returns the confirmation shown with a row; nil if it adds nothing to the
// verdicts.
func (all *NoiseFindings) Confirmation(row *plan.Row) *Confirmation {
	f := all.Finding(row)
	if f == nil {
		return nil
	}
	samples := all.Samples[all.Index[row.Head.ID()]]
	settled := f.Class == confirm.Unchanged || f.Class == confirm.Added || f.Class == confirm.Improvement && !f.Confirmed
	first := f.Class == confirm.Error && (f.HeadVerdict.Rank() < 0 || f.BaseVerdict.Rank() < 0)
	if len(samples) == 0 && (settled && !f.Undetermined() || first) {
		return nil
	}
	c := &Confirmation{
		Confirmed: f.Confirmed, Open: f.Undetermined(), Sentence: f.Sentence(), Samples: slices.Concat([]NoiseSample{}, samples),
		BaseNotMeasured: f.Gone && !f.Certain, MostlyWorse: f.Gone && f.Class == confirm.Unclear && !f.Open,
	}
	switch {
	case f.Class == confirm.Error:
		c.Sentence = "could not be measured again"
	case (f.Ruled || f.Class == confirm.Added) && !f.Open:
		c.Held = &f.Held
		c.Unsteady = f.Held && f.Head.Passed < f.Head.Of
	}
	if f.P > 0 && f.P < 1 {
		c.P = &f.P
	}
	return c
}

// Summary summarizes the reruns; nil if no case is compared.
func (all *NoiseFindings) Summary() *Noise {
	if all == nil || len(all.Result.Findings) == 0 {
		return nil
	}
	m, s := all.Mean, all.Scores
	var outages []outage
	for _, o := range all.Outages {
		outages = append(outages, outage(o))
	}
	return &Noise{
		Outages: outages, Alpha: all.Alpha, Push: all.Push,
		Measurements: all.Measurements, Retaken: all.Retaken, Complete: all.Complete, Why: all.Why, Stale: all.Stale, SavedCalls: all.SavedCalls,
		Mean:   noiseMean{State: string(m.State), Called: m.Called, P: m.P, Worse: m.Worse, Better: m.Better},
		Scores: noiseScores{State: string(s.State), Called: s.Called, P: s.P, Fall: s.Fall},
	}
}
