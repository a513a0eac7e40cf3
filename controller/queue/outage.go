package queue

import (
	"fmt"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/postgres"
)

// An Outage is a time in which a worker could not reach its database.
type Outage struct {
	// Cause is the first error.
	Cause error
	// Failures counts the attempts that failed.
	Failures int
	// Duration is 0 while the outage lasts.
	Duration time.Duration
}

// An outageLog reports the beginning and the end of an outage, and no attempt between
// them. It is safe for concurrent use.
type outageLog struct {
	mu    sync.Mutex
	now   Outage    // guarded by mu; the zero value without an outage
	since time.Time // guarded by mu
}

// fault reports an error, unless it belongs to an outage that was reported.
func (w *Worker) fault(doing string, err error) {
	err = fmt.Errorf("%s: %w", doing, err)
	if !postgres.IsLost(err) {
		w.cfg.Failed(err)
		return
	}
	l := &w.outage
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now.Failures++; l.now.Failures > 1 {
		return
	}
	l.now.Cause, l.since = postgres.Brief(err), time.Now()
	w.cfg.Outage(l.now)
}

// reached ends an outage.
func (w *Worker) reached() {
	l := &w.outage
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now.Failures == 0 {
		return
	}
	l.now.Duration = time.Since(l.since)
	w.cfg.Outage(l.now)
	l.now = Outage{}
}
