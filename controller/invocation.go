package controller

import (
	"context"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// An Invocation is one run over the working tree, together with those before it
// that were broken off: what one of them asked, the next does not ask again.
type Invocation struct {
	book *ledger.Ledger
	// name is the head that the ledger knows it by.
	name  string
	began time.Time
	// open are those that were broken off, of either name.
	open map[string]time.Time
}

// stillOpen is for how long a run that was broken off is continued. The ledger
// does not know what was deployed meanwhile.
const stillOpen = 24 * time.Hour

// freshTree is the name of runs that judge everything again. They continue no
// others, since those took less for granted.
const freshTree = Worktree + " fresh"

// Invoke gives the invocation that was broken off, or a new one that begins now.
// Nothing is stored of it until its plan is carried out.
func Invoke(ctx context.Context, book *ledger.Ledger, now time.Time) (*Invocation, error) {
	return invoke(ctx, book, Worktree, now)
}

// InvokeFresh is [Invoke] for a request that is Fresh. It continues no other one.
func InvokeFresh(ctx context.Context, book *ledger.Ledger, now time.Time) (*Invocation, error) {
	return invoke(ctx, book, freshTree, now)
}

func invoke(ctx context.Context, book *ledger.Ledger, name string, now time.Time) (*Invocation, error) {
	open, err := book.Heads(ctx, "", 0)
	began, known := open[name]
	if !known || now.Sub(began) > stillOpen {
		began = now
	}
	return &Invocation{book: book, name: name, began: began, open: open}, err
}

// begin has a later invocation continue this one.
func (i *Invocation) begin(ctx context.Context) (err error) {
	if was, known := i.open[i.name]; known && !was.Equal(i.began) {
		if err := i.book.ForgetHead(ctx, "", 0, i.name, was); err != nil {
			return err
		}
	}
	i.began, err = i.book.FirstSeen(ctx, "", 0, i.name)
	if err == nil {
		i.open[i.name] = i.began
	}
	return err
}

// end has the next invocation ask again, whatever was broken off before.
func (i *Invocation) end(ctx context.Context) error {
	for name, began := range i.open {
		if err := i.book.ForgetHead(ctx, "", 0, name, began); err != nil {
			return err
		}
	}
	return nil
}
