// Package planned holds the shape in which programs are told a plan.
package planned

import "github.com/gavel-evals/gavel/controller/plan"

// A Plan is the shape of plan --json.
type Plan struct {
	Base    *string `json:"base"`
	Head    string  `json:"head"`
	Cases   []Case  `json:"cases"`
	Summary Summary `json:"summary"`
	// Estimate is what carrying it out will take.
	Estimate Estimate `json:"estimate"`
}

// An Estimate is what carrying out a plan will take: all samples with the
// calls of simulated users, judges and comparisons, of every target, and of
// base's cases that have to be judged. Calls of tools are not in it.
type Estimate struct {
	Calls int `json:"calls"`
	// RetryCalls is how many more there may be where cases that fail are run again.
	RetryCalls int `json:"retry_calls"`
	// USD is null where a price is not known.
	USD *float64 `json:"cost_usd"`
}

// A Case is one that would be judged, or would not.
type Case struct {
	Key     string        `json:"key"`
	Dialect string        `json:"dialect"`
	Target  string        `json:"target"`
	Action  plan.Action   `json:"action"`
	Reasons []plan.Reason `json:"reasons"`
	// Edited are the fields that differ from base and bear on no verdict.
	Edited []string `json:"edited,omitempty"`
	// Digest is D; null for a case that only base has.
	Digest *string `json:"digest"`
}

// A Summary counts the cases by action.
type Summary struct {
	Run      int `json:"run"`
	Rejudge  int `json:"rejudge"`
	Redecide int `json:"redecide"`
	Reuse    int `json:"reuse"`
	Skip     int `json:"skip"`
	Removed  int `json:"removed"`
	Moved    int `json:"moved"`
}

// Of is the shape of a plan.
func Of(p *plan.Plan, e Estimate) Plan {
	out := Plan{Head: p.Head, Cases: []Case{}, Estimate: e}
	if p.Base != "" {
		out.Base = &p.Base
	}
	count := map[plan.Action]*int{
		plan.Run: &out.Summary.Run, plan.Rejudge: &out.Summary.Rejudge, plan.Redecide: &out.Summary.Redecide,
		plan.Reuse: &out.Summary.Reuse, plan.Skip: &out.Summary.Skip, plan.Removed: &out.Summary.Removed,
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		c := Case{Key: r.Key, Dialect: r.Dialect, Target: r.Target, Action: r.Action, Reasons: r.Reasons, Edited: r.Edited}
		if c.Reasons == nil {
			c.Reasons = []plan.Reason{}
		}
		if r.Head != nil {
			c.Digest = &r.HeadDigests.D
		}
		*count[r.Action]++
		if r.MovedFrom != "" {
			out.Summary.Moved++
		}
		out.Cases = append(out.Cases, c)
	}
	return out
}
