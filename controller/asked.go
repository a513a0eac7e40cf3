package controller

import (
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/schema"
)

// Gate rules about all cases together, such as min_score, need the verdict of every
// active case. Cases without one are judged even if nothing affects them: otherwise the
// result would depend on which cases were judged before. The same holds for what is judged
// as a whole, as base branches are: a green status says that somebody judged them.

// wholeRules names the gate rules that all active cases of head decide together.
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

// unasked returns the reason why the rules about all cases do not apply; empty if they
// do. notRun is the reason why nothing is run.
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
func (r *Request) asks() bool {
	return r.Complete || len(r.wholeRules()) > 0 && r.unasked("") == ""
}

// ask plans judging of cases without a stored verdict, on either side, that a complete plan
// or the gate needs. Only a complete plan has quarantined ones judged.
func (p *planner) ask() {
	if !p.req.asks() {
		return
	}
	var why []plan.Reason
	var out report.Quarantines
	if !p.req.Complete {
		why = []plan.Reason{{
			Part: plan.GateAsks, File: p.req.ConfigFile,
			Message: "the gate asks for it: all active cases decide " + strings.Join(p.req.wholeRules(), " and "),
		}}
		out = p.out.quarantined(nil)
	}
	for i := range p.out.Plan.Rows {
		row := &p.out.Plan.Rows[i]
		if row.Action != plan.Reuse || row.Head == nil || row.Head.Skip != "" || row.Known.Decided != nil || out.Entry(names(row)...) != nil {
			continue
		}
		if _, stored := p.out.baseStored[row.BaseDigests.D]; !stored {
			row.Ask(why...)
		}
	}
}

// names returns a row's possible names.
func names(row *plan.Row) []string { return []string{row.Key, row.Key + " @ " + row.Target} }

// quarantined returns the cases that are currently out of the gate, by the
// configuration and by commands.
func (p *Prepared) quarantined(commands []report.Command) report.Quarantines {
	var configured report.Quarantines
	for _, q := range p.req.Head.Config.Quarantine {
		configured = append(configured, report.Quarantine{Case: q.Case, Until: q.Until, Reason: q.Reason})
	}
	in := report.Input{Commands: commands}
	in.Quarantine(configured, p.req.Now())
	return in.Quarantined
}

// withoutUnneeded returns the plan without cases that only the gate requested and no
// longer needs: if nothing is run, and if they are quarantined.
func (p *Prepared) withoutUnneeded(opts RunOptions) *Prepared {
	if p.req.Complete {
		return p
	}
	out := p.quarantined(opts.Commands)
	unneeded := func(r plan.Row) bool {
		return r.Asked && r.ControlOf == "" && (opts.NotRun != "" || out.Entry(names(&r)...) != nil)
	}
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

// judgedAtBase reports whether a case that the gate requested is judged as base's: it
// is the same case, and base's result also serves every other pull request.
func (p *Prepared) judgedAtBase(r plan.Row) bool {
	if !r.Asked || r.BaseCase == nil || r.MovedFrom != "" || p.req.HeadTrust == p.req.BaseTrust {
		return false
	}
	t := p.req.Base.Config.Targets[p.baseTarget(r)]
	// One agent is deployed for all, unless a pull request has its own.
	shared := t.Unversioned() && t.URLTemplate == "" && p.rebuiltFor(r) == ""
	return (shared || p.unaskable(r) == "") && !p.headScope(p.scopeKeyOf(r)).Nothing
}

// askedAtBase returns base's jobs that only the gate requests.
func (p *Prepared) askedAtBase() []run.Job {
	var jobs []run.Job
	for _, r := range p.Plan.Rows {
		if judged(r) && p.judgedAtBase(r) {
			jobs = append(jobs, p.baseJob(r))
		}
	}
	return jobs
}

// withoutAsked splits head's jobs into affected ones and ones that only the gate
// requests.
func (p *Prepared) withoutAsked(jobs []run.Job) (affected, asked []run.Job) {
	only := map[*schema.Case]bool{}
	for _, r := range p.Plan.Rows {
		if r.Asked {
			only[r.HeadCase] = true
		}
	}
	if len(only) == 0 {
		return jobs, nil
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
