package controller

import (
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/quote"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/planned"
)

// An Estimate is what carrying out a plan will take, as far as can be told
// before.
type Estimate struct {
	planned.Estimate
	// Cases counts the cases of head for which somebody is called.
	Cases int
}

// Estimate says what Execute would take.
func (p *Prepared) Estimate() Estimate {
	judged := map[string]reporters.Outcome{}
	for _, r := range p.Plan.Rows {
		if _, ok := p.baseStored[r.BaseDigests.D]; ok && r.Base != nil {
			judged[r.Base.ID()] = reporters.Outcome{}
		}
	}
	sum, cases := p.left.quotes, p.left.cases
	rows := p.rowsByHead()
	for _, job := range p.headJobs() {
		q := p.quoteHead(rows[job.Case.ID()], job)
		if sum.Add(q); q.Calls > 0 {
			cases++
		}
	}
	for _, job := range p.baseJobs(judged) {
		sum.Add(newQuote(p.Base.Config, job, plan.Known{}))
	}
	out := Estimate{planned.Estimate{Calls: sum.Calls, RetryCalls: sum.Again}, cases}
	if !sum.Unpriced {
		out.USD = &sum.USD
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

// quoteHead says what a case of head will take. What it took at base is the
// best guess.
func (p *Prepared) quoteHead(r *plan.Row, job run.Job) quote.Quote {
	q := newQuote(p.Head.Config, job, r.Known)
	if d, ok := p.baseStored[r.BaseDigests.D]; ok {
		q.Learn(*d, job.Case)
	}
	return q
}

// need gives every job what has to be left of a budget for it.
func (p *Prepared) need(head, base []run.Job) {
	rows := p.rowsByHead()
	for i := range head {
		q := p.quoteHead(rows[head[i].Case.ID()], head[i])
		head[i].Need = q.Need()
	}
	for i := range base {
		q := newQuote(p.Base.Config, base[i], plan.Known{})
		base[i].Need = q.Need()
	}
}

func newQuote(cfg *config.Config, job run.Job, known plan.Known) quote.Quote {
	return quote.New(cfg, cfg.Roles.Targets(), job, known)
}
