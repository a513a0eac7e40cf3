package matrix

import (
	"errors"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/template"
)

// misread warns about a template that cannot be filled in, once for each place. Its
// text begins at a position or after it. Other errors have no place.
func (c *compiler) misread(err error, from schema.Position) {
	wrong, ok := errors.AsType[*template.Error](err)
	if !ok {
		return
	}
	key := from.String() + wrong.Message + wrong.Source
	if c.misreads[key] {
		return
	}
	if c.misreads == nil {
		c.misreads = map[string]bool{}
	}
	c.misreads[key] = true
	c.Problems = append(c.Problems, schema.Problem{
		Position: c.locate(from, wrong.Source), Severity: schema.Warning, Rule: "template",
		Message: wrong.Message + "; the cases that use it are not run", Hint: wrong.Hint,
	})
}

// locate is where a text is in a file, at a position or after it: the position where it
// is written in another way than it reads.
func (c *compiler) locate(from schema.Position, text string) schema.Position {
	data, err := fs.ReadFile(c.FS, from.File)
	if err != nil || from.Line < 1 {
		return from
	}
	start := 0
	for range from.Line - 1 {
		n := strings.IndexByte(string(data[start:]), '\n')
		if n < 0 {
			return from
		}
		start += n + 1
	}
	for range max(0, from.Column-1) {
		_, size := utf8.DecodeRune(data[start:])
		start += size
	}
	short, _, _ := strings.Cut(text, "}")
	for _, sought := range []string{strings.TrimRight(text, "\r"), short} {
		if n := strings.Index(string(data[start:]), sought); n >= 0 && sought != "" {
			before := string(data[:start+n])
			line := strings.LastIndexByte(before, '\n') + 1
			return schema.Position{File: from.File, Line: strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(before[line:]) + 1}
		}
	}
	return from
}
