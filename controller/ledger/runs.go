package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// A Run is one run with its report.
type Run struct {
	ID         string
	Repository string
	// PullRequest is 0 if there is none.
	PullRequest int
	// Base and Head are commits, worktree, or empty.
	Base, Head        string
	Started, Finished time.Time
	// Report is JSON.
	Report json.RawMessage
	// Cases, if set, returns the JSON of one case after the other, which are stored as
	// the Report's list of cases, empty there. With it, Problems may return the ones of the
	// list of problems. Reading leaves both nil.
	Cases, Problems iter.Seq2[[]byte, error]
}

// Scope returns the scope that may be shown with a run: the entries that everybody may
// read, and the ones of its own pull request.
func (r *Run) Scope() Scope {
	if r.PullRequest != 0 {
		return Scope{Trust: Trust{Level: LevelPull, Repository: r.Repository, PullRequest: r.PullRequest}}
	}
	return Scope{Trust: Trust{Level: LevelOperator, Repository: r.Repository}}
}

// An OutboxItem is a comment or a status that has to be published with a report.
type OutboxItem struct {
	// ID is filled in by reading.
	ID int64
	// Destination names the place that is written, so that a later item for the same
	// destination replaces an earlier one: a pull request's comment, or a context on a
	// commit.
	Destination string
	// Head is the commit that the content speaks of.
	Head string
	// ContentDigest distinguishes contents.
	ContentDigest string
	Body          []byte
}

// ErrNoRun means that no run has the requested id.
var ErrNoRun = errors.New("there is no such run")

// SaveReport stores a run that ended together with its items to publish: either all is
// stored, or nothing. A second run with the same id is an error. An item is left out if
// its destination last got the same content for the same head. Surplus runs of the
// repository are removed afterwards.
func (l *Ledger) SaveReport(ctx context.Context, r Run, items ...OutboxItem) error {
	err := l.saveReport(ctx, r, false, items)
	if errors.Is(err, errCollected) {
		err = l.saveReport(ctx, r, true, items)
	}
	if err == nil {
		_ = l.trim(ctx, r.Repository) // the run is stored; the next one tries again
	}
	return l.store.Fault("store run "+r.ID, err)
}

// saveReport stores a run, with all of its pieces or the pieces that the ledger lacks.
func (l *Ledger) saveReport(ctx context.Context, r Run, all bool, items []OutboxItem) error {
	now := l.now().UnixMilli()
	packed, err := l.pack(ctx, r, all)
	if err != nil {
		return err
	}
	return l.store.Submit(ctx, func(t *store.Tx) error {
		err := t.Exec("INSERT INTO runs (id, repository, pull_request, base, head, started, finished) VALUES (?, ?, ?, ?, ?, ?, ?)",
			r.ID, r.Repository, r.PullRequest, r.Base, r.Head, r.Started.UnixMilli(), r.Finished.UnixMilli())
		if err != nil {
			return err
		}
		if err := packed.insert(t, r.ID); err != nil {
			return err
		}
		if err := t.Exec("DELETE FROM unreported WHERE run = ?", r.ID); err != nil {
			return err
		}
		return insertItems(t, r.ID, now, items)
	})
}

// AddItems stores items to publish with a run that is stored, as [Ledger.SaveReport] does:
// the process that judged it had no forge.
func (l *Ledger) AddItems(ctx context.Context, run string, items ...OutboxItem) error {
	now := l.now().UnixMilli()
	err := l.store.Submit(ctx, func(t *store.Tx) error { return insertItems(t, run, now, items) })
	return l.store.Fault("store the items of run "+run, err)
}

// insertItems leaves out an item if its destination last got the same.
func insertItems(t *store.Tx, run string, now int64, items []OutboxItem) error {
	for _, item := range items {
		err := t.Exec(`INSERT INTO outbox (run, destination, head, content_digest, body, created)
			SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE NOT EXISTS (SELECT 1 FROM
				(SELECT head, content_digest FROM outbox WHERE destination = ?2 ORDER BY id DESC LIMIT 1) AS last
				WHERE last.head = ?3 AND last.content_digest = ?4)`,
			run, item.Destination, item.Head, item.ContentDigest, item.Body, now)
		if err != nil {
			return err
		}
	}
	return nil
}

const runColumns = "runs.id, repository, pull_request, base, head, started, finished"

// Run returns a stored run; an empty id means the newest. The error is ErrNoRun if
// there is none.
func (l *Ledger) Run(ctx context.Context, id string) (Run, error) {
	op := "read run " + id
	if id == "" {
		op = "read the newest run"
	}
	var r Run
	err := l.store.Each(ctx, func(rows *sql.Rows) error { return scanRun(rows, &r, &r.Report) },
		"SELECT "+runColumns+", body FROM runs JOIN reports ON reports.run = runs.id WHERE runs.id = ? OR ? = '' ORDER BY started DESC, runs.id DESC LIMIT 1", id, id)
	if err == nil && r.ID == "" {
		err = ErrNoRun
	}
	if err == nil {
		r.Report, err = reading(l.store.Each).unpack(ctx, r.ID, r.Report)
	}
	return r, l.store.Fault(op, err)
}

// Runs returns the newest runs, newest first, without their reports.
func (l *Ledger) Runs(ctx context.Context, limit int) ([]Run, error) {
	var found []Run
	err := l.store.Each(ctx, func(rows *sql.Rows) error {
		var r Run
		if err := scanRun(rows, &r); err != nil {
			return err
		}
		found = append(found, r)
		return nil
	}, "SELECT "+runColumns+" FROM runs ORDER BY started DESC, id DESC LIMIT ?", limit)
	return found, l.store.Fault("read the runs", err)
}

// Newest returns the id of the newest run of a head, empty if there is none. A
// scheduled run that judges a branch again, and compares a commit with itself, does not
// count.
func (l *Ledger) Newest(ctx context.Context, repository string, pullRequest int, head string) (id string, err error) {
	err = l.store.Each(ctx, func(rows *sql.Rows) error { return rows.Scan(&id) },
		`SELECT id FROM runs WHERE repository = ? AND pull_request = ? AND head = ? AND (pull_request > 0 OR base <> head)
		ORDER BY started DESC, id DESC LIMIT 1`, repository, pullRequest, head)
	return id, l.store.Fault("read the newest run of "+head, err)
}

func scanRun(rows *sql.Rows, r *Run, more ...any) error {
	var started, finished int64
	err := rows.Scan(append([]any{&r.ID, &r.Repository, &r.PullRequest, &r.Base, &r.Head, &started, &finished}, more...)...)
	r.Started, r.Finished = time.UnixMilli(started).UTC(), time.UnixMilli(finished).UTC()
	return err
}

// Pending returns the unpublished items, oldest first: of each destination the newest
// item, unless it is published.
func (l *Ledger) Pending(ctx context.Context) ([]OutboxItem, error) {
	var found []OutboxItem
	err := l.store.Each(ctx, func(rows *sql.Rows) error {
		var i OutboxItem
		if err := rows.Scan(&i.ID, &i.Destination, &i.Head, &i.ContentDigest, &i.Body); err != nil {
			return err
		}
		found = append(found, i)
		return nil
	}, `SELECT id, destination, head, content_digest, body FROM outbox WHERE published IS NULL
		AND NOT EXISTS (SELECT 1 FROM outbox later WHERE later.destination = outbox.destination AND later.id > outbox.id)
		ORDER BY id`)
	return found, l.store.Fault("read the outbox", err)
}

// Waiting returns the unpublished items for some destinations, without their bodies: of each
// destination the newest item, unless it is published.
func (l *Ledger) Waiting(ctx context.Context, destinations ...string) ([]OutboxItem, error) {
	var found []OutboxItem
	for _, destination := range destinations {
		err := l.store.Each(ctx, func(rows *sql.Rows) error {
			i := OutboxItem{Destination: destination}
			var published sql.NullInt64
			if err := rows.Scan(&i.ID, &i.Head, &i.ContentDigest, &published); err != nil {
				return err
			}
			if !published.Valid {
				found = append(found, i)
			}
			return nil
		}, "SELECT id, head, content_digest, published FROM outbox WHERE destination = ? ORDER BY id DESC LIMIT 1", destination)
		if err != nil {
			return nil, l.store.Fault("read the outbox", err)
		}
	}
	return found, nil
}

// Receipt returns what [Ledger.MarkPublished] last stored for a destination, empty if
// it stored nothing.
func (l *Ledger) Receipt(ctx context.Context, destination string) (string, error) {
	var receipt string
	err := l.store.Each(ctx, func(rows *sql.Rows) error { return rows.Scan(&receipt) },
		"SELECT receipt FROM outbox WHERE destination = ? AND receipt <> '' ORDER BY id DESC LIMIT 1", destination)
	return receipt, l.store.Fault("read the receipt of "+destination, err)
}

// ReplaceReceipt changes the result of [Ledger.Receipt] for a destination, if it has
// one.
func (l *Ledger) ReplaceReceipt(ctx context.Context, destination, receipt string) error {
	err := l.store.Submit(ctx, func(t *store.Tx) error {
		return t.Exec("UPDATE outbox SET receipt = ? WHERE id = (SELECT max(id) FROM outbox WHERE destination = ? AND receipt <> '')",
			receipt, destination)
	})
	return l.store.Fault("replace the receipt of "+destination, err)
}

// MarkPublished records that an item was published, with the receipt by which its place
// is found from now on. Earlier items for the same destination are done with it.
func (l *Ledger) MarkPublished(ctx context.Context, item OutboxItem, receipt string) error {
	now := l.now().UnixMilli()
	err := l.store.Submit(ctx, func(t *store.Tx) error {
		err := t.Exec("UPDATE outbox SET published = ? WHERE destination = ? AND id <= ? AND published IS NULL",
			now, item.Destination, item.ID)
		if err != nil {
			return err
		}
		return t.Exec("UPDATE outbox SET receipt = ? WHERE id = ?", receipt, item.ID)
	})
	return l.store.Fault("mark an item as published", err)
}
