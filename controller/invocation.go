package controller

import (
	"context"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// An Invocation is one run over the working tree, together with interrupted ones before
// it: it does not repeat their requests.
type Invocation struct {
	ledger *ledger.Ledger
	kind   InvocationKind
	began  time.Time
	// open are the interrupted ones, of either kind.
	open map[string]time.Time
}

// An InvocationKind decides which results an invocation reuses. It is also its name in
// the ledger. An invocation continues only ones of its own kind.
type InvocationKind string

const (
	// Tree reuses stored results.
	Tree InvocationKind = "worktree"
	// Fresh judges everything again.
	Fresh InvocationKind = "worktree fresh"
)

// maxAge bounds the age of an invocation that is continued. The ledger does not know
// later deployments.
const maxAge = 24 * time.Hour

// ContinueInvocation returns the interrupted invocation, or a new one that begins now.
// It is stored only by Begin. The error is the ledger's.
func ContinueInvocation(ctx context.Context, store *ledger.Ledger, kind InvocationKind, now time.Time) (*Invocation, error) {
	open, err := store.Heads(ctx, "", 0)
	began, known := open[string(kind)]
	if !known || now.Sub(began) > maxAge {
		began = now
	}
	return &Invocation{ledger: store, kind: kind, began: began, open: open}, err
}

// Began returns the start of the first continued invocation, or its own.
func (i *Invocation) Began() time.Time { return i.began }

// Begin stores the invocation, so that a later one can continue it. The error is the
// ledger's.
func (i *Invocation) Begin(ctx context.Context) (err error) {
	name := string(i.kind)
	if was, known := i.open[name]; known && !was.Equal(i.began) {
		if err := i.ledger.ForgetHead(ctx, "", 0, name, was); err != nil {
			return err
		}
	}
	i.began, err = i.ledger.FirstSeen(ctx, "", 0, name)
	if err == nil {
		i.open[name] = i.began
	}
	return err
}

// End makes the next invocation ask again, whatever was interrupted before. The error
// is the ledger's.
func (i *Invocation) End(ctx context.Context) error {
	for name, began := range i.open {
		if err := i.ledger.ForgetHead(ctx, "", 0, name, began); err != nil {
			return err
		}
	}
	return nil
}
