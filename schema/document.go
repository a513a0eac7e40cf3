package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
	cuejson "cuelang.org/go/encoding/json"

	"github.com/gavel-evals/gavel/schema/shape"
)

const (
	// MaxFile is how many bytes a definition may have.
	MaxFile = 256 << 10
	// MaxDepth is how deep values may be nested.
	MaxDepth = 64
	// maxNodes bounds the values of a document with its aliases expanded.
	maxNodes = 100_000
)

// A Document is a parsed file: a value whose every part knows its place.
type Document struct {
	File string
	root *node
	expr ast.Expr // what CUE checks; nil for the lines of a .jsonl file as a whole
	text places   // maps the parser's places
	// lines are the documents of a .jsonl file, which are its items.
	lines []*Document
	rules Constraints // what the team demands of it
}

// A node is one value of a document.
type node struct {
	pos    Position
	kind   nodeKind
	fields []field // of an object, in the order of the file
	items  []*node // of a list
	scalar string  // of the rest, as JSON
}

type field struct {
	name  string
	pos   Position
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
)

// Parse reads a .json, .yaml, .yml, .jsonl or .cue file; a .jsonl file is a
// list of its lines, a .cue file what it evaluates to. A file that cannot be
// read gives problems and no document. Size, depth, duplicate keys, encoding
// and the number of YAML documents are checked here, before any schema.
func Parse(file string, data []byte) (*Document, []Problem) {
	if p := checkBytes(file, data); p != nil {
		return nil, []Problem{*p}
	}
	switch path.Ext(file) {
	case ".jsonl":
		return parseLines(file, data)
	case ".cue":
		return parseCUE(file, data)
	}
	expr, problem := extract(file, data)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	return build(expr, places{file: file, lines: strings.Split(string(data), "\n")})
}

// build makes a document of what a parser read.
func build(expr ast.Expr, text places) (*Document, []Problem) {
	b := builder{places: text}
	root := b.node(expr, 0)
	if len(b.problems) > 0 {
		return nil, SortProblems(b.problems)
	}
	return &Document{File: text.file, root: root, expr: expr, text: text}, nil
}

func checkBytes(file string, data []byte) *Problem {
	whole := func(rule, message, hint string) *Problem {
		return &Problem{Position{file, 1, 1}, Error, rule, message, hint}
	}
	switch {
	case len(data) > Limit(file):
		p := tooLarge(Position{file, 1, 1}, "the file", int64(len(data)), int64(Limit(file)))
		return &p
	case len(bytes.TrimSpace(data)) == 0:
		return whole("empty-file", "the file is empty", "write a definition or remove the file")
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return whole("byte-order-mark", "the file begins with a byte order mark", "save it as UTF-8 without BOM")
	}
	for n, line := range bytes.Split(data, []byte("\n")) {
		if !utf8.Valid(line) {
			return &Problem{Position{file, n + 1, 1 + validPrefix(line)}, Error, "invalid-utf8", "the line is not valid UTF-8", "save the file as UTF-8"}
		}
		if i := bytes.IndexByte(line, 0); i >= 0 {
			return &Problem{Position{file, n + 1, 1 + utf8.RuneCount(line[:i])}, Error, "nul", "the line holds a NUL character", "remove it"}
		}
	}
	return nil
}

// validPrefix counts the code points before the first invalid byte.
func validPrefix(line []byte) int {
	n := 0
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		if r == utf8.RuneError && size == 1 {
			break
		}
		line = line[size:]
		n++
	}
	return n
}

func extract(file string, data []byte) (ast.Expr, *Problem) {
	switch path.Ext(file) {
	case ".json":
		return extractJSON(file, data)
	case ".yaml", ".yml":
		return extractYAML(file, data)
	}
	return nil, &Problem{Position{File: file}, Error, "file-type", "files of this type are not read", "use .json, .yaml, .yml, .jsonl or .cue"}
}

// extractJSON lets the CUE parser see only what is JSON and not too deep: it
// reads far more than JSON, and recurses as deep as the text goes.
func extractJSON(file string, data []byte) (ast.Expr, *Problem) {
	if at := tooDeep(data); at >= 0 {
		return nil, &Problem{placeOf(file, data, at), Error, "too-deep", fmt.Sprintf("values are nested more than %d deep", MaxDepth), "flatten the file"}
	}
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		return nil, syntaxProblem(file, data, err)
	}
	expr, err := cuejson.Extract(file, data)
	if err != nil {
		return nil, syntaxProblem(file, data, err)
	}
	return expr, nil
}

// tooDeep gives the offset of the bracket that nests JSON too deeply, or -1.
func tooDeep(data []byte) int {
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			if depth++; depth > MaxDepth+1 {
				return i
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return -1
}

// placeOf gives the place of a byte.
func placeOf(file string, data []byte, offset int) Position {
	before := data[:min(max(offset, 0), len(data))]
	return Position{
		File: file, Line: 1 + bytes.Count(before, []byte("\n")),
		Column: 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]),
	}
}

// syntaxProblem turns a parser's error into a problem with a place.
func syntaxProblem(file string, data []byte, err error) *Problem {
	p := Problem{Position: Position{file, 1, 1}, Severity: Error, Rule: "syntax", Message: err.Error()}
	var syntax *json.SyntaxError
	if path.Ext(file) == ".json" && errors.As(json.Unmarshal(data, new(any)), &syntax) {
		p.Position = placeOf(file, data, int(syntax.Offset)-1)
		p.Message = "not valid JSON: " + syntax.Error()
		p.Hint = "look for a missing comma, quote or bracket before this place"
		return &p
	}
	var cueErr cueerrors.Error
	if errors.As(err, &cueErr) {
		if pos := cueErr.Position(); pos.IsValid() {
			p.Line, p.Column = pos.Line(), max(pos.Column(), 1)
		}
		format, args := cueErr.Msg()
		p.Message = fmt.Sprintf(format, args...)
	}
	p.Message = strings.TrimPrefix(p.Message, file+":")
	return &p
}

// places is the text that a parser read. It maps the parser's places, which
// count bytes, to ours, which count code points.
type places struct {
	file  string
	lines []string
	first int // how many lines of the file stand before
}

func (s places) position(p token.Pos) Position {
	pos := Position{File: s.file, Line: max(p.Line(), 1), Column: max(p.Column(), 1)}
	if pos.Line <= len(s.lines) {
		line := s.lines[pos.Line-1]
		pos.Column = 1 + utf8.RuneCountInString(line[:min(pos.Column-1, len(line))])
	}
	pos.Line += s.first
	return pos
}

// A builder turns the parser's tree into nodes and collects what is wrong.
type builder struct {
	places
	nodes    int
	problems []Problem
}

// key is the place of a key. The JSON parser gives the one behind the quote.
func (b *builder) key(p token.Pos) Position {
	pos := b.position(p)
	if line := pos.Line - b.first; line <= len(b.lines) {
		before := []rune(b.lines[line-1])
		if i := pos.Column - 2; i >= 0 && i+1 < len(before) && before[i] == '"' && before[i+1] != '"' {
			pos.Column--
		}
	}
	return pos
}

func (b *builder) fail(p token.Pos, rule, message, hint string) {
	if len(b.problems) < 100 {
		b.problems = append(b.problems, Problem{b.position(p), Error, rule, message, hint})
	}
}

func (b *builder) node(expr ast.Expr, depth int) *node {
	n := &node{pos: b.position(expr.Pos()), kind: nullNode, scalar: "null"}
	b.nodes++
	switch {
	case depth > MaxDepth:
		b.fail(expr.Pos(), "too-deep", fmt.Sprintf("values are nested more than %d deep", MaxDepth), "flatten the file")
		return n
	case b.nodes > maxNodes:
		if b.nodes == maxNodes+1 {
			b.fail(expr.Pos(), "too-many-values", fmt.Sprintf("the file holds more than %d values, aliases expanded", maxNodes), "use fewer aliases")
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
		b.scalar(n, x, "")
	case *ast.UnaryExpr:
		if lit, ok := x.X.(*ast.BasicLit); ok && x.Op == token.SUB {
			b.scalar(n, lit, "-")
		}
	case *ast.Ident: // .inf and .nan of YAML come as identifiers
		b.fail(expr.Pos(), "not-finite", "the number is not finite", "write a finite number")
	default:
		b.fail(expr.Pos(), "syntax", "this is no plain value", "write a string, number, list or object")
	}
	return n
}

func (b *builder) object(n *node, x *ast.StructLit, depth int) {
	seen := map[string]Position{}
	for _, elt := range x.Elts {
		f, ok := elt.(*ast.Field)
		if !ok {
			continue
		}
		name, _, err := ast.LabelName(f.Label)
		if err != nil {
			b.fail(f.Pos(), "syntax", "the key is no string", "put it into quotes")
			continue
		}
		pos := b.key(f.Label.Pos())
		if first, dup := seen[name]; dup {
			b.problems = append(b.problems, Problem{
				pos, Error, "duplicate-key", fmt.Sprintf("the key %q stands here for the second time", name),
				fmt.Sprintf("the first is in line %d; remove one", first.Line),
			})
			continue
		}
		seen[name] = pos
		n.fields = append(n.fields, field{name, pos, b.node(f.Value, depth+1)})
	}
}

func (b *builder) scalar(n *node, lit *ast.BasicLit, sign string) {
	switch lit.Kind {
	case token.STRING:
		text, err := literal.Unquote(lit.Value)
		if err != nil {
			b.fail(lit.Pos(), "syntax", "the string cannot be read", "check its quotes and escapes")
			return
		}
		if strings.ContainsRune(text, 0) {
			b.fail(lit.Pos(), "nul", "the string holds a NUL character", "remove it")
			return
		}
		raw, err := json.Marshal(text)
		if err != nil {
			b.fail(lit.Pos(), "syntax", "the string cannot be read", "")
			return
		}
		n.kind, n.scalar = stringNode, string(raw)
	case token.INT, token.FLOAT:
		b.number(n, lit, sign)
	case token.TRUE, token.FALSE:
		n.kind, n.scalar = boolNode, lit.Value
	}
}

func (b *builder) number(n *node, lit *ast.BasicLit, sign string) {
	var info literal.NumInfo
	if err := literal.ParseNum(lit.Value, &info); err != nil {
		b.fail(lit.Pos(), "syntax", "the number cannot be read", "write it in decimal digits")
		return
	}
	text := sign + info.String()
	if i := strings.IndexAny(text, "eE"); i >= 0 && len(strings.TrimLeft(text[i+1:], "+-0")) > 3 {
		b.fail(lit.Pos(), "exponent", "the exponent of the number has more than three digits", "write a number that can be meant")
		return
	}
	if f, err := strconv.ParseFloat(text, 64); err != nil && f != 0 {
		b.fail(lit.Pos(), "not-finite", "the number is too large", "write a number that can be meant")
		return
	}
	n.kind, n.scalar = numberNode, text
}
