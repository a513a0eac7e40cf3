package controller

import (
	"cmp"
	"slices"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/remeasure"
	"github.com/gavel-evals/gavel/controller/source"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/load"
)

// WithholdPrograms also withholds rows whose programs must not or cannot start, unless
// they are withheld for another reason. why is called for each row that starts a
// program; an empty reason allows it.
func (p *Prepared) WithholdPrograms(otherwise func(plan.Row) string, why func() string) func(plan.Row) string {
	return func(row plan.Row) string {
		if otherwise != nil {
			if reason := otherwise(row); reason != "" {
				return reason
			}
		}
		if _, starts := p.Starts(row); !starts {
			return ""
		}
		return why()
	}
}

// naming are the roles of files that are programs, name programs or contain code:
// variables are filled into the code of assertions.
var naming = []string{"program", "suite", "workspace", "definition", "tests", "variable"}

// Starts reports whether judging a row starts programs of the repository, and on what
// that depends.
func (p *Prepared) Starts(r plan.Row) (source.Start, bool) {
	if r.HeadCase == nil || r.Action != plan.Run && r.Action != plan.Rejudge {
		return source.Start{}, false
	}
	return p.starts(r)
}

// MayStart reports whether a case starts programs of the repository when it is judged
// or measured again. Stored verdicts do not matter: such a case may be measured again.
func (p *Prepared) MayStart() bool {
	return slices.ContainsFunc(p.Plan.Rows, func(r plan.Row) bool {
		_, starts := p.Starts(r)
		if again, compared := measuredAgain(r); compared && !starts {
			_, starts = p.Starts(again)
		}
		return starts
	})
}

// measuredAgain returns a row as it is when head is measured again to distinguish a
// difference from noise; false if it is not.
func measuredAgain(r plan.Row) (plan.Row, bool) {
	switch {
	case r.HeadCase == nil || r.Head == nil || r.Asked || r.ControlOf != "" || r.MovedFrom != "" || r.Action == plan.Skip:
		return r, false
	case r.Base != nil && r.HeadDigests.D == r.BaseDigests.D && !r.Unversioned:
		return r, false
	}
	if r.Action = plan.Run; !remeasure.Executes(&r) {
		r.Action = plan.Rejudge
	}
	return r, true
}

// OfPrograms counts the cases whose verdicts come from programs of the repository,
// whether they are started or their results are reused.
func (p *Prepared) OfPrograms() int {
	n := 0
	for _, r := range p.Plan.Rows {
		if r.Head == nil || r.Action == plan.Skip || r.ControlOf != "" {
			continue
		}
		subject, known := remeasure.ReadWorkload(r.Noted)
		if r.HeadCase != nil {
			subject, known = remeasure.NewWorkload(r.HeadCase), true
		}
		if p.req.Head.Config.Targets[r.Target].RunsProgram() || known && subject.RunsPrograms() {
			n++
		}
	}
	return n
}

// starts reports whether a row's action starts programs.
func (p *Prepared) starts(r plan.Row) (source.Start, bool) {
	out := source.Start{Files: []string{r.Head.Origin.File}}
	// Cases whose answers are compared with this one, or that it has, are asked together with it.
	answering := append([]*schema.Case{r.HeadCase}, r.HeadCase.Answering()...)
	starts := slices.ContainsFunc(answering, func(c *schema.Case) bool {
		return c.Drive.Program != nil && (c != r.HeadCase || r.Action == plan.Run)
	})
	for name := range p.targetsOf(r) {
		if t := p.req.Head.Config.Targets[name]; t.RunsProgram() {
			starts = true
			out.Inputs = append(out.Inputs, t.Inputs...)
			out.Sources = append(out.Sources, p.sourcesOf(name)...)
		}
	}
	for _, c := range []*schema.Case{r.HeadCase, r.BaseCase} {
		if c == nil {
			continue
		}
		for _, ev := range c.Evaluators {
			programs := evaluator.ProgramsOf(ev.Spec)
			starts = starts || c == r.HeadCase && len(programs) > 0
			out.AddPrograms(ev, programs)
		}
		for _, b := range evaluator.Builds(c) {
			out.Files = append(out.Files, b.Paths()...)
		}
		for _, in := range c.Inputs {
			if slices.Contains(naming, in.Role) {
				out.Files = append(out.Files, in.File)
			}
		}
	}
	for _, peer := range r.HeadCase.Answering() {
		for _, b := range evaluator.Builds(peer) {
			out.Files = append(out.Files, b.Paths()...)
		}
	}
	out.Reads = r.HeadCase.Drive.Attached()
	return out, starts
}

// sourcesOf returns a target's source files on each side.
func (p *Prepared) sourcesOf(name string) []source.Source {
	commits := []string{p.req.Head.Commit}
	if p.req.Base != nil {
		commits = append(commits, p.req.Base.Commit)
	}
	var out []source.Source
	for _, commit := range commits {
		if s, ok := p.sources[checkoutTarget{commit, name}]; ok {
			out = append(out, s)
		}
	}
	return out
}

// targetsOf returns the names of the targets that judging a row calls.
func (p *Prepared) targetsOf(r plan.Row) map[string]bool {
	roles := p.req.Head.Config.Roles.Targets()
	names := map[string]bool{}
	if r.Action == plan.Run && r.HeadCase.Drive.Given == nil {
		names[r.Target] = true
	}
	for _, peer := range r.HeadCase.Answering() {
		if peer.Drive.Given == nil {
			names[cmp.Or(peer.Target, p.req.Head.Config.DefaultTarget)] = true
		}
	}
	for _, role := range r.HeadCase.Roles() {
		names[roles[role]] = true
	}
	for _, name := range load.Judges(r.HeadCase) {
		names[name] = true
	}
	return names
}
