package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// A CallKey is the place of one call in a sample.
type CallKey struct {
	// Digest is E for calls to the target and J for calls to judges.
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
	// Lease is the lease under which the call was made; nil if nobody else can be at
	// work.
	Lease *Lease
}

// SaveCall stores a call; it is durable when SaveCall returns. The error is
// ErrLeaseLost if another run works on the sample by now. A call that was stored at the
// same place is replaced: it was of no use to the writer, who would not have called
// again otherwise.
func (l *Ledger) SaveCall(ctx context.Context, trust Trust, c Call) error {
	if err := trust.check(); err != nil {
		return l.store.Fault("store a call", err)
	}
	err := store.ErrRefused
	if c.Lease != nil {
		err = callRow{
			Digest: c.Key.Digest, Ordinal: c.Key.Ordinal, Seq: c.Key.Seq, Namespace: trust.namespace(), Level: int(trust.Level), Attempt: c.Key.Attempt,
			Role: c.Key.Role, RequestDigest: c.RequestDigest, Request: c.Request, Reply: c.Reply, Created: c.At.UnixMilli(),
		}.Store(ctx, l.store, c.Lease.epoch)
	}
	if !errors.Is(err, store.ErrRefused) {
		return l.store.Fault("store a call", err)
	}
	err = l.store.Submit(ctx, func(t *store.Tx) error {
		var epoch any // nil without a lease
		if c.Lease != nil {
			epoch = c.Lease.epoch
		}
		stored, err := t.Change(`INSERT INTO calls (digest, ordinal, seq, ns, level, role, attempt, request_digest, request, reply, created)
			SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
			WHERE CAST(?12 AS BIGINT) IS NULL OR EXISTS (SELECT 1 FROM leases WHERE epoch = ?12 /* FOR UPDATE */)
			ON CONFLICT (digest, ordinal, seq, ns) DO UPDATE SET level = excluded.level, role = excluded.role,
				attempt = excluded.attempt, request_digest = excluded.request_digest,
				request = excluded.request, reply = excluded.reply, created = excluded.created`,
			digestBytes(c.Key.Digest), c.Key.Ordinal, c.Key.Seq, trust.namespace(), trust.Level, c.Key.Role, c.Key.Attempt,
			digestBytes(c.RequestDigest), c.Request, c.Reply, c.At.UnixMilli(), epoch)
		if err != nil || stored > 0 {
			return err
		}
		return c.Lease.check(t)
	})
	return l.store.Fault("store a call", err)
}

// Calls returns the journal of one sample under a digest, in sequence, up to the first
// gap. At each place a pull request's own call goes before base's, since the following
// calls continue from it.
func (l *Ledger) Calls(ctx context.Context, scope Scope, digest string, ordinal int) ([]Call, error) {
	if scope.Nothing {
		return nil, nil
	}
	var found []Call
	err := l.store.Each(ctx, func(rows *sql.Rows) error {
		c := Call{Key: CallKey{Digest: digest, Ordinal: ordinal}}
		var at int64
		if err := rows.Scan(&c.Key.Seq, &c.Key.Role, &c.Key.Attempt, (*digestColumn)(&c.RequestDigest), &c.Request, &c.Reply, &at); err != nil {
			return err
		}
		if c.Key.Seq == len(found) {
			c.At = time.UnixMilli(at).UTC()
			found = append(found, c)
		}
		return nil
	}, `SELECT seq, role, attempt, request_digest, request, reply, created FROM calls
		WHERE digest = ? AND ordinal = ? AND ns IN ('', ?) AND created >= ? ORDER BY seq, ns DESC`,
		digestBytes(digest), ordinal, scope.Namespace(), scope.notBefore())
	return found, l.store.Fault("read the calls of "+digest, err)
}

// DropCalls removes the call at the key and all later ones of its sample that were
// written under the same trust, unless the lease is lost; nil means that nobody else
// can be at work.
func (l *Ledger) DropCalls(ctx context.Context, trust Trust, key CallKey, lease *Lease) error {
	err := l.store.Submit(ctx, func(t *store.Tx) error {
		if err := lease.check(t); err != nil {
			return err
		}
		return t.Exec("DELETE FROM calls WHERE digest = ? AND ordinal = ? AND seq >= ? AND ns = ?",
			digestBytes(key.Digest), key.Ordinal, key.Seq, trust.namespace())
	})
	return l.store.Fault("drop calls", err)
}
