// Package run carries a plan out: it drives targets, has the transcripts
// measured, decides, and writes everything to the ledger before it is used.
//
// Most callers want [Run]. A provider's failure makes a case an error, never a
// fail, and leaves the verdicts of the other cases as they are. A run that is
// cancelled keeps what was done: the next one repeats only the calls that were
// in flight.
//
// A run judges cases ([Job]). A case has attempts, of which the last one counts,
// and an attempt has samples. A sample is one conversation with the target and
// what the evaluators measure of it. Its calls go through a call log, which
// answers from the ledger's journal what is stored there, and a caller, which
// sends the others within limits, budget and timeout.
package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
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
	Need Need
	// Purpose is what the case is run for.
	Purpose plan.Purpose
	// Again counts further measurements of the case from 1; 0 is the first.
	Again int
	// Selection has the cases that the case is compared with; nil where there are none.
	Selection *plan.Selection
	// answerOnly is set where the answers are wanted and no judgement, see gather.
	answerOnly bool
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
	Programs evaluate.Programs
	// Budget is what calls are paid from. Defaults to one without limits.
	Budget *Budget
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
	// Limiters are those of the targets, for several runs that are to be within the
	// limits together. Defaults to some of the run's own.
	Limiters *limit.Limiters
	// Breakers remember which endpoints are down, for several runs. Defaults to
	// some of the run's own.
	Breakers *limit.Breakers

	// Clock defaults to the machine's.
	Clock clock.Clock
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
	// Unrecorded is true where stored replies were to be recorded and are no longer
	// there.
	Unrecorded bool
	// Unrun says which budget was too small to judge the case, or which target
	// is down; empty where it was judged.
	Unrun string
}

// Run judges the jobs and returns their outcomes in the same order. It returns
// an error only when the ledger cannot be written or read; everything that
// goes wrong with a single case is in its outcome. When ctx ends, the calls
// in flight are given up and the outcomes of unfinished jobs are Stopped.
func Run(ctx context.Context, cfg Config, jobs []Job) ([]Outcome, error) {
	r := newRunner(cfg, jobs)
	s := newSchedule(jobs)
	var err error
	if r.handle, err = cfg.Ledger.BeginRun(ctx, cfg.Trust, s.executions()); err == nil {
		err = r.finish(ctx, s)
		err = errors.Join(err, r.handle.Close(context.WithoutCancel(ctx)))
	}
	if ctx.Err() != nil {
		// The ledger gives up too when the run is cancelled; that is not a fault.
		err = nil
	}
	return s.outcomes, err
}

// A runner holds what the cases of one run share. Its fields do not change after
// newRunner and the beginning of the run.
type runner struct {
	cfg     Config
	limits  map[string]*limit.Limiter
	calls   callConfig
	workers int
	// room is how many samples of one attempt are taken at once: twice the calls
	// that all targets together take.
	room int
	// recording is set where nothing is called or stored, see [RecordStored].
	recording bool
	// handle is the run in the ledger; nil where nothing is called or stored.
	handle *ledger.RunHandle
	// answers are the executions of candidates by their E, and compared what was
	// found of them by comparedNumber.
	answers, compared sync.Map

	observing sync.Mutex // serialises cfg.Observe
}

func newRunner(cfg Config, jobs []Job) *runner {
	cfg = cfg.withDefaults()
	r := &runner{cfg: cfg, limits: map[string]*limit.Limiter{}}
	r.calls = callConfig{Limits: r.limits, Revision: cfg.Revision, Began: cfg.Clock.Now(), Clock: cfg.Clock}
	r.calls.Target = func(name string) (target.Target, config.Target) {
		t := cfg.Targets[name]
		return t.Target, t.Config
	}
	inUse := map[string]bool{}
	for _, j := range jobs {
		inUse[j.Target] = true
	}
	for name, t := range cfg.Targets {
		r.limits[name] = cfg.Limiters.Limiter(t.Config, cfg.Breakers.Breaker(t.Config, cfg.Revision), cfg.Clock)
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

func (c Config) withDefaults() Config {
	c.Clock = clock.Or(c.Clock)
	if c.Breakers == nil {
		c.Breakers = &limit.Breakers{}
	}
	if c.Budget == nil {
		c.Budget = NewBudget(BudgetConfig{})
	}
	if c.Scrub == nil {
		c.Scrub = func(s string) string { return s }
	}
	return c
}

func (r *runner) observe(e Event) {
	if r.cfg.Observe == nil {
		return
	}
	r.observing.Lock()
	defer r.observing.Unlock()
	r.cfg.Observe(e)
}
