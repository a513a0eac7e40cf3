package report

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// NoiseFindings are what further measurements say of the differences between the sides.
// A nil NoiseFindings says nothing.
type NoiseFindings struct {
	confirm.Result
	// Place is that of a case among the findings, by its ID at head.
	Index map[string]int
	// Samples are the further measurements of each case, parallel to the findings.
	Samples [][]NoiseSample
	// Why says what kept further measurements from being made; empty where nothing
	// did.
	Why string
	// SavedCalls is about how many calls the history saved that was measured for its own
	// sake.
	SavedCalls int
}

// A NoiseSample is a further measurement of a case.
type NoiseSample struct {
	// Side is base or head.
	Side    string          `json:"side"`
	Verdict verdict.Verdict `json:"verdict"`
	Score   *float64        `json:"score"`
}

// A Confirmation says of a row what further measurements showed.
type Confirmation struct {
	// Confirmed says that the class is a regression or an improvement, and not noise.
	Confirmed bool `json:"confirmed"`
	// Open says that the case leaves the gate without an answer.
	Open bool `json:"open"`
	// BaseNotMeasured says that base cannot be measured again, so that head alone was.
	BaseNotMeasured bool `json:"base_not_measured_again,omitempty"`
	// MostlyWorse says that most reruns at head are worse than base's stored verdict,
	// and not all of them, so that head alone does not settle it. The gate asks for it.
	MostlyWorse bool `json:"-"`
	// Held says of a new case whether its rule holds.
	Held *bool `json:"held,omitempty"`
	// Sentence says why the case has its class; empty where the verdicts say it.
	Sentence string `json:"sentence"`
	// P is the p-value after all looks; null where nothing was tested.
	P *float64 `json:"p"`
	// Samples are the further measurements, the first ones first.
	Samples []NoiseSample `json:"samples"`
}

// A Noise says what further measurements of all cases showed.
type Noise struct {
	// Line is the verdict in a line, such as "2 regressions (confirmed), 3 unclear,
	// 1 flaky"; empty where nothing had to be measured again.
	Line         string `json:"line"`
	Measurements int    `json:"measurements"`
	// Retaken are those of them that repeated failures of one cause.
	Retaken int `json:"retaken,omitempty"`
	// Complete says that nothing was left to measure; Why what was in the way.
	Complete bool   `json:"complete"`
	Why      string `json:"why,omitempty"`
	// Stale says that base differs from what was stored of it.
	Stale bool `json:"stale,omitempty"`
	// SavedCalls estimates how many calls the history saved that the schedule measured for
	// its own sake.
	SavedCalls int       `json:"saved_calls,omitempty"`
	Mean       noiseMean `json:"mean"`
}

// A noiseMean is the test whether the cases got worse on the whole.
type noiseMean struct {
	// State is tested, quiet (nothing suggested a difference), spared (a regression
	// decides without it) or open (it could not be made).
	State string `json:"state"`
	// Called says that they did.
	Called bool    `json:"called"`
	P      float64 `json:"p"`
	Worse  int     `json:"worse"`
	Better int     `json:"better"`
}

// Finding is what was found out about a row of the plan; nil where nothing was to be.
func (all *NoiseFindings) Finding(row *plan.Row) *confirm.Finding {
	if all == nil || row.Head == nil {
		return nil
	}
	if i, ok := all.Index[row.Head.ID()]; ok {
		return &all.Result.Findings[i]
	}
	return nil
}

// Confirmation is what a row shows of a finding; nil where there is nothing that
// its verdicts do not say.
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
	case f.Class == confirm.Added && !f.Open:
		c.Held = &f.Held
	}
	if f.P > 0 && f.P < 1 {
		c.P = &f.P
	}
	return c
}

// Summary sums the further measurements up; nil where no case is compared.
func (all *NoiseFindings) Summary() *Noise {
	if all == nil || len(all.Result.Findings) == 0 {
		return nil
	}
	m := all.Mean
	return &Noise{
		Measurements: all.Measurements, Retaken: all.Retaken, Complete: all.Complete, Why: all.Why, Stale: all.Stale, SavedCalls: all.SavedCalls,
		Mean: noiseMean{State: string(m.State), Called: m.Called, P: m.P, Worse: m.Worse, Better: m.Better},
	}
}
