package review

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/notify"
)

// A notice is a message to the address in a variable.
type notice struct {
	Variable string        `json:"variable"`
	Form     string        `json:"form,omitempty"`
	Content  notify.Notice `json:"content"`
	// Due is the time of a scheduled run, which makes it another notice.
	Due string `json:"due,omitempty"`
}

// notified returns the addresses that the deciding gavel.yaml has notified, if it is a base
// branch's: a head chooses none.
func (r *Review) notified(at sides) []config.Notify {
	if r.Notices == nil || !r.accepted() && at.decision.by != at.rules.Branch {
		return nil
	}
	return at.decision.cfg.Notify
}

// notices returns a report's messages.
func (r *Review) notices(came judgement) (all []publication) {
	event, summary, of := r.event(came.report)
	if event == "" {
		return nil
	}
	content := notify.Notice{Event: event, Repository: r.Repository.String(), PullRequest: r.number, Head: r.head, Summary: summary, URL: r.page(), Cases: []notify.Case{}}
	due := ""
	if r.schedule != nil {
		content.Branch, due = r.schedule.Branch, r.schedule.Due.UTC().Format(time.RFC3339)
		if content.URL == "" && r.WebURL != "" {
			content.URL = r.commitPage()
		}
	}
	for i := range came.report.Cases {
		row := &came.report.Cases[i]
		switch {
		case !of(row):
		case row.Error != nil:
			content.Add(row.Name(), *row.Error)
		default:
			content.Add(row.Name(), row.VerdictReason)
		}
	}
	for _, n := range came.notify {
		if len(n.On) == 0 || slices.Contains(n.On, event) {
			all = append(all, publication{Repository: r.Known, Number: r.number, Head: r.head, Notice: &notice{n.Variable, n.Form, content, due}})
		}
	}
	return all
}

// event returns the event of a report, with its summary and its cases; empty for none. A
// head that waits for people is none.
func (r *Review) event(rep *report.Report) (event, summary string, of func(*report.Row) bool) {
	unjudged := func(row *report.Row) bool { return row.Error != nil }
	if r.schedule != nil {
		status := comment.NewDriftStatus(rep)
		switch {
		case rep.NotRunReason != "":
		case status.State == comment.StateFailure:
			return notify.EventDrift, status.Description, comment.Worse
		case status.State == comment.StateError:
			return notify.EventUndetermined, status.Description, unjudged
		}
		return "", "", nil
	}
	_, status := comment.NewStatuses(rep)
	switch {
	case rep.NotRunReason != "":
	case rep.Diff.Regressions > 0:
		return notify.EventRegression, status.Description, func(row *report.Row) bool { return row.Class != nil && *row.Class == report.Regression }
	case rep.Gate.Result == report.GateUndetermined:
		return notify.EventUndetermined, status.Description, unjudged
	}
	return "", "", nil
}

// notify sends a notice, unless the last one about the head names the same cases, and
// returns the receipt. A notice that cannot be delivered is logged: a later one would be about a head
// that nobody looks at any more.
func (r *Review) notify(ctx context.Context, p publication) ([]byte, error) {
	now, err := json.Marshal(p.Notice.Content.Cases)
	if err != nil {
		return nil, err
	}
	last, err := r.Ledger.Receipt(ctx, p.destination())
	if err != nil || last == string(now) {
		return []byte(last), err
	}
	if r.Notices == nil {
		return nil, nil
	}
	if err := r.Notices.Send(ctx, p.Notice.Variable, p.Notice.Form, p.Notice.Content); err != nil {
		r.Log(fmt.Sprintf("the notice about %.12s was not delivered: %v", p.Head, err))
		return nil, nil
	}
	return now, nil
}
