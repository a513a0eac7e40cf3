package main

import (
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/board"
	"github.com/gavel-evals/gavel/reporters/terminal"
	"github.com/gavel-evals/gavel/schema"
)

// watchLines write what happens in a watch, as text or as JSON lines.
type watchLines struct {
	*app
	problems []schema.Problem // that were shown last
	notice   string
	err      error

	// running is read by who is interrupted.
	running, interrupted atomic.Bool
}

// stoppable reports whether an interrupt has a run to stop.
func (l *watchLines) stoppable() bool { return l.running.Load() }

// write is called by one goroutine.
func (l *watchLines) write(u board.Update) error {
	l.running.Store(u.Board.State == board.Running)
	if l.json {
		l.err = json.NewEncoder(l.stdout).Encode(watchEvent(u))
	} else {
		l.err = l.text(u)
	}
	return l.err
}

func (l *watchLines) text(u board.Update) error {
	width, isTerminal := screen(l.stdout)
	opts := terminal.Options{Width: width, Color: isTerminal && l.colour()}
	if notice := u.Board.Notice; notice != l.notice {
		l.notice = notice
		u := board.Update{Kind: board.Fault, Board: board.Board{Fault: notice}}
		if err := terminal.Watch(l.stdout, u, opts); err != nil {
			return err
		}
	}
	if err := terminal.Watch(l.stdout, u, opts); err != nil {
		return err
	}
	if u.Kind != board.Planned || slices.Equal(l.problems, u.Board.Problems) {
		return nil
	}
	l.problems = u.Board.Problems
	w, err := l.workspace()
	if err != nil {
		return err
	}
	defer w.close()
	return l.writeProblems(w.files, l.problems)
}

// A watchedEvent is a line of watch --json. What an event does not speak of is
// null.
type watchedEvent struct {
	Event board.Kind  `json:"event"`
	State board.State `json:"state"`
	// Base is 40 hex digits, or null where nothing is compared.
	Base     *string          `json:"base"`
	Changed  []string         `json:"changed"`
	Affected *int             `json:"affected"`
	Total    *int             `json:"total"`
	Estimate *watchedExpense  `json:"estimate"`
	Plan     *plannedShape    `json:"plan"`
	Problems []schema.Problem `json:"problems"`
	Question *string          `json:"question"`
	// Done and Due count the cases of the run under way.
	Done  *int              `json:"done"`
	Due   *int              `json:"due"`
	Case  *watchedCase      `json:"case"`
	Since []watchedCase     `json:"since"`
	Spent *watchedExpense   `json:"spent"`
	Run   *reporters.Report `json:"report"`
	// Message is what went wrong, or why files are polled.
	Message *string `json:"message"`
}

type watchedExpense struct {
	Calls   int      `json:"calls"`
	CostUSD *float64 `json:"cost_usd"`
}

// A watchedCase is a verdict, with the one of the run before.
type watchedCase struct {
	Key        string           `json:"key"`
	Verdict    *verdict.Verdict `json:"verdict"`
	Score      *float64         `json:"score"`
	WasVerdict *verdict.Verdict `json:"was_verdict"`
	WasScore   *float64         `json:"was_score"`
}

func watchEvent(u board.Update) watchedEvent {
	b := &u.Board
	out := watchedEvent{Event: u.Kind, State: b.State, Base: optional(b.Base), Message: optional(b.Notice)}
	switch u.Kind {
	case board.Planned:
		out.Changed, out.Problems = slices.Concat([]string{}, b.Changed), slices.Concat([]schema.Problem{}, b.Problems)
		if u.Plan != nil {
			shape := planned(u.Plan)
			out.Plan, out.Affected, out.Total = &shape, &b.Affected, &b.Total
			out.Estimate = &watchedExpense{b.Estimate.Calls, b.Estimate.USD}
		}
	case board.Asks:
		out.Question, out.Estimate = &b.Question, &watchedExpense{b.Estimate.Calls, b.Estimate.USD}
	case board.Started:
		out.Done, out.Due = &b.Done, &b.Due
	case board.Judged:
		out.Done, out.Due = &b.Done, &b.Due
		if u.Case != nil {
			c := watchedRow(u.Case)
			out.Case = &c
		}
	case board.Result:
		out.Run, out.Since = u.Report, []watchedCase{}
		out.Spent = &watchedExpense{b.Spent.Calls, b.Spent.Cost()}
		for i := range b.Rows {
			if b.Rows[i].Change() != "" {
				out.Since = append(out.Since, watchedRow(&b.Rows[i]))
			}
		}
	case board.Fault:
		out.Message = &b.Fault
	}
	return out
}

func watchedRow(r *board.Row) watchedCase {
	out := watchedCase{Key: r.Key, Verdict: r.Verdict, Score: r.Score}
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
