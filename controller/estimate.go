package controller

import (
	"cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/schema"
)

// An Estimate is what carrying out a plan will take, as far as can be told
// before: how often tools are called and what is retried is not known.
type Estimate struct {
	// Cases counts the cases of head for which somebody is called.
	Cases int
	// Calls are those to targets and judges, for base's cases too.
	Calls int
	// USD is nil where the price of one of the calls is not known.
	USD *float64
}

const (
	// charactersPerToken is what a token of English takes on average.
	charactersPerToken = 4
	// replyTokens is taken for the length of a reply.
	replyTokens = 300
	// usualTurns is taken for the length of a conversation without a limit.
	usualTurns = 8
)

// Estimate says what Execute would take.
func (p *Prepared) Estimate() Estimate {
	rows := map[string]*plan.Row{}
	judged := map[string]reporters.Outcome{}
	for i := range p.Plan.Rows {
		r := &p.Plan.Rows[i]
		if r.Head != nil {
			rows[r.Head.ID()] = r
		}
		if _, ok := p.baseStored[r.BaseDigests.D]; ok && r.Base != nil {
			judged[r.Base.ID()] = reporters.Outcome{}
		}
	}
	var out Estimate
	var sum bill
	for _, job := range p.headJobs() {
		row, calls := rows[job.Case.ID()], sum.calls
		var before *verdict.Usage // what the case took at base is the best guess
		if d, ok := p.baseStored[row.BaseDigests.D]; ok && d.Usage.Calls > 0 && d.Usage.Unpriced == 0 {
			before = &d.Usage
		}
		sum.add(p.Head.Config, job, row.Known, before)
		if sum.calls > calls {
			out.Cases++
		}
	}
	for _, job := range p.baseJobs(judged) {
		sum.add(p.Base.Config, job, plan.Known{}, nil)
	}
	out.Calls = sum.calls
	if !sum.unknown {
		out.USD = &sum.usd
	}
	return out
}

// A bill sums up what jobs will take.
type bill struct {
	calls   int
	usd     float64
	unknown bool
}

// add counts the calls of one case that are not stored yet.
func (b *bill) add(cfg *config.Config, job run.Job, known plan.Known, before *verdict.Usage) {
	c := job.Case
	executions := max(c.Samples()-known.Executed, 0)
	judgements := max(c.Samples()-known.Judged, 0)
	roles := RoleTargets(cfg.Roles)
	turns := 1
	if c.Drive.Simulation != nil {
		turns = cmp.Or(c.Policy.MaxTurns, min(cmp.Or(c.Policy.TurnCap, usualTurns), usualTurns))
	}
	calls, usd, unknown := 0, 0.0, false
	add := func(name string, n int) {
		if n == 0 {
			return
		}
		calls += n
		price, known := priceOf(cfg.Targets[name])
		unknown = unknown || !known
		usd += float64(n) * price.Cost(length(c)/charactersPerToken, replyTokens)
	}
	add(job.Target, executions*turns)
	if c.Rival != nil {
		add(job.Target, executions)
	}
	if c.Drive.Simulation != nil {
		add(roles[schema.Simulator], executions*turns)
	}
	for _, ev := range c.Evaluators {
		for _, role := range ev.Spec.Roles() {
			add(roles[role], judgements)
		}
	}
	for _, name := range ownJudges(c) {
		add(name, judgements)
	}
	if before != nil {
		usd, unknown = before.CostUSD*float64(calls)/float64(before.Calls), false
	}
	b.calls, b.usd, b.unknown = b.calls+calls, b.usd+usd, b.unknown || unknown
}

// priceOf gives the price of a target's tokens; those that call nobody are
// free.
func priceOf(t config.Target) (*config.Price, bool) {
	switch {
	case t.Provider == config.Replay || t.Provider == config.Mock:
		return &config.Price{}, true
	case t.Price == nil:
		return &config.Price{}, false
	}
	return t.Price, true
}

// length is how many characters a case sends at least.
func length(c *schema.Case) int64 {
	n := len(c.System)
	for _, m := range c.Drive.Messages {
		n += len(m.Content)
	}
	for _, t := range c.Tools {
		n += len(t.Description) + len(t.Parameters)
	}
	return int64(n)
}
