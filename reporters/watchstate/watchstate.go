// Package watchstate describes the state of a watch for the code that shows it.
//
// A [Snapshot] is a value: the watch creates a new one with every [Update], and
// reporters render it as lines, as JSON or as a screen.
package watchstate

import (
	"cmp"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// Kind is the kind of an Update.
type Kind string

const (
	// Planned means that files changed and that their effect is known.
	Planned Kind = "planned"
	// Question means that the watch asks whether it may run its plan.
	Question Kind = "question"
	// Started means that a plan is running.
	Started Kind = "started"
	// Judged means that one case ended.
	Judged Kind = "judged"
	// Result means that a run ended, with its report.
	Result Kind = "result"
	// Error means that files, ledger or targets were unusable.
	Error Kind = "error"
	// StateChanged means that only the state changed: a pause, an acceptance.
	StateChanged Kind = "state"
)

// An Update is a Snapshot with the event that changed it.
type Update struct {
	Kind     Kind
	Snapshot Snapshot
	// Case is the judged case; nil for one of base.
	Case *Row
	// Plan is the plan, and Report the result of a run; nil otherwise.
	Plan   *plan.Plan
	Report *report.Report
}

// A Command is a user's command to a watch.
type Command struct {
	Do Action
	// Keys are the cases of a Rerun.
	Keys []string
}

// Action is the action of a Command.
type Action string

const (
	// Answer lets the run in question begin.
	Answer Action = "answer"
	// Decline leaves it until the files change again.
	Decline Action = "decline"
	// Rerun judges cases again, whatever is stored.
	Rerun Action = "rerun"
	// All judges every case of the repository without a known verdict.
	All Action = "all"
	// Pause stops running affected cases, or resumes it.
	Pause Action = "pause"
	// Accept makes the shown results the reference from now on.
	Accept Action = "accept"
	// Stop cancels the current run.
	Stop Action = "stop"
)

// State is the state of a watch.
type State string

const (
	// Waiting is the wait for the next change.
	Waiting State = "waiting"
	// Asking is the wait for an answer to Snapshot.Question.
	Asking State = "asking"
	// Running means that cases are judged.
	Running State = "running"
	// Stopping means that a run was cancelled and has not yet ended.
	Stopping State = "stopping"
	// Paused means that changes are only planned.
	Paused State = "paused"
)

// A Snapshot is the state of a watch. It does not change after it was published.
type Snapshot struct {
	State State
	// Base is the compared commit, 40 hex digits or empty, and Ref the user's name for
	// it.
	Base, Ref string
	// Changed are the files of the last change, Differing counts the files that differ
	// from base.
	Changed   []string
	Differing int
	// Problems are in definitions or in gavel.yaml.
	Problems []schema.Problem
	// Notices are facts about the plan, such as a changed prompt that belongs to no
	// target.
	Notices []report.Notice
	// Error names the unusable part; Notice is the reason for polling.
	Error, Notice string

	// Affected of Total cases differ from base.
	Affected, Total int
	// Estimate is for the last plan, Spent is the watch's spending so far.
	Estimate report.Estimate
	Spent    verdict.Usage
	// GivenUp counts cancelled calls, which providers charge for; they are not in
	// Spent.
	GivenUp int
	// Done of Due cases are judged in the current run, including base's; it began at
	// Began.
	Done, Due int
	Began     time.Time
	// Again counts the measurements of that run that distinguish regressions from
	// noise.
	Again int
	// Question is the question of the state Asking.
	Question string

	// Rows are the affected and the failing cases, the most interesting first.
	Rows []Row
	// Gate is the gate of the last report; its result is empty before.
	Gate report.Gate
	// Line is the verdict of the last report in a line, such as "1 regression
	// (confirmed), 2 flaky"; empty if nothing had to be measured again.
	Line string
	// Accepted means that Row.Before is the accepted result, and not the previous
	// run's.
	Accepted bool
	// Stopped means that the last run was cancelled.
	Stopped bool
}

// A Row is one case.
type Row struct {
	report.Row
	// Before is the previous result, or the accepted one; nil without one.
	Before *Mark
	// Due means that the case will be judged: verdict and score are the previous ones,
	// if there are any.
	Due bool
	// Kept means that the definition is currently unreadable, and that the result
	// belongs to the last readable one.
	Kept bool
}

// A Mark is a verdict with its score.
type Mark struct {
	Verdict verdict.Verdict
	Score   *float64
}

// Mark returns the row's current result, or nil.
func (r *Row) Mark() *Mark {
	if r.Verdict == nil || *r.Verdict == verdict.Skipped {
		return nil
	}
	return &Mark{*r.Verdict, r.Score}
}

// Failing reports whether the case needs attention.
func (r *Row) Failing() bool {
	return r.Verdict != nil && (*r.Verdict == verdict.Fail || *r.Verdict == verdict.Error)
}

// Change returns the word for the row's change since Before: broke, fixed, higher,
// lower, first, or nothing.
func (r *Row) Change() string {
	now := r.Mark()
	switch {
	case now == nil || r.Due || r.Kept:
		return ""
	case r.Before == nil:
		return "first"
	}
	// A missing judgement is neither better nor worse than a failure.
	was, is := max(r.Before.Verdict.Rank(), 0), max(now.Verdict.Rank(), 0)
	switch {
	case is < was:
		return "broke"
	case is > was:
		return "fixed"
	case now.Score == nil || r.Before.Score == nil:
		return ""
	}
	switch d := *now.Score - *r.Before.Score; {
	case d >= 0.005:
		return "higher"
	case d <= -0.005:
		return "lower"
	}
	return ""
}

// Sort orders the rows: failures, regressions before the rest; then open, changed, and
// passing cases. Equals by key.
func Sort(rows []Row) {
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(a.Key, b.Key))
	})
}

func rank(r *Row) int {
	switch {
	case r.Class != nil && *r.Class == report.Regression:
		return 0
	case r.Verdict != nil && *r.Verdict == verdict.Fail:
		return 1
	case r.Failing():
		return 2
	case r.Verdict == nil && r.Action != plan.Removed:
		return 3
	case r.Verdict != nil && *r.Verdict == verdict.Borderline:
		return 4
	case r.Verdict != nil && *r.Verdict == verdict.Pass:
		return 5
	}
	return 6
}

// Counts count the rows by state. Rows that will be judged only count as that.
type Counts struct {
	report.Verdicts
	Unrun, Due, Broke, Fixed int
}

// Count counts the rows.
func (b *Snapshot) Count() Counts {
	var c Counts
	for i := range b.Rows {
		r := &b.Rows[i]
		switch r.Change() {
		case "broke":
			c.Broke++
		case "fixed":
			c.Fixed++
		}
		switch {
		case r.Due:
			c.Due++
		case r.Unrun():
			c.Unrun++
		default:
			c.Count(r.Verdict)
		}
	}
	return c
}

// A Detail has everything known about one case.
type Detail struct {
	Key string
	// Transcript is the first sample's; nil without one.
	Transcript *verdict.Transcript
	// Samples are head's measurements, and Base base's.
	Samples, Base []verdict.Sample
}
