package source

import (
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// A Start lists the inputs of starting a case's programs.
type Start struct {
	// Inputs are globs of the source files of command targets.
	Inputs []string
	// Sources are the source files of command targets without inputs, on both sides: a
	// head cannot remove a file that base counts.
	Sources []Source
	// Files are the files of judging programs, of either side, and the files that name
	// programs: the definition and the files of its evaluators.
	Files []string
	// Reads are the files that programs get by their path.
	Reads []string
}

// AddPrograms adds the files of the programs of an evaluator.
func (s *Start) AddPrograms(ev schema.Evaluator, programs []evaluator.Program) {
	if len(programs) > 0 && ev.File != "" {
		s.Files = append(s.Files, ev.File)
	}
	for _, program := range programs {
		s.Files = append(s.Files, program.Files...)
	}
}

// Changed returns the first changed file that a start depends on, and whether it is
// only read; empty without one.
func (s Start) Changed(changed []string) (file string, read bool) {
	for _, name := range changed {
		counts := func(s Source) bool { return s.Counts(name) }
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
