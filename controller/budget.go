package controller

import "github.com/gavel-evals/gavel/controller/run"

// purse is what the plan is carried out from. Both sides are judged because of
// head, so they share one; the configuration that decides for head says what is
// in it.
func (p *Prepared) purse() *run.Purse {
	return run.NewPurse(run.Means{
		Budget: p.Head.Config.Budget, Ledger: p.Ledger, Now: p.Now,
		Repository: p.HeadTrust.Repository, PullRequest: p.HeadTrust.PullRequest,
	})
}
