package controller

import (
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// split separates the jobs that share an execution with one of the other side from those
// that do not.
func split(jobs, other []run.Job) (alike, others []run.Job) {
	asked := map[string]bool{}
	for _, j := range other {
		asked[j.Digests.E] = true
	}
	for _, j := range jobs {
		if asked[j.Digests.E] {
			alike = append(alike, j)
		} else {
			others = append(others, j)
		}
	}
	return alike, others
}

// pair returns the jobs whose case is open on both sides, in the same order, and the
// others of each side.
func (p *Prepared) pair(head, base []run.Job) (both step, atHead, atBase []run.Job) {
	if len(base) == 0 {
		return step{}, head, nil
	}
	left := make(map[*schema.Case]run.Job, len(base))
	for _, j := range base {
		left[j.Case] = j
	}
	rows := p.rowsByHead()
	for _, h := range head {
		b, open := left[rows[h.Case.ID()].BaseCase]
		if !open {
			atHead = append(atHead, h)
			continue
		}
		delete(left, b.Case)
		both.head, both.base = append(both.head, h), append(both.base, b)
	}
	run.Pair(both.head, both.base)
	for _, j := range base {
		if _, open := left[j.Case]; open {
			atBase = append(atBase, j)
		}
	}
	return both, atHead, atBase
}

// withhold records the cases that are not judged.
func (e *execution) withhold() {
	lacking := e.p.lacking()
	for _, r := range e.p.Plan.Rows {
		if !judged(r) {
			continue
		}
		reason := lacking(r)
		if reason == "" && e.opts.Withhold != nil && r.Action != plan.Redecide {
			reason = e.opts.Withhold(r)
		}
		if reason != "" {
			e.in.Head[r.Head.ID()] = &report.Outcome{Unrun: reason}
		}
	}
}

// lacksVerdict returns a function that reports whether a job, of either side, belongs
// to a case without a verdict at head although it was tried or withheld: base would
// have no counterpart. An error that may not come again is tried again later.
func (p *Prepared) lacksVerdict(head map[string]*report.Outcome) func(run.Job) bool {
	lacking := map[*schema.Case]bool{}
	for _, r := range p.Plan.Rows {
		if r.Head == nil {
			continue
		}
		if o, ok := head[r.Head.ID()]; ok && (o.Unrun != "" || o.Result.Verdict == verdict.Error && !o.Retry) {
			lacking[r.HeadCase], lacking[r.BaseCase] = true, true
		}
	}
	return func(j run.Job) bool { return lacking[j.Case] }
}

func (p *Prepared) headJobs() []run.Job {
	var open []int
	for i := range p.Plan.Rows {
		if r := p.Plan.Rows[i]; judged(r) && r.HeadCase != nil && !p.judgedAtBase(r) {
			open = append(open, i)
		}
	}
	jobs := make([]run.Job, len(open))
	for k, i := range open {
		jobs[k] = p.headJob(p.Plan.Rows[i])
	}
	return jobs
}

func (p *Prepared) headJob(r plan.Row) run.Job {
	job := run.Job{Case: r.HeadCase, Digests: r.HeadDigests, Target: r.Target, Scope: p.headScope(p.scopeKeyOf(r)), Selection: r.HeadDigests.Selection(), Kept: r.HeadDigests.Kept()}
	// The clock asks for all cases, people for the ones they doubt.
	if since, _ := p.ignoreBefore(r.Key); p.req.Chosen || !since.IsZero() && p.req.Before.IsZero() {
		job.Purpose = plan.Doubting
	}
	return job
}

// baseJobs returns the cases of base that head is compared with and that have no known
// verdict. An agent that is unavailable in base's revision is not measured: only its
// stored results count.
func (p *Prepared) baseJobs(known map[string]*report.Outcome) []run.Job {
	if p.req.Base == nil || !p.req.Before.IsZero() {
		return nil // only results known before count
	}
	base := p.requirement(*p.req.Base)
	var jobs []run.Job
	for _, r := range p.Plan.Rows {
		name := p.compared(r)
		if name == "" || r.Asked || base.Missing(r.BaseCase, name) != "" {
			continue
		}
		if _, ok := known[r.Base.ID()]; ok {
			continue
		}
		jobs = append(jobs, p.baseJob(r))
	}
	return jobs
}

func (p *Prepared) baseJob(r plan.Row) run.Job {
	name := p.baseTarget(r)
	scope := p.readScope(p.req.BaseTrust, p.req.Base.Config, name)
	if begun := p.begun[r.Base.ID()]; begun.After(scope.NotBefore) {
		scope.NotBefore = begun
	}
	return run.Job{Case: r.BaseCase, Digests: r.BaseDigests, Target: name, Scope: scope, Selection: r.BaseDigests.Selection(), Kept: r.BaseDigests.Kept()}
}

// compared returns the target for measuring a row at base; "" if it is not measured.
func (p *Prepared) compared(r plan.Row) string {
	if !p.wantsBase(r) {
		return ""
	}
	if p.unaskable(r) != "" {
		return ""
	}
	return p.baseTarget(r)
}

// wantsBase reports whether a row is compared with base.
func (p *Prepared) wantsBase(r plan.Row) bool {
	return p.req.Base != nil && r.Head != nil && r.Head.Skip == "" && r.Base != nil && r.Base.Skip == "" && len(r.Reasons) > 0 && r.MovedFrom == ""
}

// measurable reports whether a target can still answer as it did at base. An agent over
// HTTP can only if every commit has its own URL. A program runs with the files of
// base's commit.
func measurable(t config.Target) bool {
	deployed := strings.Contains(t.URLTemplate, "{sha}") && !strings.Contains(t.URLTemplate, "{pr}")
	return t.Provider != config.HTTP || t.Started() || deployed
}
