package controller

import (
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// LiveDigests returns the digests of all ledger entries for the cases of both sides,
// including attempts and alternatives.
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

func liveDigests(c *schema.Case, d plan.Digests, stored map[string]*ledger.Decision) []plan.Digests {
	if decision, decided := stored[d.D]; decided {
		return d.Stored(c, max(len(decision.Result.Attempts), 1), decision.Result.Attempts)
	}
	return d.Stored(c, 0, nil)
}

// Redecide applies the rule of a decision digest's case to samples. It reports false if
// no case of the plan has the digest.
func (p *Prepared) Redecide(digest string, samples []verdict.Sample) (verdict.Result, bool) {
	for _, r := range p.Plan.Rows {
		c := r.HeadCase
		switch {
		case r.Head != nil && r.HeadDigests.D == digest:
		case r.Base != nil && r.BaseDigests.D == digest:
			c = r.BaseCase
		default:
			continue
		}
		if c.Policy.PassShare > 0 && c.Policy.Retry != nil {
			break // samples of several attempts decide
		}
		return verdict.DecideCase(c, samples), true
	}
	return verdict.Result{}, false
}
