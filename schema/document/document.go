// Package document turns the text of a definition into values that know their places, and checks
// them against the built-in schemas. Every format is read through it.
//
// Most callers want [Source.Open], which also checks the team's constraints, or [Open]; then
// [Document.Check] and the values by their paths.
package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/cuefile"
	"github.com/gavel-evals/gavel/schema/shape"
)

// A Document is a parsed file: a value whose every part knows its place.
type Document struct {
	File string
	root *node
	// expr is the parser's tree, and text maps its positions. Parts of a document and
	// .jsonl files have neither.
	expr ast.Expr
	text textIndex
	// lines are the documents of a .jsonl file, which are its items.
	lines []*Document
	rules *Constraints // the team's demands
	// flawed says that a node has flaws.
	flawed bool
	// file says that this is all of a file.
	file bool
	// values counts the values of a text that was parsed.
	values int
	// large has the indexes of the fields of objects with more than largeObject.
	large map[*node]map[string]int
}

// largeObject is how many fields of an object are looked through one by one.
const largeObject = 64

// A node is one value of a document.
type node struct {
	pos    schema.Position
	kind   nodeKind
	fields []field // of an object, in the order of the file
	items  []*node // of a list
	scalar string  // of the rest, as JSON
	// written is the source of a plain scalar, if it differs from its value: 012 is
	// ten.
	written string
	// flaws are mistakes in the value as it is written, whatever its meaning: a
	// duplicate key, a number beyond all bounds.
	flaws []schema.Problem
}

type field struct {
	name  string
	pos   schema.Position
	value *node
}

type nodeKind = shape.Kind

const (
	nullNode   = shape.Null
	boolNode   = shape.Bool
	numberNode = shape.Number
	stringNode = shape.String
	listNode   = shape.List
	objectNode = shape.Object
	// unreadNode is a scalar with a flaw. It fits every shape, for its place has
	// its problem.
	unreadNode nodeKind = ""
)

// Parse reads a .json, .yaml, .yml, .jsonl or .cue file; a .jsonl file is a list of its
// lines, a .cue file is its evaluated value. Size, depth, duplicate keys, encoding and
// the number of YAML documents are checked here, before any schema. A byte order mark, which
// editors on Windows write, is skipped.
//
// An unreadable file gives problems and no document. A file with some unusable values,
// or some unusable lines of a .jsonl file, gives both, so that the rest is checked too;
// Check of a part with such values returns their errors.
func Parse(file string, data []byte) (*Document, []schema.Problem) { return parseFile(file, data, nil) }

// parseFile is Parse with a bound for .cue files.
func parseFile(file string, data []byte, budget *cuefile.Budget) (*Document, []schema.Problem) {
	if most := Limit(file); int64(len(data)) > most {
		return nil, []schema.Problem{tooLarge(startOf(file), "the file", int64(len(data)), most)}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if at := conflict(data); at > 0 {
		return nil, []schema.Problem{errorAt(
			schema.Position{File: file, Line: at, Column: 1}, "syntax", "the merge conflict that begins here is not resolved", keepOneSide,
		)}
	}
	if path.Ext(file) == ".jsonl" && !isUTF16(data) {
		return parseLines(file, data)
	}
	if doc, problems, isList := parseItems(file, data); isList {
		return doc, problems
	}
	if len(data) > schema.MaxFile {
		if found := tooManySigns(file, data); len(found) > 0 {
			return nil, found
		}
	}
	doc, problems := parse(data, textIndex{file: file, lines: strings.Split(string(data), "\n")}, budget)
	if doc != nil {
		doc.file = true
	}
	return doc, problems
}

// parse reads a text, which may be one of several lines of a file.
func parse(data []byte, text textIndex, budget *cuefile.Budget) (*Document, []schema.Problem) {
	expr, mistakes := readTree(text.file, data, budget)
	if len(mistakes) > 0 {
		var problems []schema.Problem
		for _, m := range mistakes {
			at := schema.Position{File: text.file, Line: m.Line, Column: m.Column}
			if at.Line == 1 {
				at.Column += text.before
			}
			if at.Line > 0 {
				at.Line += text.first
			}
			problems = append(problems, errorAt(at, m.Rule, m.Message, m.Hint))
		}
		return nil, schema.SortProblems(problems)
	}
	return build(expr, text)
}

// build converts a parser's tree to a document.
func build(expr ast.Expr, text textIndex) (*Document, []schema.Problem) {
	b := builder{textIndex: text}
	b.last = &linePlace{}
	root := b.node(expr, 0)
	problems := schema.SortProblems(append(root.allFlaws(), b.problems...))
	if len(b.problems) > 0 {
		return nil, problems
	}
	return &Document{File: text.file, root: root, expr: expr, text: text, flawed: len(problems) > 0, values: b.nodes, large: b.large}, problems
}

// allFlaws returns the flaws of the value and everything in it.
func (n *node) allFlaws() []schema.Problem {
	out := slices.Clone(n.flaws)
	for _, f := range n.fields {
		out = append(out, f.value.allFlaws()...)
	}
	for _, item := range n.items {
		out = append(out, item.allFlaws()...)
	}
	return out
}

// A textIndex is the text that a parser read. It maps the parser's places, which
// count bytes, to ours, which count code points.
type textIndex struct {
	file  string
	lines []string
	first int // how many lines of the file are before
	// before is how many code points of the first line are before.
	before int
	// last is the last place in a line, from which the next one is counted: else a long line
	// would be counted for each of its values. It may be nil.
	last *linePlace
}

// A linePlace is a place in a line, counted in bytes and in code points.
type linePlace struct{ line, bytes, runes int }

// count returns the code points of a line before a byte of it.
func (p *linePlace) count(number int, line string, bytes int) int {
	if p == nil {
		return utf8.RuneCountInString(line[:bytes])
	}
	if p.line != number || p.bytes > bytes {
		*p = linePlace{line: number}
	}
	p.runes += utf8.RuneCountInString(line[p.bytes:bytes])
	p.bytes = bytes
	return p.runes
}

func (s textIndex) position(p token.Pos) schema.Position {
	pos := schema.Position{File: s.file, Line: max(p.Line(), 1), Column: max(p.Column(), 1)}
	if pos.Line <= len(s.lines) {
		line := s.lines[pos.Line-1]
		pos.Column = 1 + s.last.count(pos.Line, line, min(pos.Column-1, len(line)))
	}
	if pos.Line == 1 {
		pos.Column += s.before
	}
	pos.Line += s.first
	return pos
}

// A builder converts the parser's tree to nodes, with their flaws, and collects the
// problems that prevent a document.
type builder struct {
	textIndex
	nodes    int
	flaws    int
	problems []schema.Problem
	large    map[*node]map[string]int
}

func (b *builder) fail(p token.Pos, rule, message, hint string) {
	if len(b.problems) < 100 {
		b.problems = append(b.problems, errorAt(b.position(p), rule, message, hint))
	}
}

// maxFlaws bounds the flaws of a file.
const maxFlaws = 100

// flaw records a mistake in a value of an otherwise usable document.
func (b *builder) flaw(n *node, p schema.Problem) {
	if p.Severity != schema.Error {
		n.flaws = append(n.flaws, p)
		return
	}
	if b.flaws++; b.flaws <= maxFlaws {
		n.flaws = append(n.flaws, p)
	} else if b.flaws == maxFlaws+1 { // a value without its flaw would be taken for right
		b.problems = append(b.problems, errorAt(p.Position, "too-many-problems", fmt.Sprintf("the file has more than %d values that cannot be used, and nothing of it is read", maxFlaws), "correct those that are named"))
	}
}

// unread notes why a scalar cannot be used.
func (b *builder) unread(n *node, rule, message, hint string) {
	n.kind = unreadNode
	b.flaw(n, errorAt(n.pos, rule, message, hint))
}

func (b *builder) node(expr ast.Expr, depth int) *node {
	n := &node{pos: b.position(expr.Pos()), kind: nullNode, scalar: "null"}
	begin := b.last.bytes
	b.nodes++
	switch {
	case depth > maxDepth:
		b.fail(expr.Pos(), "too-deep", fmt.Sprintf("values are nested more than %d deep", maxDepth), "flatten the file")
		return n
	case b.nodes > maxValues:
		if b.nodes == maxValues+1 {
			b.fail(expr.Pos(), "too-many-values", fmt.Sprintf("the file holds more than %d values, aliases expanded", maxValues), "use fewer aliases")
		}
		return n
	}
	switch x := expr.(type) {
	case *ast.StructLit:
		n.kind = objectNode
		b.object(n, x, depth)
	case *ast.ListLit:
		n.kind = listNode
		for _, e := range x.Elts {
			n.items = append(n.items, b.node(e, depth+1))
		}
	case *ast.BasicLit:
		b.scalar(n, writtenScalar{x, "", begin})
	case *ast.UnaryExpr:
		if lit, ok := x.X.(*ast.BasicLit); ok && x.Op == token.SUB {
			b.scalar(n, writtenScalar{lit, "-", begin})
		}
	default:
		b.fail(expr.Pos(), "syntax", "this is not a plain value", "write a string, number, list or object")
	}
	return n
}

func (b *builder) object(n *node, x *ast.StructLit, depth int) {
	seen := map[string]schema.Position{}
	for _, elt := range x.Elts {
		f, ok := elt.(*ast.Field)
		if !ok {
			continue
		}
		name, _, err := ast.LabelName(f.Label)
		if err != nil {
			b.fail(f.Pos(), "syntax", "the key is not a string", "put it into quotes")
			continue
		}
		pos := b.position(f.Label.Pos())
		if first, dup := seen[name]; dup {
			b.flaw(n, errorAt(
				pos, "duplicate-key", fmt.Sprintf("duplicate key %q", name),
				fmt.Sprintf("the first is in line %d; remove one", first.Line),
			))
			continue
		}
		seen[name] = pos
		n.fields = append(n.fields, field{name, pos, b.node(f.Value, depth+1)})
	}
	if len(n.fields) > largeObject {
		if b.large == nil {
			b.large = map[*node]map[string]int{}
		}
		b.large[n] = make(map[string]int, len(n.fields))
		for i, f := range n.fields {
			b.large[n][f.name] = i
		}
	}
}

// A writtenScalar is a scalar with its sign, and the byte of its line at which it begins.
type writtenScalar struct {
	*ast.BasicLit
	sign  string
	begin int
}

func (b *builder) scalar(n *node, lit writtenScalar) {
	switch lit.Kind {
	case token.STRING:
		text, err := literal.Unquote(lit.Value)
		if err != nil {
			b.unread(n, "syntax", "the string cannot be read", "check its quotes and escapes")
			return
		}
		if strings.ContainsRune(text, 0) {
			b.unread(n, "nul", "the string holds a NUL character", "remove it")
			return
		}
		raw, err := json.Marshal(text)
		if err != nil {
			b.unread(n, "syntax", "the string cannot be read", "")
			return
		}
		n.kind, n.scalar = stringNode, string(raw)
	case token.INT, token.FLOAT:
		b.number(n, lit)
	case token.TRUE, token.FALSE:
		n.kind, n.scalar = boolNode, lit.Value
		n.written = b.plain(n, lit.begin)
	}
}

func (b *builder) number(n *node, lit writtenScalar) {
	sign := lit.sign
	var info literal.NumInfo
	if name := strings.ToLower(strings.TrimLeft(lit.Value, "+-.")); name == "inf" || name == "nan" { // as YAML has them
		b.unread(n, "not-finite", "the number is not finite", "write a finite number")
		return
	}
	if err := literal.ParseNum(lit.Value, &info); err != nil {
		b.unread(n, "syntax", "the number cannot be read", "write it in decimal digits")
		return
	}
	text := sign + info.String()
	if i := strings.IndexAny(text, "eE"); i >= 0 && len(strings.TrimLeft(text[i+1:], "+-0")) > 3 {
		b.unread(n, "exponent", "the exponent of the number has more than three digits", "write a number that can be meant")
		return
	}
	if f, err := strconv.ParseFloat(text, 64); err != nil && f != 0 {
		b.unread(n, "not-finite", "the number is too large", "write a number that can be meant")
		return
	}
	n.kind, n.scalar = numberNode, text
	n.written = b.plain(n, lit.begin)
	if strings.HasPrefix(lit.Value, "0o") && !strings.HasPrefix(n.written, "0o") && n.written != "" {
		numbers := n.scalar
		if meant := sign + strings.TrimLeft(strings.TrimPrefix(n.written, sign), "0"); meant != sign && meant != n.scalar {
			numbers += " or " + meant
		}
		b.flaw(n, schema.Problem{
			Position: n.pos, Severity: schema.Warning, Rule: "octal", Message: fmt.Sprintf("YAML reads %s in base 8, as %s", n.written, n.scalar),
			Hint: fmt.Sprintf("write %q for a text, %s for a number", n.written, numbers),
		})
	}
}

// plain returns the source text of a YAML scalar, which begins at a byte of its line, if it
// differs from its value, else an empty string. In other languages they never differ.
func (b *builder) plain(n *node, begin int) string {
	line := n.pos.Line - b.first
	if ext := path.Ext(b.file); ext != ".yaml" && ext != ".yml" || line > len(b.lines) {
		return ""
	}
	text := b.lines[line-1]
	text = text[min(begin, len(text)):]
	if end := strings.IndexAny(text, " \t\r,]}#"); end >= 0 {
		text = text[:end]
	}
	if text == n.scalar || strings.ContainsAny(text, "*&!\"'") {
		return "" // an alias, a tag or a text
	}
	return text
}
