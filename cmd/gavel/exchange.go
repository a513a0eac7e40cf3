package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/cmd/internal/evonic"
	"github.com/gavel-evals/gavel/cmd/internal/setup"
	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/safefile"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// importCommand is gavel import.
func importCommand(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "import",
		Short:   "Write definitions from a document of another tool",
		Example: `  gavel import evonic tests_backup.json`,
		Args:    oneOfItsCommands,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "evonic FILE",
		Short: "Write the tests of an export document of Evonic as definitions",
		Example: `  gavel import evonic tests_backup.json
  gavel import evonic tests_backup.json --json | jq '.losses'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("import evonic takes one file, such as tests_backup.json")
			}
			return importEvonic(cmd.Context(), a, args[0])
		},
	})
	return cmd
}

// An importResult is the JSON output of import.
type importResult struct {
	setup.Written
	// Losses could not be converted, Problems are in the written files.
	Losses   []evonic.Loss    `json:"losses"`
	Problems []schema.Problem `json:"problems"`
}

// maxDocument bounds the size of a document in bytes.
const maxDocument = 256 << 20

func importEvonic(ctx context.Context, a *App, file string) error {
	info, err := os.Stat(a.Path(file))
	switch {
	case err != nil:
		return usageError("%w", err)
	case info.IsDir() || info.Size() > maxDocument:
		return usageError("%s is a folder, or larger than 256 MiB: name an export document of Evonic", file)
	}
	data, err := os.ReadFile(a.Path(file))
	if err != nil {
		return err
	}
	return a.WithWorkspace(func(w *workspace) error {
		cfg, _, err := a.OwnConfig(w)
		if err != nil {
			return err
		}
		settings := cfg.Settings()
		files, losses, err := evonic.Import(data, path.Clean(settings.Definitions[0]))
		if err != nil {
			return usageError("%s: %w", file, err)
		}
		out := importResult{Losses: slices.Concat([]evonic.Loss{}, losses), Problems: []schema.Problem{}}
		if out.Written, err = setup.WriteFiles(w.Repo.Root(), files); err != nil {
			return err
		}
		found, err := load.Scan(ctx, w.Files, load.Options{Settings: settings})
		if err != nil {
			return err
		}
		for _, p := range found.Problems() {
			if p.Severity != schema.Note && slices.ContainsFunc(files, func(f setup.File) bool { return f.Path == p.File }) {
				out.Problems = append(out.Problems, p)
			}
		}
		if a.JSON {
			return a.Print(out)
		}
		fmt.Fprint(a.Stdout, out.text(file))
		return a.PrintProblems(w.Files, out.Problems)
	})
}

// text describes the import for people.
func (out *importResult) text(file string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Wrote %s\n", counted(len(out.Written.Written), "file"))
	for _, f := range out.Kept {
		fmt.Fprintf(&b, "Kept %s, which existed\n", f.Path)
	}
	if len(out.Losses) > 0 {
		fmt.Fprintf(&b, "\n%s of %s could not be carried over:\n", counted(len(out.Losses), "part"), file)
	}
	for _, l := range out.Losses {
		fmt.Fprintf(&b, "  %s\n", l)
	}
	if len(out.Problems) > 0 {
		fmt.Fprintf(&b, "\n%s in what was written, see below\n", counted(len(out.Problems), "problem"))
	}
	b.WriteString("\nNext:\n  gavel validate  check the definitions\n  gavel plan      see which tests would be judged\n")
	return b.String()
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// exportCommand is gavel export.
func exportCommand(a *App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print the definitions of the domain format as an export document of Evonic",
		Args:  noArgs,
		Example: `  gavel export > tests_backup.json
  gavel export --output tests_backup.json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return export(cmd.Context(), a, output) },
	}
	cmd.Flags().StringVar(&output, "output", "", "write the document to this file, such as tests_backup.json (default: stdout)")
	return cmd
}

func export(ctx context.Context, a *App, output string) error {
	return a.WithWorkspace(func(w *workspace) error {
		cfg, _, err := a.OwnConfig(w)
		if err != nil {
			return err
		}
		settings := cfg.Settings()
		found, err := load.Scan(ctx, w.Files, load.Options{Settings: settings})
		if err != nil {
			return err
		}
		var files []string
		others := map[string]int{}
		for d := range found.Definitions {
			switch d.Dialect {
			case schema.DialectDomain:
				files = append(files, d.File)
			case "":
			default:
				others[d.Dialect] += d.Cases
			}
		}
		now := clock.Or(a.Clock).Now
		doc, losses, err := evonic.Export(w.Files, settings.Definitions, files, now())
		if err != nil {
			return err
		}
		for _, l := range losses {
			a.Note("not exported: " + l.File + ": " + l.String())
		}
		for _, dialect := range slices.Sorted(maps.Keys(others)) {
			if n := others[dialect]; n > 0 {
				a.Note(fmt.Sprintf("not exported: %s of the %s format, which Evonic does not have", counted(n, "case"), dialect))
			}
		}
		if output == "" {
			_, err = a.Stdout.Write(doc)
			return err
		}
		return safefile.WriteFile(a.Path(output), doc, 0o644)
	})
}
