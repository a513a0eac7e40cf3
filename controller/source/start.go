package source

import (
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// A Start is what starting the programs of a case depends on.
type Start struct {
	// Inputs are globs of the files that command targets are built from.
	Inputs []string
	// Sources are what command targets are built from that name no inputs, on
	// both sides: a head cannot take a file out that base counts.
	Sources []Source
	// Files are those of programs that judge, of either side, and those that
	// name programs: the definition and what it takes evaluators from.
	Files []string
	// Reads are the files that are handed to programs by their path.
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

// Changed returns the first of the changed files that a start depends on, and
// whether that is only read. It is empty where there is none.
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
