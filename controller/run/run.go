// Package run carries a plan out: it drives targets, has the transcripts
// measured, decides, and writes everything to the ledger before it is used.
//
// Most callers want [Run]. A provider's failure makes a case an error, never a
// fail, and leaves the verdicts of the other cases as they are. A run that is
// cancelled keeps what was done: the next one repeats only the calls that were
// under way.
package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate/evalcase"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run/budget"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// A Job is one case that has to be judged.
type Job struct {
	Case    *schema.Case
	Digests plan.Digests
	// Target is the resolved name of the case's target.
	Target string
	// Scope says which entries of the ledger may be used.
	Scope ledger.Scope
	// Need is what has to be left of a budget for the case to be begun; a case
	// without one is begun in any case.
	Need budget.Need
}

// A Target is an opened target with its configuration.
type Target struct {
	target.Target
	Config config.Target
}

// A Config says with what cases are run.
type Config struct {
	Ledger *ledger.Ledger
	// Trust is written into every entry.
	Trust   ledger.Trust
	Targets map[string]Target
	// Roles name the targets that judge and extract.
	Roles map[schema.Role]string
	// Programs runs the programs that cases are judged by. Defaults to none:
	// a case that needs one is an error.
	Programs evalcase.Programs
	// Budget is what calls are paid from. Defaults to one without limits.
	Budget *budget.Budget
	// Revision is the commit that a deployed agent must name where its target
	// asks for that; empty for a working tree.
	Revision string
	// Scrub removes secrets from replies before they are kept. Defaults to
	// keeping them as they are.
	Scrub func(string) string
	// Record, when set, is told every reply of the target of that name, also
	// those that are stored. It may be called by several goroutines at once.
	Record func(name, requestDigest string, req target.Request, reply target.Reply)
	// Observe, when set, is told what happens. Calls do not overlap.
	Observe func(Event)
	// Keep reports whether the outcome that Run returns for a job needs its
	// transcripts. Observe gets them in any case. Defaults to keeping all of them.
	Keep func(Job, verdict.Result) bool
	// Control, when set, can end the run early.
	Control *Control
	// Breakers remember which endpoints are down, for several runs. Defaults to
	// some of the run's own.
	Breakers *limit.Breakers

	// Now defaults to time.Now.
	Now func() time.Time
	// Sleep waits or returns ctx's error. Defaults to a timer.
	Sleep func(ctx context.Context, d time.Duration) error
	// Jitter gives numbers in [0,1). Defaults to math/rand/v2.
	Jitter func() float64
}

// An Event tells how a run goes on.
type Event struct {
	// Key is the case that was started or, when Outcome is set, ended.
	Key     string
	Outcome *Outcome
}

// An Outcome is what became of one job.
type Outcome struct {
	Key    string
	Result verdict.Result
	// Spent is what the calls of this run cost; Made is what the result cost
	// in all, stored samples included.
	Spent, Made verdict.Usage
	// GivenUp counts the calls that were sent and given up before their reply, by
	// the run or by a timeout. Providers charge for them, and nobody knows how
	// much: they are not in Spent.
	GivenUp int
	// Duration is the time that the samples of the result took.
	Duration time.Duration
	// Transcripts are those of the samples, in order; nil where Config.Keep does
	// not keep them.
	Transcripts []verdict.Transcript
	// Stopped is true when the run was cancelled before the case ended.
	Stopped bool
	// Untold is true where stored replies were to be recorded and are no longer
	// there.
	Untold bool
	// Unrun says which budget was too small to judge the case, or which target
	// is down; empty where it was judged.
	Unrun string
}

// Run judges the jobs and returns their outcomes in the same order. It returns
// an error only when the ledger cannot be written or read; everything that
// goes wrong with a single case is in its outcome. When ctx ends, the calls
// under way are given up and the outcomes of unfinished jobs are Stopped.
func Run(ctx context.Context, cfg Config, jobs []Job) ([]Outcome, error) {
	r := newRunner(cfg, jobs)
	outcomes := make([]Outcome, len(jobs))
	for i, job := range jobs {
		outcomes[i] = stopped(job)
	}
	groups := byExecution(jobs)
	end, err := r.want(ctx, groups, jobs)
	if err == nil {
		err = errors.Join(r.judge(ctx, groups, jobs, outcomes), end())
	}
	if ctx.Err() != nil {
		// The ledger gives up too when the run is cancelled; that is no fault.
		err = nil
	}
	return outcomes, err
}

// byExecution groups the jobs that ask the same of the same target, in the
// order of the first of each. They follow one another, so that each finds what
// the one before it has stored and nothing is paid for twice.
func byExecution(jobs []Job) [][]int {
	var groups [][]int
	place := map[string]int{}
	for i, job := range jobs {
		at, known := place[job.Digests.E]
		if !known {
			at = len(groups)
			place[job.Digests.E] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	return groups
}

func stopped(job Job) Outcome {
	return Outcome{
		Key: job.Case.Key, Stopped: true,
		Result: verdict.Result{Verdict: verdict.Error, Reason: "the run was stopped before the case was judged"},
	}
}

// A runner holds what the jobs of one run share.
type runner struct {
	Config
	limits  map[string]*limit.Limiter
	workers int
	// room is how many samples of one series are under way at once: twice the
	// calls that all targets together take.
	room int
	// retelling is set where nothing is called or stored, see Retell.
	retelling bool
	// interest is what the run wants of the ledger.
	interest *ledger.Interest

	began time.Time

	mu sync.Mutex // serialises Observe
}

func newRunner(cfg Config, jobs []Job) *runner {
	r := &runner{Config: cfg, limits: map[string]*limit.Limiter{}}
	r.applyDefaults()
	r.began = r.Now()
	inUse := map[string]bool{}
	for _, j := range jobs {
		inUse[j.Target] = true
	}
	for name, t := range cfg.Targets {
		r.limits[name] = limit.New(t.Config, r.Breakers.Of(t.Config, r.Revision), limit.Clock{Now: r.Now, Sleep: r.Sleep, Jitter: r.Jitter})
		r.room += 2 * r.limits[name].Size()
		if inUse[name] {
			r.workers += r.limits[name].Size()
		}
	}
	// Twice as many cases as calls, so that a target stays busy while the
	// answers of others are judged and stored.
	r.workers, r.room = max(2*r.workers, 1), max(r.room, 1)
	return r
}

func (r *runner) observe(e Event) {
	if r.Observe == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Observe(e)
}

// job judges one case, for which before was spent already. Its error is the
// ledger's, or ErrLeased where another run is at work on the case; what was
// spent is in the outcome in any case.
func (r *runner) job(ctx context.Context, job Job, before verdict.Usage, at place) (Outcome, error) {
	w := work{runner: r, job: job, spent: before, place: at}
	none := stopped(job)
	ctx, done, ok := r.Control.begin(ctx, &w)
	if !ok {
		none.Spent = before
		return none, nil
	}
	defer done()
	held, release, err := w.hold(ctx)
	var out Outcome
	if err == nil {
		out, err = w.judgeAll(held)
		taken := lost(held, err)
		if err = errors.Join(err, release()); taken {
			err = ledger.ErrLeased
		}
	}
	if err == nil {
		return out, nil
	}
	none.Spent, none.GivenUp = w.soFar(), w.givenUp
	if !errors.Is(err, ledger.ErrLeased) && ctx.Err() != nil {
		// What was given up cannot be written; that is no fault of the ledger.
		err = nil
	}
	return none, err
}
