package schema

// Complaints are what is found wrong with a document while something is made
// of it.
type Complaints struct {
	Doc      *Document
	Problems []Problem
}

// Fail adds an error at a place in the document.
func (c *Complaints) Fail(rule, message, hint string, path ...any) {
	c.Problems = append(c.Problems, c.Doc.Problem(rule, message, hint, path...))
}

// Note adds a note.
func (c *Complaints) Note(rule, message, hint string, path ...any) {
	p := c.Doc.Problem(rule, message, hint, path...)
	p.Severity = Note
	c.Problems = append(c.Problems, p)
}

// Warn adds a warning.
func (c *Complaints) Warn(rule, message, hint string, path ...any) {
	p := c.Doc.Problem(rule, message, hint, path...)
	p.Severity = Warning
	c.Problems = append(c.Problems, p)
}
