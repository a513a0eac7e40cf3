package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A Command is a comment's command on the pull request that was executed for this head.
type Command struct {
	// CommentID is the comment's id and Author its author. TakenAt is the time of its
	// first reading.
	CommentID int64     `json:"comment_id"`
	Author    string    `json:"author"`
	TakenAt   time.Time `json:"taken_at"`
	Verb      string    `json:"verb"`
	// Argument is the approved commit, the reason for accepting a case, or the cases to
	// run.
	Argument string `json:"argument,omitempty"`
	// Cases are the keys concerned, or globs of keys.
	Cases []string `json:"cases,omitempty"`
	// Results are the digests of decisions or of changes of targets that an acceptance is
	// limited to, see [Command.Limit]. Without any it holds for each.
	Results []string `json:"results,omitempty"`
}

// Limit has the command accept only what a report has: the results of the cases that it
// names, or the changes of targets.
func (o *Command) Limit(r *Report) {
	if c := r.TargetChanges; c != nil && slices.Contains(o.Cases, c.File) {
		for _, change := range c.Refused {
			o.Results = append(o.Results, change.Digest)
		}
	}
	for i := range r.Cases {
		if row := &r.Cases[i]; row.Digest != "" && slices.ContainsFunc(o.Cases, row.Named) {
			o.Results = append(o.Results, row.Digest)
		}
	}
}

// accepts reports whether the command accepts the result of a row.
func (o *Command) accepts(row *Row) bool {
	return o.Verb == CommandAccept && row.Acceptable() && slices.ContainsFunc(o.Cases, row.Named) &&
		(len(o.Results) == 0 || slices.Contains(o.Results, row.Digest))
}

// AcceptsChange reports whether a command that accepts changes of targets accepts the one with
// a digest.
func (o *Command) AcceptsChange(digest string) bool {
	return len(o.Results) == 0 || slices.Contains(o.Results, digest)
}

// The kinds of command.
const (
	CommandRun     = "run"
	CommandRerun   = "rerun"
	CommandApprove = "approve"
	CommandAccept  = "accept"
	// CommandQuarantine has the date and the reason as its argument.
	CommandQuarantine = "quarantine"
)

// String names the author and the command.
func (o Command) String() string {
	switch o.Verb {
	case CommandApprove:
		return fmt.Sprintf("%s approved %.7s", o.Author, o.Argument)
	case CommandAccept:
		return fmt.Sprintf("by %s, %s: %s", o.Author, o.TakenAt.UTC().Format("2006-01-02 15:04 UTC"), o.Argument)
	case CommandQuarantine:
		return fmt.Sprintf("%s quarantined %s until %s", o.Author, strings.Join(o.Cases, ", "), o.Argument)
	case CommandRerun:
		return fmt.Sprintf("%s asked to rerun what ended in %s: %s", o.Author, o.Argument, textfmt.Count(len(o.Cases), "case"))
	}
	if o.Argument == "" {
		return o.Author + " asked for a run"
	}
	return fmt.Sprintf("%s asked to rerun %s", o.Author, o.Argument)
}

// SameCommands reports whether both are the same comments.
func SameCommands(a, b []Command) bool {
	return slices.EqualFunc(a, b, func(a, b Command) bool { return a.CommentID == b.CommentID })
}

// Acceptable reports whether a result may be accepted: it has a verdict other than
// pass.
func (row *Row) Acceptable() bool {
	return row.Verdict != nil && (*row.Verdict == verdict.Fail || *row.Verdict == verdict.Borderline)
}

// accept marks the rows whose result was accepted; the last command counts.
func accept(rows []Row, commands []Command) {
	for i := range rows {
		for o := range commands {
			if commands[o].accepts(&rows[i]) {
				rows[i].Accepted = &commands[o]
			}
		}
	}
}

// withoutWaived returns the report without accepted and quarantined cases, for gate
// rules that such a case must not break.
func withoutWaived(r *Report, pairs []pair) (*Report, []pair) {
	if !slices.ContainsFunc(r.Cases, func(row Row) bool { return row.OutOfGate() }) {
		return r, pairs
	}
	return only(r, pairs, func(row *Row) bool { return !row.OutOfGate() })
}

// only returns the report on the cases that are kept, with their pairs.
func only(r *Report, pairs []pair, keep func(*Row) bool) (*Report, []pair) {
	left := *r
	left.Cases = nil
	var kept []pair
	for i := range r.Cases {
		if keep(&r.Cases[i]) {
			left.Cases, kept = append(left.Cases, r.Cases[i]), append(kept, pairs[i])
		}
	}
	left.Summary, _ = summarise(left.Cases, kept, nil)
	if r.Summary.Affected != nil {
		left.Summary.Affected, left.Summary.ChangedUnrun = changed(kept), changedUnrun(kept)
	}
	left.Diff = diff(left.Cases, kept)
	return &left, kept
}

// Accepted returns the rows whose result was accepted.
func Accepted(r *Report) []*Row {
	var rows []*Row
	for i := range r.Cases {
		if r.Cases[i].Accepted != nil {
			rows = append(rows, &r.Cases[i])
		}
	}
	return rows
}
