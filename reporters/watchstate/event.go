package watchstate

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/schema"
)

// An Event is a line of watch --json. Fields that do not apply to an event are null.
type Event struct {
	Event Kind  `json:"event"`
	State State `json:"state"`
	// Base is 40 hex digits, or null without a comparison.
	Base *string `json:"base"`
	// ChangedFiles are the files of the last change.
	ChangedFiles []string         `json:"changed_files"`
	Affected     *int             `json:"affected"`
	Total        *int             `json:"total"`
	Estimate     *report.Estimate `json:"estimate"`
	Plan         *reporters.Plan  `json:"plan"`
	Problems     []schema.Problem `json:"problems"`
	Question     *string          `json:"question"`
	// Progress counts the cases of the current run.
	Progress *Progress `json:"progress"`
	Case     *Case     `json:"case"`
	// ChangedCases are the cases whose verdict or score differs from the previous run.
	ChangedCases []Case   `json:"changed_cases"`
	Spent        *Expense `json:"spent"`
	// Gate is the gate of the screen and the report; null before the first result about
	// the current files.
	Gate *report.Gate   `json:"gate"`
	Run  *report.Report `json:"report"`
	// Message is an error, or the reason for polling.
	Message *string `json:"message"`
}

// A Progress is the progress of a run.
type Progress struct {
	Done  int `json:"done"`
	Total int `json:"total"`
	// Again counts the measurements that distinguish regressions from noise, which
	// begin after all cases are done.
	Again int `json:"again,omitempty"`
}

// An Expense is the cost of runs.
type Expense struct {
	Calls int `json:"calls"`
	// CancelledCalls counts the calls that were cancelled before their reply. They are
	// not included in Calls, although providers charge for them.
	CancelledCalls int      `json:"cancelled_calls"`
	CostUSD        *float64 `json:"cost_usd"`
}

// A Case is a verdict with the previous run's.
type Case struct {
	Key             string           `json:"key"`
	Verdict         *verdict.Verdict `json:"verdict"`
	Score           *float64         `json:"score"`
	PreviousVerdict *verdict.Verdict `json:"previous_verdict"`
	PreviousScore   *float64         `json:"previous_score"`
}

// Event converts an update for programs.
func (u Update) Event() Event {
	b := &u.Snapshot
	out := Event{Event: u.Kind, State: b.State, Base: optional(b.Base), Message: optional(b.Notice)}
	if b.Gate.Result != "" {
		out.Gate = &b.Gate
	}
	switch u.Kind {
	case Planned:
		out.ChangedFiles, out.Problems = slices.Concat([]string{}, b.Changed), slices.Concat([]schema.Problem{}, b.Problems)
		if u.Plan != nil {
			shape := reporters.NewPlan(u.Plan, b.Estimate, b.Notices...)
			out.Plan, out.Affected, out.Total = &shape, &b.Affected, &b.Total
			out.Estimate = &b.Estimate
		}
	case Question:
		out.Question, out.Estimate = &b.Question, &b.Estimate
	case Started:
		out.Progress = &Progress{Done: b.Done, Total: b.Due}
	case Judged:
		out.Progress = &Progress{Done: b.Done, Total: b.Due, Again: b.Again}
		if u.Case != nil {
			c := verdictOf(u.Case)
			out.Case = &c
		}
	case Result:
		out.Run, out.ChangedCases = u.Report, []Case{}
		out.Spent = &Expense{b.Spent.Calls, b.GivenUp, b.Spent.Cost()}
		for i := range b.Rows {
			if b.Rows[i].Change() != "" {
				out.ChangedCases = append(out.ChangedCases, verdictOf(&b.Rows[i]))
			}
		}
	case Error:
		out.Message = &b.Error
	}
	return out
}

func verdictOf(r *Row) Case {
	out := Case{Key: r.Key, Verdict: r.Verdict, Score: r.Score}
	if r.Before != nil {
		out.PreviousVerdict, out.PreviousScore = &r.Before.Verdict, r.Before.Score
	}
	return out
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
