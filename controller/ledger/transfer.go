package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// tables are in the order in which rows refer to each other.
var tables = []string{
	"meta", "samples", "transcripts", "judgements", "parts", "verdicts", "calls", "runs", "reports", "outbox", "deliveries", "spending",
	"commands", "heads", "pieces", "report_pieces", "served_repositories", "schedules", "pending_heads", "suspects", "histories", "failures", "unreported",
}

// passing are the tables about runs in progress. A copy has none.
var passing = []string{"wanted", "leases", "underway", "claims"}

// A CopyResult counts the rows of a copy.
type CopyResult struct {
	Rows int64 `json:"rows"`
}

// Text describes the copied entries for people.
func (c CopyResult) Text() string { return fmt.Sprintf("copied: %d rows\n", c.Rows) }

// Copy copies all entries of one ledger into another one, which is in PostgreSQL and
// has no entry yet, in one transaction. The secret is copied as well, so that the same
// credential looks the same in both. Runs in progress are not copied; nobody may write
// to either ledger in the meantime. A process that has the target open has to open it
// again.
//
// The error says that the target is not empty or not in PostgreSQL, or comes from a
// database.
func Copy(ctx context.Context, from, to *Ledger) (CopyResult, error) {
	if used, err := to.Counts(ctx); err != nil || used.Samples+used.Calls+used.Runs > 0 {
		if err == nil {
			err = fmt.Errorf("%s has %d samples, %d calls and %d runs already; copy into an empty database", to.Store().Path(), used.Samples, used.Calls, used.Runs)
		}
		return CopyResult{}, err
	}
	var out CopyResult
	err := to.Store().Submit(ctx, func(t *store.Tx) error {
		into, err := postgres.Tx(t)
		if err != nil {
			return err
		}
		out = CopyResult{}
		return from.Store().AsOf(ctx, func(read store.Reader) error {
			for _, table := range tables {
				n, err := copyTable(ctx, read, into, table)
				if err != nil {
					return fmt.Errorf("table %s: %w", table, err)
				}
				out.Rows += n
			}
			return nil
		})
	})
	return out, to.Store().Fault("copy a ledger into it", err)
}

// A column is a column of a table in the target.
type column struct {
	name     string
	bytes    bool // its values are bytes and not text
	identity bool // the database counts it
}

func columnsOf(ctx context.Context, in pgx.Tx, table string) ([]column, error) {
	rows, err := in.Query(ctx, `SELECT column_name, data_type = 'bytea', is_identity = 'YES' FROM information_schema.columns
		WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position`, table)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (column, error) {
		var c column
		return c, row.Scan(&c.name, &c.bytes, &c.identity)
	})
}

// copyTable copies the rows of one table. Rows that the target has already, such as the
// secret of a new ledger, are replaced.
func copyTable(ctx context.Context, read store.Reader, into pgx.Tx, table string) (int64, error) {
	columns, err := columnsOf(ctx, into, table)
	if err != nil {
		return 0, err
	}
	if _, err := into.Exec(ctx, "DELETE FROM "+table); err != nil {
		return 0, err
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	var n int64
	var batch [][]any
	flush := func() error {
		done, err := into.CopyFrom(ctx, pgx.Identifier{table}, names, pgx.CopyFromRows(batch))
		n, batch = n+done, batch[:0]
		return err
	}
	err = read(ctx, func(rows *sql.Rows) error {
		row, err := scan(rows, columns)
		if batch = append(batch, row); err != nil || len(batch) < copiedAtOnce {
			return err
		}
		return flush()
	}, "SELECT "+strings.Join(names, ", ")+" FROM "+table)
	if err = errors.Join(err, flush()); err != nil {
		return n, err
	}
	return n, count(ctx, into, table, columns)
}

// copiedAtOnce bounds how many rows are in memory.
const copiedAtOnce = 200

// scan reads a row in the form that the target takes: SQLite keeps texts and bytes in
// the form in which they were written, whatever the column is.
func scan(rows *sql.Rows, columns []column) ([]any, error) {
	row, places := make([]any, len(columns)), make([]any, len(columns))
	for i := range row {
		places[i] = &row[i]
	}
	if err := rows.Scan(places...); err != nil {
		return nil, err
	}
	for i, c := range columns {
		switch v := row[i].(type) {
		case string:
			if c.bytes {
				row[i] = []byte(v)
			}
		case []byte:
			if !c.bytes {
				row[i] = string(v)
			}
		}
	}
	return row, nil
}

// count makes the database continue counting after the copied rows.
func count(ctx context.Context, in pgx.Tx, table string, columns []column) error {
	for _, c := range columns {
		if !c.identity {
			continue
		}
		if _, err := in.Exec(ctx, "SELECT setval(pg_get_serial_sequence($1, $2), coalesce(max("+c.name+"), 0) + 1, false) FROM "+table, table, c.name); err != nil {
			return err
		}
	}
	return nil
}
