package review

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/configchange"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
)

// judgesTargets reports whether head is judged with what it changes of the data under
// test of the targets.
func (r *Review) judgesTargets() bool {
	switch r.Targets {
	case TargetsBase:
		return false
	case TargetsApproved:
		return r.merged || r.approved && r.trust.Run
	}
	return r.trust.Run
}

// acceptedTargets is the command by which somebody accepted what head changes of the
// targets and is not judged with; nil where nobody did.
func (r *Review) acceptedTargets() *report.Command {
	for i := len(r.commands.Followed) - 1; i >= 0; i-- {
		o := &r.commands.Followed[i]
		if o.Verb == report.CommandAccept && slices.Contains(o.Cases, r.ConfigFile) {
			return o
		}
	}
	return nil
}

// targets names what head changes of the targets, and withholds the cases that it may not
// be judged with.
func (r *Review) targets(p *controller.Prepared, e *controller.RunOptions) {
	changes := p.TargetChanges()
	e.ConfigDiff.Targets = configchange.Targets(r.ConfigFile, changes)
	if e.ConfigDiff.Targets == nil {
		return
	}
	e.ConfigDiff.Targets.Accepted = r.acceptedTargets()
	noteJudges(e.ConfigDiff.Targets, p.Plan)
	budget := p.Head().Config.Budget
	if !hasMoney(budget) {
		budget.Day = budget.Day.Stricter(r.Day, 1)
	}
	unbounded := len(changes.Unbounded) > 0 && hasMoney(budget)
	holds := hasOther(budget)
	if unbounded && holds {
		e.ConfigDiff.Targets.Notes = append(e.ConfigDiff.Targets.Notes,
			"has no price for the new model of "+strings.Join(changes.Unbounded, ", ")+": the budget in USD cannot hold, and this run is bounded by calls and tokens alone")
	}
	for _, name := range slices.Sorted(maps.Keys(changes.Prices)) {
		price := changes.Prices[name]
		e.ConfigDiff.Targets.Notes = append(e.ConfigDiff.Targets.Notes, fmt.Sprintf(
			"says here that the new model of %s costs $%v and $%v for a million tokens of requests and replies: no report counts that before the merge", name, price.Input, price.Output))
	}
	otherwise := e.Withhold
	e.Withhold = func(row plan.Row) string {
		if change, refused := p.Refused(row); refused {
			return r.ConfigFile + " changes " + change.String() + " of " + named(change) + ", which is not judged before the merge"
		}
		if p.Head().Config.Targets[row.Target].Refused {
			return "the target " + row.Target + " is new here, and no target of base has its address"
		}
		if unbounded && !holds && slices.Contains(changes.Unbounded, row.Target) {
			return "the new model of " + row.Target + " has no price in " + r.ConfigFile + ", so that the budget in USD cannot hold; add the price, or a budget in calls"
		}
		if otherwise == nil {
			return ""
		}
		return otherwise(row)
	}
}

// noteJudges says of the changes of targets that no case is run against that they are of
// judges, and that those of base judge.
func noteJudges(changes *report.TargetChanges, planned *plan.Plan) {
	changes.Judged = slices.DeleteFunc(changes.Judged, func(change report.TargetChange) bool {
		tested := slices.ContainsFunc(planned.Rows, func(row plan.Row) bool { return row.Target == change.Target })
		if !tested {
			changes.Notes = append(changes.Notes, "changes "+change.Target+": "+change.Says+", which no case is run against; where it judges, it does so as base has it")
		}
		return !tested
	})
}

// named is what a change is of.
func named(c config.TargetChange) string {
	if c.Target == "" {
		return "the roles"
	}
	return "the target " + c.Target
}

// hasMoney reports whether a budget is in money, hasOther whether it is in calls or tokens.
func hasMoney(b config.Budget) bool {
	return b.USD != nil || b.PullRequest.USD != nil || b.Day.USD != nil
}

func hasOther(b config.Budget) bool {
	return slices.ContainsFunc([]config.Limits{b.Limits, b.PullRequest, b.Day}, func(l config.Limits) bool { return l.Calls != nil || l.Tokens != nil })
}
