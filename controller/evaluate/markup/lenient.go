package markup

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// A node is an element of a text that was read leniently, as fast-xml-parser makes an
// object of it: its fields are elements, attributes with @_ in front, and #text.
type node struct{ fields map[string][]*node }

func newNode() *node { return &node{fields: map[string][]*node{}} }

func (n *node) add(name string, child *node) { n.fields[name] = append(n.fields[name], child) }

// isObject reports whether the node has fields other than a text.
func (n *node) isObject() bool {
	_, hasText := n.fields[textField]
	return len(n.fields) > 1 || len(n.fields) == 1 && !hasText
}

const textField = "#text"

// has reports whether an element is there: names with points between them, and numbers
// of elements that are there several times.
func (n *node) has(path string) bool {
	at, keys := []*node{n}, strings.Split(path, ".")
	for _, key := range keys {
		switch {
		case len(at) > 1: // a list
			index, err := strconv.Atoi(key)
			if err != nil || strconv.Itoa(index) != key || index < 0 || index >= len(at) {
				return false
			}
			at = at[index : index+1]
		case !at[0].isObject():
			return false
		default:
			if at = at[0].fields[key]; len(at) == 0 {
				return false
			}
		}
	}
	return true
}

// lacking returns the elements that are not there.
func (n *node) lacking(elements []string) []string {
	return slices.DeleteFunc(slices.Clone(elements), n.has)
}

// maxOpen is how many elements of a document fast-xml-parser reads in each other.
const maxOpen = 101

// reserved are the names that it refuses.
var reserved = []string{"__proto__", "constructor", "prototype"}

// A lenient reads XML as fast-xml-parser does, which takes an element that is never
// closed, and a closing tag of another name.
type lenient struct {
	rest       string
	root       *node
	open       []*node
	text       string
	sawDoctype bool
}

// readLenient reads a text as XML. The error says where even a lenient reader gives up.
func readLenient(text string) (*node, error) {
	p := &lenient{rest: strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), root: newNode()}
	for p.rest != "" {
		text, rest, found := strings.Cut(p.rest, "<")
		p.text += text
		if p.rest = rest; !found {
			break
		}
		if err := p.mark(); err != nil {
			return nil, err
		}
	}
	return p.root, nil
}

// current returns the element that is open.
func (p *lenient) current() *node {
	if len(p.open) == 0 {
		return p.root
	}
	return p.open[len(p.open)-1]
}

// keep adds the text that was read to the open element.
func (p *lenient) keep() {
	if trim(p.text) != "" {
		p.addText()
	}
	p.text = ""
}

func (p *lenient) addText() {
	if n := p.current(); len(n.fields[textField]) == 0 {
		n.add(textField, newNode())
	}
}

// skipTo reads up to the end of a mark, and returns what is before it.
func (p *lenient) skipTo(end string, from int) (string, error) {
	if before, after, found := strings.Cut(p.rest[min(from, len(p.rest)):], end); found {
		p.rest = after
		return before, nil
	}
	return "", fmt.Errorf("a mark is not closed by %s", end)
}

// mark reads what is behind a <.
func (p *lenient) mark() error {
	switch {
	case strings.HasPrefix(p.rest, "/"):
		if _, err := p.skipTo(">", 0); err != nil {
			return err
		}
		p.keep()
		p.open = p.open[:max(0, len(p.open)-1)]
		return nil
	case strings.HasPrefix(p.rest, "?"):
		return p.instruction()
	case strings.HasPrefix(p.rest, "!--"):
		_, err := p.skipTo("-->", len("!--"))
		return err
	case strings.HasPrefix(p.rest, "!D"):
		return p.doctype()
	case strings.HasPrefix(p.rest, "!["):
		body, err := p.skipTo("]]>", 0)
		if err != nil {
			return err
		}
		if len(body) != len("![CDATA[") { // a shorter mark is a text of the signs behind it
			p.addText()
		}
		return nil
	}
	return p.element()
}

// tag reads up to the end of a tag that is not in quotes. It returns the name, and what
// is behind it or the name again.
func (p *lenient) tag(end string) (name, written string, err error) {
	for i := 0; i < len(p.rest); i++ {
		switch b := p.rest[i]; {
		case b == '"' || b == '\'':
			n := strings.IndexByte(p.rest[i+1:], b)
			if n < 0 {
				return "", "", errors.New("a quote is not closed")
			}
			i += n + 1
		case strings.HasPrefix(p.rest[i:], end):
			tag := p.rest[:i]
			p.rest = p.rest[i+len(end):]
			if at := strings.IndexFunc(tag, isSpace); at >= 0 {
				return tag[:at], strings.TrimLeftFunc(tag[at:], isSpace), nil
			}
			return tag, tag, nil
		}
	}
	return "", "", fmt.Errorf("a tag is not closed by %s", end)
}

// field matches an attribute, with or without a value.
var field = lazyregexp.New(`([^` + spaces + `=]+)[` + spaces + `]*(?:=[` + spaces + `]*(?:"[^"]*"|'[^']*'))?`)

// spaces are the characters of JavaScript's \s.
const spaces = `\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`

// attributes adds the attributes of a tag to its element.
func attributes(n *node, name, written string) {
	if written == name {
		return
	}
	for _, m := range field.FindAllStringSubmatch(written, -1) {
		n.fields["@_"+m[1]] = []*node{newNode()}
	}
}

func (p *lenient) instruction() error {
	name, written, err := p.tag("?>")
	if err != nil {
		return err
	}
	n := newNode()
	attributes(n, name, written)
	p.current().add(name, n)
	return nil
}

func (p *lenient) element() error {
	name, written, err := p.tag(">")
	if err != nil {
		return err
	}
	p.keep()
	written, isEmpty := strings.CutSuffix(written, "/")
	if isEmpty && strings.HasSuffix(name, "/") {
		name = strings.TrimSuffix(name, "/")
		written = name
	}
	switch {
	case slices.Contains(reserved, name):
		return fmt.Errorf("the name %s is reserved", name)
	case !isEmpty && len(p.open) >= maxOpen:
		return fmt.Errorf("it has more than %d elements in each other", maxOpen)
	}
	n := newNode()
	attributes(n, name, written)
	p.current().add(name, n)
	if !isEmpty {
		p.open = append(p.open, n)
	}
	return nil
}

// doctype reads over the declaration of a document's type.
func (p *lenient) doctype() error {
	body, found := strings.CutPrefix(p.rest, "!DOCTYPE")
	if !found || p.sawDoctype {
		return errors.New("a DOCTYPE is malformed, or there is more than one")
	}
	p.sawDoctype = true
	d := doctypeReader{text: body}
	err := d.read()
	p.rest = body[min(d.at, len(body)):]
	return err
}
