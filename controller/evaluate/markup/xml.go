package markup

import (
	"errors"
	"slices"
	"strings"
)

// IsXML returns why a text is not one document of XML with all of the elements, which are
// names with points between them, or nil.
func IsXML(text string, elements []string) error {
	if err := checkStrict(text); err != nil {
		return err
	}
	return hasElements(text, elements)
}

// ContainsXML returns why a text has no XML with all of the elements in it, or nil.
func ContainsXML(text string, elements []string) error {
	found := parts(text)
	if len(found) == 0 {
		return errors.New("it has no XML in it")
	}
	var read []part // that are XML without the elements
	var first error
	for _, p := range found {
		if slices.ContainsFunc(read, func(r part) bool { return p.start >= r.start && p.end <= r.end }) {
			continue
		}
		err := hasElements(text[p.start:p.end], elements)
		if err == nil {
			return nil
		}
		if _, isLack := errors.AsType[*lackError](err); isLack {
			read = append(read, p)
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// A lackError is about elements that are not there.
type lackError struct{ elements []string }

func (e *lackError) Error() string { return "it lacks " + strings.Join(e.elements, ", ") }

func hasElements(text string, elements []string) error {
	root, err := readLenient(text)
	if err != nil {
		return err
	}
	if lacking := root.lacking(elements); len(lacking) > 0 {
		return &lackError{lacking}
	}
	return nil
}

// A part of a text, which may be XML: from an opening tag to its closing one.
type part struct {
	start, end int
	// parent is where the element around it begins; -1 for none.
	parent int
}

// A tag of a text in which XML is looked for.
type tag struct {
	name       string
	start, end int // of which end is behind it
	kind       tagKind
}

type tagKind int

const (
	opening tagKind = iota
	closing
	empty
	skipped // a comment, a declaration or an instruction
)

// parts returns the parts of a text that may be XML: neighbors together, and then the
// outermost alone.
func parts(text string) []part {
	var open []tag
	var found []part
	parent := func() int {
		if len(open) == 0 {
			return -1
		}
		return open[len(open)-1].start
	}
	for i := 0; i < len(text); i++ {
		t, isTag := readTag(text, i)
		if !isTag {
			continue
		}
		switch {
		case t.kind == opening:
			open = append(open, t)
		case t.kind == empty:
			found = append(found, part{t.start, t.end, parent()})
		case t.kind == skipped:
		case len(open) > 0 && open[len(open)-1].name == t.name:
			start := parent()
			open = open[:len(open)-1]
			found = append(found, part{start, t.end, parent()})
		default:
			open = nil
		}
		i = t.end - 1
	}
	return ordered(found)
}

// ordered returns the parts in the order in which they are tried.
func ordered(found []part) []part {
	starts := map[int]bool{}
	families := map[int][]part{}
	var parents []int
	for _, p := range found {
		starts[p.start] = true
		if len(families[p.parent]) == 0 {
			parents = append(parents, p.parent)
		}
		families[p.parent] = append(families[p.parent], p)
	}
	var out []part
	for _, parent := range parents {
		family := families[parent]
		if len(family) < 2 || parent >= 0 && starts[parent] {
			continue
		}
		slices.SortStableFunc(family, func(a, b part) int { return compare(a.start-b.start, a.end-b.end) })
		out = append(out, part{family[0].start, family[len(family)-1].end, parent})
	}
	outermost := slices.DeleteFunc(slices.Clone(found), func(p part) bool { return p.parent >= 0 && starts[p.parent] })
	slices.SortStableFunc(outermost, func(a, b part) int { return compare(a.start-b.start, b.end-a.end) })
	return append(out, outermost...)
}

func compare(first, second int) int {
	if first != 0 {
		return first
	}
	return second
}

// readTag reads a tag that begins at a place of a text.
func readTag(text string, start int) (tag, bool) {
	rest, found := strings.CutPrefix(text[start:], "<")
	if !found || rest == "" {
		return tag{}, false
	}
	switch rest[0] {
	case '!':
		return tag{start: start, end: declarationEnd(text, start), kind: skipped}, true
	case '?':
		return tag{start: start, end: delimitedEnd(text, start+2, "?>"), kind: skipped}, true
	}
	rest, isClosing := strings.CutPrefix(rest, "/")
	name, _ := cutName(rest)
	end := tagEnd(text, start)
	if name == "" || end < 0 {
		return tag{}, false
	}
	t := tag{name: name, start: start, end: end}
	switch before := strings.TrimRightFunc(text[start:end-1], isSpace); {
	case isClosing:
		t.kind = closing
	case strings.HasSuffix(before, "/"):
		t.kind = empty
	}
	return t, true
}

// tagEnd returns the place behind a tag, or -1.
func tagEnd(text string, start int) int {
	quote := byte(0)
	for i := start + 1; i < len(text); i++ {
		switch b := text[i]; {
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"' || b == '\'':
			quote = b
		case b == '<':
			return -1
		case b == '>':
			return i + 1
		}
	}
	return -1
}

// delimitedEnd returns the place behind a delimiter, or the end of the text.
func delimitedEnd(text string, from int, delimiter string) int {
	if from <= len(text) {
		if i := strings.Index(text[from:], delimiter); i >= 0 {
			return from + i + len(delimiter)
		}
	}
	return len(text)
}

// declarationEnd returns the place behind a comment, CDATA or a declaration.
func declarationEnd(text string, start int) int {
	switch rest := text[start:]; {
	case strings.HasPrefix(rest, "<!--"):
		return delimitedEnd(text, start+4, "-->")
	case strings.HasPrefix(rest, "<![CDATA["):
		return delimitedEnd(text, start+9, "]]>")
	}
	quote, depth := byte(0), 0
	for i := start + 2; i < len(text); i++ {
		switch b := text[i]; {
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"' || b == '\'':
			quote = b
		case b == '[':
			depth++
		case b == ']':
			depth = max(0, depth-1)
		case b == '>' && depth == 0:
			return i + 1
		}
	}
	return len(text)
}
