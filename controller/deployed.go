package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/remeasure"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/source"
)

// A targetPair names a target at base and its replacement at head.
type targetPair struct{ base, head string }

// findRebuilt finds the deployed targets of base whose inputs differ at head. Such a
// target cannot be asked in base's state: the deployment may be head's.
func (p *planner) findRebuilt(ctx context.Context) error {
	p.out.rebuilt = map[targetPair]bool{}
	if p.req.Base == nil || !p.req.Before.IsZero() {
		return nil
	}
	pairs := map[targetPair]bool{}
	for name := range p.req.Base.Config.Targets {
		pairs[targetPair{name, name}] = true
	}
	for _, r := range p.out.Plan.Rows {
		if r.Base != nil && r.Head != nil {
			pairs[targetPair{p.out.baseTarget(r), r.Target}] = true
		}
	}
	for pair := range pairs {
		differ, err := p.inputsDiffer(ctx, pair)
		if err != nil {
			return fmt.Errorf("target %s: %w", pair.base, err)
		}
		if differ {
			p.out.rebuilt[pair] = true
		}
	}
	return nil
}

// inputsDiffer reports whether the inputs of a deployed target, as named by either
// side, differ.
func (p *planner) inputsDiffer(ctx context.Context, pair targetPair) (bool, error) {
	was, is := p.req.Base.Config.Targets[pair.base], p.req.Head.Config.Targets[pair.head]
	if !was.Deployed() {
		return false, nil
	}
	union := was
	union.Inputs = slices.Concat(was.Inputs, is.Inputs)
	if len(union.Inputs) == 0 {
		return false, nil
	}
	var named [2][]plan.Fact
	for i, s := range []*Checkout{p.req.Base, &p.req.Head} {
		read, err := source.Read(ctx, source.State{FS: s.FS, Config: s.Config, ConfigFile: p.req.ConfigFile}, union)
		if err != nil {
			return false, err
		}
		named[i] = read.Facts(nil)
	}
	return !slices.Equal(named[0], named[1]), nil
}

// rebuiltFor returns the target of a row at base that is built from other files at
// head; empty without one.
func (p *Prepared) rebuiltFor(r plan.Row) string {
	if len(p.rebuilt) == 0 || r.Base == nil || r.BaseCase == nil {
		return ""
	}
	name := p.baseTarget(r)
	for _, asked := range remeasure.Asked(p.req.Base.Config, r.BaseCase, name, r.BaseDigests.E != r.HeadDigests.E || r.Repeated) {
		pair := targetPair{asked, asked}
		if asked == name {
			pair.head = cmp.Or(r.Target, name)
		}
		if p.rebuilt[pair] {
			return asked
		}
	}
	return ""
}

// VersionsAtBase returns the versions that base's stored verdicts came from, by the targets
// of head that are built from other files and name a version that is not a commit. The error
// is the ledger's.
func (p *Prepared) VersionsAtBase(ctx context.Context) (map[string][]string, error) {
	versions := map[string][]string{}
	if p.req.Ledger == nil || p.req.Base == nil {
		return versions, nil
	}
	for _, r := range p.Plan.Rows {
		name := p.rebuiltFor(r)
		if name == "" || name != p.baseTarget(r) || p.req.Base.Config.Targets[name].Revision != config.RevisionAny {
			continue
		}
		executions, _, err := p.req.Ledger.Executions(ctx, p.baseScope(name), r.BaseDigests.E)
		if err != nil {
			return nil, err
		}
		for _, x := range executions {
			if v := x.Transcript.Revision; v != "" && !slices.Contains(versions[r.Target], v) {
				versions[r.Target] = append(versions[r.Target], v)
			}
		}
	}
	return versions, nil
}

// addUnasked records the reason why base has no verdict of cases whose agent is not
// available in base's state.
func (e *execution) addUnasked() {
	for _, r := range e.p.Plan.Rows {
		if !e.p.wantsBase(r) || (r.Action == plan.Reuse || r.Asked) && r.HeadDigests.D == r.BaseDigests.D {
			continue
		}
		head, judged := e.in.Head[r.Head.ID()]
		if _, known := e.in.Base[r.Base.ID()]; known || !judged || head.Unrun != "" {
			continue
		}
		if why := e.p.unaskable(r); why != "" {
			e.in.Base[r.Base.ID()] = &report.Outcome{Unrun: report.NotRunPrefix + why}
		}
	}
}

// unaskable returns the reason why a row cannot be asked at base now, with a repair;
// empty if it can.
func (p *Prepared) unaskable(r plan.Row) string {
	name := p.baseTarget(r)
	if measurable(p.req.Base.Config.Targets[name]) {
		if name = p.rebuiltFor(r); name == "" {
			return ""
		}
	}
	help := "judge base before the change is deployed"
	if p.req.Base.Config.Targets[name].Provider == config.HTTP {
		help += ", or give each commit its own address with url_template and {sha}"
	}
	return fmt.Sprintf("target %s answers as it is deployed now, not as at base; %s", name, help)
}
