// Package worker judges cases that a controller in another process has queued.
//
// A [Judge] gets a case by its digests. It fetches the commits, loads and plans them
// again, and judges the case only if the digests are equal: the queue cannot choose a
// text, an endpoint, a secret or a program.
package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/queue"
	"github.com/gavel-evals/gavel/controller/review"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// About is the common part of a batch's tasks.
type About struct {
	// Subject names the commits to plan, and the options.
	Subject review.Subject `json:"subject"`
	// Run is the id of the run, under which all workers count its spending.
	Run string `json:"run"`
	// Budget is the run's budget: the configuration's within the operator's.
	Budget config.Budget `json:"budget"`
}

// A Fetcher fetches refs of a repository with their history, within bounds.
type Fetcher func(ctx context.Context, src gitrepo.Source) (*gitrepo.Repository, []string, error)

// A Config has a worker's own settings.
type Config struct {
	Ledger *ledger.Ledger
	// Repository returns the fetcher of a repository that the operator lists.
	Repository func(ctx context.Context, name forge.Repo) (Fetcher, error)
	// Host returns the process's resources for judging a plan, and a function that
	// releases them.
	Host func(ctx context.Context, p *controller.Prepared, pull int) (host controller.Host, end func() error, err error)
	// Making runs the programs that make parts of definitions.
	Making    controller.Making
	LookupEnv func(name string) (string, bool)
	// Limiters keep calls within the limits of targets. Defaults to this process's own.
	Limiters *limit.Limiters
	// Idle is how long a session outlasts its last task: each one is a run in progress that
	// gives signs of life. Defaults to 2 s.
	Idle time.Duration
	// Log is called with a log line.
	Log func(line string)
}

// mostPlans bounds the kept plans that are not in use.
const mostPlans = 4

// A Judge judges tasks. It is safe for concurrent use.
type Judge struct {
	cfg      Config
	limiters *limit.Limiters
	breakers limit.Breakers

	mu sync.Mutex
	// The fields below are guarded by mu. plans are keyed by the common text of their
	// tasks.
	plans map[string]*runPlan
	clock int // counts uses
}

// New returns a Judge. The caller calls Close after the last task.
func New(cfg Config) *Judge {
	cfg.Idle = cmp.Or(cfg.Idle, 2*time.Second)
	return &Judge{cfg: cfg, limiters: cmp.Or(cfg.Limiters, &limit.Limiters{}), plans: map[string]*runPlan{}}
}

// Judge judges the case of a task, and stores its completion with the verdict. A task with
// a partner has two, judged at the same time. The error is the reason why this worker
// cannot.
func (j *Judge) Judge(ctx context.Context, task queue.Task, about json.RawMessage, done queue.Completions) (queue.Judged, error) {
	p, err := j.plan(ctx, about)
	if err != nil {
		return queue.Judged{}, err
	}
	defer j.release(p)
	own, err := p.prepare(ctx, task.Run, task.Part, done[0])
	if err != nil {
		return queue.Judged{}, err
	}
	defer own.end()
	if task.Partner == nil {
		out, err := own.judge(ctx)
		return queue.Judged{Outcome: out}, err
	}
	other, err := p.prepare(ctx, task.Run, *task.Partner, done[1])
	if err != nil {
		return queue.Judged{}, err
	}
	defer other.end()
	if own.lacks == nil && other.lacks == nil {
		both, err := run.JudgePair(ctx, own.SessionJob, other.SessionJob)
		return queue.Judged{Outcome: both[0], Partner: &both[1]}, err
	}
	first, err := own.judge(ctx)
	if err != nil {
		return queue.Judged{}, err
	}
	second, err := other.judge(ctx)
	return queue.Judged{Outcome: first, Partner: &second}, err
}

// A prepared is a case that is ready to be judged, or the outcome of one that this worker
// lacks something for. The caller calls end when it is judged.
type prepared struct {
	run.SessionJob
	lacks *run.Outcome
	end   func()
}

// prepare finds a case and begins its session, unless one is in progress.
func (p *runPlan) prepare(ctx context.Context, id string, part queue.Part, done *run.Completion) (prepared, error) {
	job, side, err := p.job(part)
	if err != nil {
		return prepared{}, err
	}
	if why := side.requirement.Missing(job.Case, job.Target); why != "" {
		why = "on the worker, " + why
		lacks := &run.Outcome{Key: job.Case.Key, Unrun: why, Result: verdict.Result{Verdict: verdict.Error, Reason: why}}
		return prepared{lacks: lacks, end: func() {}}, nil
	}
	s, end, err := p.session(ctx, id, part, job)
	return prepared{SessionJob: run.SessionJob{Session: s, Job: job, Completion: done}, end: end}, err
}

// judge judges the case alone.
func (x prepared) judge(ctx context.Context) (run.Outcome, error) {
	if x.lacks != nil {
		return *x.lacks, nil
	}
	return x.Session.Judge(ctx, x.Job, x.Completion)
}

// Close releases everything that is kept.
func (j *Judge) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var errs []error
	for key, p := range j.plans {
		<-p.ready
		errs = append(errs, p.close())
		delete(j.plans, key)
	}
	return errors.Join(errs...)
}

// plan returns the plan of a subject, creating it once. The caller calls release.
func (j *Judge) plan(ctx context.Context, about json.RawMessage) (*runPlan, error) {
	key := string(about)
	j.mu.Lock()
	p, there := j.plans[key]
	if !there {
		p = &runPlan{judge: j, ready: make(chan struct{})}
		j.plans[key] = p
	}
	p.users++
	j.mu.Unlock()
	if !there {
		// Others wait for it, so it survives this task.
		p.err = p.load(context.WithoutCancel(ctx), about)
		close(p.ready)
	}
	select {
	case <-p.ready:
	case <-ctx.Done():
		j.release(p)
		return nil, ctx.Err()
	}
	if p.err != nil {
		j.mu.Lock()
		if j.plans[key] == p {
			delete(j.plans, key) // the next task tries again
		}
		j.mu.Unlock()
		return nil, p.err
	}
	return p, nil
}

// release ends the use of a plan, and closes the least recently used ones if there are
// too many.
func (j *Judge) release(p *runPlan) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.clock++
	p.users--
	p.used = j.clock
	for {
		var oldest string
		idle := 0
		for key, other := range j.plans {
			if other.users > 0 {
				continue
			}
			if idle++; oldest == "" || other.used < j.plans[oldest].used {
				oldest = key
			}
		}
		if idle <= mostPlans {
			return
		}
		if err := j.plans[oldest].close(); err != nil {
			j.cfg.Log("end a plan: " + err.Error())
		}
		delete(j.plans, oldest)
	}
}

// budgetOf returns this process's share of a run's budget. The ledger has the spending
// of all processes.
func (a *About) budgetOf(trust ledger.Trust) *run.Budget {
	return run.NewBudget(run.BudgetConfig{Budget: a.Budget, Repository: trust.Repository, PullRequest: trust.PullRequest, Run: a.Run, Now: time.Now})
}

// names joins the names of targets.
func names(targets map[string]run.Target) string {
	all := make([]string, 0, len(targets))
	for name := range targets {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, "\x00")
}

// differs reports that the worker computes another digest than the controller.
func differs(t queue.Part) error {
	return fmt.Errorf("this worker computes another digest than %.12s for %s: its version or the environment variables of its targets are not those of the controller", t.D, t.Case)
}
