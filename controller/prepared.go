// Package controller is the pipeline that every door leads to: load both
// sides of a change, plan, ask the ledger, run what is left, compare.
//
// Most callers want [Prepare], which plans without a call, and then
// [Prepared.Execute], which carries the plan out, stores the report and returns
// it. [Prepared.Estimate] says before what that takes.
package controller

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/remeasure"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/source"
	"github.com/gavel-evals/gavel/schema"
)

// Prepared is a plan with what it takes to estimate it and to carry it out.
type Prepared struct {
	Plan *plan.Plan
	// Problems are what is wrong with head's definitions.
	Problems []schema.Problem

	req Request
	// headStored and baseStored are the decisions that the ledger has, by decision
	// digest, for both sides.
	headStored, baseStored map[string]*ledger.Decision
	// reuseSince says by the ID at head since when it counts what is stored of the
	// cases that are asked again.
	reuseSince map[string]time.Time
	// begun says by the ID at base since when what is stored of it counts, where
	// older results are known to be no longer true.
	begun map[string]time.Time
	// sources are what targets are built from.
	sources map[checkoutTarget]source.Source
	notices []report.Notice
	// rebuilt are the deployed targets of base that are built from other files at head.
	rebuilt map[targetPair]bool
	// left are the cases that a brief plan counts and does not keep.
	left remeasure.Remainder
	// elsewhere says that other processes judge: they need the keys of targets, not
	// this one.
	elsewhere bool
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
	if lost := req.lost(); lost != nil {
		return nil, lost
	}
	return p, err
}

func prepare(ctx context.Context, req Request) (*Prepared, error) {
	out := &Prepared{req: req, sources: map[checkoutTarget]source.Source{}}
	p := &planner{out: out, req: &out.req}
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
	if err := p.findRebuilt(ctx); err != nil {
		return nil, err
	}
	if err := p.findUnnamed(ctx); err != nil {
		return nil, err
	}
	p.setReuseSince()
	return out, p.addStored(ctx)
}

// Unplanned returns a plan without cases, of a head that is not looked at. The
// problems say why.
func Unplanned(req Request, problems ...schema.Problem) *Prepared {
	if req.Now == nil {
		req.Now = time.Now
	}
	return &Prepared{req: req, Plan: &plan.Plan{Head: req.Head.Commit}, Problems: problems}
}

// Head is the side that is judged.
func (p *Prepared) Head() Checkout { return p.req.Head }

// Base is the side that head is compared with; nil where there is none.
func (p *Prepared) Base() *Checkout { return p.req.Base }

// Ledger is what the plan reads and its report is stored in; nil where nothing is
// stored.
func (p *Prepared) Ledger() *ledger.Ledger { return p.req.Ledger }

// TargetChanges returns what head changes of the targets, where another configuration
// decides.
func (p *Prepared) TargetChanges() config.TargetChanges { return p.req.TargetChanges }

// Refused is the first change of head that a case is not judged with: of its target, of one
// that judges it, or of a role in it.
func (p *Prepared) Refused(row plan.Row) (change config.TargetChange, refused bool) {
	if row.Head == nil || row.HeadCase == nil {
		return change, false
	}
	cfg := p.req.Head.Config
	names := remeasure.Asked(cfg, row.HeadCase, row.Target, true)
	for _, change := range p.req.TargetChanges.Refused {
		role, isRole := strings.CutPrefix(change.Setting, "roles.")
		if isRole = isRole && change.Target == ""; isRole && slices.Contains(row.HeadCase.Roles(), schema.Role(role)) {
			return change, true
		}
		if !isRole && (slices.Contains(names, change.Target) || slices.Contains(names, cfg.Judge(change.Target))) {
			return change, true
		}
	}
	return change, false
}

// Request returns what was planned, to plan it again or with a change.
func (p *Prepared) Request() Request { return p.req }

// SetBudget replaces the budget of head's configuration.
func (p *Prepared) SetBudget(budget config.Budget) {
	cfg := *p.req.Head.Config
	cfg.Budget = budget
	p.req.Head.Config = &cfg
}

// UseProgramsOfBase has the programs of head see base's files.
func (p *Prepared) UseProgramsOfBase() { p.req.Head.Programs = p.req.Base }

// Changed returns the files that differ between base and head.
func (p *Prepared) Changed(ctx context.Context) ([]string, error) { return p.req.Changed(ctx, nil) }

// Rerun is the plan to rerun some of the cases regardless of stored results: as
// new samples, which the ledger keeps next to the old ones. Cases that
// are not active, or not at head, are left out.
func (p *Prepared) Rerun(wanted func(key string) bool) *Prepared {
	out := *p
	cfg := *p.req.Head.Config
	cfg.Reuse.On = false
	cfg.Targets = maps.Clone(cfg.Targets)
	for name, t := range cfg.Targets {
		t.Reuse = nil
		cfg.Targets[name] = t
	}
	out.req.Head.Config, out.req.Chosen = &cfg, true
	out.req.Unasked = cmp.Or(out.req.Unasked, "only some cases are judged again")
	rows := *p.Plan
	rows.Rows = nil
	for _, r := range p.Plan.Rows {
		if r.Head == nil || r.Head.Skip != "" || !wanted(r.Key) {
			continue
		}
		r.Action, r.Known, r.Asked = plan.Run, plan.Stored{}, false
		if len(r.Reasons) == 0 {
			r.Reasons = []plan.Reason{{Part: "rerun", File: r.Head.Origin.File, Message: "rerun requested"}}
		}
		rows.Rows = append(rows.Rows, r)
	}
	out.Plan = &rows
	return &out
}
