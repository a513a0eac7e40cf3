// Package run executes a plan: it drives targets, measures the transcripts, decides,
// and writes everything to the ledger before it is used.
//
// Most callers want [Run]. A provider's failure makes a case an error, never a fail,
// and does not affect the verdicts of other cases. A cancelled run keeps its results:
// the next one only repeats calls that were in flight.
//
// A run judges cases ([Job]). A case has attempts, of which the last one counts, and an
// attempt has samples. A sample is one conversation with the target and its
// measurements. Its calls go through a call log, which answers stored calls from the
// ledger's journal, and a caller, which sends the others within limits, budget and
// timeout.
package run

import (
	"cmp"
	"context"
	"errors"
	"slices"
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

// A Job is one case to judge.
type Job struct {
	Case    *schema.Case
	Digests plan.Digests
	// Target is the resolved name of the case's target.
	Target string
	// Scope selects the ledger entries that may be used.
	Scope ledger.Scope
	// Need is the budget that must be left for the case to begin; a case without a need
	// always begins.
	Need Need
	// Half is set by [Pair]; nil if the case is judged alone.
	Half *Half
	// Purpose is the purpose of running the case.
	Purpose plan.Purpose
	// Again counts further measurements of the case from 1; 0 is the first.
	Again int
	// Selection has the cases that the case is compared with, or nil.
	Selection *plan.Selection
	// Kept are the answers of other cases that the case has.
	Kept []plan.Earlier
	// answerOnly is set if only the answers are wanted, without a judgement, see
	// gather.
	answerOnly bool
}

// A Target is an opened target with its configuration.
type Target struct {
	target.Target
	Config config.Target
}

// A Config configures a run.
type Config struct {
	Ledger *ledger.Ledger
	// Run is the run that pays for the calls, without its report: until that is stored, the
	// ledger counts them as unreported. Without an ID it does not.
	Run ledger.Run
	// Trust is written into every entry.
	Trust   ledger.Trust
	Targets map[string]Target
	// Roles name the targets for judging and extracting.
	Roles map[schema.Role]string
	// Programs runs the programs that judge cases. Defaults to none: a case that needs
	// one is an error.
	Programs evaluate.Programs
	// Budget pays for calls. Defaults to one without limits.
	Budget *Budget
	// Revision is the commit that a deployed agent must name if its target requires
	// that; empty for a working tree.
	Revision string
	// Deployed, when set, decides about the revision that a target names in the place of
	// Revision: the error says why its reply does not count.
	Deployed func(ctx context.Context, t config.Target, revision string) error
	// AtBase are the versions that base's verdicts came from, by targets of head that name a
	// version that is not a commit and whose inputs differ: head's agent has another one.
	AtBase map[string][]string
	// Scrub removes secrets from replies before they are kept. Defaults to no change.
	Scrub func(string) string
	// Record, when set, receives every reply of the named target, including stored
	// ones. It may be called concurrently.
	Record func(name, requestDigest string, req target.Request, reply target.Reply)
	// Observe, when set, receives events. Calls do not overlap.
	Observe func(Event)
	// Keep reports whether a job's outcome returned by Run needs its transcripts.
	// Observe gets them in any case. Defaults to all.
	Keep func(Job, verdict.Result) bool
	// Control, when set, can stop the run early.
	Control *Control
	// Limiters limit several runs together. Defaults to the run's own.
	Limiters *limit.Limiters
	// Breakers remember failed endpoints for several runs. Defaults to the run's own.
	Breakers *limit.Breakers

	// Apart bounds the time that a half of a pair waits for the other one before its
	// first call. Defaults to [Apart].
	Apart time.Duration
	// Clock defaults to the machine's.
	Clock clock.Clock
}

// Apart is the time between outcomes of head and base within which they count as measured
// at the same time: the state of a provider may be another one later.
const Apart = time.Minute

// An Event reports the progress of a run.
type Event struct {
	// Key is the case that started or, if Outcome is set, ended.
	Key     string
	Outcome *Outcome
}

// An Outcome is the outcome of one job.
type Outcome struct {
	Key    string
	Result verdict.Result
	// Spent is the cost of this run's calls; Made is the total cost of the result,
	// including stored samples.
	Spent, Made verdict.Usage
	// Saved is the part of Made for replies that judges gave in other judgements of the
	// same samples.
	Saved verdict.Usage `json:",omitzero"`
	// Effort is what the result took from the agent; nil if it was not asked.
	Effort *verdict.Effort `json:",omitempty"`
	// GivenUp counts the calls that were cancelled before their reply, by the run or by
	// a timeout. Providers charge an unknown amount for them: they are not in Spent.
	GivenUp int
	// Duration is the duration of the result's samples.
	Duration time.Duration
	// Transcripts are the samples' transcripts, in order; nil if Config.Keep does not
	// keep them.
	Transcripts []verdict.Transcript
	// Stopped is true if the run was cancelled before the case ended.
	Stopped bool
	// Fault is the last call that ended with an error, if Result is one because of it.
	Fault Fault `json:",omitzero"`
	// Unrecorded is true if stored replies to record no longer exist.
	Unrecorded bool
	// Unrun names the insufficient budget, or the target that is down; empty if the
	// case was judged.
	Unrun string
}

// A Fault is a call that ended with an error.
type Fault struct {
	At time.Time
	// Retry is true if the same call may succeed later.
	Retry bool
}

// Run judges the jobs and returns their outcomes in the same order. It returns an error
// only if the ledger cannot be written or read; every failure of a single case is in
// its outcome. When ctx ends, running calls are cancelled and the outcomes of
// unfinished jobs are Stopped.
func Run(ctx context.Context, cfg Config, jobs []Job) ([]Outcome, error) {
	r := newRunner(cfg, jobs)
	s := newSchedule(jobs)
	var err error
	if r.handle, err = cfg.Ledger.BeginRun(ctx, cfg.Trust, s.executions(), s.judgements()...); err == nil {
		err = r.finish(ctx, s)
		err = errors.Join(err, r.handle.Close(context.WithoutCancel(ctx)))
	}
	if ctx.Err() != nil {
		// The ledger also stops when the run is cancelled; that is not a fault.
		err = nil
	}
	return s.outcomes, err
}

// A runner is the shared state of a run's cases. Its fields do not change after
// newRunner and the beginning of the run.
type runner struct {
	cfg     Config
	limits  map[string]*limit.Limiter
	calls   callConfig
	workers int
	// room is the number of concurrent samples of one attempt: twice the concurrent
	// calls of all targets together.
	room int
	// recording is set if nothing is called or stored, see [RecordStored].
	recording bool
	// handle is the run in the ledger; nil if nothing is called or stored.
	handle *ledger.RunHandle
	// answers are the candidates' executions by their E, and compared the comparisons'
	// findings by comparedNumber.
	answers, compared sync.Map

	observing sync.Mutex // serialises cfg.Observe
}

func newRunner(cfg Config, jobs []Job) *runner {
	cfg = cfg.withDefaults()
	r := &runner{cfg: cfg, limits: map[string]*limit.Limiter{}}
	r.calls = callConfig{Limits: r.limits, Revision: cfg.Revision, Deployed: cfg.Deployed, AtBase: cfg.AtBase, Began: cfg.Clock.Now(), Apart: cfg.Apart, Clock: cfg.Clock}
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
	// Twice as many cases as calls, so that a target stays busy while other answers are
	// judged and stored. With pairs, the other side's run has the second half of them.
	if !slices.ContainsFunc(jobs, func(j Job) bool { return j.Half != nil }) {
		r.workers *= 2
	}
	r.workers, r.room = max(r.workers, 1), max(r.room, 1)
	return r
}

func (c Config) withDefaults() Config {
	c.Clock, c.Apart = clock.Or(c.Clock), cmp.Or(c.Apart, Apart)
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
