package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
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
	// Question is the same for calls that ask the same model the same about the same sample,
	// see [Ledger.Answer]. Calls returns none.
	Question string
	// Request and Reply are JSON, scrubbed of secrets.
	Request []byte
	Reply   []byte
	At      time.Time
	// Lease is the lease under which the call was made; nil if nobody else can be at
	// work.
	Lease *Lease
	// Paid is what the call took, which counts as unreported until the report of its run
	// is stored. Reading leaves it empty.
	Paid Payment
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
			Role: c.Key.Role, RequestDigest: c.RequestDigest, Question: questionKey(c.Question), Request: c.Request, Reply: c.Reply, Created: c.At.UnixMilli(),
			Paid: c.Paid.args(c.At, c.Lease),
		}.Store(ctx, l.store, c.Lease.epoch)
	}
	if !errors.Is(err, store.ErrRefused) {
		return l.store.Fault("store a call", err)
	}
	err = l.store.Submit(ctx, func(t *store.Tx) error {
		held := "EXISTS (SELECT 1 FROM leases WHERE epoch = ?12 /* FOR UPDATE */)"
		args := []any{
			digestBytes(c.Key.Digest), c.Key.Ordinal, c.Key.Seq, trust.namespace(), trust.Level, c.Key.Role, c.Key.Attempt,
			digestBytes(c.RequestDigest), c.Request, c.Reply, c.At.UnixMilli(), nil, questionKey(c.Question),
		}
		if c.Lease != nil {
			args[11] = c.Lease.epoch
			if l.alone.holds(c.Lease) {
				held, args = held+" OR EXISTS (SELECT 1 FROM underway WHERE run = ?14 AND alone = 1)", append(args, c.Lease.handle.run)
			}
		}
		stored, err := t.Change(`INSERT INTO calls (digest, ordinal, seq, ns, level, role, attempt, request_digest, request, reply, created, question)
			SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?13
			WHERE CAST(?12 AS BIGINT) IS NULL OR `+held+`
			ON CONFLICT (digest, ordinal, seq, ns) DO UPDATE SET level = excluded.level, role = excluded.role,
				attempt = excluded.attempt, request_digest = excluded.request_digest,
				request = excluded.request, reply = excluded.reply, created = excluded.created, question = excluded.question`, args...)
		switch {
		case err != nil:
			return err
		case stored > 0:
			return c.Paid.add(t, c.At, c.Lease)
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

// questionKey returns what is stored of a question: the first 8 bytes of its SHA-256, and nil
// for none.
func questionKey(question string) any {
	if question == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(question))
	return int64(binary.BigEndian.Uint64(sum[:])) //nolint:gosec // all 64 bits are the key
}

// Answer returns the newest call that the scope may use with a question and the digest of its
// request, whatever judgement made it; a pull request's own go before base's. It returns
// nothing that is older than a history which restarted, see [BeginHistories].
func (l *Ledger) Answer(ctx context.Context, scope Scope, question, request string) (c Call, found bool, err error) {
	if scope.Nothing || question == "" {
		return c, false, nil
	}
	err = l.store.Each(ctx, func(rows *sql.Rows) error {
		var at int64
		err := rows.Scan((*digestColumn)(&c.Key.Digest), &c.Key.Ordinal, &c.Key.Seq, &c.Key.Role, &c.Key.Attempt, &c.Request, &c.Reply, &at)
		c.RequestDigest, c.Question, c.At, found = request, question, time.UnixMilli(at).UTC(), true
		return err
	}, `SELECT digest, ordinal, seq, role, attempt, request, reply, created FROM calls c
		WHERE question = ?1 AND request_digest = ?2 AND ns IN ('', ?3) AND created >= ?4 AND NOT EXISTS (
			SELECT 1 FROM calls same JOIN histories h ON h.j = same.digest WHERE same.question = ?1 AND h.since > c.created)
		ORDER BY ns DESC, created DESC, id DESC LIMIT 1`,
		questionKey(question), digestBytes(request), scope.Namespace(), scope.notBefore())
	return c, found, l.store.Fault("look for the reply to a judge's question", err)
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
