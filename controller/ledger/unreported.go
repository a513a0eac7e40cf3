package ledger

import (
	"context"
	"database/sql"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// A Payment is the cost of a call, with the run that pays it.
type Payment struct {
	// Run needs no end and no report. Without an ID nothing is counted.
	Run Run
	Amount
	// Unpriced counts the calls whose price is not known.
	Unpriced int64
}

// An Unreported run has no report: it is in progress, or was interrupted. Its report, once it
// is stored, has its whole cost.
type Unreported struct {
	Run
	Cost RunCost
	// Running means that a process is at work on it, or was until a moment ago.
	Running bool
}

// The columns of the table unreported, and what a payment adds to a row.
const (
	unreportedColumns = "run, writer, repository, pull_request, base, head, started, updated, calls, tokens, usd, unpriced"
	unreportedAdded   = ` ON CONFLICT (run, writer) DO UPDATE SET updated = excluded.updated, calls = unreported.calls + excluded.calls,
		tokens = unreported.tokens + excluded.tokens, usd = unreported.usd + excluded.usd, unpriced = unreported.unpriced + excluded.unpriced`
)

// args returns the values of unreportedColumns for a call at a time, under a lease or none.
func (p *Payment) args(at time.Time, lease *Lease) []any {
	writer := ""
	if lease != nil {
		writer = lease.handle.run
	}
	r := &p.Run
	return []any{
		r.ID, writer, r.Repository, r.PullRequest, r.Base, r.Head, r.Started.UnixMilli(), at.UnixMilli(),
		p.Calls, p.Tokens, p.USD, p.Unpriced,
	}
}

// add counts a payment.
func (p *Payment) add(t *store.Tx, at time.Time, lease *Lease) error {
	if p.Run.ID == "" {
		return nil
	}
	return t.Exec("INSERT INTO unreported ("+unreportedColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"+unreportedAdded, p.args(at, lease)...)
}

// Unreported returns the runs of a repository without a report that made calls, the newest
// first. An empty repository means all.
func (l *Ledger) Unreported(ctx context.Context, repository string) ([]Unreported, error) {
	var found []Unreported
	now := l.now()
	err := l.store.Each(ctx, func(rows *sql.Rows) error {
		var u Unreported
		var started, updated, unpriced int64
		r, c := &u.Run, &u.Cost
		err := rows.Scan(&r.ID, &r.Repository, &r.PullRequest, &r.Base, &r.Head, &started, &updated, &c.Calls, &c.Tokens, &c.USD, &unpriced, &u.Running)
		r.Started, r.Finished = time.UnixMilli(started).UTC(), time.UnixMilli(updated).UTC()
		c.Run, c.Repository, c.Finished, c.Unpriced = r.ID, r.Repository, r.Finished, unpriced > 0
		u.Running = u.Running || now.Sub(r.Finished) < longestLease
		found = append(found, u)
		return err
	}, `SELECT run, repository, pull_request, base, head, min(started), max(updated), CAST(sum(calls) AS BIGINT), CAST(sum(tokens) AS BIGINT),
			sum(usd), CAST(sum(unpriced) AS BIGINT), max(CASE WHEN EXISTS (SELECT 1 FROM underway u WHERE u.run = writer AND u.until > ?) THEN 1 ELSE 0 END)
		FROM unreported WHERE ? IN ('', repository) GROUP BY run, repository, pull_request, base, head ORDER BY min(started) DESC, run DESC`,
		now.UnixMilli(), repository)
	return found, l.store.Fault("read the runs without a report", err)
}
