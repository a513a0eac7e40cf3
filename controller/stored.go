package controller

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
)

// together is the number of rows in one ledger query.
const together = 2048

// addStored adds the ledger's results.
func (p *planner) addStored(ctx context.Context) error {
	p.out.headStored, p.out.baseStored, p.out.begun = map[string]*ledger.Decision{}, map[string]*ledger.Decision{}, map[string]time.Time{}
	if p.req.Ledger == nil {
		return p.settle(ctx)
	}
	// Verdicts are read and decoded at the same time.
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for g, all := range p.out.rowsByScope() {
		for rows := range slices.Chunk(all, together) {
			group.Go(func() error { return p.addStoredOf(inner, g, rows) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return p.settle(ctx)
}

// addStoredOf adds the ledger's results to rows with the same scope.
func (p *planner) addStoredOf(ctx context.Context, g scopeKey, rows []int) error {
	scope := p.out.headScope(g)
	found, err := p.storedAtHead(ctx, scope, rows)
	if err != nil {
		return err
	}
	for i, r := range rows {
		if scope.Nothing {
			found[i].Unread = p.reuseOff(g.target)
		}
		p.out.Plan.Rows[r].Known = found[i]
	}
	if err := p.addPassed(ctx, g, rows); err != nil {
		return err
	}
	return p.addStoredAtBase(ctx, g, rows)
}

// storedAtHead returns the ledger's results for the rows at head. A brief plan is not
// executed, so it needs no decisions.
func (p *planner) storedAtHead(ctx context.Context, scope ledger.Scope, rows []int) ([]plan.Stored, error) {
	digests, list := make([]plan.Digests, len(rows)), make([]string, len(rows))
	for i, r := range rows {
		digests[i] = p.out.Plan.Rows[r].HeadDigests
		list[i] = digests[i].D
	}
	if p.req.Brief {
		return p.req.Ledger.Stored(ctx, scope, digests)
	}
	decided, err := p.req.Ledger.Decided(ctx, scope, list)
	if err != nil {
		return nil, err
	}
	p.addDecisions(p.out.headStored, decided)
	return p.req.Ledger.Samples(ctx, scope, digests, decided)
}

// addDecisions adds decisions to one side.
func (p *planner) addDecisions(side, decided map[string]*ledger.Decision) {
	p.storing.Lock()
	defer p.storing.Unlock()
	maps.Copy(side, decided)
}

// lastParts returns the parts of the rows' cases at their last decision, if no base
// shows the change.
func (p *planner) lastParts(ctx context.Context, rows []int) ([][]plan.Part, error) {
	last := make([][]plan.Part, len(rows))
	if p.req.Ledger == nil {
		return last, nil
	}
	var ids []string
	var open []int
	for k, i := range rows {
		if row := &p.out.Plan.Rows[i]; len(row.Reasons) == 0 {
			ids, open = append(ids, row.Head.ID()), append(open, k)
		}
	}
	found, err := p.req.Ledger.LastParts(ctx, ledger.Scope{Trust: p.req.HeadTrust}, ids)
	for n, parts := range found {
		last[open[n]] = parts
	}
	return last, err
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
	if err != nil {
		return err
	}
	if err := p.beginHistories(ctx, rows, found); err != nil {
		return err
	}
	p.addDecisions(p.out.baseStored, found)
	return nil
}

// beginHistories drops stored results of base that were found to be outdated before the
// row was judged at head. Base is measured again for such rows.
func (p *planner) beginHistories(ctx context.Context, rows []int, found map[string]*ledger.Decision) error {
	var digests []string
	for _, r := range rows {
		if row := &p.out.Plan.Rows[r]; row.BaseDigests.J != "" && len(row.Reasons) > 0 {
			digests = append(digests, row.BaseDigests.J)
		}
	}
	if len(digests) == 0 || !p.req.Before.IsZero() {
		return nil
	}
	begun, err := ledger.HistoriesBegun(ctx, p.req.Ledger, digests)
	if err != nil || len(begun) == 0 {
		return err
	}
	p.storing.Lock()
	defer p.storing.Unlock()
	for _, r := range rows {
		row := &p.out.Plan.Rows[r]
		judged := p.req.Now()
		if d := p.out.headStored[row.HeadDigests.D]; d != nil {
			judged = d.Oldest
		}
		since := ledger.LastBegun(begun[row.BaseDigests.J], judged)
		if since.IsZero() || len(row.Reasons) == 0 {
			continue
		}
		p.out.begun[row.Base.ID()] = since
		if d := found[row.BaseDigests.D]; d != nil && d.Oldest.Before(since) {
			delete(found, row.BaseDigests.D)
		}
	}
	return nil
}

// reuseOff returns the reason why no stored result serves a target.
func (p *planner) reuseOff(target string) *plan.Reason {
	reason := plan.Reason{Part: "reuse", File: p.req.ConfigFile, Message: "reuse is off"}
	if p.req.Head.Config.Targets[target].Reuse != nil {
		reason.Message += " for the target " + target
	}
	return &reason
}

// setReuseSince computes which cases are asked again whatever is stored, and the time
// since which stored results count. Unaffected cases are excluded: their verdicts are
// base's.
func (p *planner) setReuseSince() {
	p.out.reuseSince = map[string]time.Time{}
	began := p.req.Now()
	if p.req.Invocation != nil {
		began = p.req.Invocation.Began()
	}
	for i := range p.out.Plan.Rows {
		row := &p.out.Plan.Rows[i]
		t := p.req.Head.Config.Targets[row.Target]
		row.Unversioned, row.Named = t.Unversioned(), t.Revision == config.RevisionAny
		again := p.req.Fresh != nil || row.Unversioned && t.Reuse == nil
		row.Repeated = again || p.out.readScope(p.req.HeadTrust, p.req.Head.Config, row.Target).Nothing
		if row.Action != plan.Run || !again {
			continue
		}
		since := began
		if p.req.ReuseSince != nil {
			since = p.req.ReuseSince(*row)
		}
		p.out.reuseSince[row.Head.ID()] = since
	}
}

// addPassed records on rows that a stored result is too old to count, if there is one.
func (p *planner) addPassed(ctx context.Context, g scopeKey, rows []int) error {
	if !g.again {
		return nil
	}
	digests := make([]plan.Digests, len(rows))
	for i, r := range rows {
		digests[i] = p.out.Plan.Rows[r].HeadDigests
	}
	found, err := p.req.Ledger.Stored(ctx, p.out.headScope(scopeKey{target: g.target}), digests)
	if err != nil {
		return err
	}
	for i, r := range rows {
		known := &p.out.Plan.Rows[r].Known
		isStored := found[i].Decided != nil || found[i].Executed > 0
		if isStored && known.Decided == nil && known.Executed == 0 {
			known.Passed = p.whyPassed(p.out.Plan.Rows[r])
		}
	}
	return nil
}

// whyPassed returns the reason why a stored case is asked again.
func (p *planner) whyPassed(row plan.Row) *plan.Reason {
	if p.req.Fresh != nil {
		reason := *p.req.Fresh
		return &reason
	}
	if p.req.Head.Config.Targets[row.Target].Revision == config.RevisionAny {
		return &plan.Reason{Part: "revision", File: p.req.ConfigFile, Message: fmt.Sprintf("another version of target %s may be deployed", row.Target)}
	}
	return &plan.Reason{
		Part: "revision", File: p.req.ConfigFile,
		Message: fmt.Sprintf("the deployed version of target %s is unknown; set `revision` or `reuse: on`", row.Target),
	}
}
