package controller

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// Requirements lists the missing parts for judging the rows, one problem for each
// cause. They address the person who runs it: on a server that is the operator and not
// the author of a pull request.
func (p *Prepared) Requirements() []schema.Problem {
	var cases []*schema.Case
	for _, r := range p.Plan.Rows {
		if judged(r) && r.HeadCase != nil {
			cases = append(cases, r.HeadCase)
		}
	}
	needs := load.MergeNeeds(p.left.Needs, load.NeedsOf(cases))
	cfg := p.req.Head.Config
	found := append(ConfigurationProblems(p.req.Head.FS, p.req.ConfigFile, cfg, needs),
		p.requirement(p.req.Head).Problems(needs)...)
	if p.req.Base == nil || p.req.Base.Config == cfg {
		return found
	}
	cases = nil
	for _, r := range p.Plan.Rows {
		if p.unmeasured(r) && r.BaseCase != nil {
			cases = append(cases, r.BaseCase)
		}
	}
	return append(found, p.requirement(*p.req.Base).Problems(load.NeedsOf(cases))...)
}

// requirement returns the requirement of a checkout's cases.
func (p *Prepared) requirement(c Checkout) Requirement {
	lookup := p.req.LookupEnv
	if p.elsewhere {
		lookup = nil
	}
	return FindRequirement(c.FS, p.req.ConfigFile, c.Config, lookup)
}

// unmeasured reports whether a row's base is needed for the comparison and unknown.
func (p *Prepared) unmeasured(r plan.Row) bool {
	_, known := p.baseStored[r.BaseDigests.D]
	return !known && p.compared(r) != ""
}

// judged reports whether a row needs judging or deciding.
func judged(r plan.Row) bool {
	return r.Action == plan.Run || r.Action == plan.Rejudge || r.Action == plan.Redecide
}

// PreventingProblems returns the problems that prevent the plan from being carried out, as
// errors: a variable that is not set is one only if no case can be judged without it.
func (p *Prepared) PreventingProblems(problems []schema.Problem) []schema.Problem {
	lacking := p.lacking()
	some := slices.ContainsFunc(p.Plan.Rows, func(r plan.Row) bool { return judged(r) && lacking(r) == "" })
	var out []schema.Problem
	for _, found := range problems {
		if found.Rule == RuleConfig || found.Rule == RuleVariable && !some {
			found.Severity = schema.Error
			out = append(out, found)
		}
	}
	return out
}

// lacking returns a function that gives the missing part for judging a row; "" without
// one. A missing part at base counts, too: a case that cannot be compared is not
// judged.
func (p *Prepared) lacking() func(plan.Row) string {
	head := p.requirement(p.req.Head)
	if p.req.Base == nil || !p.req.Before.IsZero() {
		return func(r plan.Row) string { return head.Missing(r.HeadCase, r.Target) }
	}
	base := p.requirement(*p.req.Base)
	return func(r plan.Row) string {
		why := head.Missing(r.HeadCase, r.Target)
		if why == "" && p.unmeasured(r) {
			if why = base.Missing(r.BaseCase, p.compared(r)); why != "" {
				why = "base cannot be measured: " + why
			}
		}
		return why
	}
}
