package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/backoff"
	"github.com/gavel-evals/gavel/controller/ledger"
)

// looks are the pauses before looking again whether another run is done with a
// case.
var looks = backoff.Doubling{First: 10 * time.Millisecond, Most: 500 * time.Millisecond}

// want tells the ledger what the run is about, and gives what to call at its
// end.
func (r *runner) want(ctx context.Context, groups [][]int, jobs []Job) (end func() error, err error) {
	digests := make([]string, len(groups))
	for i, same := range groups {
		digests[i] = jobs[same[0]].Digests.E
	}
	r.interest, err = r.Ledger.Want(ctx, r.Trust, digests)
	return func() error { return r.interest.End(context.WithoutCancel(ctx)) }, err
}

// judge judges groups of jobs side by side, one job of a group after the other.
// What another run is at work on is left for later, so that two runs of the
// same cases halve them; in the end it is waited for, and then found stored.
func (r *runner) judge(ctx context.Context, groups [][]int, jobs []Job, outcomes []Outcome) error {
	var err error
	for patient := false; len(groups) > 0 && ctx.Err() == nil && err == nil; patient = true {
		groups, err = r.round(ctx, groups, func(ctx context.Context, i int, at place) error {
			at.patient = patient
			out, err := r.job(ctx, jobs[i], outcomes[i].Spent, at)
			if err == nil {
				outcomes[i] = out
			}
			// What was spent counts also where the lease was lost meanwhile.
			outcomes[i].Spent = out.Spent
			return err
		})
	}
	return err
}

// A place is that of a job among all that are judged side by side.
type place struct {
	// patient jobs wait where another run is at work on their case.
	patient bool
	// ahead is closed when all jobs before this one have been let in or have
	// ended, so that a budget serves them in order. pass tells the next one.
	ahead <-chan struct{}
	pass  func()
}

// behind gives a place behind the one that ahead is of, and what is closed when
// that has passed.
func behind(ahead <-chan struct{}) (place, <-chan struct{}) {
	passed := make(chan struct{})
	return place{ahead: ahead, pass: sync.OnceFunc(func() { close(passed) })}, passed
}

// round goes through all groups once and gives back what is left of them.
func (r *runner) round(ctx context.Context, groups [][]int, job func(ctx context.Context, i int, at place) error) ([][]int, error) {
	var mu sync.Mutex
	var left [][]int // guarded by mu
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.workers)
	first, front := behind(nil)
	first.pass()
	for _, same := range groups {
		var here place
		here, front = behind(front)
		group.Go(guarded(func() error {
			defer here.pass()
			for at, i := range same {
				if ctx.Err() != nil {
					return nil
				}
				err := job(ctx, i, here)
				if errors.Is(err, ledger.ErrLeased) {
					mu.Lock()
					defer mu.Unlock()
					left = append(left, same[at:])
					return nil
				}
				if err != nil {
					return err
				}
			}
			return nil
		}))
	}
	return left, group.Wait()
}

// hold takes the lease on the job. The context it gives ends when the lease is
// lost; the calls under way end, too, or else when nobody wants them any more.
// The caller must call release. The error is ErrLeased while another run is at
// work on the job, for which a patient one waits.
func (w *work) hold(ctx context.Context) (_ context.Context, release func() error, err error) {
	for {
		w.lease, err = w.interest.Lease(ctx, w.job.Digests.E)
		if !w.place.patient || !errors.Is(err, ledger.ErrLeased) {
			break
		}
		// Another run may wait for what is behind this one.
		w.place.pass()
		if err = w.await(ctx); err != nil {
			break
		}
	}
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	calls, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		defer giveUp()
		select {
		case <-done:
		case <-w.lease.Lost():
			cancel(ledger.ErrLeaseLost)
		case <-ctx.Done():
			w.finishFor(ctx, done)
		}
	})
	return context.WithValue(ctx, workKey{}, contexts{job: ctx, calls: calls}), func() error {
		close(done)
		watch.Wait()
		cancel(nil)
		return w.lease.Release(context.WithoutCancel(ctx))
	}, nil
}

// finishFor returns when the calls under way of a job that was cancelled are
// to be given up. Where another run wants what they are for, they are finished:
// it takes the lease over and goes on behind them.
func (w *work) finishFor(ctx context.Context, done <-chan struct{}) {
	wanted, err := w.interest.Drop(context.WithoutCancel(ctx), w.job.Digests.E)
	if err != nil || !wanted {
		return
	}
	select {
	case <-done:
	case <-w.lease.Lost():
	}
}

// await returns when another run is done with the job, or dead.
func (w *work) await(ctx context.Context) error {
	for n := 0; ; n++ {
		leased, err := w.interest.Leased(ctx, w.job.Digests.E)
		if err != nil || !leased {
			return err
		}
		if err := backoff.Sleep(ctx, looks.Pause(n)); err != nil {
			return err
		}
	}
}

// lost reports whether an error, or the end of a context, comes from another
// run having taken over.
func lost(ctx context.Context, err error) bool {
	return errors.Is(err, ledger.ErrLeaseLost) || errors.Is(context.Cause(ctx), ledger.ErrLeaseLost)
}

// workKey finds the contexts of the job that a call is made for.
type workKey struct{}

// contexts of a job: its own, and the one that its calls under way have.
type contexts struct{ job, calls context.Context }

// underway is the context of a call that begins under ctx. It outlives a job
// that is cancelled for as long as somebody wants the reply.
func underway(ctx context.Context) (context.Context, context.CancelFunc) {
	of, ok := ctx.Value(workKey{}).(contexts)
	if !ok {
		return context.WithCancel(ctx)
	}
	call, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unwanted := context.AfterFunc(of.calls, cancel)
	ended := context.AfterFunc(ctx, func() {
		if of.job.Err() == nil {
			cancel() // something within the job has given the call up
		}
	})
	return call, func() {
		unwanted()
		ended()
		cancel()
	}
}
