package reporters

import (
	"cmp"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// WatchKind is the kind of a WatchUpdate.
type WatchKind string

const (
	// WatchPlanned means that files changed and that their effect is known.
	WatchPlanned WatchKind = "planned"
	// WatchQuestion means that the watch asks whether it may run its plan.
	WatchQuestion WatchKind = "question"
	// WatchStarted means that a plan is running.
	WatchStarted WatchKind = "started"
	// WatchJudged means that one case ended.
	WatchJudged WatchKind = "judged"
	// WatchResult means that a run ended, with its report.
	WatchResult WatchKind = "result"
	// WatchError means that files, ledger or targets were unusable.
	WatchError WatchKind = "error"
	// WatchStateChanged means that only the state changed: a pause, an acceptance.
	WatchStateChanged WatchKind = "state"
)

// A WatchUpdate is a [WatchSnapshot] with the event that changed it.
type WatchUpdate struct {
	Kind     WatchKind
	Snapshot WatchSnapshot
	// Case is the judged case; nil for one of base.
	Case *WatchRow
	// Plan is the plan, and Report the result of a run; nil otherwise.
	Plan   *plan.Plan
	Report *report.Report
}

// A WatchCommand is a user's command to a watch.
type WatchCommand struct {
	Do WatchAction
	// Keys are the cases of [WatchRerun].
	Keys []string
}

// WatchAction is the action of a WatchCommand.
type WatchAction string

const (
	// WatchAnswer lets the run in question begin.
	WatchAnswer WatchAction = "answer"
	// WatchDecline leaves it until the files change again.
	WatchDecline WatchAction = "decline"
	// WatchRerun judges cases again, whatever is stored.
	WatchRerun WatchAction = "rerun"
	// WatchAll judges every case of the repository without a known verdict.
	WatchAll WatchAction = "all"
	// WatchPause stops running affected cases, or resumes it.
	WatchPause WatchAction = "pause"
	// WatchAccept makes the shown results the reference from now on.
	WatchAccept WatchAction = "accept"
	// WatchStop cancels the current run.
	WatchStop WatchAction = "stop"
)

// WatchState is the state of a watch.
type WatchState string

const (
	// WatchWaiting is the wait for the next change.
	WatchWaiting WatchState = "waiting"
	// WatchAsking is the wait for an answer to WatchSnapshot.Question.
	WatchAsking WatchState = "asking"
	// WatchRunning means that cases are judged.
	WatchRunning WatchState = "running"
	// WatchStopping means that a run was cancelled and has not yet ended.
	WatchStopping WatchState = "stopping"
	// WatchPaused means that changes are only planned.
	WatchPaused WatchState = "paused"
)

// A WatchSnapshot is the state of a watch. It does not change after it was published.
type WatchSnapshot struct {
	State WatchState
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

	// Affected of Total cases differ from base. With All people asked for every case, and
	// Affected counts all that are active.
	Affected, Total int
	All             bool
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
	// Question is the question of the state WatchAsking.
	Question string

	// Rows are the affected and the failing cases, the most interesting first.
	Rows []WatchRow
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

// A WatchRow is one case of a watch.
type WatchRow struct {
	report.Row
	// Before is the previous result, or the accepted one; nil without one. It is never an
	// error, which says nothing of the case.
	Before *WatchMark
	// Due means that the case will be judged: verdict and score are the previous ones,
	// if there are any.
	Due bool
	// Kept means that the definition or the configuration is invalid now, and that the
	// result belongs to the last valid one. Problem is the reason.
	Kept    bool
	Problem *schema.Problem
}

// A WatchMark is a verdict with its score.
type WatchMark struct {
	Verdict verdict.Verdict
	Score   *float64
}

// Mark returns the row's current result, or nil.
func (r *WatchRow) Mark() *WatchMark {
	if r.Verdict == nil || *r.Verdict == verdict.Skipped {
		return nil
	}
	return &WatchMark{*r.Verdict, r.Score}
}

// Failing reports whether the case needs attention.
func (r *WatchRow) Failing() bool {
	return r.Verdict != nil && (*r.Verdict == verdict.Fail || *r.Verdict == verdict.Error)
}

// ProblemText returns the place, the message and the hint of Problem, or the row's error
// without one.
func (r *WatchRow) ProblemText() string {
	switch {
	case r.Problem == nil && r.Error == nil:
		return ""
	case r.Problem == nil:
		return *r.Error
	case r.Problem.Hint == "":
		return r.Problem.Position.String() + " " + r.Problem.Message
	}
	return r.Problem.Position.String() + " " + r.Problem.Message + "; " + r.Problem.Hint
}

// Change returns the word for the row's change since Before: broke, fixed, higher,
// lower, error, first, or nothing.
func (r *WatchRow) Change() string {
	now := r.Mark()
	switch {
	case now == nil || r.Due || r.Kept:
		return ""
	case r.Before == nil:
		return "first"
	case now.Verdict == verdict.Error:
		return "error" // whatever the verdict before it was, since the case was not judged
	}
	was, is := r.Before.Verdict.Rank(), now.Verdict.Rank()
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

// SortWatchRows orders the rows: failures, regressions before the rest; then open, changed, and
// passing cases. Equals by key.
func SortWatchRows(rows []WatchRow) {
	slices.SortStableFunc(rows, func(a, b WatchRow) int {
		return cmp.Or(cmp.Compare(watchRank(&a), watchRank(&b)), cmp.Compare(a.Key, b.Key))
	})
}

func watchRank(r *WatchRow) int {
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

// WatchCounts count the rows by state. Rows that will be judged only count as that.
type WatchCounts struct {
	report.Verdicts
	Unrun, Due, Broke, Fixed int
	// Invalid counts the rows whose definition or configuration is invalid now, which count
	// as nothing else.
	Invalid int
}

// Count counts the rows.
func (b *WatchSnapshot) Count() WatchCounts {
	var c WatchCounts
	for i := range b.Rows {
		r := &b.Rows[i]
		switch r.Change() {
		case "broke":
			c.Broke++
		case "fixed":
			c.Fixed++
		}
		switch {
		case r.Kept || r.Invalid():
			c.Invalid++
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

// FailedBefore counts the rows that fail now and failed at base, which the gate forgives.
func (b *WatchSnapshot) FailedBefore() (n int) {
	for i := range b.Rows {
		r := &b.Rows[i]
		if !r.Due && !r.Kept && r.Verdict != nil && *r.Verdict == verdict.Fail && r.BaseVerdict != nil && *r.BaseVerdict == verdict.Fail {
			n++
		}
	}
	return n
}

// A WatchDetail has everything known about one case.
type WatchDetail struct {
	Key string
	// Transcript is the first sample's; nil without one.
	Transcript *verdict.Transcript
	// Samples are head's measurements, and Base base's.
	Samples, Base []verdict.Sample
}
