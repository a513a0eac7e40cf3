package document

import "github.com/gavel-evals/gavel/schema"

// Complaints are the problems found in a document while it is compiled.
type Complaints struct {
	Doc      *Document
	Problems []schema.Problem
}

// Fail adds an error at a place in the document.
func (c *Complaints) Fail(rule, message, hint string, path ...any) {
	c.Problems = append(c.Problems, c.Doc.Problem(rule, message, hint, path...))
}

// Note adds a note.
func (c *Complaints) Note(rule, message, hint string, path ...any) {
	p := c.Doc.Problem(rule, message, hint, path...)
	p.Severity = schema.Note
	c.Problems = append(c.Problems, p)
}

// Warn adds a warning.
func (c *Complaints) Warn(rule, message, hint string, path ...any) {
	p := c.Doc.Problem(rule, message, hint, path...)
	p.Severity = schema.Warning
	c.Problems = append(c.Problems, p)
}

// errorAt returns an error at a place.
func errorAt(at schema.Position, rule, message, hint string) schema.Problem {
	return schema.Problem{Position: at, Severity: schema.Error, Rule: rule, Message: message, Hint: hint}
}

// startOf returns the first place of a file.
func startOf(file string) schema.Position { return schema.Position{File: file, Line: 1, Column: 1} }
