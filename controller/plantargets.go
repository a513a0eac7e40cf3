package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// planTargets plans the cases against the requested targets instead of their own. Both
// sides are loaded once per target: the compiled definition depends on its target.
func (p *planner) planTargets(ctx context.Context) error {
	head, snapshot, problems, err := p.targetsSide(ctx, p.req.Head)
	if err != nil {
		return err
	}
	p.out.Problems = problems
	var base *plan.Side
	var changed []string
	if p.req.Base != nil {
		if changed, err = p.changes(ctx, snapshot); err != nil {
			return err
		}
		was, _, _, err := p.targetsSide(ctx, *p.req.Base)
		if err != nil {
			return err
		}
		base = &was
	}
	p.comparePlan(base, head, changed)
	p.out.Plan.Targets = p.req.Targets
	return nil
}

// targetsSide returns one side with every case for each of its targets. The problems
// come from all targets.
func (p *planner) targetsSide(ctx context.Context, s Checkout) (plan.Side, *load.Snapshot, []schema.Problem, error) {
	side := plan.NewSide(s.Commit, s.Config.DefaultTarget, nil)
	env, err := p.environment(ctx, s)
	if err != nil {
		return side, nil, nil, err
	}
	var snapshot *load.Snapshot
	var problems []schema.Problem
	for _, target := range p.req.Targets {
		if _, configured := s.Config.Targets[target]; !configured {
			continue // base may not have it yet
		}
		opts, err := p.req.options(ctx, s)
		if err != nil {
			return side, nil, nil, err
		}
		opts.Settings = opts.Settings.CompileAgainst(target)
		loaded, err := load.Load(ctx, s.FS, opts)
		if err != nil {
			return side, nil, nil, fmt.Errorf("load the definitions of %s: %w", s.Commit, err)
		}
		for i, c := range loaded.Cases {
			one := *c
			one.Target, one.PerTarget = target, len(p.req.Targets) > 1
			loaded.Cases[i] = &one
		}
		one, err := p.side(ctx, s, loaded, &env)
		if err != nil {
			return side, nil, nil, err
		}
		maps.Copy(side.Cases, one.Cases)
		maps.Copy(side.Invalid, one.Invalid)
		side.Strays = one.Strays
		snapshot = loaded.Snapshot()
		for _, problem := range loaded.Problems {
			if !slices.Contains(problems, problem) {
				problems = append(problems, problem)
			}
		}
	}
	return side, snapshot, schema.SortProblems(problems), nil
}
