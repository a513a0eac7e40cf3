package review

import (
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/command"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// PullHead returns the head for its commands, see [command.Inbox.Process].
func (r *Review) PullHead() command.PullHead {
	return command.PullHead{Repository: r.Repository, Number: r.number, Head: r.head, Unapprovable: r.Unapprovable()}
}

// Follow applies commands to the review. Without it the report suggests no commands.
func (r *Review) Follow(o command.Commands) {
	r.commands, r.follows = o, true
	r.approved = slices.ContainsFunc(o.Followed, func(o report.Command) bool {
		return o.Verb == report.CommandApprove && o.Argument == r.head
	})
	if r.approved && r.Unapprovable() == "" {
		r.trust.Run, r.trust.Reason = true, ""
	}
}

// Inherit applies commands that were given elsewhere to the commit of a branch, where
// nobody can give one.
func (r *Review) Inherit(commands []report.Command) { r.commands.Followed = commands }

// Unapprovable returns the reason why an approval of the head changes nothing, or an
// empty string.
func (r *Review) Unapprovable() string {
	if !r.trust.Run && r.Forks != ForksApprove && r.Forks != "" {
		return r.trust.Reason + ", and the operator of this server runs nothing of such pull requests"
	}
	return ""
}

// approvable reports whether an approval allows programs of the head.
func (r *Review) approvable() bool { return r.Programs == ProgramsApproved || r.byWriters() }

// rejudged returns the time since which stored results of a case count.
func (r *Review) rejudged(key string) (since time.Time, why plan.Reason) {
	for _, o := range r.commands.Followed {
		again := o.Verb == report.CommandRun || o.Verb == report.CommandRerun
		if again && slices.ContainsFunc(o.Cases, func(glob string) bool { return wildcard.Match(glob, key) }) {
			since, why = o.TakenAt, plan.Reason{Part: "command", Message: "requested by " + o.Author}
		}
	}
	return since, why
}

// rerunSince returns the time of the newest rerun command of a case; nil if there is none.
func (r *Review) rerunSince() func(string) (time.Time, plan.Reason) {
	if r.schedule != nil {
		return r.schedule.ignoreBefore
	}
	if len(r.commands.Followed) == 0 {
		return nil
	}
	return r.rejudged
}

// suggested returns useful commands for a comment below a report.
func (r *Review) suggested(rep *report.Report) []string {
	if !r.follows {
		return nil
	}
	var out []string
	sorted := reporters.Arrange(rep)
	approval, acceptance := rep.TargetChanges.Waits(rep.Cases)
	waiting := rep.NotRunReason != "" && !reporters.Unexamined(rep) || approval || report.WaitingFiles(rep.Problems) > 0 || slices.ContainsFunc(rep.Cases, func(row report.Row) bool {
		return row.Unrun() && strings.Contains(*row.Error, report.UntilApproved)
	})
	if waiting && !r.approved && r.Unapprovable() == "" {
		out = append(out, "/gavel approve "+r.head)
	}
	if acceptance {
		out = append(out, "/gavel accept "+rep.TargetChanges.File+" <reason>")
	}
	if len(sorted.Blocking) > 0 {
		out = append(out, "/gavel rerun failed", "/gavel accept <case> <reason>", "/gavel explain <case>")
	}
	if rep.NotRunReason == "" && report.Errors(rep)+rep.Summary.NotRun > 0 {
		out = append(out, "/gavel rerun errors")
	}
	return append(out, "/gavel help")
}
