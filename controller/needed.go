package controller

import (
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// LiveDigests are the digests of everything that the ledger keeps for the cases of
// both sides, attempts and rivals among it.
func (p *Prepared) LiveDigests() []plan.Digests {
	var all []plan.Digests
	for _, r := range p.Plan.Rows {
		if r.Head != nil {
			all = append(all, liveDigests(r.HeadCase, r.HeadDigests, p.headStored)...)
		}
		if r.Base != nil {
			all = append(all, liveDigests(r.BaseCase, r.BaseDigests, p.baseStored)...)
		}
	}
	return all
}

// liveDigests are the digests of one case. Which prompts its attempts had is told by
// the decision over them.
func liveDigests(c *schema.Case, d plan.Digests, stored map[string]*ledger.Decision) []plan.Digests {
	all := []plan.Digests{d}
	if c.Rival != nil {
		all = append(all, d.Rival(), d.Comparison())
	}
	if c.Policy.Retry == nil {
		return all
	}
	decision, decided := stored[d.D]
	most := c.Policy.Retry.Most
	all = append(all, d.Edit(most+1))
	var attempts []verdict.Attempt
	if decided {
		attempts = decision.Result.Attempts
		most = max(len(attempts)-1, 0)
		all = append(all, d.Edit(most+1))
	}
	for n := 1; n <= most; n++ {
		system := c.System
		if n < len(attempts) {
			system = attempts[n].System
		}
		all = append(all, d.Edit(n), d.Attempt(n, system))
	}
	return all
}

// Redecide decides over samples as the case of the decision digest demands. It
// reports false where no case of the plan has it.
func (p *Prepared) Redecide(digest string, samples []verdict.Sample) (verdict.Result, bool) {
	for _, r := range p.Plan.Rows {
		switch {
		case r.Head != nil && r.HeadDigests.D == digest:
			return verdict.DecideCase(r.HeadCase, samples), true
		case r.Base != nil && r.BaseDigests.D == digest:
			return verdict.DecideCase(r.BaseCase, samples), true
		}
	}
	return verdict.Result{}, false
}
