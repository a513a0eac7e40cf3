package run

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// A Session judges jobs of one run as they arrive, for example from a queue. It is safe
// for concurrent use.
type Session struct{ runner *runner }

// Begin begins a session. The caller must call Close.
func Begin(ctx context.Context, cfg Config) (*Session, error) {
	r := newRunner(cfg, nil)
	var err error
	r.handle, err = cfg.Ledger.BeginRun(ctx, cfg.Trust, nil)
	return &Session{r}, err
}

// A Completion is stored with the verdict of a job, in the same transaction.
type Completion struct {
	// Store may be called several times; earlier effects are then undone.
	Store func(t *store.Tx, out Outcome) error
	// Statement is Store as a single statement, if the ledger supports it; nil means
	// that Store is called.
	Statement func(out Outcome) (store.Statement, error)
	// Stored is set after storing. It stays false if the outcome needed no transaction,
	// for example because it was stored before.
	Stored bool
}

// Judge is [Run] for one job. completion may be nil.
func (s *Session) Judge(ctx context.Context, job Job, completion *Completion) (Outcome, error) {
	one := newSchedule([]Job{job})
	one.patient, one.completion = true, completion
	err := s.runner.finish(ctx, one)
	if ctx.Err() != nil {
		err = nil
	}
	return one.outcomes[0], err
}

// A Side is the part of a run that is judged at head or at base.
type Side struct {
	// Name is head or base.
	Name   string
	Config Config
	Jobs   []Job
}

// Partners returns the places at the second side of the partners of the first side's
// jobs, see [Pair]; -1 for a job without one.
func Partners(first, second []Job) []int {
	places := map[*pair]int{}
	for i, job := range second {
		if job.Half != nil {
			places[job.Half.pair] = i
		}
	}
	at := make([]int, len(first))
	for i, job := range first {
		at[i] = -1
		if job.Half == nil {
			continue
		}
		if place, there := places[job.Half.pair]; there {
			at[i] = place
		}
	}
	return at
}

// A SessionJob is a job with the session that judges it, and what is stored with its
// verdict; the latter may be nil.
type SessionJob struct {
	Session    *Session
	Job        Job
	Completion *Completion
}

// JudgePair judges the same case at two sides at the same time, as a pair. The first one
// sends the first call.
func JudgePair(ctx context.Context, first, second SessionJob) (outcomes [2]Outcome, err error) {
	halves := [2]SessionJob{first, second}
	a, b := []Job{first.Job}, []Job{second.Job}
	Pair(a, b)
	halves[0].Job, halves[1].Job = a[0], b[0]
	var group errgroup.Group
	for i, half := range halves {
		group.Go(func() (err error) {
			outcomes[i], err = half.Session.Judge(ctx, half.Job, half.Completion)
			return err
		})
	}
	return outcomes, group.Wait()
}

// Close ends the session; no job may be judged any more.
func (s *Session) Close(ctx context.Context) error {
	return s.runner.handle.Close(context.WithoutCancel(ctx))
}
