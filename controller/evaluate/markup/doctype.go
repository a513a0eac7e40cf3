package markup

import (
	"errors"
	"fmt"
	"strings"
)

// The limits of fast-xml-parser for the entities that a document declares.
const (
	maxEntities   = 1000
	maxEntitySize = 10_000
)

// A doctypeReader reads the declaration of a document's type as fast-xml-parser does. In front
// of its body, which begins with a bracket, quotes hide what is in them.
type doctypeReader struct {
	text     string // behind <!DOCTYPE
	at       int
	entities int
	hasBody  bool
}

// read reads up to the > that closes the declaration. The error says why it is malformed.
func (d *doctypeReader) read() error {
	for depth := 1; d.at < len(d.text); d.at++ {
		switch b := d.text[d.at]; {
		case !d.hasBody && (b == '"' || b == '\''):
			if _, err := d.quoted(); err != nil {
				return err
			}
			d.at--
		case strings.HasPrefix(d.text[d.at:], "<!--"):
			if err := d.comment(); err != nil {
				return err
			}
		case b == '<':
			if err := d.declaration(); err != nil {
				return err
			}
			depth++
		case b == '[':
			d.hasBody = true
		case b == '>':
			if depth--; depth == 0 {
				d.at++
				return nil
			}
		}
	}
	return errors.New("a DOCTYPE is not closed")
}

// comment reads over a comment.
func (d *doctypeReader) comment() error {
	const opening = "<!"
	inside, _, found := strings.Cut(d.text[d.at+len(opening):], "-->")
	if !found {
		return errors.New("a comment in a DOCTYPE is not closed")
	}
	d.at += len(opening) + len(inside) + len("-->") - 1
	return nil
}

// declaration reads a declaration of the body, without the > at its end.
func (d *doctypeReader) declaration() error {
	rest := d.text[d.at+1:]
	for keyword, read := range map[string]func() error{
		"!ENTITY": d.entity, "!ELEMENT": d.element, "!NOTATION": d.notation, "!ATTLIST": func() error { return nil },
	} {
		if d.hasBody && strings.HasPrefix(rest, keyword) {
			d.at += 1 + len(keyword)
			err := read()
			d.at-- // the caller goes on behind it
			return err
		}
	}
	return errors.New("a DOCTYPE has an unknown declaration")
}

// entity reads a name and the text that it is short for.
func (d *doctypeReader) entity() error {
	name := d.word(`"'`)
	if !isQualified(name) {
		return fmt.Errorf("a DOCTYPE has an entity %q, which is not a name", name)
	}
	value, err := d.quoted()
	switch {
	case err != nil:
		return err
	case len(value) > maxEntitySize:
		return fmt.Errorf("an entity of a DOCTYPE has more than %d characters", maxEntitySize)
	case strings.Contains(value, "&"): // which is left out
		return nil
	}
	if d.entities++; d.entities > maxEntities {
		return fmt.Errorf("a DOCTYPE has more than %d entities", maxEntities)
	}
	return nil
}

// element reads a name and what the element may have in it.
func (d *doctypeReader) element() error {
	if name := d.word(""); !isQualified(name) {
		return fmt.Errorf("a DOCTYPE has an element %q, which is not a name", name)
	}
	if rest := d.text[d.at:]; strings.HasPrefix(rest, "EMPTY") || strings.HasPrefix(rest, "ANY") {
		return nil
	}
	end := strings.IndexByte(d.text[d.at:], ')')
	if end < 0 || d.text[d.at] != '(' {
		return errors.New("a DOCTYPE has an element without its content")
	}
	d.at += end
	return nil
}

// notation reads a name and the identifiers behind it.
func (d *doctypeReader) notation() error {
	if name := d.word(""); !isQualified(name) {
		return fmt.Errorf("a DOCTYPE has a notation %q, which is not a name", name)
	}
	const length = len("SYSTEM")
	kind := strings.ToUpper(d.text[d.at:min(d.at+length, len(d.text))])
	if kind != "SYSTEM" && kind != "PUBLIC" {
		return errors.New("a DOCTYPE has a notation without SYSTEM and PUBLIC")
	}
	d.at += length
	d.space()
	identifier, err := d.quoted()
	if kind == "SYSTEM" && identifier == "" && err == nil {
		return errors.New("a DOCTYPE has a notation with an empty identifier")
	}
	if d.space(); err != nil || kind == "SYSTEM" || d.at == len(d.text) || d.text[d.at] != '"' && d.text[d.at] != '\'' {
		return err
	}
	_, err = d.quoted()
	return err
}

// space reads over white space.
func (d *doctypeReader) space() {
	d.at = len(d.text) - len(strings.TrimLeftFunc(d.text[d.at:], isSpace))
}

// word returns the text up to white space or one of the ends, and reads over the white
// space around it. It is empty if the text has neither.
func (d *doctypeReader) word(ends string) string {
	d.space()
	from := d.at
	d.at += max(0, strings.IndexFunc(d.text[from:], func(r rune) bool { return isSpace(r) || strings.ContainsRune(ends, r) }))
	word := d.text[from:d.at]
	d.space()
	return word
}

// quoted returns the text in the quotes that begin here.
func (d *doctypeReader) quoted() (string, error) {
	if rest := d.text[d.at:]; rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		if inside, _, found := strings.Cut(rest[1:], rest[:1]); found {
			d.at += len(inside) + 2
			return inside, nil
		}
	}
	return "", errors.New("a DOCTYPE has a text without its quotes")
}

// isQualified reports whether a text is a name of XML 1.0 with at most one colon, which is
// between two names.
func isQualified(name string) bool {
	for part := range strings.SplitSeq(name, ":") {
		if got, rest := cutName(part); got == "" || rest != "" {
			return false
		}
	}
	return strings.Count(name, ":") < 2 && !strings.ContainsFunc(name, func(r rune) bool { return r == '\u0487' || r > 0xFFFF })
}
