package run

import (
	"context"

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

// Close ends the session; no job may be judged any more.
func (s *Session) Close(ctx context.Context) error {
	return s.runner.handle.Close(context.WithoutCancel(ctx))
}
