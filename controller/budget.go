package controller

import "github.com/gavel-evals/gavel/controller/run/purse"

// purse is what the plan is carried out from. Both sides are judged because of
// head, so they share one; the configuration that decides for head says what is
// in it.
func (p *Prepared) purse() *purse.Purse {
	return purse.New(purse.Means{
		Budget: p.Head.Config.Budget, Now: p.Now,
		Repository: p.HeadTrust.Repository, PullRequest: p.HeadTrust.PullRequest,
	})
}
