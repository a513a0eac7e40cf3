package controller

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate/evalcase"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/requirement"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/budget"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/target/secret"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// An Execution says how a plan is carried out.
type Execution struct {
	// ID names the run in the ledger and in reports.
	ID string
	// Scrub removes secrets from what is kept.
	Scrub func(string) string
	// Record is told every reply that the report rests on, live or stored; nil
	// records nothing. Untold is told the keys of the cases of which a stored
	// reply is no longer there; nil hears nothing.
	Record func(name, requestDigest string, req target.Request, reply target.Reply)
	Untold func(key string)
	// Observe is told how the run goes on; nil hears nothing. Calls do not
	// overlap.
	Observe func(Progress)
	// Control, when set, can end the run early.
	Control *run.Control
	// Breakers remember which endpoints are down. Defaults to some of this
	// execution's own.
	Breakers *limit.Breakers
	// Open opens a target. Defaults to target.New with the process's
	// environment.
	Open func(t config.Target, s State) (target.Target, error)
	// Programs runs the programs that cases of a state are judged by; nil runs
	// none.
	Programs func(s State) evalcase.Programs
	// Withhold says why a case is not judged although it should be; empty
	// judges it. nil judges all.
	Withhold func(plan.Row) string
	// Repository is the name under which the run is stored.
	Repository  string
	PullRequest int
	Notices     []reporters.Notice
	ConfigDiff  reporters.ConfigChange
	// Outbox gives what has to be published with the report; nil publishes
	// nothing.
	Outbox func(*reporters.Report) ([]ledger.OutboxItem, error)
	// NotRun, when set, says why nothing may be run: the report is a plan.
	NotRun string
	// Commands are what people asked for and get.
	Commands []reporters.Command

	budget *budget.Budget // of both sides, see Prepared.budget
	// keep is run.Config.Keep of the side that is judged.
	keep func(run.Job, verdict.Result) bool
}

// Progress tells how many cases are done.
type Progress struct {
	Done, Total int
	// Outcome is that of the case that ended; nil at the start.
	Outcome *run.Outcome
	// Base is true while base is measured.
	Base bool
}

// Side is the one in progress: head or base.
func (p Progress) Side() string {
	if p.Base {
		return "base"
	}
	return "head"
}

// Verdict is that of the case that ended; empty at the start.
func (p Progress) Verdict() verdict.Verdict {
	if p.Outcome == nil {
		return ""
	}
	return p.Outcome.Result.Verdict
}

// NewID names a run.
func NewID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Scrub takes the credentials of both sides' targets out of what is kept.
func (p *Prepared) Scrub() func(string) string {
	return secret.Scrub(p.targets(), p.LookupEnv)
}

// Secrets are those credentials.
func (p *Prepared) Secrets() []string { return secret.Of(p.targets(), p.LookupEnv) }

func (p *Prepared) targets() []config.Target {
	targets := slices.Collect(maps.Values(p.Head.Config.Targets))
	if p.Base != nil {
		targets = slices.AppendSeq(targets, maps.Values(p.Base.Config.Targets))
	}
	return targets
}

// Redacted gives a value that leaves, such as a report, without secrets: those
// of the plan's targets, and what looks like one. What is stored for evaluators
// has the latter.
func Redacted[T any](p *Prepared, v T) T { return redact.In(v, p.redact()) }

func (p *Prepared) redact() func(string) string {
	var known redact.Values
	known.Add(p.Secrets()...)
	return known.Text
}

// Execute judges what the plan leaves to be judged, base where it has to be
// compared with and is not known, and returns the report. When ctx ends, what
// is done is kept and in the report; the rest is an error there. Neither the
// report nor what is observed has a secret in it.
func (p *Prepared) Execute(ctx context.Context, e Execution) (*reporters.Report, error) {
	start := p.Now()
	in := reporters.Input{
		Run: e.ID, Plan: p.Plan, Problems: p.Problems,
		Gate: GateSettings(p.Head.Config.Gate), GroupGates: p.Head.Config.GroupStatuses, ConfigDigest: p.Head.Config.Digest,
		Config: e.ConfigDiff, NotRun: e.NotRun, Commands: e.Commands,
		Head: map[string]reporters.Outcome{}, Base: map[string]reporters.Outcome{},
	}
	if err := p.recall(ctx, &in); err != nil {
		return nil, err
	}
	in.Notices = slices.Concat(e.Notices, p.opened(), p.deployed(&in))
	if e.NotRun == "" {
		if err := p.judge(ctx, e, &in); err != nil {
			return nil, err
		}
		if err := p.retell(ctx, e, &in); err != nil {
			return nil, err
		}
	}
	in.Notices = append(in.Notices, p.vanished()...)
	in.Duration = p.Now().Sub(start)
	return Redacted(p, reporters.Compare(in)), nil
}

// judge runs head's cases, whose verdicts decide, and then those of base that
// they are compared with. What both sides ask alike goes first at base, whose
// samples head may always read, while base may not read what a stranger's head
// has stored.
func (p *Prepared) judge(ctx context.Context, e Execution, in *reporters.Input) error {
	if p.Invocation != nil && len(p.looked) > 0 {
		if err := p.Invocation.begin(ctx); err != nil {
			return err
		}
	}
	p.withhold(e, in)
	head := slices.DeleteFunc(p.headJobs(), p.without(in.Head))
	base := slices.DeleteFunc(p.baseJobs(in.Base), p.without(in.Head))
	p.need(head, base)
	e.budget = p.budget()
	if e.Breakers == nil {
		e.Breakers = &limit.Breakers{}
	}
	progress := Progress{Total: len(head) + len(base)}
	if e.Observe != nil && progress.Total > 0 {
		e.Observe(progress)
	}
	hide := p.redact()
	observe := func(base bool) func(run.Event) {
		return func(ev run.Event) {
			if e.Observe == nil || ev.Outcome == nil {
				return
			}
			progress.Done++
			progress.Outcome, progress.Base = redact.In(ev.Outcome, hide), base
			e.Observe(progress)
		}
	}
	judgeBase := func(jobs []run.Job) error {
		if len(jobs) == 0 {
			return nil
		}
		e.keep = func(run.Job, verdict.Result) bool { return false } // a report shows head's
		outcomes, err := p.run(ctx, e, *p.Base, jobs, observe(true))
		if err != nil {
			return fmt.Errorf("judge base: %w", err)
		}
		collect(in.Base, jobs, outcomes)
		return nil
	}
	alike, others := split(base, head)
	if err := judgeBase(alike); err != nil {
		return err
	}
	e.keep = p.explained(in.Base)
	outcomes, err := p.run(ctx, e, p.Head, head, observe(false))
	if err != nil {
		return fmt.Errorf("judge head: %w", err)
	}
	collect(in.Head, head, outcomes)
	p.unfinished = slices.ContainsFunc(outcomes, func(o run.Outcome) bool { return o.Stopped || o.Unrun != "" })
	compared := slices.DeleteFunc(others, p.without(in.Head))
	progress.Total = len(head) + len(alike) + len(compared)
	return judgeBase(compared)
}

// explained reports whether the report may show how the verdict on a job of head
// came about. It shows no case that passes, except one that base has under the
// same digests with another verdict: such a case of base is known by now.
func (p *Prepared) explained(base map[string]reporters.Outcome) func(run.Job, verdict.Result) bool {
	other := map[string]bool{}
	for _, r := range p.Plan.Rows {
		if r.Base == nil || r.BaseDigests.D != r.HeadDigests.D {
			continue
		}
		if was, known := base[r.Base.ID()]; known && was.Result.Verdict != verdict.Pass {
			other[r.HeadDigests.D] = true
		}
	}
	return func(j run.Job, result verdict.Result) bool {
		return other[j.Digests.D] || result.Verdict != verdict.Pass
	}
}

// split parts the jobs of base whose execution is also one of head from the
// others.
func split(base, head []run.Job) (alike, others []run.Job) {
	asked := map[string]bool{}
	for _, j := range head {
		asked[j.Digests.E] = true
	}
	for _, j := range base {
		if asked[j.Digests.E] {
			alike = append(alike, j)
		} else {
			others = append(others, j)
		}
	}
	return alike, others
}

// withhold notes the cases that are not judged.
func (p *Prepared) withhold(e Execution, in *reporters.Input) {
	lacking := p.lacking()
	for _, r := range p.Plan.Rows {
		if !judged(r) {
			continue
		}
		reason := lacking(r)
		if reason == "" && e.Withhold != nil && r.Action != plan.Redecide {
			reason = e.Withhold(r)
		}
		if reason != "" {
			in.Head[r.Head.ID()] = reporters.Outcome{Unrun: reason}
		}
	}
}

// without tells which jobs, of either side, are of cases that have no verdict
// at head although they were tried or withheld: there is nothing to compare
// base with.
func (p *Prepared) without(head map[string]reporters.Outcome) func(run.Job) bool {
	lacking := map[*schema.Case]bool{}
	for _, r := range p.Plan.Rows {
		if r.Head == nil {
			continue
		}
		if o, ok := head[r.Head.ID()]; ok && (o.Unrun != "" || o.Result.Verdict == verdict.Error) {
			lacking[r.HeadCase], lacking[r.BaseCase] = true, true
		}
	}
	return func(j run.Job) bool { return lacking[j.Case] }
}

func (p *Prepared) headJobs() []run.Job {
	var jobs []run.Job
	for _, r := range p.Plan.Rows {
		if judged(r) && r.HeadCase != nil {
			jobs = append(jobs, p.headJob(r))
		}
	}
	return jobs
}

func (p *Prepared) headJob(r plan.Row) run.Job {
	return run.Job{Case: r.HeadCase, Digests: r.HeadDigests, Target: r.Target, Scope: p.headScope(p.servedBy(r))}
}

// baseJobs are the cases of base that head's are compared with and whose
// verdict is not known. An agent that cannot be had in base's revision is not
// measured: what is stored of it is all there is.
func (p *Prepared) baseJobs(known map[string]reporters.Outcome) []run.Job {
	if p.Base == nil || !p.Before.IsZero() {
		return nil // what was known before is all there is
	}
	base := requirement.Of(p.Base.FS, p.ConfigFile, p.Base.Config, p.LookupEnv)
	var jobs []run.Job
	for _, r := range p.Plan.Rows {
		name := p.compared(r)
		if name == "" || base.Missing(r.BaseCase, name) != "" {
			continue
		}
		if _, ok := known[r.Base.ID()]; ok {
			continue
		}
		jobs = append(jobs, run.Job{
			Case: r.BaseCase, Digests: r.BaseDigests, Target: name,
			Scope: p.readScope(p.BaseTrust, p.Base.Config, name),
		})
	}
	return jobs
}

// compared is the target that base of a row is measured against; "" where it is
// not measured.
func (p *Prepared) compared(r plan.Row) string {
	if p.Base == nil || r.Head == nil || r.Head.Skip != "" || r.Base == nil || r.Base.Skip != "" || len(r.Reasons) == 0 || r.MovedFrom != "" {
		return ""
	}
	name := p.baseTarget(r)
	if !measurable(p.Base.Config.Targets[name]) {
		return ""
	}
	return name
}

// measurable reports whether a target can still answer as it did at base: an
// agent only where every commit has a URL of its own.
func measurable(t config.Target) bool {
	deployed := strings.Contains(t.URLTemplate, "{sha}") && !strings.Contains(t.URLTemplate, "{pr}")
	return t.Provider != config.HTTP && t.Provider != config.Command || deployed
}

func (p *Prepared) run(ctx context.Context, e Execution, s State, jobs []run.Job, observe func(run.Event)) ([]run.Outcome, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	targets, err := openTargets(e, s, jobs)
	if err != nil {
		return nil, err
	}
	var programs evalcase.Programs
	if e.Programs != nil {
		programs = e.Programs(s)
	}
	outcomes, err := run.Run(ctx, run.Config{
		Ledger: p.Ledger, Trust: p.trust(s), Programs: programs, Targets: targets, Roles: s.Config.Roles.Targets(),
		Budget: e.budget, Revision: revision(s.Commit), Scrub: e.Scrub, Record: e.Record, Observe: observe, Keep: e.keep, Control: e.Control,
		Breakers: e.Breakers, Now: p.Now,
	}, jobs)
	for _, o := range outcomes {
		if o.Untold {
			e.untold(o.Key)
		}
	}
	return outcomes, err
}

// trust is what is written into the entries of a state.
func (p *Prepared) trust(s State) ledger.Trust {
	if p.Base != nil && s.Commit == p.Base.Commit {
		return p.BaseTrust
	}
	return p.HeadTrust
}

// revision is what a deployed agent has to run; a working tree has none.
func revision(commit string) string {
	if commit == Worktree {
		return ""
	}
	return commit
}

// Worktree is the commit of a state that is not committed.
const Worktree = "worktree"

// openTargets opens the targets of the jobs and those that have a role in them.
func openTargets(e Execution, s State, jobs []run.Job) (map[string]run.Target, error) {
	roles := s.Config.Roles.Targets()
	names := map[string]bool{}
	for _, j := range jobs {
		names[j.Target] = true
		for _, role := range j.Case.Roles() {
			names[roles[role]] = true
		}
		for _, name := range load.Judges(j.Case) {
			names[name] = true
		}
	}
	// A role that no target has is an error of the cases that need it.
	delete(names, "")
	targets := map[string]run.Target{}
	for name := range names {
		cfg, ok := s.Config.Targets[name]
		if !ok {
			return nil, unconfigured(name, s.Config)
		}
		t, err := e.Open(cfg, s)
		if err != nil {
			return nil, fmt.Errorf("open target %s: %w", name, err)
		}
		targets[name] = run.Target{Target: t, Config: cfg}
	}
	return targets, nil
}

// ErrUnconfigured means that a case names a target that gavel.yaml does not
// have.
var ErrUnconfigured = errors.New("is not configured")

func unconfigured(name string, cfg *config.Config) error {
	hint := cmp.Or(schema.DidYouMean(name, slices.Collect(maps.Keys(cfg.Targets))), "add it under targets: in gavel.yaml")
	return fmt.Errorf("target %q %w; %s", name, ErrUnconfigured, hint)
}

// collect keeps the outcomes of jobs, which are in the same order, by case.
func collect(into map[string]reporters.Outcome, jobs []run.Job, outcomes []run.Outcome) {
	for i, o := range outcomes {
		out := reporters.Outcome{Result: o.Result, Usage: o.Spent, Duration: o.Duration, Unrun: o.Unrun}
		if o.Stopped {
			out.Unrun = o.Result.Reason
		}
		if len(o.Transcripts) > 0 {
			out.Transcript = &o.Transcripts[0]
		}
		into[jobs[i].Case.ID()] = out
	}
}

// recall fills in what the ledger knows of both sides, with the transcripts of
// the cases that people will look into.
func (p *Prepared) recall(ctx context.Context, in *reporters.Input) error {
	for _, r := range p.Plan.Rows {
		if d, ok := p.headStored[r.HeadDigests.D]; ok && r.Head != nil && r.Action == plan.Reuse {
			out, err := p.stored(ctx, d, r)
			if err != nil {
				return err
			}
			in.Head[r.Head.ID()] = out
		}
		if r.Base == nil {
			continue
		}
		if d, ok := p.baseStored[r.BaseDigests.D]; ok {
			out, err := p.stored(ctx, d, r)
			if err != nil {
				return err
			}
			in.Base[r.Base.ID()] = out
		}
	}
	return nil
}

func (p *Prepared) stored(ctx context.Context, d *ledger.Decision, r plan.Row) (reporters.Outcome, error) {
	out := reporters.Outcome{Result: d.Result, Reused: true, Saved: d.Usage, Judged: d.Oldest}
	if len(r.Reasons) == 0 {
		return out, nil
	}
	executions, _, err := p.Ledger.Executions(ctx, ledger.Scope{Trust: p.HeadTrust}, d.E)
	if err != nil || len(executions) == 0 {
		return out, err
	}
	out.Transcript = &executions[0].Transcript
	return out, nil
}

// GateSettings hands the gate of a gavel.yaml to the reporters.
func GateSettings(g config.Gate) reporters.GateSettings {
	return reporters.GateSettings{FailOn: g.FailOn, MinScore: g.MinScore, MaxDrop: g.MaxDrop, Required: g.Required, Removed: g.Removed}
}

// Store writes the run with its report to the ledger.
func (p *Prepared) Store(ctx context.Context, e Execution, report *reporters.Report, started time.Time) error {
	body, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("store the report: %w", err)
	}
	var items []ledger.OutboxItem
	if e.Outbox != nil {
		if items, err = e.Outbox(report); err != nil {
			return fmt.Errorf("store the report: %w", err)
		}
	}
	err = p.Ledger.SaveReport(ctx, ledger.Run{
		ID: e.ID, Repository: e.Repository, PullRequest: e.PullRequest,
		Base: p.Plan.Base, Head: p.Plan.Head, Started: started, Finished: p.Now(), Report: body,
	}, items...)
	if err != nil || p.Invocation == nil || p.unfinished {
		return err
	}
	return p.Invocation.end(ctx)
}
