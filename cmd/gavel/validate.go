package main

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/reporters/phrase"
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
				format = "json"
			}
			return a.validate(cmd.Context(), format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "how to print: text, json, sarif or github")
	return cmd
}

// validated is the shape of validate --json.
type validated struct {
	Definitions []definitionRow  `json:"definitions"`
	Problems    []schema.Problem `json:"problems"`
	Summary     validatedSummary `json:"summary"`
	Notes       []string         `json:"notes"`
}

type definitionRow struct {
	File    string `json:"file"`
	Dialect string `json:"dialect"`
	Cases   int    `json:"cases"`
}

type validatedSummary struct {
	Definitions int `json:"definitions"`
	Cases       int `json:"cases"`
	Errors      int `json:"errors"`
	Warnings    int `json:"warnings"`
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
	cfg, problems, _, err := a.readConfig(w.files)
	if err != nil {
		return err
	}
	found, err := a.definitions(ctx, w, cfg)
	if err != nil {
		return err
	}
	out := summarise(found, problems, a.strict)
	if err := a.render(w.files, format, out); err != nil {
		return err
	}
	if out.Summary.Errors > 0 {
		return &exitError{code: exitUsage}
	}
	return nil
}

// definitions are those of the working tree: what is remembered of HEAD's,
// with the files that differ from them loaded again.
func (a *app) definitions(ctx context.Context, w *workspace, cfg *config.Config) (*load.Snapshot, error) {
	settings := cfg.Settings()
	head, err := w.repo.Resolve(ctx, "HEAD")
	if err != nil { // a repository without a commit
		return load.Scan(ctx, w.files, settings)
	}
	files, err := w.repo.FS(head)
	if err != nil {
		return nil, err
	}
	was, err := a.snapshot(ctx, w, controller.State{Commit: head, FS: files, Config: cfg})
	if err != nil {
		return nil, err
	}
	changed, err := w.repo.ChangedWork(ctx, head, slices.Concat(load.Folders(settings), was.Outside(settings)))
	if err != nil || len(changed) == 0 {
		return was, err
	}
	change, err := was.Update(ctx, w.files, settings, changed)
	if err != nil {
		return nil, err
	}
	return change.Snapshot(), nil
}

// summarise counts. Under --strict warnings and notes are errors.
func summarise(found *load.Snapshot, problems []schema.Problem, strict bool) validated {
	out := validated{Definitions: []definitionRow{}, Problems: []schema.Problem{}, Notes: []string{}}
	for d := range found.Definitions {
		out.Definitions = append(out.Definitions, definitionRow{d.File, d.Dialect, d.Cases})
		out.Summary.Cases += d.Cases
	}
	for _, p := range slices.Concat(problems, found.Problems()) {
		switch {
		case strict:
			p.Severity = schema.Error
		case p.Severity == schema.Note:
			out.Notes = append(out.Notes, p.Message)
			continue
		}
		out.Problems = append(out.Problems, p)
		if p.Severity == schema.Error {
			out.Summary.Errors++
		} else {
			out.Summary.Warnings++
		}
	}
	out.Problems = schema.SortProblems(out.Problems)
	out.Summary.Definitions = len(out.Definitions)
	return out
}

func (a *app) render(files fs.FS, format string, out validated) error {
	switch format {
	case "json":
		return a.print(out)
	case "sarif":
		return sarif.Write(a.stdout, out.Problems)
	case "github":
		return terminal.Annotations(a.stdout, out.Problems)
	}
	if err := a.writeProblems(files, out.Problems); err != nil {
		return err
	}
	for _, n := range out.Notes {
		fmt.Fprintln(a.stdout, n)
	}
	s := out.Summary
	_, err := fmt.Fprintf(a.stdout, "%s, %s, %s, %s\n", phrase.Count(s.Definitions, "definition"),
		phrase.Count(s.Cases, "case"), phrase.Count(s.Errors, "error"), phrase.Count(s.Warnings, "warning"))
	return err
}

// printProblems shows problems on stderr, before an error that ends the
// command.
func (a *app) printProblems(files fs.FS, problems []schema.Problem) error {
	b := *a
	b.stdout = a.stderr
	return b.writeProblems(files, problems)
}

func (a *app) writeProblems(files fs.FS, problems []schema.Problem) error {
	width, isTerminal := screen(a.stdout)
	return terminal.Problems(a.stdout, problems, sourceLines(files), terminal.Options{Width: width, Color: isTerminal && a.colour()})
}

// sourceLines reads the line that a problem points to.
func sourceLines(files fs.FS) func(file string, line int) (string, bool) {
	cache := map[string][]string{}
	return func(file string, line int) (string, bool) {
		lines, ok := cache[file]
		if !ok {
			// Without its source a problem is shown without it.
			data, _ := fs.ReadFile(files, file)
			lines = strings.Split(string(data), "\n")
			cache[file] = lines
		}
		if line < 1 || line > len(lines) {
			return "", false
		}
		return lines[line-1], true
	}
}

// colour follows the NO_COLOR convention.
func (a *app) colour() bool {
	return a.env("NO_COLOR") == ""
}
