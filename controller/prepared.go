// Package controller is the pipeline behind every command: load both sides of a change,
// plan, read the ledger, run the open cases, compare.
//
// Most callers want [Prepare], which plans without a call, and then [Prepared.Execute],
// which executes the plan, stores the report and returns it. [Prepared.Estimate]
// estimates the effort before.
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

// Prepared is a plan with everything needed to estimate and execute it.
type Prepared struct {
	Plan *plan.Plan
	// Problems are mistakes in head's definitions.
	Problems []schema.Problem

	req Request
	// headStored and baseStored are both sides' decisions in the ledger, by decision
	// digest.
	headStored, baseStored map[string]*ledger.Decision
	// executed are the E of the cases to be judged, and answered counts the stored samples of
	// the answers that these have of others, by E.
	// counted are the E of such answers that are in left.
	executed, counted map[string]bool
	answered          map[string]int
	// reuseSince maps cases that are asked again, by their ID at head, to the time
	// since which stored results count.
	reuseSince map[string]time.Time
	// begun maps cases, by their ID at base, to the time since which stored results
	// count, if older ones are known to be outdated.
	begun map[string]time.Time
	// sources are the source files of targets.
	sources map[checkoutTarget]source.Source
	notices []report.Notice
	// rebuilt are base's deployed targets that are built from other files at head.
	rebuilt map[targetPair]bool
	// left are the cases that a brief plan counts but does not keep.
	left remeasure.Remainder
	// elsewhere means that other processes judge: they need the targets' keys, this one
	// does not.
	elsewhere bool
}

// Prepare loads, digests, compares and reads the ledger. Mistakes in definitions are
// Problems; an error means that a side or the ledger could not be read at all.
func Prepare(ctx context.Context, req Request) (*Prepared, error) {
	if req.Now == nil {
		req.Now = time.Now
	}
	req.makers()
	req.All = req.All && req.Base != nil // without a base every case counts already
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
	p.addControls()
	if err := p.findRebuilt(ctx); err != nil {
		return nil, err
	}
	if err := p.findUnnamed(ctx); err != nil {
		return nil, err
	}
	p.setReuseSince()
	return out, p.addStored(ctx)
}

// Unplanned returns a plan without cases, for a head that is not examined. The problems
// give the reason.
func Unplanned(req Request, problems ...schema.Problem) *Prepared {
	if req.Now == nil {
		req.Now = time.Now
	}
	return &Prepared{req: req, Plan: &plan.Plan{Head: req.Head.Commit}, Problems: problems}
}

// Head returns the side that is judged.
func (p *Prepared) Head() Checkout { return p.req.Head }

// Base returns the side that head is compared with, or nil.
func (p *Prepared) Base() *Checkout { return p.req.Base }

// Ledger returns the ledger of the plan and its report, or nil.
func (p *Prepared) Ledger() *ledger.Ledger { return p.req.Ledger }

// TargetChanges returns head's changes of the targets, if another configuration
// decides.
func (p *Prepared) TargetChanges() config.TargetChanges { return p.req.TargetChanges }

// Refused returns the first change of head that must not be used in judging a case: of
// its target, of a target that judges it, or of a role.
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

// Request returns the plan's request, for planning again or with a change.
func (p *Prepared) Request() Request { return p.req }

// SetBudget replaces the budget of head's configuration.
func (p *Prepared) SetBudget(budget config.Budget) {
	cfg := *p.req.Head.Config
	cfg.Budget = budget
	p.req.Head.Config = &cfg
}

// UseProgramsOfBase makes head's programs see base's files.
func (p *Prepared) UseProgramsOfBase() { p.req.Head.Programs = p.req.Base }

// Changed returns the files that differ between base and head.
func (p *Prepared) Changed(ctx context.Context) ([]string, error) { return p.req.Changed(ctx, nil) }

// Rerun returns the plan to rerun some of the cases regardless of stored results: as
// new samples, which the ledger keeps next to the old ones. Cases that are not active,
// or not at head, are left out.
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
		if r.ControlOf != "" && wanted(r.ControlOf) {
			rows.Rows = append(rows.Rows, r) // it is paid once
			continue
		}
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
