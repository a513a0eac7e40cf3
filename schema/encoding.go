package schema

import "github.com/gavel-evals/gavel/schema/syntax"

// CheckEncoding returns errors about the bytes of a text that are not UTF-8, or that are
// UTF-16. A text in another encoding would be sent and compared as other signs than were
// written.
func CheckEncoding(file File) []Problem {
	var problems []Problem
	for _, m := range syntax.CheckEncoding(file.Data) {
		problems = append(problems, Problem{Position{file.Path, m.Line, m.Column}, Error, m.Rule, m.Message, m.Hint})
	}
	return problems
}
