package reporters

import (
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
)

// A Plan is the JSON output of plan.
type Plan struct {
	Base    *string     `json:"base"`
	Head    string      `json:"head"`
	Cases   []PlanCase  `json:"cases"`
	Summary PlanSummary `json:"summary"`
	// Estimate is the estimated effort of the plan.
	Estimate report.Estimate `json:"estimate"`
	// Notices are facts about the plan, such as a changed prompt that belongs to no
	// target.
	Notices []report.Notice `json:"notices,omitempty"`
}

// A PlanCase is a case that would be judged, or would not.
type PlanCase struct {
	Key     string        `json:"key"`
	Dialect string        `json:"dialect"`
	Target  string        `json:"target"`
	Action  plan.Action   `json:"action"`
	Reasons []plan.Reason `json:"reasons"`
	// Edited are the differing fields that affect no verdict.
	Edited []string `json:"edited,omitempty"`
	// Digest is D; null for a case that only base has.
	Digest *string `json:"digest"`
}

// A PlanSummary counts the cases by action.
type PlanSummary struct {
	Run      int `json:"run"`
	Rejudge  int `json:"rejudge"`
	Redecide int `json:"redecide"`
	Reuse    int `json:"reuse"`
	Skip     int `json:"skip"`
	Removed  int `json:"removed"`
	Moved    int `json:"moved"`
}

// NewPlan returns the document of a plan with its estimated effort and notices.
func NewPlan(p *plan.Plan, e report.Estimate, notices ...report.Notice) Plan {
	out := Plan{Head: p.Head, Cases: []PlanCase{}, Estimate: e, Notices: notices}
	if p.Base != "" {
		out.Base = &p.Base
	}
	count := map[plan.Action]*int{
		plan.Run: &out.Summary.Run, plan.Rejudge: &out.Summary.Rejudge, plan.Redecide: &out.Summary.Redecide,
		plan.Reuse: &out.Summary.Reuse, plan.Skip: &out.Summary.Skip, plan.Removed: &out.Summary.Removed,
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		c := PlanCase{Key: r.Key, Dialect: r.Dialect, Target: r.Target, Action: r.Action, Reasons: r.Reasons, Edited: r.Edited}
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
