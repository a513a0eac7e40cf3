package controller

import (
	"context"
	"slices"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
)

// The control of a case runs it without its skill, so that a report says what the skill
// adds. Controls are rows of the plan, and decide nothing: they are judged when every
// verdict is known, with what the budget has left.

// lifts reports whether cases of skills are also run without their skill.
func (p *planner) lifts() bool {
	return (p.req.Lift || p.req.Head.Config.Skills.Lift) && p.req.Before.IsZero()
}

// addControls adds the controls of the affected cases.
func (p *planner) addControls() {
	if !p.lifts() {
		return
	}
	why := plan.Reason{Part: "lift", File: p.req.ConfigFile, Message: "skills.lift asks for the case without its skill"}
	if p.req.Lift {
		why = plan.Reason{Part: "lift", Message: "--lift asks for the case without its skill"}
	}
	taken := map[string]bool{} // keys are words of a head, too
	for _, r := range p.out.Plan.Rows {
		taken[r.Key] = true
	}
	rows := make([]plan.Row, 0, len(p.out.Plan.Rows))
	for _, r := range p.out.Plan.Rows {
		rows = append(rows, r)
		if r.Action != plan.Run {
			continue
		}
		if control, ok := r.Control(why); ok && !taken[control.Key] {
			rows = append(rows, control)
		}
	}
	p.out.Plan.Rows = rows
}

// controls returns the controls of the plan.
func (p *Prepared) controls() (controls []plan.Row) {
	for i := range p.Plan.Rows {
		if r := &p.Plan.Rows[i]; r.ControlOf != "" {
			controls = append(controls, *r)
		}
	}
	return controls
}

// withoutControls splits jobs into jobs of cases and jobs of controls.
func (p *Prepared) withoutControls(jobs []run.Job) (cases, controls []run.Job) {
	is := map[string]bool{}
	for i := range p.Plan.Rows {
		if r := &p.Plan.Rows[i]; r.ControlOf != "" {
			is[r.Head.ID()] = true
		}
	}
	if len(is) == 0 {
		return jobs, nil
	}
	for _, j := range jobs {
		if is[j.Case.ID()] {
			controls = append(controls, j)
		} else {
			cases = append(cases, j)
		}
	}
	return cases, controls
}

// judgeControls judges the open controls. One whose case has no verdict is left out:
// nothing could be compared with it. An error is reported in the place of a control alone.
func (e *execution) judgeControls(ctx context.Context, j *judging) {
	if len(j.controls.head)+len(j.controls.base) == 0 {
		return
	}
	e.p.setNeeds(j.controls.head, nil)
	e.p.setNeeds(nil, j.controls.base)
	rows := e.p.rowsByHead()
	lacksCase := func(job run.Job) bool {
		id := job.Case.ID()
		if out, known := e.in.Head[rows[id].CaseID()]; known && out.Unrun == "" && out.Result.Verdict.Rank() >= 0 {
			return false
		}
		e.in.Head[id] = &report.Outcome{Unrun: report.NotRunPrefix + "the case has no verdict to compare with"}
		j.progress.leaveOut(1)
		return true
	}
	// As for cases, other heads read what is judged at base.
	for _, s := range []step{{base: j.controls.base}, {head: j.controls.head}} {
		s.head, s.base = slices.DeleteFunc(s.head, lacksCase), slices.DeleteFunc(s.base, lacksCase)
		batches := j.batches(s)
		sides, err := j.sides(batches, j.first)
		if err == nil {
			var outcomes [][]run.Outcome
			outcomes, err = j.judge(ctx, sides)
			e.collectAll(batches, outcomes)
		}
		if err != nil {
			for _, job := range slices.Concat(s.head, s.base) {
				e.in.Head[job.Case.ID()] = &report.Outcome{Unrun: report.NotRunPrefix + err.Error()}
			}
		}
	}
}
