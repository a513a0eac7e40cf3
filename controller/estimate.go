package controller

import (
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/remeasure"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
)

// An Estimate is what carrying out a plan will take, as far as can be told
// before.
type Estimate struct {
	report.Estimate
	// Cases counts the cases of head for which somebody is called.
	Cases int
}

// Estimate returns what Execute would take.
func (p *Prepared) Estimate() Estimate {
	judged := map[string]report.Outcome{}
	for _, r := range p.Plan.Rows {
		if _, ok := p.baseStored[r.BaseDigests.D]; ok && r.Base != nil {
			judged[r.Base.ID()] = report.Outcome{}
		}
	}
	sum := p.left.Total
	rows := p.rowsByHead()
	for _, job := range p.headJobs() {
		sum.AddHead(p.estimateHead(rows[job.Case.ID()], job))
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

func (p *Prepared) rowsByHead() map[string]*plan.Row {
	rows := map[string]*plan.Row{}
	for i := range p.Plan.Rows {
		if r := &p.Plan.Rows[i]; r.Head != nil {
			rows[r.Head.ID()] = r
		}
	}
	return rows
}

// estimateHead returns what a case of head will take. Its cost at base is the best
// guess.
func (p *Prepared) estimateHead(r *plan.Row, job run.Job) remeasure.Estimate {
	c := remeasure.NewEstimate(p.req.Head.Config, job, r.Known)
	if d, ok := p.baseStored[r.BaseDigests.D]; ok {
		c.Learn(*d, remeasure.NewWorkload(job.Case))
	}
	return c
}

// setNeeds gives every job what has to be left of a budget for it.
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
