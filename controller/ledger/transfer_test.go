package ledger_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
)

// columns are the columns of all tables of a ledger, as table.column.
func columns(t *testing.T, l *ledger.Ledger, text string) (tables, out []string) {
	t.Helper()
	err := l.Store().Each(t.Context(), func(rows *sql.Rows) error {
		var table, column string
		err := rows.Scan(&table, &column)
		if !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
		out = append(out, table+"."+column)
		return err
	}, text)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(tables)
	slices.Sort(out)
	return tables, out
}

// TestTheTablesOfBothAreTheSame: a column that only one kind of ledger has would be lost
// in a copy, and a table that is not listed would not be copied.
func TestTheTablesOfBothAreTheSame(t *testing.T) {
	file := ledgertest.Open(t, ledger.Config{})
	database := ledgertest.Open(t, ledger.Config{Path: postgrestest.URL(t)})
	tables, want := columns(t, file, "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%'")
	_, got := columns(t, database, "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name NOT IN ('submissions', 'ledger_version')")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("columns -SQLite +PostgreSQL:\n%s", diff)
	}
	if diff := cmp.Diff(tables, slices.Sorted(slices.Values(ledger.Tables))); diff != "" {
		t.Errorf("tables -of a ledger +that are listed:\n%s", diff)
	}
}

// TestCopyRefuses a target that is a file.
func TestCopyRefuses(t *testing.T) {
	from, to := ledgertest.Open(t, ledger.Config{}), ledgertest.Open(t, ledger.Config{})
	if _, err := ledger.Copy(context.Background(), from, to); err == nil || !strings.Contains(err.Error(), "not in PostgreSQL") {
		t.Errorf("a copy into a file: %v", err)
	}
}
