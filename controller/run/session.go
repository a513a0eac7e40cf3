package run

import "context"

// A Session judges jobs of one run as they come, such as those that a worker takes
// from a queue. It is safe for concurrent use.
type Session struct{ runner *runner }

// Begin begins a session. The caller must call Close.
func Begin(ctx context.Context, cfg Config) (*Session, error) {
	r := newRunner(cfg, nil)
	var err error
	r.handle, err = cfg.Ledger.BeginRun(ctx, cfg.Trust, nil)
	return &Session{r}, err
}

// Judge is [Run] for one job.
func (s *Session) Judge(ctx context.Context, job Job) (Outcome, error) {
	one := newSchedule([]Job{job})
	one.patient = true
	var err error
	for err == nil && ctx.Err() == nil && len(one.groups) > 0 {
		err = s.runner.round(ctx, one)
	}
	if ctx.Err() != nil {
		err = nil
	}
	return one.outcomes[0], err
}

// Close ends the session, in which nothing is judged any more.
func (s *Session) Close(ctx context.Context) error {
	return s.runner.handle.Close(context.WithoutCancel(ctx))
}
