package ledger

import (
	"context"
	"database/sql"
	"fmt"
)

// Counts are the numbers of entries in a ledger.
type Counts struct {
	Samples    int64 `json:"samples"`
	Judgements int64 `json:"judgements"`
	Verdicts   int64 `json:"verdicts"`
	Calls      int64 `json:"calls"`
	Runs       int64 `json:"runs"`
	// Bytes is the size on disk without the free space in the file, Free is the free
	// space.
	Bytes int64 `json:"bytes"`
	Free  int64 `json:"free_bytes"`
}

// Counts counts the entries of the ledger.
func (l *Ledger) Counts(ctx context.Context) (Counts, error) {
	var c Counts
	err := l.store.Each(ctx, func(rows *sql.Rows) error {
		return rows.Scan(&c.Samples, &c.Judgements, &c.Verdicts, &c.Calls, &c.Runs)
	}, `SELECT (SELECT count(*) FROM samples), (SELECT count(*) FROM judgements), (SELECT count(*) FROM verdicts),
		(SELECT count(*) FROM calls), (SELECT count(*) FROM runs)`)
	if err == nil {
		c.Bytes, c.Free, err = l.store.Sizes(ctx)
	}
	return c, l.store.Fault("count", err)
}

// EachReport goes through the runs with their reports, oldest first.
func (l *Ledger) EachReport(ctx context.Context, do func(Run) error) error {
	err := l.store.Each(ctx, func(rows *sql.Rows) error {
		var r Run
		err := scanRun(rows, &r, &r.Report)
		if err == nil {
			r.Report, err = reading(l.store.Each).unpack(ctx, r.ID, r.Report)
		}
		if err != nil {
			return err
		}
		if err := do(r); err != nil {
			return fmt.Errorf("run %s: %w", r.ID, err)
		}
		return nil
	}, "SELECT "+runColumns+", body FROM runs JOIN reports ON reports.run = runs.id ORDER BY started, runs.id")
	return l.store.Fault("read the reports", err)
}
