package markup

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// The namespaces that are bound from the beginning.
const (
	xmlNamespace   = "http://www.w3.org/XML/1998/namespace"
	xmlnsNamespace = "http://www.w3.org/2000/xmlns/"
)

// maxDepth bounds the elements that are open at once.
const maxDepth = 10_000

// A strict reads a document of XML and accepts only a well-formed one with namespaces, as
// the parser saxes does, and no more of a DTD than promptfoo.
type strict struct {
	rest string
	// later means that the document has version 1.1 of XML.
	later bool
	// standalone is what the declaration says.
	standalone bool
	// external means that entities of other files may be meant by unknown names.
	external               bool
	sawDoctype, closedRoot bool
	open                   []element
}

// An element is one that is open, with the prefixes that it binds.
type element struct {
	name   string
	spaces map[string]string
}

// checkStrict returns why a text is not a document of XML, or nil.
func checkStrict(text string) error {
	p := &strict{rest: strings.TrimPrefix(text, "\ufeff")}
	if err := p.declaration(); err != nil {
		return err
	}
	for _, r := range text {
		if !p.allowed(r) {
			return fmt.Errorf("it has the character %U, which XML does not allow", r)
		}
	}
	for p.rest != "" {
		if err := p.next(); err != nil {
			return err
		}
	}
	switch {
	case len(p.open) > 0:
		return fmt.Errorf("the element %s is not closed", p.open[len(p.open)-1].name)
	case !p.closedRoot:
		return errors.New("it has no element")
	}
	return nil
}

// allowed reports whether a character may be written in the document.
func (p *strict) allowed(r rune) bool {
	switch {
	case r == '\t' || r == '\n' || r == '\r' || r >= 0x10000:
		return true
	case p.later && r >= 0x7F && r <= 0x9F:
		return r == 0x85
	}
	return r >= ' ' && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD
}

// next reads the text, and one tag or other mark behind it.
func (p *strict) next() error {
	text, rest, _ := strings.Cut(p.rest, "<")
	hasMark := len(text) < len(p.rest)
	if err := p.text(text); err != nil {
		return err
	}
	if p.rest = rest; !hasMark {
		return nil
	}
	switch {
	case strings.HasPrefix(rest, "!--"):
		return p.comment()
	case strings.HasPrefix(rest, "![CDATA["):
		return p.cdata()
	case strings.HasPrefix(rest, "!DOCTYPE"):
		return p.doctype()
	case strings.HasPrefix(rest, "?"):
		return p.instruction()
	case strings.HasPrefix(rest, "/"):
		return p.closing()
	}
	return p.opening()
}

// text checks the text between marks.
func (p *strict) text(text string) error {
	if len(p.open) == 0 {
		if skipSpace(text) != "" {
			return errors.New("it has text outside of its element")
		}
		return nil
	}
	if strings.Contains(text, "]]>") {
		return errors.New("its text has ]]>")
	}
	return p.entities(text)
}

// entities checks the entities of a text or of the value of an attribute.
func (p *strict) entities(text string) error {
	for {
		_, rest, found := strings.Cut(text, "&")
		if !found {
			return nil
		}
		name, rest, isClosed := strings.Cut(rest, ";")
		if !isClosed || !p.isEntity(name) {
			return fmt.Errorf("it has an & without the name of an entity (%.20q)", name)
		}
		text = rest
	}
}

// reference matches the number of a character.
var reference = lazyregexp.New(`^#(?:x([0-9a-fA-F]+)|([0-9]+))$`)

func (p *strict) isEntity(name string) bool {
	switch name {
	case "amp", "lt", "gt", "quot", "apos":
		return true
	}
	m := reference.FindStringSubmatch(name)
	if m == nil {
		got, rest := cutName(name)
		return p.external && got != "" && rest == ""
	}
	n, err := strconv.ParseInt(m[2], 10, 32)
	if m[1] != "" {
		n, err = strconv.ParseInt(m[1], 16, 32)
	}
	r := rune(n)
	if p.later {
		return err == nil && r > 0 && r <= utf8.MaxRune && (r < 0xD800 || r > 0xDFFF) && r != 0xFFFE && r != 0xFFFF
	}
	return err == nil && r <= utf8.MaxRune && p.allowed(r)
}

func (p *strict) comment() error {
	_, rest, found := strings.Cut(p.rest[len("!--"):], "--")
	if !found || !strings.HasPrefix(rest, ">") {
		return errors.New("a comment is not closed, or has --")
	}
	p.rest = rest[1:]
	return nil
}

func (p *strict) cdata() error {
	_, rest, found := strings.Cut(p.rest, "]]>")
	switch {
	case !found:
		return errors.New("a part of CDATA is not closed")
	case len(p.open) == 0:
		return errors.New("it has text outside of its element")
	}
	p.rest = rest
	return nil
}

// doctype reads the declaration of a document's type. As in promptfoo, it may have no
// declarations of its own.
func (p *strict) doctype() error {
	if p.sawDoctype || p.closedRoot || len(p.open) > 0 {
		return errors.New("its DOCTYPE is at the wrong place")
	}
	p.sawDoctype = true
	body := p.rest[len("!DOCTYPE"):]
	end, quote := -1, byte(0)
	for i := 0; i < len(body) && end < 0; i++ {
		switch b := body[i]; {
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"' || b == '\'':
			quote = b
		case b == '[':
			return errors.New("its DOCTYPE has declarations, which are not read")
		case b == '>':
			end = i
		}
	}
	if end < 0 {
		return errors.New("its DOCTYPE is not closed")
	}
	m := doctype.FindStringSubmatch(body[:end])
	if m == nil {
		return errors.New("its DOCTYPE is malformed")
	}
	if name, rest := cutName(m[1]); name == "" || rest != "" {
		return errors.New("its DOCTYPE is malformed")
	}
	p.external = m[2] != "" && !p.standalone
	p.rest = body[end+1:]
	return nil
}

// doctype matches what is written behind DOCTYPE: a name, and the place of a DTD.
var doctype = lazyregexp.New(`^[ \t\r\n]+([^ \t\r\n]+)(?:[ \t\r\n]+(SYSTEM` + systemID + `|PUBLIC[ \t\r\n]+(?:"` + publicID + `*"|'` + strings.ReplaceAll(publicID, `'`, "") + `*')` + systemID + `))?[ \t\r\n]*$`)

const (
	systemID = `[ \t\r\n]+(?:"[^"#]*"|'[^'#]*')`
	publicID = `[ \r\na-zA-Z0-9'()+,./:=?;!*#@$_%-]`
)

// declaration reads <?xml …?> at the beginning of the document.
func (p *strict) declaration() error {
	rest, found := strings.CutPrefix(p.rest, "<?xml")
	if !found || rest != "" && !isXMLSpace(rest[0]) && rest[0] != '?' {
		return nil
	}
	expects := []string{"version"}
	for rest = skipSpace(rest); !strings.HasPrefix(rest, "?"); rest = skipSpace(rest) {
		m := pseudo.FindStringSubmatch(rest)
		if m == nil || !slices.Contains(expects, m[1]) {
			return errors.New("its declaration <?xml …?> is malformed")
		}
		value := m[2][1 : len(m[2])-1]
		if !declared[m[1]].MatchString(value) {
			return fmt.Errorf("its declaration <?xml …?> has a wrong %s", m[1])
		}
		switch m[1] {
		case "version":
			expects, p.later = []string{"encoding", "standalone"}, value != "1.0"
		case "encoding":
			expects = []string{"standalone"}
		default:
			expects, p.standalone = nil, value == "yes"
		}
		if rest = rest[len(m[0]):]; rest == "" || !isXMLSpace(rest[0]) && rest[0] != '?' {
			return errors.New("its declaration <?xml …?> is malformed")
		}
	}
	if !strings.HasPrefix(rest, "?>") || slices.Contains(expects, "version") {
		return errors.New("its declaration <?xml …?> has no version, or is not closed")
	}
	p.rest = rest[len("?>"):]
	return nil
}

// pseudo matches a name with its value in the declaration.
var pseudo = lazyregexp.New(`^(\w+)[ \t\r\n]*=[ \t\r\n]*("[^"?]*"|'[^'?]*')`)

// declared match the values of the declaration.
var declared = map[string]*lazyregexp.Regexp{
	"version": lazyregexp.New(`^1\.[0-9]+$`), "encoding": lazyregexp.New(`^[A-Za-z][A-Za-z0-9._-]*$`), "standalone": lazyregexp.New(`^(?:yes|no)$`),
}

// instruction reads <?name …?>.
func (p *strict) instruction() error {
	name, rest := cutName(p.rest[1:])
	switch {
	case name == "" || strings.Contains(name, ":"):
		return errors.New("a processing instruction has no name")
	case strings.EqualFold(name, "xml"):
		return errors.New("its declaration <?xml …?> is not at its beginning")
	case rest == "" || !isXMLSpace(rest[0]) && rest[0] != '?':
		return errors.New("the name of a processing instruction is malformed")
	}
	_, rest, found := strings.Cut(rest, "?>")
	if !found {
		return errors.New("a processing instruction is not closed")
	}
	p.rest = rest
	return nil
}

// closing reads </name>.
func (p *strict) closing() error {
	name, rest := cutName(p.rest[1:])
	rest, isClosed := strings.CutPrefix(skipSpace(rest), ">")
	last := len(p.open) - 1
	if !isClosed || last < 0 || p.open[last].name != name {
		return fmt.Errorf("the closing tag %.40q fits no element", name)
	}
	p.open, p.rest = p.open[:last], rest
	p.closedRoot = last == 0
	return nil
}

// An attribute is one with its prefix, which is empty without a colon.
type attribute struct{ name, prefix, local string }

// opening reads <name …> or <name …/>.
func (p *strict) opening() error {
	name, rest := cutName(p.rest)
	switch {
	case name == "":
		return errors.New("it has a < that begins no tag")
	case p.closedRoot:
		return errors.New("it has more than one element")
	case len(p.open) >= maxDepth:
		return fmt.Errorf("it has more than %d elements in each other", maxDepth)
	}
	at := element{name, map[string]string{}}
	var attributes []attribute
	for {
		trimmed := skipSpace(rest)
		if after, isClosed := strings.CutPrefix(trimmed, ">"); isClosed {
			p.open, p.rest = append(p.open, at), after
			return p.named(attributes)
		}
		if after, isClosed := strings.CutPrefix(trimmed, "/>"); isClosed {
			p.open, p.rest = append(p.open, at), after
			err := p.named(attributes)
			p.open = p.open[:len(p.open)-1]
			p.closedRoot = len(p.open) == 0
			return err
		}
		if len(trimmed) == len(rest) {
			return fmt.Errorf("the tag %.40q is malformed", name)
		}
		a, value, after, err := p.attribute(trimmed)
		if err != nil {
			return err
		}
		if err := bind(at.spaces, a, trim(value), p.later); err != nil {
			return err
		}
		attributes, rest = append(attributes, a), after
	}
}

// attribute reads name="value".
func (p *strict) attribute(s string) (a attribute, value, rest string, err error) {
	name, rest := cutName(s)
	wrong := fmt.Errorf("the attribute %.40q is malformed", name)
	if name == "" {
		return a, "", "", wrong
	}
	if a.prefix, a.local, err = qualified(name); err != nil {
		return a, "", "", err
	}
	a.name = name
	rest, hasValue := strings.CutPrefix(skipSpace(rest), "=")
	if rest = skipSpace(rest); !hasValue || rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return a, "", "", wrong
	}
	value, rest, isClosed := strings.Cut(rest[1:], rest[:1])
	if !isClosed || strings.Contains(value, "<") {
		return a, "", "", wrong
	}
	return a, value, rest, p.entities(value)
}

// qualified splits a name at its colon.
func qualified(name string) (prefix, local string, err error) {
	prefix, local, found := strings.Cut(name, ":")
	switch {
	case !found:
		return "", name, nil
	case prefix == "" || local == "" || strings.Contains(local, ":"):
		return "", "", fmt.Errorf("the name %.40q is malformed", name)
	}
	return prefix, local, nil
}

// bind adds the namespace that an attribute binds, if it does.
func bind(spaces map[string]string, a attribute, space string, later bool) error {
	prefix := a.local
	switch {
	case a.prefix == "xmlns":
		if space == "" && !later {
			return fmt.Errorf("the prefix %.40q has an empty namespace", prefix)
		}
	case a.name == "xmlns":
		prefix = ""
	default:
		return nil
	}
	if (prefix == "xml") != (space == xmlNamespace) || prefix == "xmlns" || space == xmlnsNamespace {
		return fmt.Errorf("the prefix %.40q may not have the namespace %.40q", prefix, space)
	}
	spaces[prefix] = space
	return nil
}

// resolve returns the namespace of a prefix.
func (p *strict) resolve(prefix string) (string, bool) {
	for _, e := range slices.Backward(p.open) {
		if space, bound := e.spaces[prefix]; bound {
			return space, true
		}
	}
	space, bound := map[string]string{"xml": xmlNamespace, "xmlns": xmlnsNamespace}[prefix]
	return space, bound
}

// named checks the names of the last element that was opened and of its attributes.
func (p *strict) named(attributes []attribute) error {
	prefix, _, err := qualified(p.open[len(p.open)-1].name)
	if err != nil {
		return err
	}
	if space, _ := p.resolve(prefix); prefix == "xmlns" || prefix != "" && space == "" {
		return fmt.Errorf("the prefix %.40q has no namespace", prefix)
	}
	seen := map[string]bool{}
	for _, a := range attributes {
		full := a.name
		if a.prefix != "" {
			space, bound := p.resolve(a.prefix)
			if !bound {
				return fmt.Errorf("the prefix %.40q has no namespace", a.prefix)
			}
			full = "{" + space + "}" + a.local
		}
		if seen[full] {
			return fmt.Errorf("the attribute %.40q is there twice", a.name)
		}
		seen[full] = true
	}
	return nil
}
