package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/maintenance"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A ledgerApp is the command ledger with the common state of all commands.
type ledgerApp struct{ *App }

// ledgerCommand returns the command ledger.
func ledgerCommand(app *App) *cobra.Command {
	c := ledgerApp{app}
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "Inspect stored results, and keep the ledger small",
		Example: `  gavel ledger stats                       how much was reused, and what that saved
  gavel ledger verify                      whether every verdict follows from its samples
  gavel ledger gc --max-age 90d          remove what is older and not needed`,
		Args: oneOfItsCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	add := func(name, short, example string, do Use) {
		cmd.AddCommand(&cobra.Command{
			Use: name, Short: short, Example: example, Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return c.Anywhere(cmd.Context(), c.stored, do) },
		})
	}
	add("verify", "Check the file, and that verdicts follow from their samples", `  gavel ledger verify
  gavel ledger verify --json | jq '.faults'`, c.verifyLedger)
	add("export", "Print every entry as one JSON object a line", `  gavel ledger export > ledger.jsonl
  gavel ledger export | jq 'select(.type == "verdict") | .decision.result.verdict'`, c.exportLedger)
	add("stats", "Count the entries, what was reused, and what that saved", `  gavel ledger stats
  gavel ledger stats --json | jq '.reuse_rate'`, c.ledgerStats)
	cmd.AddCommand(c.gcCommand(), c.migrateCommand(), c.copyCommand())
	return cmd
}

// stored reads the ledger of a repository, if it has one.
func (c ledgerApp) stored(ctx context.Context, do Use) error {
	return c.WithStored(ctx, c.WithRead, do)
}

// errNoDefinitions is the reason why nothing is planned outside of a repository.
var errNoDefinitions = errors.New("there is no repository with definitions here")

func (c ledgerApp) verifyLedger(ctx context.Context, w *workspace, store *ledger.Ledger) error {
	// Without a plan, the rest is still verified.
	redecide := ledger.Redecide(func(string, []verdict.Sample) (verdict.Result, bool) { return verdict.Result{}, false })
	unplanned := errNoDefinitions
	if w != nil {
		var prepared *controller.Prepared
		if prepared, unplanned = c.Local(ctx, w, store, selection{}); unplanned == nil {
			redecide = prepared.Redecide
		}
	}
	v, err := store.Verify(ctx, redecide)
	if err != nil {
		return err
	}
	if unplanned != nil {
		fmt.Fprintf(c.Stderr, "gavel: no verdict was re-decided: %v\n", unplanned)
	}
	if err := c.PrintOr(v, maintenance.Verified(v)); err != nil {
		return err
	}
	if len(v.Faults) > 0 {
		return &exitError{Code: ExitGate}
	}
	return nil
}

func (c ledgerApp) exportLedger(ctx context.Context, w *workspace, store *ledger.Ledger) error {
	if w == nil { // the secret variables are unknown
		return usageError("ledger export needs a repository, whose gavel.yaml names the secrets that are left out; name one with -C")
	}
	if cfg, _, err := c.OwnConfig(w); err == nil {
		c.Secrets.Add(target.Secrets(slices.Collect(maps.Values(cfg.Targets)), c.LookupEnv)...)
	}
	out := bufio.NewWriter(c.Stdout)
	err := store.Export(ctx, func(line json.RawMessage) error {
		_, err := out.WriteString(c.Secrets.Text(string(line)) + "\n")
		return err
	})
	return errors.Join(err, out.Flush())
}

func (c ledgerApp) ledgerStats(ctx context.Context, _ *workspace, store *ledger.Ledger) error {
	totals, err := maintenance.Total(ctx, store)
	if err != nil {
		return err
	}
	return c.PrintOr(totals, totals.Text())
}
