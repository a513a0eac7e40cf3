package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A CallKey is the place of one call in a sample.
type CallKey struct {
	// Digest is E for calls to the target and J for those that judge.
	Digest  string
	Ordinal int
	Role    string
	Attempt int
	// Seq counts the calls of the sample under the digest from 0.
	Seq int
}

// A Call is one request with its reply.
type Call struct {
	Key           CallKey
	RequestDigest string
	// Request and Reply are JSON, scrubbed of secrets.
	Request []byte
	Reply   []byte
	At      time.Time
}

// SaveCall writes a call down; it is durable when SaveCall returns. A call
// that stood at the same place and is too old to be used is replaced.
func (l *Ledger) SaveCall(ctx context.Context, trust Trust, c Call) error {
	return l.submit(ctx, func(ctx context.Context, conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, `INSERT OR REPLACE INTO calls
			(digest, ordinal, seq, role, attempt, ns, level, request_digest, request, reply, created)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			c.Key.Digest, c.Key.Ordinal, c.Key.Seq, c.Key.Role, c.Key.Attempt, trust.namespace(), trust.Level,
			c.RequestDigest, c.Request, c.Reply, c.At.UnixMilli())
		return wrap("write a call", err)
	})
}

// Calls gives the journal of one sample under a digest, in sequence, up to the
// first gap.
func (l *Ledger) Calls(ctx context.Context, scope Scope, digest string, ordinal int) ([]Call, error) {
	rows, err := l.db.QueryContext(ctx, `SELECT seq, role, attempt, request_digest, request, reply, created FROM calls
		WHERE digest = ? AND ordinal = ? AND `+readable+` GROUP BY seq HAVING level = max(level) ORDER BY seq`,
		scope.args(digest, ordinal)...)
	if err != nil {
		return nil, wrap("read the calls", err)
	}
	defer rows.Close() //nolint:errcheck // Err is checked
	var found []Call
	for rows.Next() {
		c := Call{Key: CallKey{Digest: digest, Ordinal: ordinal}}
		var at int64
		if err := rows.Scan(&c.Key.Seq, &c.Key.Role, &c.Key.Attempt, &c.RequestDigest, &c.Request, &c.Reply, &at); err != nil {
			return nil, wrap("read a call", err)
		}
		if c.Key.Seq != len(found) {
			break
		}
		c.At = time.UnixMilli(at)
		found = append(found, c)
	}
	return found, wrap("read the calls", rows.Err())
}

// DropCalls removes the call at the key and all later ones of its sample that
// were written under the same trust.
func (l *Ledger) DropCalls(ctx context.Context, trust Trust, key CallKey) error {
	return l.submit(ctx, func(ctx context.Context, conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, "DELETE FROM calls WHERE digest = ? AND ordinal = ? AND seq >= ? AND ns = ?",
			key.Digest, key.Ordinal, key.Seq, trust.namespace())
		return wrap("drop calls", err)
	})
}

// A Run is one run with its report.
type Run struct {
	ID          string
	Repository  string
	PullRequest int
	// Base and Head are commits, worktree, or empty.
	Base, Head        string
	Started, Finished time.Time
	// Report is JSON.
	Report json.RawMessage
}

// SaveRun stores a run that ended.
func (l *Ledger) SaveRun(ctx context.Context, r Run) error {
	return l.submit(ctx, func(ctx context.Context, conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, `INSERT INTO runs (id, repository, pull_request, base, head, started, finished)
			VALUES (?, ?, ?, ?, ?, ?, ?)`,
			r.ID, r.Repository, r.PullRequest, r.Base, r.Head, r.Started.UnixMilli(), r.Finished.UnixMilli())
		if err != nil {
			return wrap("store a run", err)
		}
		_, err = conn.ExecContext(ctx, "INSERT INTO reports (run, body) VALUES (?, ?)", r.ID, []byte(r.Report))
		return wrap("store a report", err)
	})
}

// ErrNoRun means that there is no run of the id that was asked for.
var ErrNoRun = errors.New("there is no such run")

// Run gives a stored run; an empty id means the newest.
func (l *Ledger) Run(ctx context.Context, id string) (Run, error) {
	var r Run
	var started, finished int64
	err := l.db.QueryRowContext(ctx, `SELECT id, repository, pull_request, base, head, started, finished, body
		FROM runs JOIN reports ON reports.run = runs.id WHERE id = ? OR ? = '' ORDER BY started DESC LIMIT 1`, id, id).
		Scan(&r.ID, &r.Repository, &r.PullRequest, &r.Base, &r.Head, &started, &finished, &r.Report)
	if errors.Is(err, sql.ErrNoRows) {
		return r, fmt.Errorf("run %q: %w", id, ErrNoRun)
	}
	r.Started, r.Finished = time.UnixMilli(started), time.UnixMilli(finished)
	return r, wrap("read a run", err)
}
