package controller

import (
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/schema"
)

// Rules of the gate about all cases together, such as min_score, need the verdict of
// every active case. The cases that have none are judged although nothing affects
// them: else what was judged before would decide whether a change passes.

// wholeRules names the rules of the gate that all active cases of head decide together.
// Without a base every case is planned anyway.
func (r *Request) wholeRules() []string {
	g := r.Head.Config.Gate
	if r.Base == nil || !r.Before.IsZero() || g.FailOn == report.FailOnNever {
		return nil
	}
	var rules []string
	if g.MinScore != nil {
		rules = append(rules, "min_score")
	}
	if g.MaxDrop != nil {
		rules = append(rules, "max_drop")
	}
	if g.FailOn == report.FailOnAny {
		rules = append(rules, "fail_on: "+g.FailOn)
	}
	return rules
}

// unasked is why the rules about all cases are not asked; empty where they are. notRun
// is why nothing is run.
func (r *Request) unasked(notRun string) string {
	switch {
	case r.Unasked != "":
		return r.Unasked
	case r.selected():
		return "only some cases are selected"
	case notRun != "":
		return "nothing is run"
	}
	return ""
}

// selected reports whether people selected some cases.
func (r *Request) selected() bool { return r.Select != nil || len(r.Statuses) > 0 }

// asks reports whether the plan needs the verdict of every active case.
func (r *Request) asks() bool { return len(r.wholeRules()) > 0 && r.unasked("") == "" }

// ask has the cases judged that the gate needs and of which no verdict is stored, on
// either side.
func (p *planner) ask() {
	if !p.req.asks() {
		return
	}
	rules := p.req.wholeRules()
	why := plan.Reason{
		Part: plan.GateAsks, File: p.req.ConfigFile,
		Message: "the gate asks for it: all active cases decide " + strings.Join(rules, " and "),
	}
	out := p.out.quarantined(nil)
	for i := range p.out.Plan.Rows {
		row := &p.out.Plan.Rows[i]
		if row.Action != plan.Reuse || row.Head == nil || row.Head.Skip != "" || row.Known.Decided != nil || out.Entry(names(row)...) != nil {
			continue
		}
		if _, stored := p.out.baseStored[row.BaseDigests.D]; !stored {
			row.Ask(why)
		}
	}
}

// names are what a row may be called.
func names(row *plan.Row) []string { return []string{row.Key, row.Key + " @ " + row.Target} }

// quarantined are the cases that are out of the gate now, by the configuration and by
// what people asked for.
func (p *Prepared) quarantined(commands []report.Command) report.Quarantines {
	var configured report.Quarantines
	for _, q := range p.req.Head.Config.Quarantine {
		configured = append(configured, report.Quarantine{Case: q.Case, Until: q.Until, Reason: q.Reason})
	}
	in := report.Input{Commands: commands}
	in.Quarantine(configured, p.req.Now())
	return in.Quarantined
}

// withoutUnneeded is the plan without the cases that the gate asks for and does not
// need after all: where nothing is run, and those that people have quarantined.
func (p *Prepared) withoutUnneeded(opts RunOptions) *Prepared {
	out := p.quarantined(opts.Commands)
	unneeded := func(r plan.Row) bool { return r.Asked && (opts.NotRun != "" || out.Entry(names(&r)...) != nil) }
	if !slices.ContainsFunc(p.Plan.Rows, unneeded) {
		return p
	}
	left, rows := *p, *p.Plan
	rows.Rows = slices.Clone(rows.Rows)
	for i := range rows.Rows {
		if unneeded(rows.Rows[i]) {
			rows.Rows[i].Unask()
		}
	}
	left.Plan = &rows
	return &left
}

// judgedAtBase reports whether a case that the gate asks for is judged as base's: it is
// the same case, and what base has serves every other pull request, too.
func (p *Prepared) judgedAtBase(r plan.Row) bool {
	if !r.Asked || r.BaseCase == nil || r.MovedFrom != "" || p.req.HeadTrust == p.req.BaseTrust {
		return false
	}
	t := p.req.Base.Config.Targets[p.baseTarget(r)]
	// One agent is deployed for all, unless a pull request has its own.
	shared := t.Unversioned() && t.URLTemplate == "" && p.rebuiltFor(r) == ""
	return (shared || p.unaskable(r) == "") && !p.headScope(p.scopeKeyOf(r)).Nothing
}

// askedAtBase are the jobs of base for which the gate asks alone.
func (p *Prepared) askedAtBase() []run.Job {
	var jobs []run.Job
	for _, r := range p.Plan.Rows {
		if judged(r) && p.judgedAtBase(r) {
			jobs = append(jobs, p.baseJob(r))
		}
	}
	return jobs
}

// withoutAsked parts the jobs of head that the change affects from those for which the
// gate asks alone.
func (p *Prepared) withoutAsked(jobs []run.Job) (affected, asked []run.Job) {
	only := map[*schema.Case]bool{}
	for _, r := range p.Plan.Rows {
		if r.Asked {
			only[r.HeadCase] = true
		}
	}
	for _, j := range jobs {
		if only[j.Case] {
			asked = append(asked, j)
		} else {
			affected = append(affected, j)
		}
	}
	return affected, asked
}
