package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/explain"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/reporters/files"
	"github.com/gavel-evals/gavel/reporters/html"
	"github.com/gavel-evals/gavel/schema"
)

// runFlags are the flags of run except the selection.
type runFlags struct {
	selection
	record, junit, markdown, html string
	results, resultsForm, summary string
}

func runCommand(a *App) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:        "run [KEY-GLOB|PATH...]",
		SuggestFor: []string{"test", "tests", "eval", "evals", "evaluate", "check"},
		Short:      "Run affected cases that have no stored verdict, and report",
		Example: `  gavel run
  gavel run test_definitions/refund.yaml
  gavel run --base main 'support/**'
  gavel run --base main --html report.html --junit report.xml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Keys, f.DueOnly = args, f.record == "" // a recording needs all cases
			return a.WithLedger(cmd.Context(), func(ctx context.Context, w *workspace, store *ledger.Ledger) error {
				return runCases(ctx, a, w, store, f)
			})
		},
	}
	f.Bind(cmd)
	f.BindLift(cmd)
	a.Sandbox.Bind(cmd)
	cmd.Flags().BoolVarP(&a.Verbose, "verbose", "v", false, "also list the cases that pass")
	cmd.Flags().StringVar(&f.record, "record", "", "record the replies of each target for replay, into the folder recordings or, as --record=replies, into another one")
	cmd.Flags().Lookup("record").NoOptDefVal = "recordings"
	cmd.Flags().StringVar(&f.junit, "junit", "", "also write JUnit XML to this file, such as report.xml")
	cmd.Flags().StringVar(&f.markdown, "markdown", "", "also write the comment that a pull request would get to this file, such as comment.md")
	cmd.Flags().StringVar(&f.html, "html", "", "also write the report as one page for a browser to this file, such as report.html")
	cmd.Flags().StringVar(&f.results, "results", "", "also write a line of JSON for each case of the evalcase format to this file, such as results.jsonl, or with --results-format promptfoo the output of promptfoo for the cases of promptfooconfig.yaml, or with skill a folder with benchmark.json and grading.json of each skill")
	cmd.Flags().StringVar(&f.resultsForm, "results-format", files.FormatAgentEvals, "write --results in this form: "+files.FormatAgentEvals+", "+files.FormatPromptfoo+" or "+files.FormatSkill)
	cmd.Flags().StringVar(&f.summary, "summary", "", "also write the summary of these results to this file, such as summary.json")
	return cmd
}

func runCases(ctx context.Context, a *App, w *workspace, store *ledger.Ledger, f runFlags) error {
	if f.resultsForm == "agentv" { // every line has the names, too
		f.resultsForm = files.FormatAgentEvals
	}
	if forms := []string{files.FormatAgentEvals, files.FormatPromptfoo, files.FormatSkill}; !slices.Contains(forms, f.resultsForm) {
		return usageError("--results-format is %q; write %s, %s or %s", f.resultsForm, forms[0], forms[1], forms[2])
	}
	prepared, err := a.Local(ctx, w, store, f.selection)
	if err != nil {
		return err
	}
	if err := a.PrintPrevented(w.Files, prepared, prepared.Problems); err != nil {
		return err
	}
	requested := files.WithPaths(a.Path, files.JUnit(f.junit), files.Markdown(f.markdown), files.HTML(f.html, html.Options{Subject: filepath.Base(w.Repo.Root()), At: time.Now()}, recall(context.WithoutCancel(ctx), store)), resultsFile(f), files.Summary(f.summary, time.Now))
	if err := files.Check(requested...); err != nil {
		return usageError("%w", err)
	}
	report, err := a.ExecuteRecording(ctx, prepared, f.record, controller.RunOptions{
		ConfigDiff: prepared.ConfigChange(), Results: f.results+f.summary != "", Power: true,
	})
	if report == nil {
		return err
	}
	if a.JSON {
		err = errors.Join(err, explain.AddIdentities(context.WithoutCancel(ctx), w.Repo, report.Cases, prepared.Plan, prepared.Head().Config.Settings()))
	}
	if f.results != "" && f.resultsForm != files.FormatAgentEvals {
		err = errors.Join(err, addSources(context.WithoutCancel(ctx), prepared.Head(), report))
	}
	// The verdict is paid for: it is printed even if the files fail.
	err = errors.Join(err, a.PrintReport(report), printSaid(context.WithoutCancel(ctx), a, prepared, report), files.Write(report, requested...))
	if said := leftOut(f, report); said != "" {
		a.Note(said)
	}
	if len(report.Cases) == 0 && len(f.Keys) == 0 && !schema.HasErrors(prepared.Problems) {
		a.Note(f.noCases())
	}
	if said := elsewhere(w.Files, prepared.Head().Config); said != "" && len(report.Cases) > 0 && len(f.Keys) == 0 {
		a.Note(said)
	}
	switch {
	case ctx.Err() != nil:
		if err != nil {
			a.Note(err.Error())
		}
		return errInterrupted
	case err != nil:
		return &exitError{Code: max(ExitInternal, report.ExitCode()), Err: err}
	}
	return exitOf(report.ExitCode())
}
