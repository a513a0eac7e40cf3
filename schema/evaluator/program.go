package evaluator

import (
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// ProgramsOf lists the programs that a spec's measurement starts, including its parts'.
func ProgramsOf(spec schema.Spec) []Program {
	switch s := spec.(type) {
	case CodeJudge:
		return []Program{s.Program}
	case Function:
		return []Program{s.Program}
	case Transformed:
		return ProgramsOf(s.Spec)
	case LLMJudge:
		if s.Program != nil {
			return []Program{*s.Program}
		}
	case Composite:
		var all []Program
		for _, part := range s.parts() {
			all = append(all, ProgramsOf(part)...)
		}
		return all
	}
	return nil
}

// Builds returns the source files of a case's programs: the ones that judge it, prepare
// its workspace or write its prompt. Some may be nil.
func Builds(c *schema.Case) []*schema.ProgramFiles {
	var all []*schema.ProgramFiles
	for _, ev := range c.Evaluators {
		for _, p := range ProgramsOf(ev.Spec) {
			all = append(all, p.Built)
		}
	}
	if c.Drive.Program != nil {
		all = append(all, c.Drive.Program.Built)
	}
	if w := c.Drive.Workspace; w != nil {
		for _, h := range slices.Concat(w.Before, w.After) {
			all = append(all, h.Built)
		}
	}
	return all
}
