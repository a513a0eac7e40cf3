package controller

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/source"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/load"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// A Start is what starting the programs of a case depends on.
type Start struct {
	// Inputs are globs of the files that command targets are built from.
	Inputs []string
	// Sources are what command targets are built from that name no inputs, on
	// both sides: a head cannot take a file out that base counts.
	Sources []source.Source
	// Files are those of programs that judge, of either side, and those that
	// name programs: the definition and what it takes evaluators from.
	Files []string
	// Reads are the files that are handed to programs by their path.
	Reads []string
}

// WithholdPrograms adds the rows whose programs must not or cannot be started to
// those that are not judged for another reason, if there is one. why is asked
// for each that starts a program; empty lets it.
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

// Starts tells whether judging a row starts programs of the repository, and
// what that depends on.
func (p *Prepared) Starts(r plan.Row) (Start, bool) {
	if r.Head == nil || r.Action != plan.Run && r.Action != plan.Rejudge {
		return Start{}, false
	}
	out := Start{Files: []string{r.Head.Origin.File}}
	starts := false
	for name := range p.targetsOf(r) {
		if t := p.req.Head.Config.Targets[name]; t.Provider == config.Command {
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
			out.addPrograms(ev, programs)
		}
		for _, in := range c.Inputs {
			if in.Role == "program" || in.Role == "suite" {
				out.Files = append(out.Files, in.File)
			}
		}
	}
	for _, m := range r.HeadCase.Drive.Messages {
		for _, b := range m.Blocks {
			if b.Path != "" {
				out.Reads = append(out.Reads, b.Path)
			}
		}
	}
	return out, starts
}

// sourcesOf gives what a target is built from on each side.
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

func (s *Start) addPrograms(ev schema.Evaluator, programs []evaluator.Program) {
	if len(programs) > 0 && ev.File != "" {
		s.Files = append(s.Files, ev.File)
	}
	for _, program := range programs {
		for _, f := range program.Files {
			s.Files = append(s.Files, f.Path)
		}
	}
}

// targetsOf names the targets that judging a row asks.
func (p *Prepared) targetsOf(r plan.Row) map[string]bool {
	roles := p.req.Head.Config.Roles.Targets()
	names := map[string]bool{}
	if r.Action == plan.Run {
		names[r.Target] = true
	}
	for _, role := range r.HeadCase.Roles() {
		names[roles[role]] = true
	}
	for _, name := range load.Judges(r.HeadCase) {
		names[name] = true
	}
	return names
}

// Changed gives the first of the changed files that a start depends on, and
// whether that is only read. It is empty where there is none.
func (s Start) Changed(changed []string) (file string, read bool) {
	for _, name := range changed {
		counts := func(s source.Source) bool { return s.Counts(name) }
		matches := func(glob string) bool { return wildcard.Match(glob, name) }
		if slices.Contains(s.Files, name) || slices.ContainsFunc(s.Sources, counts) || slices.ContainsFunc(s.Inputs, matches) {
			return name, false
		}
	}
	for _, name := range changed {
		if slices.Contains(s.Reads, name) {
			return name, true
		}
	}
	return "", false
}
