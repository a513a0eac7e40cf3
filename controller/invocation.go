package controller

import (
	"context"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// An Invocation is one run over the working tree, together with those before it
// that were broken off: what one of them asked, the next does not ask again.
type Invocation struct {
	ledger *ledger.Ledger
	kind   InvocationKind
	began  time.Time
	// open are those that were broken off, of either kind.
	open map[string]time.Time
}

// An InvocationKind says what an invocation takes for granted. The ledger knows it by this
// name. One continues only those of its own kind.
type InvocationKind string

const (
	// Tree counts what is stored.
	Tree InvocationKind = "worktree"
	// Fresh judges everything again.
	Fresh InvocationKind = "worktree fresh"
)

// maxAge bounds how old a run may be that is continued. The ledger does not know
// what was deployed meanwhile.
const maxAge = 24 * time.Hour

// ContinueInvocation returns the invocation that was broken off, or a new one that begins
// now. Nothing is stored of it until Begin. The error is the ledger's.
func ContinueInvocation(ctx context.Context, store *ledger.Ledger, kind InvocationKind, now time.Time) (*Invocation, error) {
	open, err := store.Heads(ctx, "", 0)
	began, known := open[string(kind)]
	if !known || now.Sub(began) > maxAge {
		began = now
	}
	return &Invocation{ledger: store, kind: kind, began: began, open: open}, err
}

// Began is when it began, or the first of those that it continues.
func (i *Invocation) Began() time.Time { return i.began }

// Begin stores the invocation, so that a later one continues it. The error is
// the ledger's.
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

// End has the next invocation ask again, whatever was broken off before. The
// error is the ledger's.
func (i *Invocation) End(ctx context.Context) error {
	for name, began := range i.open {
		if err := i.ledger.ForgetHead(ctx, "", 0, name, began); err != nil {
			return err
		}
	}
	return nil
}
