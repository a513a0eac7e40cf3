package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/queue"
	"github.com/gavel-evals/gavel/controller/review"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/serve"
	"github.com/gavel-evals/gavel/controller/worker"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/load"
)

// patience is the time that a database may be unavailable at the start, since both may
// start together.
const patience = time.Minute

// noWorker is what the log, the checks and the probes of a server say without a worker.
const noWorker = "no gavel worker is running, and cases wait for one; start gavel worker with the same database, or gavel serve with --judge"

// queued lets workers judge the plans of a server with a database, unless it judges
// itself. The caller calls end.
func (s *server) queued(ctx context.Context) (end func(), err error) {
	if s.here || !postgres.IsURL(s.database) {
		return func() {}, nil
	}
	q, err := queue.Open(ctx, s.database)
	if err != nil {
		return nil, err
	}
	if err := postgres.Patiently(ctx, patience, Away(s.log, patience, func() error { return q.Migrate(ctx) })); err != nil {
		q.Close()
		return nil, err
	}
	s.warning = func(ctx context.Context) string {
		soon, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		switch running, err := q.Workers(soon); {
		case err != nil:
			return "the database does not say which workers are running" // the log has the error
		case running == 0:
			return noWorker
		}
		return ""
	}
	if s.metrics != nil {
		s.metrics.CountWorkers(func() (n serve.WorkerCount, err error) {
			soon, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			n.Running, n.Waiting, n.Judging, err = q.Depth(soon)
			return n, err
		})
	}
	s.remote = func(ctx context.Context, p *controller.Prepared, opts controller.RunOptions, sides []run.Side) ([][]run.Outcome, error) {
		about := worker.About{Run: opts.ID, Budget: p.Head().Config.Budget}
		subject, err := opts.Subject(ctx)
		if err == nil {
			err = json.Unmarshal(subject, &about.Subject)
		}
		if err != nil {
			return nil, fmt.Errorf("describe the commit for workers: %w", err)
		}
		body, err := json.Marshal(about)
		if err != nil {
			return nil, err
		}
		return q.Judge(ctx, queue.Batch{
			Class: classOf(about.Subject), About: body, Sides: sides, Programs: startsPrograms,
			Waits: func(w queue.Standstill) {
				if opts.Waits != nil {
					opts.Waits(controller.WaitingCases(w))
				}
				if w.Cases == 0 || w.Workers > 0 || w.Programs {
					return
				}
				s.log.Warn().Str("sha", about.Subject.Head).Msg(noWorker)
			},
		})
	}
	return q.Close, nil
}

// classOf returns the class of a head: people wait for pull requests.
func classOf(s review.Subject) queue.Class {
	if s.Number == 0 {
		return queue.Background
	}
	return queue.Interactive
}

// startsPrograms reports whether a case needs a sandbox, including for answers that it
// is compared with.
func startsPrograms(cfg run.Config, job run.Job) bool {
	command := func(name string) bool { return cfg.Targets[name].Config.RunsProgram() }
	answering := []plan.Candidate{{Case: job.Case, Target: job.Target}}
	if job.Selection != nil {
		answering = job.Selection.Candidates // the case is one of them
	}
	for _, k := range job.Kept {
		answering = append(answering, k.All()...)
	}
	for _, a := range answering {
		if a.Case.Drive.Program != nil || a.Case.Drive.Given == nil && command(a.Target) {
			return true
		}
	}
	for _, callee := range load.Callees(job.Case) {
		if command(cmp.Or(callee.Target, cfg.Roles[callee.Role])) {
			return true
		}
	}
	for _, e := range job.Case.Evaluators {
		if len(evaluator.ProgramsOf(e.Spec)) > 0 {
			return true
		}
	}
	return false
}
