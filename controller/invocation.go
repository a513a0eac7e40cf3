package controller

import (
	"context"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// An Invocation is one run over the working tree, together with those before it
// that were broken off: what one of them asked, the next does not ask again.
type Invocation struct {
	book  *ledger.Ledger
	began time.Time
	// lapsed is when one began that was broken off too long ago; zero for none.
	lapsed time.Time
}

// stillOpen is for how long a run that was broken off is continued. The ledger
// does not know what was deployed meanwhile.
const stillOpen = 24 * time.Hour

// Invoke gives the invocation that was broken off, or a new one that begins now.
// Nothing is stored of it until its plan is carried out.
func Invoke(ctx context.Context, book *ledger.Ledger, now time.Time) (*Invocation, error) {
	heads, err := book.Heads(ctx, "", 0)
	began, known := heads[Worktree]
	switch {
	case !known:
		return &Invocation{book: book, began: now}, err
	case now.Sub(began) > stillOpen:
		return &Invocation{book: book, began: now, lapsed: began}, err
	}
	return &Invocation{book: book, began: began}, err
}

// begin has a later invocation continue this one.
func (i *Invocation) begin(ctx context.Context) (err error) {
	if !i.lapsed.IsZero() {
		if err := i.book.ForgetHead(ctx, "", 0, Worktree, i.lapsed); err != nil {
			return err
		}
	}
	i.began, err = i.book.FirstSeen(ctx, "", 0, Worktree)
	return err
}

// end has the next invocation ask again.
func (i *Invocation) end(ctx context.Context) error {
	return i.book.ForgetHead(ctx, "", 0, Worktree, i.began)
}
