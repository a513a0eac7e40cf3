package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/terminal"
	"github.com/gavel-evals/gavel/schema"
)

// Print prints the documented JSON shape of a result.
func (a *App) Print(v any) error {
	if r, is := v.(*report.Report); is {
		return reporters.WriteReport(a.Stdout, r)
	}
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// PrintOr prints a result as JSON or as text.
func (a *App) PrintOr(result any, text string) error {
	if a.JSON {
		return a.Print(result)
	}
	_, err := io.WriteString(a.Stdout, text)
	return err
}

// Note prints a line to standard error.
func (a *App) Note(line string) { fmt.Fprintf(a.Stderr, "gavel: %s\n", line) }

// Env returns the value of an environment variable, or an empty string.
func (a *App) Env(name string) string {
	v, ok := a.LookupEnv(name)
	if !ok {
		return ""
	}
	return v
}

// Strictly turns warnings and notes into errors under --strict.
func (a *App) Strictly(problems []schema.Problem) []schema.Problem {
	for i := range problems {
		if a.Strict {
			problems[i].Severity = schema.Error
		}
	}
	return problems
}

// PrintProblems prints problems before an error that ends the command.
func (a *App) PrintProblems(files fs.FS, problems []schema.Problem) error {
	return terminal.Problems(a.Stderr, reporters.Causes(problems), terminal.Source(files), terminal.OptionsFor(a.Stderr, a.LookupEnv))
}

// PrintPrevented prints the problems of a plan that is to be carried out, and returns an
// error if some of them prevent it.
func (a *App) PrintPrevented(files fs.FS, prepared *controller.Prepared, problems []schema.Problem) error {
	why := prepared.PreventingProblems(problems)
	shown := slices.Clone(problems)
	for i := range shown {
		for _, p := range why {
			if p.Position == shown[i].Position && p.Rule == shown[i].Rule {
				shown[i] = p
			}
		}
	}
	if err := a.PrintProblems(files, shown); err != nil || len(why) == 0 {
		return err
	}
	return usageError("nothing was judged")
}

// PrintReport prints the results of a run.
func (a *App) PrintReport(report *report.Report) error {
	if a.JSON {
		return a.Print(report)
	}
	options := terminal.OptionsFor(a.Stdout, a.LookupEnv)
	options.Verbose = a.Verbose
	return terminal.Report(a.Stdout, report, options)
}
