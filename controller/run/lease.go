package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/ledger"
)

// looks are the pauses between checks whether another run has finished a case.
var looks = clock.Doubling{First: 10 * time.Millisecond, Most: 500 * time.Millisecond}

// A hold is a case's hold on its lease.
type hold struct {
	lease *ledger.Lease
	// ended is closed when the case's context has ended, and unwanted when the replies
	// to its running calls are not wanted either.
	ended, unwanted <-chan struct{}
}

// acquireLease takes the lease on the case. The returned context ends when the lease is
// lost. The caller must call release. The error is ErrLeased while another run works on
// the case; a patient case waits for that run.
func (c *caseRun) acquireLease(ctx context.Context) (_ context.Context, release func() error, err error) {
	var lease *ledger.Lease
	for {
		lease, err = c.runner.handle.Lease(ctx, c.job.Digests.E, c.job.Digests.J)
		if !c.patient || !errors.Is(err, ledger.ErrLeased) {
			break
		}
		// Another run may wait for a case behind this one, and so does the other half.
		c.turn.pass()
		c.job.Half.miss()
		if err = c.awaitOther(ctx); err != nil {
			break
		}
	}
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	unwanted, done := make(chan struct{}), make(chan struct{})
	c.hold = &hold{lease: lease, ended: ctx.Done(), unwanted: unwanted}
	var watch sync.WaitGroup
	watch.Go(func() {
		defer close(unwanted)
		select {
		case <-done:
		case <-lease.Lost():
			cancel(ledger.ErrLeaseLost)
		case <-ctx.Done():
			c.drainCalls(ctx, done)
		}
	})
	return ctx, func() error {
		close(done)
		watch.Wait()
		cancel(nil)
		return lease.Release(context.WithoutCancel(ctx))
	}, nil
}

// ErrHandedOver is the cause of the end of a run that another process goes on with.
var ErrHandedOver = errors.New("another process goes on with the run")

// handover bounds how long the calls of a run that is handed over may take to their end.
const handover = 30 * time.Second

// drainCalls returns when a cancelled case's running calls must be cancelled. They are
// finished if the run is handed over, since they would be paid for again, or if another
// run wants their replies: that run takes over the lease and continues after them.
func (c *caseRun) drainCalls(ctx context.Context, done <-chan struct{}) {
	if errors.Is(context.Cause(ctx), ErrHandedOver) {
		select {
		case <-done:
		case <-c.hold.lease.Lost():
		case <-c.runner.cfg.Clock.After(handover):
		}
		return
	}
	wanted, err := c.runner.handle.Release(context.WithoutCancel(ctx), c.job.Digests.E)
	if err != nil || !wanted {
		return
	}
	select {
	case <-done:
	case <-c.hold.lease.Lost():
	}
}

// awaitOther returns when another run has finished the case, or is dead.
func (c *caseRun) awaitOther(ctx context.Context) error {
	for n := 0; ; n++ {
		leased, err := c.runner.handle.Leased(ctx, c.job.Digests.E)
		if err != nil || !leased {
			return err
		}
		if err := clock.Sleep(ctx, looks.Pause(n)); err != nil {
			return err
		}
	}
}

// lost reports whether an error, or the end of a context, means that another run has
// taken over.
func lost(ctx context.Context, err error) bool {
	return errors.Is(err, ledger.ErrLeaseLost) || errors.Is(context.Cause(ctx), ledger.ErrLeaseLost)
}

// callContext returns the context of a call that begins under ctx, a context of the
// case. It ends after a timeout. It outlives a cancelled case for as long as another
// run wants the reply.
func (h *hold) callContext(ctx context.Context, timeout *timeout) (context.Context, context.CancelFunc) {
	call, cancel := timeout.context(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-h.ended:
			select {
			case <-h.unwanted:
			case <-call.Done():
			}
		default: // something within the case has cancelled the call
		}
		cancel()
	})
	return call, func() {
		stop()
		cancel()
	}
}
