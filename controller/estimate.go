package controller

import (
	"maps"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/remeasure"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/schema"
)

// An Estimate is the estimated effort of a plan.
type Estimate struct {
	report.Estimate
	// Cases counts head's cases that call a model or an agent.
	Cases int
}

// Estimate returns the estimated effort of Execute.
func (p *Prepared) Estimate() Estimate {
	judged := map[string]*report.Outcome{}
	for _, r := range p.Plan.Rows {
		if _, ok := p.baseStored[r.BaseDigests.D]; ok && r.Base != nil {
			judged[r.Base.ID()] = &report.Outcome{}
		}
	}
	sum := p.left.Total
	rows := p.rowsByHead()
	head := p.headJobs()
	for _, job := range head {
		sum.AddHead(p.estimateHead(rows[job.Case.ID()], job))
	}
	counted := maps.Clone(p.counted)
	for _, job := range head {
		p.addAnswers(&sum, job.Case, job.Kept, counted)
	}
	for _, job := range p.askedAtBase() {
		sum.AddHead(p.estimateHead(rows[job.Case.ID()], job))
	}
	for _, job := range p.baseJobs(judged) {
		sum.Add(remeasure.NewEstimate(p.req.Base.Config, job, plan.Stored{}))
	}
	out := Estimate{Estimate: report.Estimate{Calls: sum.Calls, RetryCalls: sum.RetryCalls}, Cases: sum.Cases}
	if !sum.Unpriced {
		out.USD = &sum.USD
	}
	if c := p.comparison(); c != nil {
		out.Again = c.Estimate(func(digest string) bool { return p.baseStored[digest] != nil }, p.left.Total)
	}
	return out
}

// addAnswers adds the answers that a case of head has of others, unless they are stored, or
// answers of cases that are judged, too. counted are the E that are in the sum.
func (p *Prepared) addAnswers(sum *remeasure.Total, c *schema.Case, kept []plan.Earlier, counted map[string]bool) {
	for _, k := range kept {
		for _, answer := range k.All() {
			if p.executed[answer.E] || counted[answer.E] {
				continue
			}
			counted[answer.E] = true
			tc := *answer.Case
			tc.Evaluators, tc.Policy.Iterations = nil, c.Policy.Iterations
			sum.Add(remeasure.NewEstimate(p.req.Head.Config, run.Job{Case: &tc, Target: answer.Target}, plan.Stored{Executed: p.answered[answer.E]}))
		}
	}
}

func (p *Prepared) rowsByHead() map[string]*plan.Row {
	rows := map[string]*plan.Row{}
	for i := range p.Plan.Rows {
		if r := &p.Plan.Rows[i]; r.Head != nil {
			rows[r.Head.ID()] = r
		}
	}
	return rows
}

// estimateHead estimates a case of head. Its cost at base is the best guess.
func (p *Prepared) estimateHead(r *plan.Row, job run.Job) remeasure.Estimate {
	c := remeasure.NewEstimate(p.req.Head.Config, job, r.Known)
	if d, ok := p.baseStored[r.BaseDigests.D]; ok {
		c.Learn(*d, remeasure.NewWorkload(job.Case))
	}
	return c
}

// setNeeds gives every job the budget that it needs.
func (p *Prepared) setNeeds(head, base []run.Job) {
	rows := p.rowsByHead()
	for i := range head {
		c := p.estimateHead(rows[head[i].Case.ID()], head[i])
		head[i].Need = c.Need()
	}
	for i := range base {
		c := remeasure.NewEstimate(p.req.Base.Config, base[i], plan.Stored{})
		base[i].Need = c.Need()
	}
}
