package controller

import (
	"maps"

	"github.com/gavel-evals/gavel/controller/plan"
)

// Again is the plan to rerun some of the cases regardless of stored results: as
// new samples, which the ledger keeps next to the old ones. Cases that
// are not active, or not at head, are left out.
func (p *Prepared) Again(wanted func(key string) bool) *Prepared {
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
