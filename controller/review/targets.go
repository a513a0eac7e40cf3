package review

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
)

// judgesTargets reports whether head is judged with its changes of the targets' data
// under test.
func (r *Review) judgesTargets() bool {
	switch r.Targets {
	case TargetsBase:
		return false
	case TargetsApproved:
		return r.merged || r.approved && r.trust.Run
	}
	return r.trust.Run
}

// acceptedTargets returns the command that accepted head's unjudged target changes, or
// nil.
func (r *Review) acceptedTargets() *report.Command {
	for i := len(r.commands.Followed) - 1; i >= 0; i-- {
		o := &r.commands.Followed[i]
		if o.Verb == report.CommandAccept && slices.Contains(o.Cases, r.ConfigFile) {
			return o
		}
	}
	return nil
}

// acceptedChanges returns which of head's unjudged target changes were accepted, or nil.
func (r *Review) acceptedChanges() func(config.TargetChange) bool {
	by := r.acceptedTargets()
	if by == nil {
		return nil
	}
	return func(change config.TargetChange) bool { return by.AcceptsChange(change.Digest()) }
}

// targets names head's target changes, and withholds the cases that must not be judged
// with them.
func (r *Review) targets(p *controller.Prepared, e *controller.RunOptions) {
	changes := p.TargetChanges()
	named := report.NewTargetChanges(r.ConfigFile, changes)
	if named == nil {
		return
	}
	if e.ConfigDiff.Targets = named; len(changes.Refused) == 0 {
		named.Accepted = r.acceptedTargets()
	}
	for i := range named.Refused {
		named.Refused[i].Approvable = named.Refused[i].Approvable && r.mayApprove()
	}
	noteJudges(named, p.Plan)
	tested := func(name string) bool { return isTested(p.Plan, name) }
	unbounded := slices.DeleteFunc(slices.Clone(changes.Unbounded), func(name string) bool { return !tested(name) })
	hasMoney, holds := r.limited(p.Head().Config.Budget)
	if !hasMoney {
		unbounded = nil
	}
	if len(unbounded) > 0 && holds {
		named.Notes = append(named.Notes, "has no price for the new model of "+strings.Join(unbounded, ", ")+": the budget in USD cannot hold, and this run is bounded by calls and tokens alone")
	}
	for _, name := range slices.Sorted(maps.Keys(changes.Prices)) {
		if price := changes.Prices[name]; tested(name) {
			named.Notes = append(named.Notes, fmt.Sprintf(
				"says here that the new model of %s costs $%v and $%v for a million tokens of requests and replies: no report counts that before the merge", name, price.Input, price.Output))
		}
	}
	otherwise := e.Withhold
	e.Withhold = func(row plan.Row) string {
		if why := r.withheld(p, row); why != "" {
			return report.NotRunPrefix + why
		}
		if !holds && slices.Contains(unbounded, row.Target) {
			return report.NotRunPrefix + "the new model of " + row.Target + " has no price in " + r.ConfigFile + ", so that the budget in USD cannot hold; add the price, or a budget in calls"
		}
		if otherwise == nil {
			return ""
		}
		return otherwise(row)
	}
}

// mayApprove reports whether an approval allows judging head with its changed data
// under test.
func (r *Review) mayApprove() bool {
	return r.Targets != TargetsBase && !r.approved && r.Unapprovable() == ""
}

// withheld returns the reason why head must not be judged with its changes of a case's
// targets; empty if it may.
func (r *Review) withheld(p *controller.Prepared, row plan.Row) string {
	change, refused := p.Refused(row)
	file := cmp.Or(change.File, r.ConfigFile)
	switch {
	case refused && change.Data && r.mayApprove():
		return file + " " + change.Clause() + ", and is not judged with that before an approval"
	case refused:
		return file + " " + change.Clause() + ", and that is " + report.BeforeMerge
	case p.Head().Config.Targets[row.Target].Refused:
		return r.ConfigFile + " has the target " + row.Target + ", which is new, with an address that no target of base has, and that is " + report.BeforeMerge
	}
	return ""
}

// noteJudges notes, for changes of targets that no case runs against, that they concern
// judges, and that base's judge.
func noteJudges(changes *report.TargetChanges, planned *plan.Plan) {
	changes.Judged = slices.DeleteFunc(changes.Judged, func(change report.TargetChange) bool {
		tested := isTested(planned, change.Target)
		if !tested {
			changes.Notes = append(changes.Notes, "changes "+change.Target+": "+change.Says+", which no case is run against; where it judges, it does so as base has it")
		}
		return !tested
	})
}

// isTested reports whether cases run against a target.
func isTested(planned *plan.Plan, name string) bool {
	return slices.ContainsFunc(planned.Rows, func(row plan.Row) bool { return row.Target == name })
}

// limited reports whether a limit is in money, and whether another one is in calls or
// tokens. The operator's limits count if gavel.yaml has none in money.
func (r *Review) limited(budget config.Budget) (inMoney, otherwise bool) {
	if !hasMoney(budget) {
		budget.Day = budget.Day.Stricter(r.Day, 1)
	}
	return hasMoney(budget), hasOther(budget)
}

// hasMoney reports whether a budget is in money, hasOther whether it is in calls or tokens.
func hasMoney(b config.Budget) bool {
	return b.USD != nil || b.PullRequest.USD != nil || b.Day.USD != nil
}

func hasOther(b config.Budget) bool {
	return slices.ContainsFunc([]config.Limits{b.Limits, b.PullRequest, b.Day}, func(l config.Limits) bool { return l.Calls != nil || l.Tokens != nil })
}
