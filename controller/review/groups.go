package review

import (
	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// Planned calls note with the contexts of head's groups, once they are known and if
// each gets a status: an ended process publishes nothing on them, see
// [Reviewer.Settle]. If note returns an error, the review ends.
func (r *Review) Planned(note func(groups []string) error) { r.planned = note }

// groups returns the contexts of the groups that get a status. They get none before the
// verdict: forges show a required context as expected, and a second for each would pass
// before anything is judged.
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
