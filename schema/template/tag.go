package template

import (
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema/suggest"
)

// A parser reads the pieces of a template.
type parser struct {
	source string
	pieces []piece
	next   int
	depth  int
	own    map[string]Filter
}

// parseText reads a template. The error is an [*Error].
func parseText(source string, own map[string]Filter) ([]node, error) {
	pieces, err := split(source)
	if err != nil {
		return nil, err
	}
	p := &parser{source: source, pieces: pieces, own: own}
	nodes, _, err := p.nodes("")
	return nodes, err
}

// nodes reads up to one of the tags that end a part. It returns the tag's name, with a
// reader for the rest of the tag.
func (p *parser) nodes(opening string, ends ...string) ([]node, *blockEnd, error) {
	var nodes []node
	for p.next < len(p.pieces) {
		piece := p.pieces[p.next]
		p.next++
		r := &reader{source: p.source, tokens: piece.tokens, own: p.own}
		var n node
		var err error
		switch piece.kind {
		case 't':
			n = text(piece)
		case '{':
			n, err = output(piece, r)
		default:
			name := r.take()
			if name.kind == 'a' && slices.Contains(ends, name.text) {
				return nodes, &blockEnd{name: name, reader: r}, r.endOf(name)
			}
			n, err = p.tag(piece, name, r, opening)
		}
		if err != nil {
			return nil, nil, err
		}
		nodes = append(nodes, n)
	}
	if len(ends) > 0 {
		return nil, nil, p.unclosed(opening, ends)
	}
	return nodes, nil, nil
}

// expecting are the ending tags that have more than their name.
var expecting = []string{"elif", "elseif", "case", "endblock"}

// endOf holds that an ending tag has its name alone, unless it is one of those.
func (r *reader) endOf(tag token) error {
	if slices.Contains(expecting, tag.text) {
		return nil
	}
	return r.end()
}

// A blockEnd is the tag that ends a part of a template.
type blockEnd struct {
	name   token
	reader *reader
}

func (p *parser) unclosed(opening string, ends []string) error {
	at := strings.LastIndex(p.source, "{%")
	for _, piece := range p.pieces {
		if piece.kind == '%' && len(piece.tokens) > 0 && piece.tokens[0].text == opening {
			at = piece.at
		}
	}
	closing := ends[len(ends)-1]
	return mistakeAt(p.source, at, "{% "+opening+" %} is never closed", "close it with {% "+closing+" %}")
}

func text(p piece) node {
	return func(x *execution) error { return x.write(p.at, p.text) }
}

func output(p piece, r *reader) (node, error) {
	isName := len(r.tokens) == 2 && r.tokens[0].kind == 'a' && r.tokens[1].kind == 0
	value, err := r.expression()
	if err == nil {
		err = r.end()
	}
	return func(x *execution) error {
		if err := x.step(p.at); err != nil {
			return err
		}
		x.inserts = isName && !x.captures
		v, err := value(x)
		x.inserts = false
		if err != nil {
			return err
		}
		s, err := x.text(p.at, v)
		if err != nil {
			return err
		}
		return x.write(p.at, s)
	}, err
}

// tags are the supported tags.
var tags = []string{"if", "for", "set", "raw", "verbatim", "filter", "switch", "block"}

// foreignTags are unsupported tags of Nunjucks, with the repair.
var foreignTags = map[string]string{
	"include":   "put the text of the other file here; a template reads no file",
	"import":    "put the text of the other file here; a template reads no file",
	"from":      "put the text of the other file here; a template reads no file",
	"extends":   "put the text of the other file here; a template reads no file",
	"macro":     "write its text where it is called, or in a {% for %}",
	"call":      "write its text where it is called",
	"asyncEach": "write {% for %}",
	"asyncAll":  "write {% for %}",
	"ifAsync":   "write {% if %}",
}

// tag reads a tag, with all up to its end.
func (p *parser) tag(at piece, name token, r *reader, within string) (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errorAt(p.source, at.at, "the template has too many tags within others", "write fewer")
	}
	defer func() { p.depth-- }()
	switch name.text {
	case "if":
		return p.ifTag(r)
	case "for":
		return p.forTag(at, r)
	case "set":
		return p.setTag(at, r)
	case "filter":
		return p.filterTag(at, r)
	case "switch":
		return p.switchTag(r)
	case "block":
		return p.blockTag(r)
	}
	shown := "{% " + name.text + " %}"
	if hint := foreignTags[name.text]; hint != "" {
		return nil, errorAt(p.source, at.at, "the tag "+shown+" is not read", hint)
	}
	if name.text == "else" || name.text == "elif" || strings.HasPrefix(name.text, "end") {
		hint := "remove it, or write the tag that it belongs to"
		if within != "" {
			hint = "close {% " + within + " %} before it"
		}
		return nil, mistakeAt(p.source, at.at, "the tag "+shown+" has no beginning", hint)
	}
	hint := "the tags are " + strings.Join(tags, ", ")
	if near := suggest.Nearest(name.text, tags); near != "" {
		hint = "did you mean " + near + "?"
	}
	return nil, mistakeAt(p.source, at.at, "the tag "+shown+" is not known", hint)
}

// whole reads an expression up to the end of a tag.
func whole(r *reader) (expr, error) {
	e, err := r.expression()
	if err != nil {
		return nil, err
	}
	return e, r.end()
}

// A branch is a part of an if that is written if its condition holds.
type branch struct {
	condition expr
	nodes     []node
}

func (p *parser) ifTag(r *reader) (node, error) {
	var branches []branch
	for {
		condition, err := whole(r)
		if err != nil {
			return nil, err
		}
		nodes, end, err := p.nodes("if", "elif", "elseif", "else", "endif")
		if err != nil {
			return nil, err
		}
		branches = append(branches, branch{condition, nodes})
		if r = end.reader; end.name.text == "endif" {
			break
		}
		if end.name.text == "else" {
			if nodes, _, err = p.nodes("if", "endif"); err != nil {
				return nil, err
			}
			branches = append(branches, branch{constant(true), nodes})
			break
		}
	}
	return func(x *execution) error {
		for _, b := range branches {
			holds, err := b.condition(x)
			if err != nil {
				return err
			}
			if truthy(holds) {
				return x.run(b.nodes)
			}
		}
		return nil
	}, nil
}

func (p *parser) switchTag(r *reader) (node, error) {
	value, err := whole(r)
	if err != nil {
		return nil, err
	}
	_, end, err := p.nodes("switch", "case", "default", "endswitch")
	var cases []branch
	for err == nil && end.name.text != "endswitch" {
		b := branch{}
		if end.name.text == "case" {
			if b.condition, err = whole(end.reader); err != nil {
				break
			}
		}
		if b.nodes, end, err = p.nodes("switch", "case", "default", "endswitch"); err == nil {
			cases = append(cases, b)
		}
	}
	if err == nil && len(cases) == 0 {
		err = r.unexpected(end.name, "case")
	}
	return func(x *execution) error { return x.choose(value, cases) }, err
}

// choose writes the case with a value, else the one without a condition. A case without
// text falls through to the next.
func (x *execution) choose(value expr, cases []branch) error {
	v, err := value(x)
	if err != nil {
		return err
	}
	found := -1
	for i, c := range cases {
		if c.condition == nil {
			continue
		}
		w, err := c.condition(x)
		if err != nil {
			return err
		}
		if strictEqual(v, w) {
			found = i
			break
		}
	}
	if found < 0 {
		found = slices.IndexFunc(cases, func(b branch) bool { return b.condition == nil })
	}
	for ; found >= 0 && found < len(cases); found++ {
		if len(cases[found].nodes) > 0 {
			return x.run(cases[found].nodes)
		}
	}
	return nil
}

func (p *parser) setTag(at piece, r *reader) (node, error) {
	var names []string
	for {
		name := r.take()
		if name.kind != 'a' {
			return nil, r.unexpected(name, "a name")
		}
		names = append(names, name.text)
		if _, more := r.accept(","); !more {
			break
		}
	}
	value, err := p.setValue(at, r)
	return func(x *execution) error {
		if err := x.step(at.at); err != nil {
			return err
		}
		v, err := value(x)
		if err != nil {
			return err
		}
		for _, name := range names {
			x.assign(name, v)
		}
		return nil
	}, err
}

// setValue reads the part after the names of a set: a value, or everything up to its
// end.
func (p *parser) setValue(at piece, r *reader) (expr, error) {
	if _, ok := r.accept("="); ok {
		return whole(r)
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	nodes, _, err := p.nodes("set", "endset")
	return func(x *execution) (any, error) { return x.capture(at.at, nodes) }, err
}

// blockTag reads a block, whose text is written where it is. A set in it ends with it.
func (p *parser) blockTag(r *reader) (node, error) {
	name := r.take()
	if name.kind != 'a' {
		return nil, r.unexpected(name, "a name")
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	nodes, end, err := p.nodes("block", "endblock")
	if err == nil {
		_, _ = end.reader.accept(name.text)
		err = end.reader.end()
	}
	return func(x *execution) error {
		x.frames = append(x.frames, map[string]any{})
		defer func() { x.frames = x.frames[:len(x.frames)-1] }()
		return x.run(nodes)
	}, err
}

func (p *parser) filterTag(at piece, r *reader) (node, error) {
	var nodes []node
	value, err := r.filter(func(x *execution) (any, error) { return x.capture(at.at, nodes) })
	if err == nil {
		err = r.end()
	}
	if err != nil {
		return nil, err
	}
	nodes, _, err = p.nodes("filter", "endfilter")
	return func(x *execution) error {
		v, err := value(x)
		if err != nil {
			return err
		}
		s, err := x.text(at.at, v)
		if err != nil {
			return err
		}
		return x.write(at.at, s)
	}, err
}
