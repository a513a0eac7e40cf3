// Package controller is the pipeline that every door leads to: load both
// sides of a change, plan, ask the ledger, run what is left, compare.
//
// Most callers want [Prepare], which plans without a call, and then
// [Prepared.Execute], which carries the plan out and returns the report.
package controller

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/snapshot"
	"github.com/gavel-evals/gavel/controller/source"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// A Checkout is the repository at one moment, with the configuration that
// decides there.
type Checkout struct {
	// Commit is 40 hex digits or worktree.
	Commit string
	FS     fs.FS
	Config *config.Config
	// Dir is the folder on disk that holds the files, in which programs run;
	// empty where there is none.
	Dir string
	// Programs is the checkout whose files programs see, where that is not this
	// one: base, whose programs are run when the head's may not be.
	Programs *Checkout
}

// A Request says what to plan.
type Request struct {
	Head Checkout
	// Base is nil when head is compared with nothing.
	Base *Checkout
	// Changed gives the files that differ between base and head. Where only
	// some folders are compared, outside are the other files that matter.
	Changed func(ctx context.Context, outside []string) ([]string, error)
	// Snapshot is what base has for definitions, where that is known. Then
	// only the cases are planned that the changed files can affect, and the
	// rest is counted, unless what is asked for takes all cases.
	Snapshot *load.Snapshot
	// Remembered returns what is remembered of head's definitions, with the notes
	// taken of every case; nil, by itself or returned, loads them.
	Remembered func(context.Context, snapshot.Notes) (*load.Snapshot, error)
	// Brief keeps no case that is loaded for the plan alone, so that it cannot be
	// carried out.
	Brief bool
	// Pinned are definitions whose cases get a row where only the affected ones
	// do, so that what is stored of them is in the report.
	Pinned []string
	// MaxNew bounds the cases that head has in changed files; 0 means without bound.
	MaxNew int64
	// ConfigFile is the path of gavel.yaml, for reasons.
	ConfigFile string
	// Select keeps the cases that are asked for; nil keeps all.
	Select func(*schema.CaseInfo) bool
	// Statuses keeps the cases with one of these, such as draft, and judges
	// them also where they are not active; empty keeps all and judges those
	// that are active.
	Statuses []string
	// Targets, where there are some, are those that the cases are run against
	// instead of their own, each case against each of them.
	Targets []string
	// All makes every case count as affected.
	All bool
	// IgnoreBefore returns the time before which stored results of a case are ignored, and
	// why; such a case counts as affected. A zero time, or a nil func, ignores
	// nothing.
	IgnoreBefore func(key string) (since time.Time, why plan.Reason)
	// ReuseSince says of a case whose agent's version nobody knows since when it
	// counts what is stored, unless the team has set reuse at the target; the zero
	// time is forever. nil counts nothing that was stored before.
	ReuseSince func(plan.Row) time.Time
	// Invocation replaces Looked if a person runs the working tree: results stored
	// before it began do not count.
	Invocation *Invocation
	// Fresh, where it is set, says why Looked is asked of every case.
	Fresh *plan.Reason
	// Repeat, where it is not 0, is how many samples every case has on both
	// sides, in place of its iterations.
	Repeat int
	// Before, where it is set, has head compared with what was known of itself
	// until then. Base is not asked for.
	Before time.Time

	// Ledger is nil where nothing is stored: then nothing is known.
	Ledger *ledger.Ledger
	// HeadTrust and BaseTrust are written into what the sides judge, and say
	// what each may read.
	HeadTrust, BaseTrust ledger.Trust
	// LookupEnv finds the environment variables that targets declare.
	LookupEnv func(string) (string, bool)
	// Now defaults to time.Now.
	Now func() time.Time
}

// Prepared is a plan with what it takes to carry it out.
type Prepared struct {
	Request
	Plan *plan.Plan
	// Problems are what is wrong with head's definitions.
	Problems []schema.Problem

	// Stored are the decisions that the ledger has, by decision digest, for
	// both sides.
	headStored, baseStored map[string]*ledger.Decision
	// reuseSince says by the ID at head since when it counts what is stored of the
	// cases that are asked again.
	reuseSince map[string]time.Time
	// sources are what targets are built from.
	sources map[checkoutTarget]source.Source
	// env is what head's cases run in.
	env *plan.Environment
	// left is what a brief plan counts of the cases that it does not keep.
	left leftOut
	// unfinished says that something was left out that the next run makes up for.
	unfinished bool
}

// Prepare loads, digests, compares and asks the ledger. Bad definitions are
// Problems; an error means that a side or the ledger could not be read at all.
func Prepare(ctx context.Context, req Request) (*Prepared, error) {
	if req.Now == nil {
		req.Now = time.Now
	}
	p, err := prepare(ctx, req)
	if errors.Is(err, errChanged) {
		req.Remembered = nil
		p, err = prepare(ctx, req)
	}
	return p, err
}

func prepare(ctx context.Context, req Request) (*Prepared, error) {
	p := &Prepared{Request: req, sources: map[checkoutTarget]source.Source{}}
	var err error
	switch {
	case !req.Before.IsZero():
		err = p.planDrift(ctx)
	case len(req.Targets) > 0:
		err = p.planTargets(ctx)
	case req.Base == nil:
		err = p.planHead(ctx)
	case p.canPlanAffected():
		err = p.planAffected(ctx)
	default:
		err = p.planFull(ctx)
	}
	if err != nil {
		return nil, err
	}
	p.setReuseSince()
	return p, p.addStored(ctx)
}

// always says which cases are judged although base has them unchanged.
func (p *Prepared) always(key string) (plan.Reason, bool) {
	if p.All {
		return plan.Reason{Part: "all", Message: "all cases were asked for"}, true
	}
	if since, why := p.since(key); !since.IsZero() {
		return why, true
	}
	for _, glob := range p.Head.Config.Gate.Required {
		if wildcard.Match(glob, key) {
			return plan.Reason{Part: "required", File: p.ConfigFile, Message: "the gate requires " + glob}, true
		}
	}
	return plan.Reason{}, false
}

// addStored takes into account what the ledger knows.
func (p *Prepared) addStored(ctx context.Context) error {
	known := make([]plan.Known, len(p.Plan.Rows))
	p.headStored, p.baseStored = map[string]*ledger.Decision{}, map[string]*ledger.Decision{}
	if p.Ledger == nil {
		return p.settle(ctx, known)
	}
	for g, rows := range p.rowsByScope() {
		scope := p.headScope(g)
		found, err := p.storedAtHead(ctx, scope, rows)
		if err != nil {
			return err
		}
		for i, r := range rows {
			known[r] = found[i]
			if scope.Nothing {
				known[r].Unread = p.reuseOff(g.target)
			}
		}
		if err := p.addPassed(ctx, g, rows, known); err != nil {
			return err
		}
		if err := p.addLastParts(ctx, scope, rows, known); err != nil {
			return err
		}
		if err := p.addStoredAtBase(ctx, g, rows); err != nil {
			return err
		}
	}
	return p.settle(ctx, known)
}

// storedAtHead says what the ledger has for head of the rows. A brief plan is not
// carried out, so that it needs no decisions.
func (p *Prepared) storedAtHead(ctx context.Context, scope ledger.Scope, rows []int) ([]plan.Known, error) {
	digests, list := make([]plan.Digests, len(rows)), make([]string, len(rows))
	for i, r := range rows {
		digests[i] = p.Plan.Rows[r].HeadDigests
		list[i] = digests[i].D
	}
	if p.Brief {
		return p.Ledger.Known(ctx, scope, digests)
	}
	decided, err := p.Ledger.Decided(ctx, scope, list)
	if err != nil {
		return nil, err
	}
	p.headStored = joined(p.headStored, decided)
	return p.Ledger.Samples(ctx, scope, digests, decided)
}

// joined adds decisions to others.
func joined(to, more map[string]*ledger.Decision) map[string]*ledger.Decision {
	if len(to) == 0 {
		return more
	}
	maps.Copy(to, more)
	return to
}

// addLastParts adds what the cases consisted of when they were decided last, where no
// base says what changed.
func (p *Prepared) addLastParts(ctx context.Context, scope ledger.Scope, rows []int, known []plan.Known) error {
	var ids []string
	var open []int
	for _, r := range rows {
		if row := p.Plan.Rows[r]; row.Action == plan.Run && len(row.Reasons) == 0 && known[r].Decided == nil {
			ids, open = append(ids, row.Head.ID()), append(open, r)
		}
	}
	found, err := p.Ledger.LastParts(ctx, scope, ids)
	for i, parts := range found {
		known[open[i]].Last = parts
	}
	return err
}

// addStoredAtBase adds the stored decisions of the rows at base.
func (p *Prepared) addStoredAtBase(ctx context.Context, g scopeKey, rows []int) error {
	if p.Base == nil {
		return nil
	}
	digests := make([]string, len(rows))
	for i, r := range rows {
		digests[i] = p.Plan.Rows[r].BaseDigests.D
	}
	found, err := p.Ledger.Decided(ctx, p.baseScope(g.target), digests)
	if err == nil {
		p.baseStored = joined(p.baseStored, found)
	}
	return err
}

// A scopeKey says which entries of the ledger serve a row.
type scopeKey struct {
	target string
	since  time.Time
	// again says that since is when the case was looked at.
	again bool
}

func (p *Prepared) scopeKeyOf(r plan.Row) scopeKey {
	since, _ := p.since(r.Key)
	if r.Head != nil {
		if looked, again := p.reuseSince[r.Head.ID()]; again && looked.After(since) {
			return scopeKey{r.Target, looked, true}
		}
	}
	return scopeKey{r.Target, since, false}
}

func (p *Prepared) rowsByScope() map[scopeKey][]int {
	out := map[scopeKey][]int{}
	for i, r := range p.Plan.Rows {
		out[p.scopeKeyOf(r)] = append(out[p.scopeKeyOf(r)], i)
	}
	return out
}

// reuseOff is why nothing that is stored serves a target.
func (p *Prepared) reuseOff(target string) *plan.Reason {
	reason := plan.Reason{Part: "reuse", File: p.ConfigFile, Message: "reuse is off"}
	if p.Head.Config.Targets[target].Reuse != nil {
		reason.Message += " for the target " + target
	}
	return &reason
}

// since is what Anew says.
func (p *Prepared) since(key string) (time.Time, plan.Reason) {
	if p.IgnoreBefore == nil {
		return time.Time{}, plan.Reason{}
	}
	return p.IgnoreBefore(key)
}

// headScope says which entries of the ledger serve rows at head.
func (p *Prepared) headScope(g scopeKey) ledger.Scope {
	scope := p.readScope(p.HeadTrust, p.Head.Config, g.target)
	if g.since.After(scope.NotBefore) {
		scope.NotBefore = g.since
	}
	return scope
}

// baseScope says which entries of the ledger tell what base was.
func (p *Prepared) baseScope(target string) ledger.Scope {
	if !p.Before.IsZero() {
		return ledger.Scope{Trust: p.BaseTrust, Before: p.Before}
	}
	return p.readScope(p.BaseTrust, p.Base.Config, target)
}

// readScope says which entries of the ledger serve a target: the target's own
// reuse setting wins over the general one.
func (p *Prepared) readScope(trust ledger.Trust, cfg *config.Config, target string) ledger.Scope {
	reuse := cfg.Reuse
	if own := cfg.Targets[target].Reuse; own != nil {
		reuse = *own
	}
	scope := ledger.Scope{Trust: trust, Nothing: !reuse.On}
	if reuse.MaxAge > 0 {
		scope.NotBefore = p.Now().Add(-reuse.MaxAge)
	}
	return scope
}

func setOf(files []string) map[string]bool {
	set := make(map[string]bool, len(files))
	for _, f := range files {
		set[f] = true
	}
	return set
}

// Rerun is the plan to rerun some of the cases regardless of stored results: as
// new samples, which the ledger keeps next to the old ones. Cases that
// are not active, or not at head, are left out.
func (p *Prepared) Rerun(wanted func(key string) bool) *Prepared {
	out := *p
	cfg := *p.Head.Config
	cfg.Reuse.On = false
	cfg.Targets = maps.Clone(cfg.Targets)
	for name, t := range cfg.Targets {
		t.Reuse = nil
		cfg.Targets[name] = t
	}
	out.Head.Config = &cfg
	rows := *p.Plan
	rows.Rows = nil
	for _, r := range p.Plan.Rows {
		if r.Head == nil || r.Head.Skip != "" || !wanted(r.Key) {
			continue
		}
		r.Action, r.Known = plan.Run, plan.Known{}
		if len(r.Reasons) == 0 {
			r.Reasons = []plan.Reason{{Part: "rerun", File: r.Head.Origin.File, Message: "rerun requested"}}
		}
		rows.Rows = append(rows.Rows, r)
	}
	out.Plan = &rows
	return &out
}
