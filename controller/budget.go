package controller

import "github.com/gavel-evals/gavel/controller/run/budget"

// budget is what the plan is carried out from. Both sides are judged because of
// head, so they share one; the configuration that decides for head says what is
// in it.
func (p *Prepared) budget() *budget.Budget {
	return budget.New(budget.Config{
		Budget: p.Head.Config.Budget, Now: p.Now,
		Repository: p.HeadTrust.Repository, PullRequest: p.HeadTrust.PullRequest,
	})
}
