package crashguard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// fatal is the number of children in a row that a head may kill before it is declined.
const fatal = 2

// ErrFatal means that every child that judged a head died.
var ErrFatal = errors.New("looking at this commit ended the server")

// A GuardConfig configures a guard.
type GuardConfig struct {
	// Try judges a commit in a child. Defaults to [Run].
	Try Trier
	// Now is the clock.
	Now func() time.Time
}

// A Trier judges a commit in a child, see [Run].
type Trier func(ctx context.Context, job Job, fetched func()) (Outcome, error)

// A Guard judges heads in a child if an earlier process died while it judged them. It is
// safe for concurrent use.
type Guard struct {
	*Notes
	cfg    GuardConfig
	trying chan struct{} // holds one while a head is tried
}

// A Request is the last request for a head by somebody with write access. Now means that
// the request is the present one.
type Request struct {
	At  time.Time
	Now bool
}

// NewGuard returns a guard with the notes of earlier processes.
func NewGuard(ctx context.Context, state *ledger.ServerState, cfg GuardConfig) (*Guard, error) {
	if cfg.Try == nil {
		cfg.Try = Run
	}
	notes, err := openNotes(ctx, state, cfg.Now)
	return &Guard{notes, cfg, make(chan struct{}, 1)}, err
}

// Declines reports whether a head is not judged, because every child died and nobody
// has asked for it since then.
func (g *Guard) Declines(h Head, asked Request) bool {
	_, ended, at := g.Suspected(h)
	return ended >= fatal && !asked.Now && !asked.At.After(at)
}

// Prove judges a suspected head in a child, one head at a time, and returns the run
// that the child stored. The run is empty for a head that is not suspected. The error
// is [ErrFatal] for a head that killed two of its own children: the process before may
// have died for another reason. A new request tries the head again.
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

// An Attempt has the functions that a guard needs for a head.
type Attempt struct {
	// Job returns the job. fetched is called, perhaps more than once, when the commit is
	// fetched.
	Job func(ctx context.Context) (job Job, fetched func(), err error)
	// Log logs how a child ended.
	Log func(line string)
}

// try judges a head in a child, and notes the outcome.
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
