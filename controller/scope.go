package controller

import (
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
)

// A scopeKey selects the ledger entries for a row.
type scopeKey struct {
	target string
	since  time.Time
	// again means that since is the time of the look at the case.
	again bool
}

func (p *Prepared) scopeKeyOf(r plan.Row) scopeKey {
	since, _ := p.ignoreBefore(r.Key)
	if r.ControlOf != "" {
		since = time.Time{} // people doubt the case, and not its control
	}
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

// ignoreBefore returns what IgnoreBefore returns for a case, or nothing if it is nil.
func (p *Prepared) ignoreBefore(key string) (time.Time, plan.Reason) {
	if p.req.IgnoreBefore == nil {
		return time.Time{}, plan.Reason{}
	}
	return p.req.IgnoreBefore(key)
}

// headScope returns the ledger entries for rows at head.
func (p *Prepared) headScope(g scopeKey) ledger.Scope {
	scope := p.readScope(p.req.HeadTrust, p.req.Head.Config, g.target)
	if g.since.After(scope.NotBefore) {
		scope.NotBefore = g.since
	}
	return scope
}

// baseScope returns the ledger entries for base's results.
func (p *Prepared) baseScope(target string) ledger.Scope {
	if !p.req.Before.IsZero() {
		return ledger.Scope{Trust: p.req.BaseTrust, Before: p.req.Before}
	}
	return p.readScope(p.req.BaseTrust, p.req.Base.Config, target)
}

// readScope returns the ledger entries for a target: the target's own reuse setting
// wins over the general one.
func (p *Prepared) readScope(trust ledger.Trust, cfg *config.Config, target string) ledger.Scope {
	reuse := cfg.Reuse
	if own := cfg.Targets[target].Reuse; own != nil {
		reuse = *own
	}
	scope := ledger.Scope{Trust: trust, Nothing: !reuse.On}
	if reuse.MaxAge > 0 {
		scope.NotBefore = p.req.Now().Add(-reuse.MaxAge)
	}
	return scope
}
