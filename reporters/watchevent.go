package reporters

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// A WatchEvent is a line of watch --json. Fields that do not apply to an event are null.
type WatchEvent struct {
	Event WatchKind  `json:"event"`
	State WatchState `json:"state"`
	// Base is 40 hex digits, or null without a comparison.
	Base *string `json:"base"`
	// ChangedFiles are the files of the last change.
	ChangedFiles []string         `json:"changed_files"`
	Affected     *int             `json:"affected"`
	Total        *int             `json:"total"`
	Estimate     *report.Estimate `json:"estimate"`
	Plan         *Plan            `json:"plan"`
	Problems     []schema.Problem `json:"problems"`
	Question     *string          `json:"question"`
	// Progress counts the cases of the current run.
	Progress *WatchProgress `json:"progress"`
	Case     *WatchCase     `json:"case"`
	// ChangedCases are the cases whose verdict or score differs from the previous run.
	ChangedCases []WatchCase   `json:"changed_cases"`
	Spent        *WatchExpense `json:"spent"`
	// Gate is the gate of the screen and the report; null before the first result about
	// the current files.
	Gate *report.Gate   `json:"gate"`
	Run  *report.Report `json:"report"`
	// Message is an error, or the reason for polling.
	Message *string `json:"message"`
}

// A WatchProgress is the progress of a run.
type WatchProgress struct {
	Done  int `json:"done"`
	Total int `json:"total"`
	// Again counts the measurements that distinguish regressions from noise, which
	// begin after all cases are done.
	Again int `json:"again,omitempty"`
}

// A WatchExpense is the cost of runs.
type WatchExpense struct {
	Calls int `json:"calls"`
	// CancelledCalls counts the calls that were cancelled before their reply. They are
	// not included in Calls, although providers charge for them.
	CancelledCalls int      `json:"cancelled_calls"`
	CostUSD        *float64 `json:"cost_usd"`
}

// A WatchCase is a verdict with the previous run's.
type WatchCase struct {
	Key             string           `json:"key"`
	Verdict         *verdict.Verdict `json:"verdict"`
	Score           *float64         `json:"score"`
	PreviousVerdict *verdict.Verdict `json:"previous_verdict"`
	PreviousScore   *float64         `json:"previous_score"`
}

// Event converts an update for programs.
func (u WatchUpdate) Event() WatchEvent {
	b := &u.Snapshot
	out := WatchEvent{Event: u.Kind, State: b.State, Base: optionalText(b.Base), Message: optionalText(b.Notice)}
	if b.Gate.Result != "" {
		out.Gate = &b.Gate
	}
	switch u.Kind {
	case WatchPlanned:
		out.ChangedFiles, out.Problems = slices.Concat([]string{}, b.Changed), slices.Concat([]schema.Problem{}, b.Problems)
		if u.Plan != nil {
			shape := NewPlan(u.Plan, b.Estimate, b.Notices...)
			out.Plan, out.Affected, out.Total = &shape, &b.Affected, &b.Total
			out.Estimate = &b.Estimate
		}
	case WatchQuestion:
		out.Question, out.Estimate = &b.Question, &b.Estimate
	case WatchStarted:
		out.Progress = &WatchProgress{Done: b.Done, Total: b.Due}
	case WatchJudged:
		out.Progress = &WatchProgress{Done: b.Done, Total: b.Due, Again: b.Again}
		if u.Case != nil {
			c := watchCase(u.Case)
			out.Case = &c
		}
	case WatchResult:
		out.Run, out.ChangedCases = u.Report, []WatchCase{}
		out.Spent = &WatchExpense{b.Spent.Calls, b.GivenUp, b.Spent.Cost()}
		for i := range b.Rows {
			if b.Rows[i].Change() != "" {
				out.ChangedCases = append(out.ChangedCases, watchCase(&b.Rows[i]))
			}
		}
	case WatchError:
		out.Message = &b.Error
	}
	return out
}

func watchCase(r *WatchRow) WatchCase {
	out := WatchCase{Key: r.Key, Verdict: r.Verdict, Score: r.Score}
	if r.Before != nil {
		out.PreviousVerdict, out.PreviousScore = &r.Before.Verdict, r.Before.Score
	}
	return out
}

func optionalText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
