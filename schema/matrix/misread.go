package matrix

import (
	"cmp"
	"errors"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/template"
)

// misread reports a part that cannot be compiled, once for each place, and returns the
// row's need. A mistake is an error. An unsupported template whose text begins at or
// after a position is a warning; any other need is counted, without a place.
func (c *compiler) misread(err error, from schema.Position) (need string) {
	p := schema.Problem{Position: from, Severity: schema.Error}
	need = corrected
	if wrong, ok := errors.AsType[*template.MistakeError](err); ok {
		p.Rule, p.Message, p.Hint = cmp.Or(wrong.Rule, "wrong-value"), wrong.Message, wrong.Hint
	} else if wrong, ok := errors.AsType[*template.Error](err); ok {
		p.Rule, p.Message, p.Hint = "template", wrong.Message, wrong.Hint
		if p.Position = c.locate(from, wrong.Source); !wrong.Wrong {
			p.Severity, need = schema.Warning, err.Error()
			p.Message += "; the cases that use it are not run"
		}
	} else {
		return err.Error()
	}
	if c.misreads == nil {
		c.misreads = map[schema.Problem]bool{}
	}
	switch {
	case c.misreads[p]:
	case p.Severity == schema.Error:
		c.wrong = append(c.wrong, p)
	default:
		c.Problems = append(c.Problems, p)
	}
	c.misreads[p] = true
	return need
}

// locate returns the position of a text in a file, at or after a position; the position
// itself if the text is written differently.
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
