package reporters

import (
	"fmt"
	"iter"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// A Validation is the JSON output of validate.
type Validation struct {
	Definitions []Definition      `json:"definitions"`
	Problems    []schema.Problem  `json:"problems"`
	Summary     ValidationSummary `json:"summary"`
	Notes       []string          `json:"notes"`
}

// A Definition is a file with its numbers of cases and of those that are run.
type Definition struct {
	File    string `json:"file"`
	Dialect string `json:"dialect"`
	Cases   int    `json:"cases"`
	// Runnable counts the cases that are not skipped, and Skip is the reason of the first
	// of the others.
	Runnable int    `json:"runnable"`
	Skip     string `json:"skip,omitempty"`
}

// A ValidationSummary counts problems and definitions.
type ValidationSummary struct {
	Definitions int `json:"definitions"`
	Cases       int `json:"cases"`
	Runnable    int `json:"runnable"`
	Errors      int `json:"errors"`
	Warnings    int `json:"warnings"`
	// Notes counts the list of notes.
	Notes int `json:"notes"`
}

// NewValidation returns the document of some definitions with their problems. Notes are
// separate, since there is nothing to fix.
func NewValidation(definitions iter.Seq[load.FileSummary], problems []schema.Problem) Validation {
	out := Validation{Definitions: []Definition{}, Problems: []schema.Problem{}, Notes: []string{}}
	for d := range definitions {
		out.Definitions = append(out.Definitions, Definition{d.File, d.Dialect, d.Cases, d.Runnable, d.Skip})
		out.Summary.Cases += d.Cases
		out.Summary.Runnable += d.Runnable
	}
	for _, p := range Causes(schema.SortProblems(problems)) {
		switch p.Severity {
		case schema.Note:
			out.Notes = append(out.Notes, note(p))
			continue
		case schema.Error:
			out.Summary.Errors++
		default:
			out.Summary.Warnings++
		}
		out.Problems = append(out.Problems, p)
	}
	out.Summary.Definitions = len(out.Definitions)
	out.Summary.Notes = len(out.Notes)
	return out
}

// note formats a note: with its place and repair, unless it is about a file as a whole,
// which such a note names itself.
func note(p schema.Problem) string {
	if strings.Contains(p.Message, p.File) {
		return p.Message
	}
	return fmt.Sprintf("%s: %s; %s", p.Position, p.Message, p.Hint)
}
