package main

import (
	"context"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/requirement"
	"github.com/gavel-evals/gavel/controller/snapshot"
	"github.com/gavel-evals/gavel/reporters/document"
	"github.com/gavel-evals/gavel/reporters/sarif"
	"github.com/gavel-evals/gavel/reporters/terminal"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

func (a *app) validateCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check every definition and say what to write instead",
		Args:  noArgs,
		Example: `  gavel validate
  gavel validate --strict
  gavel validate --format sarif > gavel.sarif`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.json {
				if cmd.Flags().Changed("format") && format != "json" {
					return usageError("--json and --format %s contradict each other; leave one of them out", format)
				}
				format = "json"
			}
			return a.validate(cmd.Context(), format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "how to print: text, json, sarif or github, such as sarif")
	return cmd
}

func (a *app) validate(ctx context.Context, format string) error {
	if !slices.Contains([]string{"text", "json", "sarif", "github"}, format) {
		return usageError("--format %q is not known; write one of text, json, sarif, github", format)
	}
	w, err := a.workspace()
	if err != nil {
		return err
	}
	defer w.close()
	cfg, problems, err := a.ownConfig(w)
	if err != nil {
		return err
	}
	found, err := a.definitions(ctx, w, cfg)
	if err != nil {
		return err
	}
	own := found.Problems()
	if schema.HasErrors(problems) { // the folder of definitions is unknown
		own = slices.DeleteFunc(slices.Clone(own), func(p schema.Problem) bool { return p.Rule == "missing-folder" })
	}
	needs := requirement.Of(w.files, a.configFile, cfg, a.lookupEnv)
	out := document.NewValidation(found.Definitions, a.strictly(slices.Concat(problems, own, needs.Validation(found, problems))))
	out.Notes = append(out.Notes, requirement.History(w.repo)...)
	if err := a.render(w.files, format, out); err != nil {
		return err
	}
	if out.Summary.Errors > 0 {
		return &exitError{code: exitUsage}
	}
	return nil
}

// definitions are those of the working tree. Before the first commit nothing is
// remembered.
func (a *app) definitions(ctx context.Context, w *workspace, cfg *config.Config) (*load.Snapshot, error) {
	known, err := a.worktreeSnapshot(ctx, w, cfg, snapshot.Notes{})
	if known != nil || err != nil {
		return known, err
	}
	return load.Scan(ctx, w.files, load.Options{Settings: cfg.Settings()})
}

// strictly makes errors of warnings and notes under --strict.
func (a *app) strictly(problems []schema.Problem) []schema.Problem {
	for i := range problems {
		if a.strict {
			problems[i].Severity = schema.Error
		}
	}
	return problems
}

func (a *app) render(files fs.FS, format string, out document.Validation) error {
	switch format {
	case "json":
		return a.print(out)
	case "sarif":
		return sarif.Write(a.stdout, out.Problems)
	case "github":
		return terminal.Annotations(a.stdout, out.Problems)
	}
	return terminal.Validated(a.stdout, out, terminal.Source(files), terminal.For(a.stdout, a.lookupEnv))
}

// printProblems shows problems before an error that ends the command.
func (a *app) printProblems(files fs.FS, problems []schema.Problem) error {
	return terminal.Problems(a.stderr, document.Causes(problems), terminal.Source(files), terminal.For(a.stderr, a.lookupEnv))
}
