package controller

import (
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// LiveDigests are the digests of everything that the ledger keeps for the cases of
// both sides, attempts and alternatives among it.
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
