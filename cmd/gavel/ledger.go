package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/recovery"
	"github.com/gavel-evals/gavel/controller/target/secret"
	"github.com/gavel-evals/gavel/controller/upkeep"
	"github.com/gavel-evals/gavel/controller/verdict"
)

func (a *app) ledgerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "Look into what was judged before, and keep it small",
		Example: `  gavel ledger stats                       how much was reused, and what that saved
  gavel ledger verify                      whether every verdict follows from its samples
  gavel ledger gc --max-age 90d          remove what is older and not needed`,
		Args: oneOfItsCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	add := func(name, short, example string, do use) {
		cmd.AddCommand(&cobra.Command{
			Use: name, Short: short, Example: example, Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.withStored(cmd.Context(), a.withRead, do) },
		})
	}
	add("verify", "Check the file, and that verdicts follow from their samples", `  gavel ledger verify
  gavel ledger verify --json | jq '.faults'`, a.verifyLedger)
	add("export", "Print every entry as one JSON object a line", `  gavel ledger export > ledger.jsonl
  gavel ledger export | jq 'select(.type == "verdict") | .decision.result.verdict'`, a.exportLedger)
	add("stats", "Count the entries, what was reused, and what that saved", `  gavel ledger stats
  gavel ledger stats --json | jq '.reuse_rate'`, a.ledgerStats)
	cmd.AddCommand(a.gcCommand())
	return cmd
}

// A use is what a command does with a repository and its ledger.
type use = func(context.Context, *workspace, *ledger.Ledger) error

// withLedger opens the repository with its ledger, which is made where it is
// missing.
func (a *app) withLedger(ctx context.Context, do use) error {
	return a.within(func(w *workspace) error {
		path, err := a.ledgerPath(ctx, w)
		if err != nil {
			return err
		}
		return recovery.Use(ctx, ledger.Config{Path: path}, a.note, func(book *ledger.Ledger) error { return do(ctx, w, book) })
	})
}

// within opens the repository.
func (a *app) within(do func(*workspace) error) (err error) {
	w, err := a.workspace()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	return do(w)
}

// withRead is withLedger for what stores nothing: a ledger that cannot be
// written is only read, and a damaged one stays where it is.
func (a *app) withRead(ctx context.Context, do use) error {
	return a.within(func(w *workspace) error {
		if _, err := a.ledgerPath(ctx, w); err != nil && !recovery.IsUnwritable(err) {
			return err
		}
		return recovery.Look(ctx, ledger.Config{Path: a.ledgerAt(w)}, a.note, func(book *ledger.Ledger) error { return do(ctx, w, book) })
	})
}

// withPlan is withRead for what is planned: without a ledger that can be read,
// nothing is known.
func (a *app) withPlan(ctx context.Context, do use) error {
	err := a.withRead(ctx, do)
	if !recovery.IsBroken(err) {
		return err
	}
	return a.withNothing(ctx, fmt.Sprintf("%v; nothing is known until then", err), do)
}

// withNothing uses an empty ledger that does not stay, and says why.
func (a *app) withNothing(ctx context.Context, why string, do use) error {
	a.note(why)
	return a.within(func(w *workspace) error {
		return recovery.Without(ctx, func(book *ledger.Ledger) error { return do(ctx, w, book) })
	})
}

// withStored opens a ledger in a way where there is one. Else it says so, and
// looks at an empty one that does not stay.
func (a *app) withStored(ctx context.Context, open func(context.Context, use) error, do use) error {
	var file string
	err := a.within(func(w *workspace) error {
		file = a.ledgerAt(w)
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return open(ctx, do)
	}
	if a.ledgerFile != "" {
		return usageError("ledger %s does not exist; --ledger names the file that gavel run wrote, by default %s", file, usualLedger)
	}
	return a.withNothing(ctx, "no ledger at "+usualLedger+": nothing was judged here yet", do)
}

func (a *app) verifyLedger(ctx context.Context, w *workspace, book *ledger.Ledger) error {
	// Without a plan, the rest is verified all the same.
	redecide := ledger.Redecide(func(string, []verdict.Sample) (verdict.Result, bool) { return verdict.Result{}, false })
	prepared, unplanned := a.local(ctx, w, book, "", selection{})
	if unplanned == nil {
		redecide = prepared.Redecide
	}
	v, err := book.Verify(ctx, redecide)
	if err != nil {
		return err
	}
	if unplanned != nil {
		fmt.Fprintf(a.stderr, "gavel: no verdict was re-decided: %v\n", unplanned)
	}
	if err := a.printOr(v, upkeep.Verified(v)); err != nil {
		return err
	}
	if len(v.Faults) > 0 {
		return &exitError{code: exitGate}
	}
	return nil
}

func (a *app) exportLedger(ctx context.Context, w *workspace, book *ledger.Ledger) error {
	if cfg, _, err := a.ownConfig(w); err == nil {
		a.secrets.Add(secret.Of(slices.Collect(maps.Values(cfg.Targets)), a.lookupEnv)...)
	}
	out := bufio.NewWriter(a.stdout)
	err := book.Export(ctx, func(line json.RawMessage) error {
		_, err := out.WriteString(a.secrets.Text(string(line)) + "\n")
		return err
	})
	return errors.Join(err, out.Flush())
}

func (a *app) ledgerStats(ctx context.Context, _ *workspace, book *ledger.Ledger) error {
	totals, err := upkeep.Total(ctx, book)
	if err != nil {
		return err
	}
	return a.printOr(totals, totals.Text())
}

// printOr prints a result as JSON or as text.
func (a *app) printOr(result any, text string) error {
	if a.json {
		return a.print(result)
	}
	_, err := io.WriteString(a.stdout, text)
	return err
}
