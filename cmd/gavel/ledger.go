package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/upkeep"
	"github.com/gavel-evals/gavel/controller/verdict"
)

func (a *app) ledgerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "Look into what was judged before, and keep it small",
		Example: `  gavel ledger stats                       how much was reused, and what that saved
  gavel ledger verify                      whether every verdict follows from its samples
  gavel ledger gc --max-age 2160h          remove what is older and not needed`,
		Args: oneOfItsCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	add := func(use, short, example string, do func(context.Context, *workspace, *ledger.Ledger) error) {
		cmd.AddCommand(&cobra.Command{
			Use: use, Short: short, Example: example, Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.withStored(cmd.Context(), do) },
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

// withLedger opens the repository with its ledger, which is made where it is
// missing.
func (a *app) withLedger(ctx context.Context, do func(context.Context, *workspace, *ledger.Ledger) error) (err error) {
	w, err := a.workspace()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	book, err := a.openLedger(ctx, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, book.Close()) }()
	return do(ctx, w, book)
}

// withStored is withLedger for what only looks: where there is no ledger it says
// so, and looks at an empty one that does not stay.
func (a *app) withStored(ctx context.Context, do func(context.Context, *workspace, *ledger.Ledger) error) (err error) {
	w, err := a.workspace()
	if err != nil {
		return err
	}
	file := a.ledgerAt(w)
	if err := w.close(); err != nil {
		return err
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return a.withLedger(ctx, do)
	}
	if a.ledgerFile != "" {
		return usageError("there is no ledger %s; --ledger names the file that gavel run wrote, by default %s", file, usualLedger)
	}
	fmt.Fprintf(a.stderr, "gavel: there is no ledger at %s: nothing was judged here yet\n", usualLedger)
	dir, err := os.MkdirTemp("", "gavel-ledger-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := *a
	b.ledgerFile = filepath.Join(dir, "ledger.db")
	return b.withLedger(ctx, do)
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

func (a *app) exportLedger(ctx context.Context, _ *workspace, book *ledger.Ledger) error {
	out := bufio.NewWriter(a.stdout)
	err := book.Export(ctx, func(line json.RawMessage) error {
		_, err := out.Write(append(line, '\n'))
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
