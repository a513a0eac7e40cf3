package document

import (
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/syntax"
)

// CheckEncoding returns errors about the bytes of a text that are not UTF-8, or that are
// UTF-16. A text in another encoding would be sent and compared as other signs than were
// written.
func CheckEncoding(file schema.File) []schema.Problem {
	var problems []schema.Problem
	for _, m := range syntax.CheckEncoding(file.Data) {
		problems = append(problems, errorAt(schema.Position{File: file.Path, Line: m.Line, Column: m.Column}, m.Rule, m.Message, m.Hint))
	}
	return problems
}
