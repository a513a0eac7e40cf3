package review

import (
	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// Planned has note told about the contexts of the groups that head has, once that
// is known and where each gets a status: what ends on its own says nothing on
// them, see [Reviewer.Settle]. An error of note ends the review.
func (r *Review) Planned(note func(groups []string) error) { r.planned = note }

// groups returns the contexts of the groups that get a status. They get none before the
// verdict: forges show a context that has to be there as expected, and a second
// for each would pass before anything is judged.
func (r *Review) groups(p *controller.Prepared) (contexts []string, err error) {
	if r.Client == nil || r.schedule != nil || !p.Head().Config.GroupStatuses {
		return nil, nil
	}
	names, rest := report.ActiveGroups(p.Plan)
	if words := report.TooMany(rest); words != "" {
		r.Log(words)
	}
	for _, name := range names {
		contexts = append(contexts, comment.GroupContext(name))
	}
	if r.planned == nil || len(contexts) == 0 {
		return contexts, nil
	}
	return contexts, r.planned(contexts)
}
