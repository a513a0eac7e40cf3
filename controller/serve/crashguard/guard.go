package crashguard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// fatal is how many children in a row a head may end before it is declined.
const fatal = 2

// ErrFatal means that judging a head has ended children only.
var ErrFatal = errors.New("looking at this commit ended the server")

// A GuardConfig says how a guard tries a head.
type GuardConfig struct {
	// Try judges a commit in a child. Defaults to [Run].
	Try Trier
	// Now is the clock.
	Now func() time.Time
}

// A Trier judges a commit in a child, see [Run].
type Trier func(ctx context.Context, job Job, fetched func()) (Outcome, error)

// A Guard has the heads prove themselves that an earlier process was looking at
// when it died. It is safe for concurrent use.
type Guard struct {
	*Notes
	cfg    GuardConfig
	trying chan struct{} // holds one while a head is tried
}

// A Request is when somebody with write access last asked for a head; Now means that
// they do at this moment.
type Request struct {
	At  time.Time
	Now bool
}

// NewGuard reads what an earlier process left.
func NewGuard(ctx context.Context, state *ledger.ServerState, cfg GuardConfig) (*Guard, error) {
	if cfg.Try == nil {
		cfg.Try = Run
	}
	notes, err := openNotes(ctx, state, cfg.Now)
	return &Guard{notes, cfg, make(chan struct{}, 1)}, err
}

// Declines reports whether a head is not looked at, since that has ended children
// only and nobody asked for it afterwards.
func (g *Guard) Declines(h Head, asked Request) bool {
	_, ended, at := g.Suspected(h)
	return ended >= fatal && !asked.Now && !asked.At.After(at)
}

// Prove has a suspected head judged in a child, one head at a time, and returns the
// run that the child stored. It is empty for a head that is not under suspicion. The
// error is [ErrFatal] for a head that ended two children, in which nothing else was:
// whatever ended the process before, most often it was not the head. Asking for it
// has it tried again.
func (g *Guard) Prove(ctx context.Context, h Head, asked Request, try Attempt) (run string, err error) {
	if suspected, _, _ := g.Suspected(h); !suspected {
		return "", nil
	}
	select {
	case g.trying <- struct{}{}:
		defer func() { <-g.trying }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	for ; ; asked.Now = false {
		suspected, ended, _ := g.Suspected(h)
		switch {
		case !suspected:
			return run, nil
		case g.Declines(h, asked):
			return "", ErrFatal
		case ended >= fatal:
			if err := g.Forgive(ctx, h); err != nil {
				return "", err
			}
		}
		if run, err = g.try(ctx, h, try); err != nil {
			return "", err
		}
	}
}

// An Attempt brings a guard what it needs for a head.
type Attempt struct {
	// Job returns what to judge; fetched is called when that was fetched, and more
	// than once.
	Job func(ctx context.Context) (job Job, fetched func(), err error)
	// Tell is given how a child ended, in words.
	Log func(line string)
}

// try has a child judge a head, and notes how that ended.
func (g *Guard) try(ctx context.Context, h Head, a Attempt) (run string, err error) {
	job, fetched, err := a.Job(ctx)
	if err != nil {
		return "", err
	}
	outcome, err := g.cfg.Try(ctx, job, fetched)
	fetched()
	switch {
	case err != nil:
		return "", err
	case outcome.Proven:
		line := fmt.Sprintf("%.7s was looked at when the server ended, and did no harm in a process of its own", h.SHA)
		if outcome.Run != "" {
			line += ", which judged it"
		}
		a.Log(line)
		return outcome.Run, g.Clear(ctx, h)
	}
	a.Log(fmt.Sprintf("looking at %.7s ended a process of its own: %s", h.SHA, outcome.Said))
	return "", g.Count(ctx, h, g.cfg.Now())
}
