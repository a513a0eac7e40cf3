package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/cmd/internal/setup"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// newCommand is gavel new.
func newCommand(a *App) *cobra.Command {
	var c setup.Case
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write one test, without changing a file that exists",
		Example: `  gavel new refund-window --input "How long can I return a helmet?" --contains "30 days"
  gavel new support/level_1/refund --format domain
  gavel new returns/angry --format testcase`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("new takes the name of one case, such as refunds/window")
			}
			c.Key = args[0]
			return newCase(cmd.Context(), a, c)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.Format, "format", "", "format of the test, such as domain: evalcase, domain, testcase or promptval (default: that of the other tests, else evalcase)")
	flags.StringVar(&c.Input, "input", "", `the user's message, such as "How long can I return a helmet?"`)
	flags.StringVar(&c.Contains, "contains", "", `a text that the answer contains, such as "30 days"`)
	flags.StringVar(&c.Outcome, "outcome", "", `what a good answer is, in words, such as "It names the deadline."`)
	flags.StringVar(&c.Target, "target", "", "the target of gavel.yaml that the test is for, such as small (default: default_target)")
	return cmd
}

// writtenCase is the JSON output of gavel new.
type writtenCase struct {
	setup.Written
	// Key names the case on the command line.
	Key string `json:"key"`
}

func newCase(ctx context.Context, a *App, c setup.Case) error {
	return a.WithWorkspace(func(w *workspace) error {
		cfg, problems, err := a.OwnConfig(w)
		if err != nil {
			return err
		}
		if schema.HasErrors(problems) {
			if err := a.PrintProblems(w.Files, problems); err != nil {
				return err
			}
			return usageError("%s is invalid", a.ConfigFile)
		}
		settings := cfg.Settings()
		folder, key := splitPath(settings.Definitions, c.Key)
		c.Key = key
		if err := complete(ctx, a, w, cfg, &c); err != nil {
			return err
		}
		if mistake := c.Mistake(); mistake != "" {
			return usageError("%s", mistake)
		}
		files := c.Files(folder)
		definition := files[0]
		if c.Format == schema.DialectDomain {
			definition = files[1]
		}
		if taken := exists(w.Files, definition.Path); taken != "" {
			return usageError("%s exists and is not changed; give the case another name", taken)
		}
		out := writtenCase{Key: c.Key}
		if out.Written, err = setup.WriteFiles(w.Repo.Root(), files); err != nil {
			return err
		}
		return a.PrintOr(out, caseText(out, definition.Path))
	})
}

// splitPath removes the folder of definitions and an extension from a name in the form
// of a path.
func splitPath(folders []string, name string) (folder, key string) {
	folder = folders[0]
	for _, f := range folders {
		if below, is := strings.CutPrefix(path.Clean(name), path.Clean(f)+"/"); is {
			folder, name = f, below
		}
	}
	for _, ext := range []string{".yaml", ".yml", ".json"} {
		name = strings.TrimSuffix(name, ext)
	}
	return path.Clean(folder), name
}

// complete sets the format and the target, and checks them.
func complete(ctx context.Context, a *App, w *workspace, cfg *config.Config, c *setup.Case) error {
	settings := cfg.Settings()
	if c.Format == "" {
		found, err := load.Scan(ctx, w.Files, load.Options{Settings: settings})
		if err != nil {
			return err
		}
		c.Format = usualFormat(found, c.Key)
	}
	var err error
	if c.Format, err = setup.ParseFormat(c.Format); err != nil {
		return explained(err)
	}
	if c.Target != "" {
		if _, _, problem := settings.FindTarget(c.Target); problem != nil {
			return usageError("--target: %s; %s", problem.Message, problem.Hint)
		}
	}
	c.Agent = cmp.Or(cfg.DefaultTarget, "agent")
	c.Editor = exists(w.Files, ".vscode/gavel/"+c.Format+".json") != ""
	return nil
}

// usualFormat returns the format of a new case: its folder's, else that of most
// definitions; empty without any. The evals of skills are none of them.
func usualFormat(found *load.Snapshot, key string) string {
	if (setup.Case{Format: schema.DialectDomain, Key: key}).Mistake() == "" {
		return schema.DialectDomain
	}
	counts, most := map[string]int{}, ""
	for d := range found.Definitions {
		if d.Dialect == "" || d.Dialect == schema.DialectDomain || d.Dialect == schema.DialectSkill {
			continue
		}
		if counts[d.Dialect]++; counts[d.Dialect] > counts[most] {
			most = d.Dialect
		}
	}
	return most
}

// exists returns the path of a file with the same key, or an empty string.
func exists(fsys fs.FS, file string) string {
	stem := strings.TrimSuffix(file, path.Ext(file))
	for _, ext := range []string{".yaml", ".yml", ".json", ".jsonl", ".cue"} {
		if _, err := fs.Stat(fsys, stem+ext); err == nil {
			return stem + ext
		}
	}
	return ""
}

// caseText describes the result for people.
func caseText(out writtenCase, definition string) string {
	var b strings.Builder
	for _, f := range out.Written.Written {
		fmt.Fprintf(&b, "Wrote %s: %s\n", f.Path, f.About)
	}
	fmt.Fprintf(&b, "\nNext:\n  gavel run %s\n", definition)
	return b.String()
}
