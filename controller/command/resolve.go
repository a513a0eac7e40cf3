package command

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/schema/suggest"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// heads maps commits to the time at which each was first seen.
type heads = map[string]time.Time

// zero is before every comment.
var zero time.Time

// waits reports whether a command needs a report that does not exist yet.
func (l *poll) waits(verb string) bool {
	return l.report == nil && l.Unapprovable == "" && (verb == Rerun || verb == Accept || verb == Explain || verb == Quarantine)
}

// resolve finds the subject of a command at this head, or the reason for its refusal.
func (l *poll) resolve(c *ledger.Command) {
	switch c.Verb {
	case Approve:
		c.Refused = l.approve(c)
	case Run:
		c.Refused = l.run(c)
	case Rerun:
		c.Refused = l.rerun(c)
	case Accept:
		c.Refused = l.accept(c)
	case Explain:
		c.Refused = l.find(c)
	case Quarantine:
		c.Refused = l.quarantine(c)
	case Cancel:
		now := l.commands(l.taken)
		over := l.report != nil && report.SameCommands(l.report.Commands, now.Followed) && l.report.Summary.NotRun == 0
		if now.Cancelled != "" || over && !l.Running {
			c.Refused = "nothing is running"
		}
	}
}

// approve binds an approval to the head. A shortened id must be a prefix of an earlier
// head, and of no other.
func (l *poll) approve(c *ledger.Command) string {
	commit := c.Argument
	_, seen := l.before[l.Head]
	switch {
	case l.Unapprovable != "":
		return l.Unapprovable
	case !strings.HasPrefix(l.Head, commit):
		return fmt.Sprintf("the head of this pull request is %.12s", l.Head)
	case commit != l.Head && !seen:
		return "the head was pushed meanwhile; write all of the commit's id"
	}
	for other := range l.before {
		if other != l.Head && strings.HasPrefix(other, commit) {
			return "this pull request had several heads that begin so; write all of the commit's id"
		}
	}
	c.Argument = l.Head
	return ""
}

func (l *poll) run(c *ledger.Command) string {
	if c.Argument == "" {
		return ""
	}
	c.Cases = []string{c.Argument}
	if l.report == nil {
		return "" // it will be judged
	}
	for _, row := range l.report.Cases {
		if wildcard.Match(c.Argument, row.Key) {
			return ""
		}
	}
	return strings.TrimSuffix("no case has such a key; "+suggest.Case(c.Argument, l.names()), "; ")
}

func (l *poll) rerun(c *ledger.Command) string {
	if l.report == nil {
		return "this head is not judged yet"
	}
	for i := range l.report.Cases {
		row := &l.report.Cases[i]
		failed := row.Acceptable() && row.Accepted == nil
		broken := row.Error != nil && !row.Invalid()
		if c.Argument == Failed && failed || c.Argument == Errors && broken {
			c.Cases = append(c.Cases, row.Key)
		}
	}
	c.Cases = slices.Compact(c.Cases)
	if len(c.Cases) == 0 {
		return fmt.Sprintf("no case ended so at %.7s", l.Head)
	}
	return ""
}

// acceptChanges accepts the head's target changes that are not used in judging.
func acceptChanges(c *ledger.Command, changes *report.TargetChanges, reason string) string {
	switch {
	case len(changes.Refused) == 0:
		return changes.File + " has no change of a target that is not judged"
	case reason == "":
		return "say why the change is meant"
	}
	c.Cases, c.Argument = []string{changes.File}, reason
	return ""
}

// changes returns the head's target changes, or nil.
func (l *poll) changes() *report.TargetChanges {
	if l.report == nil {
		return nil
	}
	return l.report.TargetChanges
}

func (l *poll) accept(c *ledger.Command) string {
	if changes := l.changes(); changes != nil {
		name, reason, _ := strings.Cut(strings.ReplaceAll(c.Argument, "`", ""), " ")
		if name == changes.File {
			return acceptChanges(c, changes, strings.TrimSpace(reason))
		}
	}
	if refused := l.find(c); refused != "" {
		return refused
	}
	fails := slices.ContainsFunc(l.rows(c.Cases[0]), func(row *report.Row) bool { return row.Acceptable() })
	switch {
	case !fails:
		return "the case does not fail"
	case c.Argument == "":
		return "say why the result is meant"
	}
	return ""
}

// quarantine checks the date against the day of the command.
func (l *poll) quarantine(c *ledger.Command) string {
	if refused := l.find(c); refused != "" {
		return refused
	}
	e, problem := report.ParseQuarantine(c.Argument)
	switch {
	case problem != "":
		return problem
	case e.Ended(c.Written):
		return fmt.Sprintf("%s is over; write a later date", e.Until)
	}
	return ""
}

// find resolves the case in a command's argument: the longest name in the report that
// it begins with. If a case ran against several targets, its key means all of them.
func (l *poll) find(c *ledger.Command) (refused string) {
	if l.report == nil {
		return "this head is not judged yet"
	}
	said := strings.TrimPrefix(c.Argument, "`")
	found := ""
	for _, name := range l.names() {
		rest, ok := strings.CutPrefix(said, name)
		rest = strings.TrimPrefix(rest, "`")
		if ok && len(name) > len(found) && (rest == "" || rest[0] == ' ') {
			found, c.Argument = name, strings.TrimSpace(rest)
		}
	}
	if found == "" {
		name, _, _ := strings.Cut(strings.ReplaceAll(said, "`", ""), " ")
		return strings.TrimSuffix(fmt.Sprintf("unknown case %q; %s", name, suggest.Case(name, l.names())), "; ")
	}
	c.Cases = []string{found}
	return ""
}

// rows returns the report's rows of a name.
func (l *poll) rows(name string) []*report.Row {
	var found []*report.Row
	for i := range l.report.Cases {
		if row := &l.report.Cases[i]; row.Named(name) {
			found = append(found, row)
		}
	}
	return found
}

// names returns the names of the report's cases.
func (l *poll) names() []string {
	var names []string
	for i := range l.report.Cases {
		names = append(names, l.report.Cases[i].Key)
		if l.report.Cases[i].PerTarget {
			names = append(names, l.report.Cases[i].Name())
		}
	}
	return names
}

// commands combines the commands for the head. A cancel ends earlier requests that are
// not in the report yet; later requests count. A refusal is in the comment until the report
// has a later command.
func (l *poll) commands(taken []ledger.Command) Commands {
	const most = 5 // lines
	var out Commands
	for _, c := range taken {
		switch {
		case c.Verb == Quarantine && c.Refused == "": // valid at every head
		case c.Head != l.Head || c.Verb == Help || c.Verb == Explain && c.Refused == "":
		case c.Refused != "":
			out.Refused = append(out.Refused, fmt.Sprintf("%q of %s was refused: %s", written(c), c.Login, c.Refused))
		case c.Verb == Cancel:
			out.Cancelled = fmt.Sprintf("cancelled by %s; /gavel run judges it", c.Login)
			out.Followed = slices.DeleteFunc(out.Followed, func(o report.Command) bool {
				return (o.Verb == Run || o.Verb == Rerun) && !l.done(o)
			})
		default:
			out.Cancelled = ""
			out.Followed = append(out.Followed, followed(c))
			if l.done(followed(c)) {
				out.Refused = nil // its comment answered them
			}
		}
	}
	out.Followed = append(out.Followed, l.inbox.active(l.quarantines)...)
	out.Refused = out.Refused[max(0, len(out.Refused)-most):]
	return out
}

// active returns the quarantines that have not ended. The last one of a case counts, also once
// it has ended.
func (d *Inbox) active(quarantines []ledger.Command) (found []report.Command) {
	ended := map[string]bool{} // by case, of the last one
	isOver := func(c ledger.Command) bool {
		e, _ := report.ParseQuarantine(c.Argument)
		return e.Ended(d.cfg.Now())
	}
	for _, c := range quarantines {
		for _, name := range c.Cases {
			ended[name] = isOver(c)
		}
	}
	for _, c := range quarantines {
		if !isOver(c) && slices.ContainsFunc(c.Cases, func(name string) bool { return !ended[name] }) {
			found = append(found, followed(c))
		}
	}
	return found
}

// followed converts a command for reports.
func followed(c ledger.Command) report.Command {
	return report.Command{CommentID: c.Comment, Author: c.Login, TakenAt: c.Taken, Verb: c.Verb, Argument: c.Argument, Cases: c.Cases}
}

// written formats a command as its author wrote it.
func written(c ledger.Command) string {
	o := Command{Verb: c.Verb, Argument: c.Argument}
	if c.Verb == Accept || c.Verb == Explain || c.Verb == Quarantine {
		o.Argument = strings.TrimSpace(strings.Join(c.Cases, " ") + " " + c.Argument)
	}
	return o.String()
}

// done reports whether the report contains a command.
func (l *poll) done(o report.Command) bool {
	return l.report != nil && slices.ContainsFunc(l.report.Commands, func(d report.Command) bool { return d.CommentID == o.CommentID })
}
