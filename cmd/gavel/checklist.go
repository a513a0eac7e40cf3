package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/controller/queue"
	"github.com/gavel-evals/gavel/controller/serve"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A checkLine is one line of the list.
type checkLine struct {
	// Repository is empty if the line concerns all of them.
	Repository string `json:"repository"`
	What       string `json:"check"`
	State      string `json:"state"`
	Message    string `json:"message"`
}

// A checklist prints findings.
type checklist struct {
	app    *App
	redact func(string) string
	lines  []checkLine
}

// newChecklist returns an empty list. redact removes secrets from the output.
func newChecklist(app *App, redact func(string) string) *checklist {
	return &checklist{app: app, redact: redact, lines: []checkLine{}}
}

// Say adds a finding, which concerns one repository or, if that is empty, all of them.
func (l *checklist) Say(repository string, f serve.Finding) {
	one := checkLine{repository, f.What, f.State, textfmt.Line(l.redact(f.Message))}
	l.lines = append(l.lines, one)
	if l.app.JSON {
		return
	}
	text := fmt.Sprintf("%-8s %s", one.State, one.What)
	if one.Repository != "" {
		text = fmt.Sprintf("%-8s %s: %s", one.State, one.Repository, one.What)
	}
	if one.Message != "" {
		text += ": " + one.Message
	}
	fmt.Fprintln(l.app.Stdout, text)
}

// End prints the JSON document, if requested, and fails if something is missing.
func (l *checklist) End() error {
	if l.app.JSON {
		if err := l.app.Print(map[string]any{"checks": l.lines}); err != nil {
			return err
		}
	}
	missing := 0
	for _, one := range l.lines {
		if one.State == serve.StateMissing {
			missing++
		}
	}
	if missing > 0 {
		return usageError("%d of these %s missing", missing, textfmt.Verb(missing, "is", "are"))
	}
	return nil
}

// checkFinding returns the finding about an attempt.
func checkFinding(what string, err error) serve.Finding {
	if err != nil {
		return serve.Finding{What: what, State: serve.StateMissing, Message: err.Error()}
	}
	return serve.Finding{What: what, State: serve.StateOK}
}

// lookFor bounds the database's time to answer.
const lookFor = 15 * time.Second

// A checkedDatabase is the result of checking a database.
type checkedDatabase struct {
	Findings []serve.Finding
	// Workers counts the live workers, if there is no Fault.
	Workers int
	// Fault is set if the workers cannot be counted.
	Fault error
}

// lookAtDatabase checks a database, its queue and the clock now. It writes nothing. maker is
// the command that creates missing tables, such as the server.
func lookAtDatabase(ctx context.Context, url, maker string, now func() time.Time) checkedDatabase {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	pending, err := postgres.Pending(ctx, url)
	database := checkFinding("the database "+postgres.Redacted(url), err)
	if err != nil {
		return checkedDatabase{Findings: []serve.Finding{database}, Fault: err}
	}
	if pending > 0 {
		database.Message = maker + " makes its tables, or brings them up to date, when it starts"
	}
	out := checkedDatabase{Findings: []serve.Finding{database}}
	ahead, err := postgres.Ahead(ctx, url, now)
	if problem := clockProblem(ahead); err != nil {
		out.Findings = append(out.Findings, checkFinding("the clock", err))
	} else if problem != "" {
		out.Findings = append(out.Findings, serve.Finding{What: "the clock", State: serve.StateMissing, Message: problem})
	}
	q, err := queue.Open(ctx, url)
	if err != nil {
		out.Fault = err
		return out
	}
	defer q.Close()
	out.Workers, out.Fault = q.Workers(ctx)
	return out
}
