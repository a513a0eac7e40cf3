package evaluator

import "github.com/gavel-evals/gavel/schema"

// ProgramsOf lists the programs that measuring by a spec starts, those of its
// parts included.
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
