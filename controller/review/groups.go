package review

import (
	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/github"
)

// Planned has note told about the contexts of the groups that head has, once that
// is known and where each gets a status: what ends on its own says nothing on
// them, see [Reviewer.Settle]. An error of note ends the review.
func (r *Review) Planned(note func(groups []string) error) { r.planned = note }

// plannedGroups finds out which groups get a status. They get none before the
// verdict: forges show a context that has to be there as expected, and a second
// for each would pass before anything is judged.
func (r *Review) plannedGroups(p *controller.Prepared) error {
	if r.Client == nil || r.schedule != nil || !p.Head().Config.GroupStatuses {
		return nil
	}
	names, rest := report.ActiveGroups(p.Plan)
	if words := report.TooMany(rest); words != "" {
		r.Log(words)
	}
	r.groups = nil
	for _, name := range names {
		r.groups = append(r.groups, github.GroupContext(name))
	}
	if r.planned == nil || len(r.groups) == 0 {
		return nil
	}
	return r.planned(r.groups)
}
