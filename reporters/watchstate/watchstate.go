// Package watchstate holds what a watch knows at one moment, for the code that shows it.
//
// A [Snapshot] is a value: the watch makes a new one with every [Update], and
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

// Kind says what an Update is about.
type Kind string

const (
	// Planned means that files changed and what that affects is known.
	Planned Kind = "planned"
	// Question means that the watch asks whether it may run what it planned.
	Question Kind = "question"
	// Started means that what was planned is being run.
	Started Kind = "started"
	// Judged means that one case ended.
	Judged Kind = "judged"
	// Result means that a run ended, with its report.
	Result Kind = "result"
	// Error means that files, ledger or targets could not be used.
	Error Kind = "error"
	// StateChanged means that only the state changed: a pause, an acceptance.
	StateChanged Kind = "state"
)

// An Update is a Snapshot with what happened to it.
type Update struct {
	Kind     Kind
	Snapshot Snapshot
	// Case is the one that was judged; nil for one of base.
	Case *Row
	// Plan is what was planned, and Report what a run found; nil otherwise.
	Plan   *plan.Plan
	Report *report.Report
}

// A Command is what a user wants of a watch.
type Command struct {
	Do Action
	// Keys are the cases that Rerun is about.
	Keys []string
}

// Action is what a Command does.
type Action string

const (
	// Answer lets the run begin that was asked about.
	Answer Action = "answer"
	// Decline leaves it until the files change again.
	Decline Action = "decline"
	// Rerun judges cases again, whatever is stored of them.
	Rerun Action = "rerun"
	// All judges every case of the repository that is not known.
	All Action = "all"
	// Pause stops running what changes affect, or goes on with it.
	Pause Action = "pause"
	// Accept compares with what is shown from now on.
	Accept Action = "accept"
	// Stop gives up the run in progress.
	Stop Action = "stop"
)

// State is what the watch does.
type State string

const (
	// Waiting means for the next change.
	Waiting State = "waiting"
	// Asking means for an answer to Snapshot.Question.
	Asking State = "asking"
	// Running means that cases are judged.
	Running State = "running"
	// Stopping means that a run was given up and has not yet ended.
	Stopping State = "stopping"
	// Paused means that changes are planned and not run.
	Paused State = "paused"
)

// A Snapshot is what a watch knows. It is not changed once it was handed out.
type Snapshot struct {
	State State
	// Base is what is compared with, 40 hex digits or empty, and Ref what the
	// user calls it.
	Base, Ref string
	// Changed are the files of the last change, Differing counts those that
	// differ from base.
	Changed   []string
	Differing int
	// Problems are of definitions or of gavel.yaml.
	Problems []schema.Problem
	// Notices are what has to be known of the plan, such as a changed prompt that
	// belongs to no target.
	Notices []report.Notice
	// Error says what could not be used; Notice that files are polled, and why.
	Error, Notice string

	// Affected of Total cases are not as at base.
	Affected, Total int
	// Estimate is for the last plan, Spent what the watch spent so far.
	Estimate report.Estimate
	Spent    verdict.Usage
	// GivenUp counts calls that were sent and given up, which providers charge
	// for; they are not in Spent.
	GivenUp int
	// Done of Due cases are judged in the run in progress, base's among them,
	// which began at Began.
	Done, Due int
	Began     time.Time
	// Again counts the measurements of that run that tell regressions from noise.
	Again int
	// Question is what is asked in the state Asking.
	Question string

	// Rows are the affected cases and those that fail, in the order in which
	// people want to see them.
	Rows []Row
	// Gate is that of the last report; its result is empty before.
	Gate report.Gate
	// Line is the verdict of the last report in a line, such as "1 regression
	// (confirmed), 2 flaky"; empty where nothing had to be measured again.
	Line string
	// Accepted says that Row.Before is what was accepted, and not what the run
	// before found.
	Accepted bool
	// Stopped says that the last run was given up.
	Stopped bool
}

// A Row is one case.
type Row struct {
	report.Row
	// Before is what the watch found the last time, or what was accepted; nil
	// where there was nothing.
	Before *Mark
	// Due means that the case is to be judged: verdict and score are those of
	// before, if there are any.
	Due bool
	// Kept means that the definition cannot be read now, and the result is that
	// of the last that could.
	Kept bool
}

// A Mark is a verdict with its score.
type Mark struct {
	Verdict verdict.Verdict
	Score   *float64
}

// Mark is what the row says now; nil where that is nothing.
func (r *Row) Mark() *Mark {
	if r.Verdict == nil || *r.Verdict == verdict.Skipped {
		return nil
	}
	return &Mark{*r.Verdict, r.Score}
}

// Failing reports whether the case has to be looked into.
func (r *Row) Failing() bool {
	return r.Verdict != nil && (*r.Verdict == verdict.Fail || *r.Verdict == verdict.Error)
}

// Change is the word for what became of the row since Before: broke, fixed,
// higher, lower, first, or nothing.
func (r *Row) Change() string {
	now := r.Mark()
	switch {
	case now == nil || r.Due || r.Kept:
		return ""
	case r.Before == nil:
		return "first"
	}
	// That nothing could be judged is neither better nor worse than that it
	// failed.
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

// Sort puts the rows in order: what fails, regressions before the rest; then
// what is not judged yet, what changed, and what passes. Equals by key.
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

// Counts are the rows by what they say. Those that are to be judged count as
// that only.
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

// A Detail is all that is known of one case.
type Detail struct {
	Key string
	// Transcript is of the first sample; nil where there is none.
	Transcript *verdict.Transcript
	// Samples are what was measured, and Base what was at base.
	Samples, Base []verdict.Sample
}
