package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/queue"
	"github.com/gavel-evals/gavel/controller/remeasure"
	"github.com/gavel-evals/gavel/controller/review"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
)

// A runPlan is the plan for judging one run's tasks.
type runPlan struct {
	judge *Judge
	ready chan struct{} // closed when the fields below are set
	err   error

	about    About
	prepared *controller.Prepared
	sides    map[string]*side
	ends     []func() error
	budget   *run.Budget
	// run pays for the calls. It began here when the plan was made.
	run ledger.Run
	// atBase are the versions that base's verdicts came from, for head.
	atBase map[string][]string

	// users and used are guarded by the judge's mu.
	users, used int

	mu       sync.Mutex
	sessions map[string]*session // guarded by mu
}

// A session is a run's session with the number of tasks that it judges.
type session struct {
	*run.Session
	// The fields below are guarded by the plan's mu. idle ends the session some time after
	// its last task; nil before the end of the first one.
	tasks int
	idle  *time.Timer
}

// A side is head or base with its cases.
type side struct {
	checkout controller.Checkout
	trust    ledger.Trust
	roster   *run.Roster
	cases    map[string][]entry // by the name of the case in tasks
	programs evaluate.Programs
	// requirement lists needs of judging that this process may lack.
	requirement controller.Requirement
}

// An entry is a case of a side with its digests and target, and its row in the plan,
// which also has the other side.
type entry struct {
	c       *schema.Case
	digests plan.Digests
	target  string
	row     *plan.Row
	side    confirm.Side
}

// under returns the digests for judging a task: the case's own, or those of a further
// measurement, which also depends on the other side.
func (e *entry) under(t queue.Part) plan.Digests {
	if t.Again == 0 {
		return e.digests
	}
	return remeasure.Further(e.row, e.side, t.Again-1)
}

// load fetches and plans.
func (p *runPlan) load(ctx context.Context, about json.RawMessage) (err error) {
	if err := json.Unmarshal(about, &p.about); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	subject, own := p.about.Subject, p.judge.cfg
	fetch, err := own.Repository(ctx, subject.Repository)
	if err != nil {
		return err
	}
	subject.Last = "" // planned whatever is stored
	prepared, end, err := review.Plan(ctx, review.Config{Ledger: own.Ledger, Making: own.Making, LookupEnv: own.LookupEnv, Fetch: fetch, Log: own.Log}, subject)
	if err != nil {
		return fmt.Errorf("plan %s at %.12s: %w", subject.Repository, subject.Head, err)
	}
	p.ends = append(p.ends, end)
	host, end, err := own.Host(ctx, prepared, subject.Number)
	if err != nil {
		return errors.Join(err, p.close())
	}
	p.ends = append(p.ends, end)
	if p.atBase, err = prepared.VersionsAtBase(ctx); err != nil {
		return errors.Join(err, p.close())
	}
	p.prepared, p.sessions = prepared, map[string]*session{}
	p.run = ledger.Run{
		ID: p.about.Run, Repository: subject.LedgerName, PullRequest: subject.Number,
		Base: prepared.Plan.Base, Head: prepared.Plan.Head, Started: time.Now(),
	}
	p.budget = p.about.budgetOf(prepared.Request().HeadTrust)
	p.index(host)
	return nil
}

// index indexes the cases of both sides.
func (p *runPlan) index(host controller.Host) {
	req := p.prepared.Request()
	newSide := func(c controller.Checkout, trust ledger.Trust) *side {
		s := &side{checkout: c, trust: trust, cases: map[string][]entry{}}
		s.roster = run.NewRoster(c.Config, func(t config.Target) (target.Target, error) { return host.Open(t, c) })
		s.requirement = controller.FindRequirement(c.FS, req.ConfigFile, c.Config, req.LookupEnv)
		s.programs = host.Programs(c)
		return s
	}
	head := newSide(p.prepared.Head(), req.HeadTrust)
	p.sides = map[string]*side{"head": head}
	var base *side
	if req.Base != nil {
		base = newSide(*req.Base, req.BaseTrust)
		p.sides["base"] = base
		if req.Head.Commit == req.Base.Commit {
			head.trust = req.BaseTrust
		}
	}
	for i := range p.prepared.Plan.Rows {
		r := &p.prepared.Plan.Rows[i]
		if r.HeadCase != nil && r.Head != nil {
			head.add(entry{r.HeadCase, r.HeadDigests, r.Target, r, confirm.Head})
		}
		if r.BaseCase != nil && r.Base != nil && base != nil {
			base.add(entry{r.BaseCase, r.BaseDigests, cmp.Or(r.Base.Target, req.Base.Config.DefaultTarget), r, confirm.Base})
		}
	}
}

func (s *side) add(e entry) { s.cases[queue.Name(e.c)] = append(s.cases[queue.Name(e.c)], e) }

// find returns a task's case with the task's digests, which this worker computes
// itself. The error names the difference.
func (s *side) find(t queue.Part) (*entry, plan.Digests, error) {
	planned := s.cases[t.Case]
	if len(planned) == 0 {
		return nil, plan.Digests{}, fmt.Errorf("the plan of this worker has no case %s at %s", t.Case, t.Side)
	}
	for i := range planned {
		e := &planned[i]
		if d := e.under(t); d.E == t.E && d.J == t.J && d.D == t.D {
			if e.target != t.Target {
				return nil, plan.Digests{}, fmt.Errorf("this worker asks the target %s for %s, and the controller asks %s", e.target, t.Case, t.Target)
			}
			return e, d, nil
		}
	}
	return nil, plan.Digests{}, differs(t)
}

// job returns the job of a task. The plan and the task must agree about trust.
func (p *runPlan) job(t queue.Part) (run.Job, *side, error) {
	s := p.sides[t.Side]
	if s == nil {
		return run.Job{}, nil, fmt.Errorf("the plan of %s has no side %q", t.Case, t.Side)
	}
	e, digests, err := s.find(t)
	if err != nil {
		return run.Job{}, nil, err
	}
	req := p.prepared.Request()
	if t.Trust != s.trust || t.Scope.Trust != req.HeadTrust && t.Scope.Trust != req.BaseTrust {
		return run.Job{}, nil, fmt.Errorf("the task of %s claims a trust that its commit does not have", t.Case)
	}
	return run.Job{
		Case: e.c, Digests: digests, Target: e.target, Scope: t.Scope, Need: t.Need, Purpose: t.Purpose, Again: t.Again,
		Selection: e.digests.Selection(), Kept: e.digests.Kept(),
	}, s, nil
}

// session returns the session for cases of a side of the run that need the same targets.
// The caller calls end after its task.
func (p *runPlan) session(ctx context.Context, id string, t queue.Part, job run.Job) (_ *run.Session, end func(), err error) {
	s := p.sides[t.Side]
	targets, err := s.roster.Opened([]run.Job{job})
	if err != nil {
		return nil, nil, err
	}
	key := id + "\x00" + t.Side + "\x00" + names(targets)
	p.mu.Lock()
	defer p.mu.Unlock()
	used := p.sessions[key]
	if used == nil {
		j := p.judge
		var atBase map[string][]string
		if t.Side == "head" {
			atBase = p.atBase
		}
		made, err := run.Begin(context.WithoutCancel(ctx), run.Config{
			Ledger: j.cfg.Ledger, Run: p.run, Trust: s.trust, Programs: s.programs, Targets: targets, Roles: s.checkout.Config.Roles.Targets(),
			Budget: p.budget, Revision: t.Revision, AtBase: atBase, Scrub: p.prepared.Scrub(), Breakers: &j.breakers, Limiters: j.limiters,
		})
		if err != nil {
			return nil, nil, err
		}
		used = &session{Session: made}
		p.sessions[key] = used
	}
	used.keep()
	used.tasks++
	return used.Session, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if used.tasks--; used.tasks == 0 {
			used.idle = time.AfterFunc(p.judge.cfg.Idle, func() { p.expire(key, used) })
		}
	}, nil
}

// keep takes back that the session ends by itself.
func (s *session) keep() {
	if s.idle != nil {
		s.idle.Stop()
	}
}

// expire ends a session that has no task any more.
func (p *runPlan) expire(key string, s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.tasks > 0 || p.sessions[key] != s {
		return
	}
	delete(p.sessions, key)
	if err := s.Close(context.Background()); err != nil {
		p.judge.cfg.Log("end a run: " + err.Error())
	}
}

// close ends the sessions, the programs and the repository.
func (p *runPlan) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, s := range p.sessions {
		s.keep()
		errs = append(errs, s.Close(context.Background()))
	}
	p.sessions = nil
	for i := len(p.ends) - 1; i >= 0; i-- {
		errs = append(errs, p.ends[i]())
	}
	p.ends = nil
	return errors.Join(errs...)
}
