package main

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/snapshot"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/files"
	"github.com/gavel-evals/gavel/reporters/terminal"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

func validateCommand(a *App) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "validate [PATH...]",
		Short: "Check every definition and say what to write instead",
		Example: `  gavel validate
  gavel validate test_definitions/refund.yaml
  gavel validate --strict
  gavel validate --format sarif > gavel.sarif`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.JSON {
				if cmd.Flags().Changed("format") && format != "json" {
					return usageError("--json and --format %s contradict each other; leave one of them out", format)
				}
				format = "json"
			}
			return validateDefinitions(cmd.Context(), a, format, args)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "how to print: text, json, sarif or github, such as sarif")
	return cmd
}

// noCases is the advice if there is nothing to judge.
const noCases = "no definition was found: gavel init writes the first tests, and gavel new NAME another one"

// validateDefinitions prints the mistakes in the files that paths name or in all.
func validateDefinitions(ctx context.Context, a *App, format string, paths []string) error {
	if !slices.Contains([]string{"text", "json", "sarif", "github"}, format) {
		return usageError("--format %q is not known; write one of text, json, sarif, github", format)
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
	needs := controller.FindRequirement(w.Files, a.ConfigFile, cfg, a.LookupEnv)
	only, err := selectFiles(a, w, found, paths)
	if err != nil {
		return err
	}
	stale, err := staleQuarantine(ctx, a, w, cfg)
	if err != nil {
		return err
	}
	unmatched, err := controller.UnmatchedGlobs(ctx, w.Files, a.ConfigFile)
	if err != nil {
		return err
	}
	own = slices.Concat(own, stale, unmatched)
	all := slices.DeleteFunc(slices.Concat(own, needs.Validation(found, problems)), func(p schema.Problem) bool { return !only(p.File) })
	out := reporters.NewValidation(func(yield func(load.FileSummary) bool) {
		found.Definitions(func(d load.FileSummary) bool { return !only(d.File) || yield(d) })
	}, a.Strictly(slices.Concat(problems, all)))
	out.Notes = append(out.Notes, controller.HistoryProblems(w.Repo)...)
	if found.Totals().Definitions == 0 && out.Summary.Errors == 0 {
		out.Notes = append(out.Notes, noCases)
	}
	if said := elsewhere(w.Files, cfg); said != "" && found.Totals().Definitions > 0 && len(paths) == 0 {
		out.Notes = append(out.Notes, said)
	}
	if err := render(a, w.Files, format, out); err != nil {
		return err
	}
	if out.Summary.Errors > 0 {
		return &exitError{Code: ExitUsage}
	}
	return nil
}

// elsewhere returns a note about files of other tools that are not read.
func elsewhere(files fs.FS, cfg *config.Config) string {
	return load.Elsewhere(files, slices.Concat(cfg.Definitions, cfg.RootFiles)...)
}

// staleQuarantine returns entries of the quarantine that have ended, or name no case, and
// pass shares of no case.
func staleQuarantine(ctx context.Context, a *App, w *workspace, cfg *config.Config) ([]schema.Problem, error) {
	if len(cfg.Quarantine)+len(cfg.PassShares) == 0 {
		return nil, nil
	}
	loaded, err := load.Load(ctx, w.Files, load.Options{Settings: cfg.Settings(), Maker: a.Maker()})
	if err != nil {
		return nil, err
	}
	var keys []string
	names := []string{}
	for _, c := range loaded.Cases {
		keys = append(keys, c.Key)
		names = append(names, c.Key, c.Key+" @ "+c.Target)
	}
	return append(cfg.StaleQuarantine(names, time.Now()), cfg.StalePassShares(keys)...), nil
}

// selectFiles returns a function that selects the files of paths; without paths all
// files, and gavel.yaml. A path without definitions is a usage error.
func selectFiles(a *App, w *workspace, found *load.Snapshot, paths []string) (func(file string) bool, error) {
	globs, folder := a.Named(w, paths)
	for i, glob := range globs {
		globs[i] = path.Join(folder, glob)
	}
	for i, glob := range globs {
		known := false
		found.Definitions(func(d load.FileSummary) bool {
			known = controller.MatchesFile(glob, d.File)
			return !known
		})
		known = known || slices.ContainsFunc(found.Problems(), func(p schema.Problem) bool { return controller.MatchesFile(glob, p.File) })
		if !known {
			return nil, usageError("no definition is in %s; gavel validate --json lists all files", paths[i])
		}
	}
	return func(file string) bool {
		return len(globs) == 0 || slices.ContainsFunc(globs, func(glob string) bool { return controller.MatchesFile(glob, file) })
	}, nil
}

// definitions returns the working tree's definitions. Before the first commit nothing
// is remembered.
func definitions(ctx context.Context, a *App, w *workspace, cfg *config.Config) (*load.Snapshot, error) {
	known, err := a.WorktreeSnapshot(ctx, w, cfg, snapshot.Notes{})
	if known != nil || err != nil {
		return known, err
	}
	return load.Scan(ctx, w.Files, load.Options{Settings: cfg.Settings(), Maker: a.Maker()})
}

func render(a *App, fsys fs.FS, format string, out reporters.Validation) error {
	switch format {
	case "json":
		return a.Print(out)
	case "sarif":
		return files.WriteSARIF(a.Stdout, out.Problems)
	case "github":
		return terminal.Annotations(a.Stdout, out.Problems)
	}
	return terminal.Validated(a.Stdout, out, terminal.Source(fsys), terminal.OptionsFor(a.Stdout, a.LookupEnv))
}
