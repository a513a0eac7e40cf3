package run

import (
	"context"
	"sync"
)

// A Control lets the owner of a run change it while it is running. The zero Control is
// ready; it serves one run at a time.
type Control struct {
	mu sync.Mutex
	// The fields below are guarded by mu.
	superseded func(d string) bool
	running    map[*caseRun]context.CancelFunc
}

// Supersede starts no further case, and cancels the calls of running cases with an
// unwanted decision digest. The remaining cases are finished and stored, so that the
// next run reuses them.
func (c *Control) Supersede(wanted func(d string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.superseded = wanted
	for run, cancel := range c.running {
		if !wanted(run.job.Digests.D) {
			cancel()
		}
	}
}

// ended returns the reason why a case's work under ctx must end, or nil. While
// Supersede cancels the cases one by one, it waits: the first one makes room for a call
// of the next.
func (c *Control) ended(ctx context.Context) error {
	if c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
	}
	return ctx.Err()
}

// begin returns the context of a case and a function to call at its end; false means
// that the case must not begin.
func (c *Control) begin(ctx context.Context, run *caseRun) (context.Context, func(), bool) {
	if c == nil {
		return ctx, func() {}, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.superseded != nil {
		return ctx, func() {}, false
	}
	ctx, cancel := context.WithCancel(ctx)
	if c.running == nil {
		c.running = map[*caseRun]context.CancelFunc{}
	}
	c.running[run] = cancel
	return ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.running, run)
		cancel()
	}, true
}
