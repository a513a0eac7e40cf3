package controller

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
)

// addStored takes into account what the ledger knows.
func (p *planner) addStored(ctx context.Context) error {
	known := make([]plan.Known, len(p.out.Plan.Rows))
	p.out.headStored, p.out.baseStored = map[string]*ledger.Decision{}, map[string]*ledger.Decision{}
	if p.req.Ledger == nil {
		return p.settle(ctx, known)
	}
	for g, rows := range p.out.rowsByScope() {
		scope := p.out.headScope(g)
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
func (p *planner) storedAtHead(ctx context.Context, scope ledger.Scope, rows []int) ([]plan.Known, error) {
	digests, list := make([]plan.Digests, len(rows)), make([]string, len(rows))
	for i, r := range rows {
		digests[i] = p.out.Plan.Rows[r].HeadDigests
		list[i] = digests[i].D
	}
	if p.req.Brief {
		return p.req.Ledger.Known(ctx, scope, digests)
	}
	decided, err := p.req.Ledger.Decided(ctx, scope, list)
	if err != nil {
		return nil, err
	}
	p.out.headStored = joined(p.out.headStored, decided)
	return p.req.Ledger.Samples(ctx, scope, digests, decided)
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
func (p *planner) addLastParts(ctx context.Context, scope ledger.Scope, rows []int, known []plan.Known) error {
	var ids []string
	var open []int
	for _, r := range rows {
		if row := p.out.Plan.Rows[r]; row.Action == plan.Run && len(row.Reasons) == 0 && known[r].Decided == nil {
			ids, open = append(ids, row.Head.ID()), append(open, r)
		}
	}
	found, err := p.req.Ledger.LastParts(ctx, scope, ids)
	for i, parts := range found {
		known[open[i]].Last = parts
	}
	return err
}

// addStoredAtBase adds the stored decisions of the rows at base.
func (p *planner) addStoredAtBase(ctx context.Context, g scopeKey, rows []int) error {
	if p.req.Base == nil {
		return nil
	}
	digests := make([]string, len(rows))
	for i, r := range rows {
		digests[i] = p.out.Plan.Rows[r].BaseDigests.D
	}
	found, err := p.req.Ledger.Decided(ctx, p.out.baseScope(g.target), digests)
	if err == nil {
		p.out.baseStored = joined(p.out.baseStored, found)
	}
	return err
}

// reuseOff is why nothing that is stored serves a target.
func (p *planner) reuseOff(target string) *plan.Reason {
	reason := plan.Reason{Part: "reuse", File: p.req.ConfigFile, Message: "reuse is off"}
	if p.req.Head.Config.Targets[target].Reuse != nil {
		reason.Message += " for the target " + target
	}
	return &reason
}

// setReuseSince works out which cases are asked again whatever is stored, and since when
// it counts what is. Cases that nothing affects are not among them: their
// verdicts are those that base has.
func (p *planner) setReuseSince() {
	p.out.reuseSince = map[string]time.Time{}
	began := p.req.Now()
	if p.req.Invocation != nil {
		began = p.req.Invocation.Began()
	}
	for i := range p.out.Plan.Rows {
		row := &p.out.Plan.Rows[i]
		t := p.req.Head.Config.Targets[row.Target]
		row.Unversioned = t.Unversioned()
		if row.Action != plan.Run || p.req.Fresh == nil && (!row.Unversioned || t.Reuse != nil) {
			continue
		}
		since := began
		if p.req.ReuseSince != nil {
			since = p.req.ReuseSince(*row)
		}
		p.out.reuseSince[row.Head.ID()] = since
	}
}

// addPassed notes on rows that what is stored of them is too old to count, where
// there is anything.
func (p *planner) addPassed(ctx context.Context, g scopeKey, rows []int, known []plan.Known) error {
	if !g.again {
		return nil
	}
	digests := make([]plan.Digests, len(rows))
	for i, r := range rows {
		digests[i] = p.out.Plan.Rows[r].HeadDigests
	}
	found, err := p.req.Ledger.Known(ctx, p.out.headScope(scopeKey{target: g.target}), digests)
	if err != nil {
		return err
	}
	for i, r := range rows {
		isStored := found[i].Decided != nil || found[i].Executed > 0
		if isStored && known[r].Decided == nil && known[r].Executed == 0 {
			known[r].Passed = p.whyPassed(p.out.Plan.Rows[r])
		}
	}
	return nil
}

// whyPassed is why a case is asked again although it is stored.
func (p *planner) whyPassed(row plan.Row) *plan.Reason {
	if p.req.Fresh != nil {
		reason := *p.req.Fresh
		return &reason
	}
	return &plan.Reason{
		Part: "revision", File: p.req.ConfigFile,
		Message: fmt.Sprintf("the deployed version of agent %s is unknown; set `revision` or `reuse: on`", row.Target),
	}
}
