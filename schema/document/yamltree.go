package document

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
	"go.yaml.in/yaml/v3"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// A yamlTree converts YAML nodes to the tree of the JSON parser. CUE can do so, too,
// but treats YAML's columns, which count characters, as bytes, stops at line ends that
// only YAML has, and lets merged values win over the keys of the same mapping.
type yamlTree struct {
	file *token.File
	data []byte
	// lines are the offsets at which the lines of YAML begin: it ends them in
	// more ways than we do.
	lines []int
	wide  map[int][]int // the offsets of characters, in lines that are not ASCII
	wrong *mistake      // the first
}

func newYAMLTree(file string, data []byte) *yamlTree {
	t := &yamlTree{file: token.NewFile(file, -1, len(data)), data: data, lines: []int{0}, wide: map[int][]int{}}
	t.file.SetLinesForContent(data)
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		i += size
		switch {
		case r == '\r' && i < len(data) && data[i] == '\n':
		case r == '\r', r == '\n', r == '\u0085', r == '\u2028', r == '\u2029':
			t.lines = append(t.lines, i)
		}
	}
	return t
}

// offset returns the byte offset of a node.
func (t *yamlTree) offset(n *yaml.Node) int {
	line := min(max(n.Line, 1), len(t.lines)) - 1
	from, to := t.lines[line], len(t.data)
	if line+1 < len(t.lines) {
		to = t.lines[line+1]
	}
	column := max(n.Column, 1) - 1
	at, known := t.wide[line]
	if !known {
		if i := slices.IndexFunc(t.data[from:to], func(b byte) bool { return b >= utf8.RuneSelf }); i >= 0 {
			for i := range string(t.data[from:to]) {
				at = append(at, from+i)
			}
		}
		t.wide[line] = at
	}
	if column < len(at) {
		return at[column]
	} else if at != nil {
		return to
	}
	return min(from+column, to)
}

func (t *yamlTree) at(n *yaml.Node) token.Pos { return t.file.Pos(t.offset(n), token.NoRelPos) }

// mistake makes one at the place of a node.
func (t *yamlTree) mistake(n *yaml.Node, rule, message, hint string) *mistake {
	return placed(t.data, t.offset(n), mistake{Rule: rule, Message: message, Hint: hint})
}

func (t *yamlTree) fail(n *yaml.Node, message, hint string) ast.Expr {
	if t.wrong == nil {
		t.wrong = t.mistake(n, "syntax", message, hint)
	}
	return null(token.NoPos)
}

func null(at token.Pos) ast.Expr {
	return &ast.BasicLit{ValuePos: at, Kind: token.NULL, Value: "null"}
}

// expr converts a node to a value. An alias has the position of its use; its content
// has the anchor's.
func (t *yamlTree) expr(n *yaml.Node, at token.Pos) ast.Expr {
	switch n.Kind {
	case yaml.AliasNode:
		return t.expr(n.Alias, at)
	case yaml.SequenceNode:
		x := &ast.ListLit{Lbrack: at, Rbrack: at}
		for _, item := range n.Content {
			x.Elts = append(x.Elts, t.expr(item, t.at(item)))
		}
		return x
	case yaml.MappingNode:
		x := &ast.StructLit{Lbrace: at, Rbrace: at}
		for _, f := range t.fields(n) {
			x.Elts = append(x.Elts, f)
		}
		return x
	}
	return t.scalar(n, at)
}

// fields returns the fields of a mapping, followed by merged ones: the first of a name
// wins.
func (t *yamlTree) fields(n *yaml.Node) []*ast.Field {
	var own, merged []*ast.Field
	isMerged := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case !isMerge(key):
			own = append(own, &ast.Field{Label: t.label(key), Value: t.expr(value, t.at(value))})
		case isMerged:
			t.fail(key, "duplicate key <<", "merge several into one list: <<: [*a, *b]")
		default:
			isMerged, merged = true, t.merged(value)
		}
	}
	known := map[string]bool{}
	for _, f := range own {
		known[labelName(f)] = true
	}
	for _, f := range merged {
		if !known[labelName(f)] {
			known[labelName(f)] = true
			own = append(own, f)
		}
	}
	return own
}

func labelName(f *ast.Field) string {
	text, _, _ := ast.LabelName(f.Label) // it is a string of ours
	return text
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && key.ShortTag() == "!!merge"
}

// merged are the fields of all that is merged; those that come first win.
func (t *yamlTree) merged(value *yaml.Node) []*ast.Field {
	switch {
	case value.Kind == yaml.AliasNode:
		return t.merged(value.Alias)
	case value.Kind == yaml.MappingNode:
		return t.fields(value)
	case value.Kind != yaml.SequenceNode:
		t.fail(value, "<< can only merge objects", "write <<: *name for an anchor &name of an object, or put << in quotes")
		return nil
	}
	var out []*ast.Field
	for _, item := range value.Content {
		out = append(out, t.merged(item)...)
	}
	return out
}

// label makes the key of a field, which is a text whatever it looks like.
func (t *yamlTree) label(key *yaml.Node) ast.Label {
	at, text := t.at(key), ""
	if key.Kind == yaml.AliasNode {
		key = key.Alias
	}
	switch {
	case key.Kind != yaml.ScalarNode:
		t.fail(key, "an object or list cannot be a key", "put a text that holds { or [ in quotes")
	case key.ShortTag() == "!!null":
		text = "null"
	case key.ShortTag() == "!!bool":
		text = strings.ToLower(key.Value)
	default:
		text = key.Value
	}
	return &ast.BasicLit{ValuePos: at, Kind: token.STRING, Value: literal.String.Quote(text)}
}

// octal matches integers in base 8 as in YAML 1.1, and similar texts.
var octal = lazyregexp.New(`^0[0-9_]+$`)

func (t *yamlTree) scalar(n *yaml.Node, at token.Pos) ast.Expr {
	text := n.Value
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp", "!!merge": // << as a value is a text
	case "!!null":
		return null(at)
	case "!!bool":
		return t.truth(n, at)
	case "!!int", "!!float":
		digits, isNegative := strings.CutPrefix(text, "-")
		if tag == "!!int" || n.Style&yaml.TaggedStyle != 0 || !octal.MatchString(digits) {
			return number(digits, isNegative, at)
		} // such as 089, which is a text
	case "!!binary":
		data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil || !utf8.Valid(data) {
			return t.fail(n, "the !!binary value is not base64", "write the text itself")
		}
		text = string(data)
	default:
		return t.fail(n, fmt.Sprintf("the tag %s means nothing here", clip(tag)), "remove it, or put the text in quotes")
	}
	return &ast.BasicLit{ValuePos: at, Kind: token.STRING, Value: literal.String.Quote(text)}
}

func (t *yamlTree) truth(n *yaml.Node, at token.Pos) ast.Expr {
	switch strings.ToLower(n.Value) {
	case "true":
		return &ast.BasicLit{ValuePos: at, Kind: token.TRUE, Value: "true"}
	case "false":
		return &ast.BasicLit{ValuePos: at, Kind: token.FALSE, Value: "false"}
	}
	return t.fail(n, "the !!bool value is neither true nor false", "write true or false")
}

func number(digits string, isNegative bool, at token.Pos) ast.Expr {
	digits = strings.TrimPrefix(digits, "+")
	kind := token.INT
	if len(digits) > 1 && octal.MatchString(digits) {
		digits = "0o" + digits[1:]
	} else if !strings.HasPrefix(digits, "0x") && strings.ContainsAny(digits, ".eE") {
		kind, digits = token.FLOAT, aroundPoint(digits)
	}
	x := &ast.BasicLit{ValuePos: at, Kind: kind, Value: digits}
	if isNegative {
		return &ast.UnaryExpr{OpPos: at, Op: token.SUB, X: x}
	}
	return x
}

// aroundPoint puts digits on both sides of a point, as JSON wants it. It
// leaves the names of numbers that are not finite.
func aroundPoint(digits string) string {
	whole, rest, hasPoint := strings.Cut(digits, ".")
	if !hasPoint || strings.ContainsAny(rest, "nN") {
		return digits
	}
	if rest == "" || rest[0] < '0' || rest[0] > '9' {
		rest = "0" + rest
	}
	return cmp.Or(whole, "0") + "." + rest
}
