package schema

import (
	"cmp"
	"fmt"
	"slices"
)

// A Position is a place in a file of the repository.
type Position struct {
	// File is slash-separated and relative to the repository root.
	File string `json:"file"`
	// Line and Column count from 1; 0 means that the whole file is meant.
	// Columns count Unicode code points.
	Line   int `json:"line"`
	Column int `json:"column"`
}

// String renders the position as file:line:column, without the parts that are 0.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

func comparePositions(a, b Position) int {
	return cmp.Or(
		cmp.Compare(a.File, b.File),
		cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Column, b.Column),
	)
}

// Severity is the effect of a Problem on its definition.
type Severity string

const (
	// Error means that the cases of the definition cannot run.
	Error Severity = "error"
	// Warning means that the cases run, but probably not as the author meant.
	Warning Severity = "warning"
	// Note is worth one counted line ("7 files are not definitions") and is not a
	// row of a report unless --strict makes it an error.
	Note Severity = "note"
)

// RuleNoDefinition is the rule of the problems of files that are not definitions.
const RuleNoDefinition = "no-definition"

// RuleLooksLike is the rule of the warning about a file that is not read although
// it looks like a definition.
const RuleLooksLike = "looks-like"

// RuleOutOfBounds is the rule of the problem of a commit that was not read, because it
// is too large.
const RuleOutOfBounds = "out-of-bounds"

// A Problem is something wrong with a definition or with gavel.yaml. Problems
// are values, not errors, so that many are reported at once and the rest of
// the repository still loads.
type Problem struct {
	Position
	Severity Severity `json:"severity"`
	// Rule is the stable kebab-case name of the check, such as unknown-field.
	Rule string `json:"rule"`
	// Message says what is wrong, in lower case and without a final stop.
	Message string `json:"message"`
	// Hint says what to write instead; empty without a useful hint.
	Hint string `json:"hint"`
}

// String renders the problem on one line, as compilers do.
func (p Problem) String() string {
	s := fmt.Sprintf("%s: %s: %s", p.Position, p.Severity, p.Message)
	if p.Hint != "" {
		s += "; " + p.Hint
	}
	return s
}

// SortProblems orders problems by file, line, column, rule and message, and
// drops exact repetitions.
func SortProblems(problems []Problem) []Problem {
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			comparePositions(a.Position, b.Position),
			cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(problems)
}

// HasErrors reports whether any of the problems has severity Error.
func HasErrors(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == Error })
}

// leadingNowhere are the rules of problems with names and paths.
var leadingNowhere = []string{
	"missing-file", "path-escapes", "path-backslash", "unreadable", "found-above", "unknown-target", "unknown-evaluator", "unknown-tool",
}

// LeadingNowhere keeps the problems of names and paths that do not exist. They hold
// whatever else is wrong with a definition, whereas many of the others only follow from
// its mistakes.
func LeadingNowhere(problems []Problem) []Problem {
	var out []Problem
	for _, p := range problems {
		if slices.Contains(leadingNowhere, p.Rule) {
			out = append(out, p)
		}
	}
	return out
}
