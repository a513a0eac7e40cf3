package board

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/planned"
	"github.com/gavel-evals/gavel/schema"
)

// An Event is a line of watch --json. What an event does not speak of is
// null.
type Event struct {
	Event Kind  `json:"event"`
	State State `json:"state"`
	// Base is 40 hex digits, or null where nothing is compared.
	Base     *string           `json:"base"`
	Changed  []string          `json:"changed"`
	Affected *int              `json:"affected"`
	Total    *int              `json:"total"`
	Estimate *planned.Estimate `json:"estimate"`
	Plan     *planned.Plan     `json:"plan"`
	Problems []schema.Problem  `json:"problems"`
	Question *string           `json:"question"`
	// Done and Due count the cases of the run under way.
	Done  *int              `json:"done"`
	Due   *int              `json:"due"`
	Case  *Case             `json:"case"`
	Since []Case            `json:"since"`
	Spent *Expense          `json:"spent"`
	Run   *reporters.Report `json:"report"`
	// Message is what went wrong, or why files are polled.
	Message *string `json:"message"`
}

// An Expense is what runs cost.
type Expense struct {
	Calls int `json:"calls"`
	// GivenUp counts the calls that were sent and given up before their reply.
	GivenUp int      `json:"given_up"`
	CostUSD *float64 `json:"cost_usd"`
}

// A Case is a verdict, with the one of the run before.
type Case struct {
	Key        string           `json:"key"`
	Verdict    *verdict.Verdict `json:"verdict"`
	Score      *float64         `json:"score"`
	WasVerdict *verdict.Verdict `json:"was_verdict"`
	WasScore   *float64         `json:"was_score"`
}

// Event is what programs are told of an update.
func (u Update) Event() Event {
	b := &u.Board
	out := Event{Event: u.Kind, State: b.State, Base: optional(b.Base), Message: optional(b.Notice)}
	switch u.Kind {
	case Planned:
		out.Changed, out.Problems = slices.Concat([]string{}, b.Changed), slices.Concat([]schema.Problem{}, b.Problems)
		if u.Plan != nil {
			shape := planned.Of(u.Plan, b.Estimate)
			out.Plan, out.Affected, out.Total = &shape, &b.Affected, &b.Total
			out.Estimate = &b.Estimate
		}
	case Asks:
		out.Question, out.Estimate = &b.Question, &b.Estimate
	case Started:
		out.Done, out.Due = &b.Done, &b.Due
	case Judged:
		out.Done, out.Due = &b.Done, &b.Due
		if u.Case != nil {
			c := verdictOf(u.Case)
			out.Case = &c
		}
	case Result:
		out.Run, out.Since = u.Report, []Case{}
		out.Spent = &Expense{b.Spent.Calls, b.GivenUp, b.Spent.Cost()}
		for i := range b.Rows {
			if b.Rows[i].Change() != "" {
				out.Since = append(out.Since, verdictOf(&b.Rows[i]))
			}
		}
	case Fault:
		out.Message = &b.Fault
	}
	return out
}

func verdictOf(r *Row) Case {
	out := Case{Key: r.Key, Verdict: r.Verdict, Score: r.Score}
	if r.Before != nil {
		out.WasVerdict, out.WasScore = &r.Before.Verdict, r.Before.Score
	}
	return out
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
