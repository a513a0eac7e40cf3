package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"time"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/files"
	"github.com/gavel-evals/gavel/reporters/html"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/reporters/terminal"
	"github.com/gavel-evals/gavel/schema"
)

// mostRows is how many cases a head of a writer may change, and mostMistakes how many
// mistakes a load lists.
const (
	mostRows     = 60_000
	mostMistakes = 100_000
)

// renderers write a report in each form.
var renderers = []struct {
	name   string
	render func(io.Writer, *report.Report) error
}{
	{"no form", func(io.Writer, *report.Report) error { return nil }},
	{"comment", func(w io.Writer, r *report.Report) error {
		_, err := io.WriteString(w, comment.Markdown(r, comment.Options{}))
		return err
	}},
	{"check run", func(w io.Writer, r *report.Report) error {
		_, err := fmt.Fprint(w, comment.NewCheck(r), comment.GroupStatuses(r))
		return err
	}},
	{"HTML", func(w io.Writer, r *report.Report) error { return html.Write(w, r, html.Options{}) }},
	{"JUnit", files.WriteJUnit},
	{"terminal", func(w io.Writer, r *report.Report) error {
		return terminal.Report(w, r, terminal.Options{Verbose: true})
	}},
	{"results of AgentV", func(w io.Writer, r *report.Report) error {
		return errors.Join(files.WriteAgentEvals(w, r, time.Unix(0, 0)), files.WriteAgentEvalsSummary(w, r, time.Unix(0, 0)))
	}},
	{"results of promptfoo", func(w io.Writer, r *report.Report) error { return files.WritePromptfoo(w, r, time.Unix(0, 0)) }},
	{"JSON", reporters.WriteReport},
	{"SARIF", func(w io.Writer, _ *report.Report) error { return files.WriteSARIF(w, mistakes()) }},
	{"mistakes on a terminal", func(w io.Writer, _ *report.Report) error {
		return terminal.Problems(w, mistakes(), func(string, int) (string, bool) { return "a line", true }, terminal.Options{})
	}},
}

func mistakes() []schema.Problem {
	out := make([]schema.Problem, mostMistakes)
	for i := range out {
		out[i] = schema.Problem{
			Position: schema.Position{File: fmt.Sprintf("test_definitions/%d.json", i/1000), Line: i + 1, Column: 1}, Severity: schema.Error,
			Rule: "unknown-field", Message: fmt.Sprintf("the field %d is unknown", i), Hint: "remove it",
		}
	}
	return out
}

// rendered makes a separate process render the most rows in each form.
func (t *trial) rendered(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var errs []error
	for _, form := range renderers {
		cmd := exec.CommandContext(ctx, self, "-render", form.name)
		start := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("render %s: %w: %s", form.name, err, bytes.TrimSpace(out)))
			continue
		}
		errs = append(errs, t.measured("report of "+fmt.Sprint(mostRows)+" cases: "+form.name, time.Since(start), tookOf(cmd.ProcessState)))
	}
	return errors.Join(errs...)
}

// changedCases is a report with the most cases. It is made in parts, since making a
// part takes more memory than the part.
func changedCases() *report.Report {
	const parts = 20
	var whole *report.Report
	for range parts {
		r := report.Compare(reporttest.ChangedCases(mostRows / parts).In)
		if whole == nil {
			whole = r
			continue
		}
		whole.Cases = append(whole.Cases, r.Cases...)
	}
	for i := range whole.Cases {
		row := &whole.Cases[i]
		row.Key, row.Dialect = fmt.Sprintf("%s_%d", row.Key, i), []string{"evalcase", "matrix", "domain"}[i%3]
	}
	return whole
}

// renderForm renders one form into nothing.
func renderForm(name string) error {
	debug.SetGCPercent(12) // like gavel when much memory is in use
	r := changedCases()
	debug.FreeOSMemory()
	for _, form := range renderers {
		if form.name == name {
			return form.render(io.Discard, r)
		}
	}
	return fmt.Errorf("there is no form %q", name)
}
