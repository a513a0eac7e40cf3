package main

import (
	"context"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/cmd/internal/cli"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/requirement"
	"github.com/gavel-evals/gavel/controller/snapshot"
	"github.com/gavel-evals/gavel/reporters/document"
	"github.com/gavel-evals/gavel/reporters/sarif"
	"github.com/gavel-evals/gavel/reporters/terminal"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

func validateCommand(a *cli.App) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check every definition and say what to write instead",
		Args:  cli.NoArgs,
		Example: `  gavel validate
  gavel validate --strict
  gavel validate --format sarif > gavel.sarif`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.JSON {
				if cmd.Flags().Changed("format") && format != "json" {
					return cli.UsageError("--json and --format %s contradict each other; leave one of them out", format)
				}
				format = "json"
			}
			return validateDefinitions(cmd.Context(), a, format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "how to print: text, json, sarif or github, such as sarif")
	return cmd
}

// noCases says what to do where there is nothing to judge.
const noCases = "no definition was found: gavel init writes the first tests, and gavel new NAME another one"

func validateDefinitions(ctx context.Context, a *cli.App, format string) error {
	if !slices.Contains([]string{"text", "json", "sarif", "github"}, format) {
		return cli.UsageError("--format %q is not known; write one of text, json, sarif, github", format)
	}
	w, err := a.Workspace()
	if err != nil {
		return err
	}
	defer w.Close()
	cfg, problems, err := a.OwnConfig(w)
	if err != nil {
		return err
	}
	found, err := definitions(ctx, a, w, cfg)
	if err != nil {
		return err
	}
	own := found.Problems()
	if schema.HasErrors(problems) { // the folder of definitions is unknown
		own = slices.DeleteFunc(slices.Clone(own), func(p schema.Problem) bool { return p.Rule == "missing-folder" })
	}
	needs := requirement.Of(w.Files, a.ConfigFile, cfg, a.LookupEnv)
	out := document.NewValidation(found.Definitions, a.Strictly(slices.Concat(problems, own, needs.Validation(found, problems))))
	out.Notes = append(out.Notes, requirement.History(w.Repo)...)
	if found.Totals().Definitions == 0 && out.Summary.Errors == 0 {
		out.Notes = append(out.Notes, noCases)
	}
	if err := render(a, w.Files, format, out); err != nil {
		return err
	}
	if out.Summary.Errors > 0 {
		return &cli.ExitError{Code: cli.ExitUsage}
	}
	return nil
}

// definitions are those of the working tree. Before the first commit nothing is
// remembered.
func definitions(ctx context.Context, a *cli.App, w *cli.Workspace, cfg *config.Config) (*load.Snapshot, error) {
	known, err := a.WorktreeSnapshot(ctx, w, cfg, snapshot.Notes{})
	if known != nil || err != nil {
		return known, err
	}
	return load.Scan(ctx, w.Files, load.Options{Settings: cfg.Settings()})
}

func render(a *cli.App, files fs.FS, format string, out document.Validation) error {
	switch format {
	case "json":
		return a.Print(out)
	case "sarif":
		return sarif.Write(a.Stdout, out.Problems)
	case "github":
		return terminal.Annotations(a.Stdout, out.Problems)
	}
	return terminal.Validated(a.Stdout, out, terminal.Source(files), terminal.For(a.Stdout, a.LookupEnv))
}
