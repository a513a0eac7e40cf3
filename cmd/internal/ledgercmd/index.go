package ledgercmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/cmd/internal/cli"
	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/caseindex"
	"github.com/gavel-evals/gavel/controller/explain"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
	"github.com/gavel-evals/gavel/schema/testcase"
)

// An IndexResult is what ledger index prints as JSON.
type IndexResult struct {
	// Repository is owner/name, empty for one without a remote.
	Repository string `json:"repository"`
	Commit     string `json:"commit"`
	TestCases  int    `json:"test_cases"`
	// Invalid is how many files with problems are left out.
	Invalid int `json:"invalid"`
}

func (c command) indexCommand() *cobra.Command {
	ref := "HEAD"
	cmd := &cobra.Command{
		Use: "index", Short: "Index the definitions of the testcase format in PostgreSQL", Args: cli.NoArgs,
		Long: `Index the definitions of the testcase format in PostgreSQL.

The table test_cases then has the cases of a commit, for those who ask with SQL: tags
are TEXT[] under a GIN index, and persona, user_context, expected_outcomes and
expected_tool_calls are JSONB. The index is replaced each time, and the rows of other
repositories stay. Gavel itself reads the definitions from git alone.`,
		Example: `  GAVEL_DATABASE_URL=postgres://gavel@db/gavel gavel ledger index
  psql gavel -c "SELECT key FROM gavel.test_cases WHERE tags @> ARRAY['red-team']"`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if url := c.Env(cli.DatabaseVariable); c.LedgerFile == "" && url == "" || c.LedgerFile != "" && !postgres.IsURL(c.LedgerFile) {
				return cli.UsageError("the index is in a PostgreSQL database; set %s to its address, such as postgres://user:password@host/name", cli.DatabaseVariable)
			}
			return c.WithLedger(cmd.Context(), func(ctx context.Context, w *cli.Workspace, store *ledger.Ledger) error {
				return c.index(ctx, w, store, ref)
			})
		},
	}
	cmd.Flags().StringVar(&ref, "ref", ref, "the commit whose definitions are indexed, such as main")
	return cmd
}

// index indexes the definitions of a commit.
func (c command) index(ctx context.Context, w *cli.Workspace, store *ledger.Ledger, ref string) error {
	if w.Repo.Unborn() {
		return &cli.ExitError{Code: cli.ExitUsage, Err: errors.New("the repository has no commit yet; commit the definitions first")}
	}
	commit, err := w.Repo.Resolve(ctx, ref)
	if err != nil {
		return cli.UsageError("--ref: %w", err)
	}
	own, _, err := c.OwnConfig(w)
	if err != nil {
		return err
	}
	at, err := c.Checkout(w, commit, own)
	if err != nil {
		return err
	}
	found, err := load.Load(ctx, at.FS, load.Options{Settings: at.Config.Settings()})
	if err != nil {
		return err
	}
	entries, err := c.entries(ctx, w, at, found.Cases)
	if err != nil {
		return err
	}
	of := caseindex.State{Repository: w.Repo.Name(), Commit: commit}
	if err := caseindex.Replace(ctx, store, of, entries); err != nil {
		return err
	}
	out := IndexResult{Repository: of.Repository, Commit: commit, TestCases: len(entries), Invalid: invalid(found.Problems)}
	if out.Invalid > 0 {
		c.Note(fmt.Sprintf("%s left out; see gavel validate", textfmt.Count(out.Invalid, "invalid file")))
	}
	return c.PrintOr(out, fmt.Sprintf("indexed: %s of %.7s\n", textfmt.Count(out.TestCases, "test case"), commit))
}

// entries are the cases of the testcase format.
func (c command) entries(ctx context.Context, w *cli.Workspace, at controller.Checkout, cases []*schema.Case) ([]caseindex.Entry, error) {
	var out []caseindex.Entry
	for _, one := range cases {
		if one.Dialect != schema.DialectTestcase {
			continue
		}
		id, err := explain.IdentityOf(ctx, w.Repo, explain.CommitRef{Repository: w.Repo.Name(), Commit: at.Commit}, one, at.Config.Settings())
		if err != nil {
			return nil, err
		}
		out = append(out, caseindex.Entry{
			Case: &one.CaseInfo, Definition: testcase.Definition(at.FS, &one.CaseInfo), ID: id.ID, Created: id.Created, Updated: id.Updated,
		})
	}
	return out, nil
}

// invalid is how many files have errors.
func invalid(problems []schema.Problem) int {
	files := map[string]bool{}
	for _, p := range problems {
		if p.Severity == schema.Error {
			files[p.File] = true
		}
	}
	return len(files)
}
