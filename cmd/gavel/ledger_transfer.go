package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/controller/queue"
)

// A migrateResult is the JSON output of ledger migrate.
type migrateResult struct {
	// Ledger is the file, or the address of the database without its password.
	Ledger string `json:"ledger"`
}

func (c ledgerApp) migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "migrate", Short: "Make the tables of the ledger, or bring them up to date", Args: noArgs,
		Long: `Make the tables of the ledger, or bring them up to date; in a PostgreSQL database also
those by which gavel worker gets its cases.

Every command that writes does so by itself. This one is for a database in which only
some roles may make tables.`,
		Example: "  GAVEL_DATABASE_URL=postgres://owner@db/gavel gavel ledger migrate",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.Anywhere(cmd.Context(), c.WithLedger, func(ctx context.Context, _ *workspace, store *ledger.Ledger) error {
				name := store.Store().Path()
				if url := c.Env(databaseVariable); postgres.IsURL(name) && postgres.IsURL(url) {
					if err := migrateQueue(ctx, url); err != nil {
						return err
					}
				}
				return c.PrintOr(migrateResult{name}, "the tables are up to date: "+name+"\n")
			})
		},
	}
}

// migrateQueue creates the tables of the workers' queue.
func migrateQueue(ctx context.Context, url string) error {
	q, err := queue.Open(ctx, url)
	if err != nil {
		return err
	}
	defer q.Close()
	return q.Migrate(ctx)
}

func (c ledgerApp) copyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "copy FILE", Short: "Copy a ledger's file into the PostgreSQL database of " + databaseVariable,
		Long: `Copy all that a ledger's file has into the PostgreSQL database of ` + databaseVariable + `,
which must not have entries yet. The file stays as it is. Let nothing write to either of
them meanwhile.`,
		Example: `  GAVEL_DATABASE_URL=postgres://gavel@db/gavel gavel ledger copy .gavel/ledger.db`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("ledger copy takes the file to copy, such as %s", usualLedger)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.Env(databaseVariable) == "" {
				return usageError("ledger copy needs a database to copy into; set %s to its address, such as postgres://user:password@host/name", databaseVariable)
			}
			return c.Anywhere(cmd.Context(), c.WithLedger, func(ctx context.Context, _ *workspace, to *ledger.Ledger) error {
				from, err := ledger.Read(ctx, ledger.Config{Path: c.Path(args[0])})
				if err != nil {
					return err
				}
				copied, err := ledger.Copy(ctx, from, to)
				if closed := from.Close(); err == nil {
					err = closed
				}
				if err != nil {
					return err
				}
				return c.PrintOr(copied, copied.Text())
			})
		},
	}
}
