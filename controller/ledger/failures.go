package ledger

import (
	"context"
	"database/sql"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// A Failure is a case that ended in an error. It has no verdict, but it says when its
// source was out of order.
type Failure struct {
	// E is the execution digest of the case.
	E string
	// Source is the target of the case, and Symptom is the same for errors that may
	// have one cause. It has no text of the error.
	Source, Symptom string
	// Retry means that the error may not occur again.
	Retry bool
	At    time.Time
}

// SaveFailure stores a failure.
func (l *Ledger) SaveFailure(ctx context.Context, trust Trust, f Failure) error {
	if err := trust.check(); err != nil {
		return l.store.Fault("store a failure", err)
	}
	retry := 0
	if f.Retry {
		retry = 1
	}
	err := l.store.Submit(ctx, func(t *store.Tx) error {
		return t.Exec("INSERT INTO failures (e, ns, source, symptom, retry, created) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (e, ns, created) DO NOTHING",
			digestBytes(f.E), trust.namespace(), f.Source, f.Symptom, retry, f.At.UnixMilli())
	})
	return l.store.Fault("store a failure", err)
}

// Failures returns the failures of execution digests that the scope may read, by digest,
// the earliest first.
func (l *Ledger) Failures(ctx context.Context, scope Scope, digests []string) (map[string][]Failure, error) {
	if scope.Nothing || len(digests) == 0 {
		return nil, nil
	}
	list, err := digestList(digests)
	if err != nil {
		return nil, err
	}
	since := int64(0)
	if !scope.NotBefore.IsZero() {
		since = scope.NotBefore.UnixMilli()
	}
	found := map[string][]Failure{}
	err = l.store.Each(ctx, func(rows *sql.Rows) error {
		var f Failure
		var retry, at int64
		if err := rows.Scan((*digestColumn)(&f.E), &f.Source, &f.Symptom, &retry, &at); err != nil {
			return err
		}
		f.Retry, f.At = retry == 1, time.UnixMilli(at).UTC()
		found[f.E] = append(found[f.E], f)
		return nil
	}, `SELECT f.e, f.source, f.symptom, f.retry, f.created FROM (SELECT DISTINCT value FROM json_each(?)) q JOIN failures f ON f.e = unhex(q.value)
		WHERE f.ns IN ('', ?) AND f.created >= ? ORDER BY f.e, f.created`, list, scope.Trust.namespace(), since)
	return found, l.store.Fault("read failures", err)
}
