// Package shape reads off a CUE schema what it says of every value, so that
// the common mistakes are found and explained without evaluating anything, and
// writes it as a JSON Schema. A shape is stored as JSON, since reading it takes a
// fraction of the time that compiling the schema takes.
//
// Most callers want [New] and then [Checker.Shape].
package shape

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cuebuild "cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/parser"
)

// A Kind is what a value of JSON is, in words for people.
type Kind string

// The kinds of JSON.
const (
	Null   Kind = "null"
	Bool   Kind = "true or false"
	Number Kind = "a number"
	String Kind = "a string"
	List   Kind = "a list"
	Object Kind = "an object"
)

// A Checker holds compiled schemas. It is not safe for concurrent use,
// since a CUE context is not: every goroutine takes one of its own.
type Checker struct {
	ctx    *cue.Context
	root   cue.Value
	shapes map[string]*Shape
}

// New compiles the .cue files of a folder into one namespace. A file
// imports what it needs of CUE's own packages.
func New(fsys fs.FS) (*Checker, error) {
	c := &Checker{ctx: cuecontext.New(), shapes: map[string]*Shape{}}
	names, err := fs.Glob(fsys, "*.cue")
	if err != nil {
		return nil, err
	}
	inst := cuebuild.NewContext().NewInstance("schema", nil)
	for _, name := range names {
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(name, src, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if err := inst.AddSyntax(file); err != nil {
			return nil, err
		}
	}
	if err := inst.Complete(); err != nil {
		return nil, err
	}
	c.root = c.ctx.BuildInstance(inst)
	return c, c.root.Err()
}

// A Shape is what a schema says of one value.
type Shape struct {
	Kinds []Kind `json:"kinds,omitempty"`
	// Whole says that a number must be an integer.
	Whole  bool              `json:"whole,omitempty"`
	Fields map[string]*Shape `json:"fields,omitzero"`
	// Names are those of Fields in the order of the file, Must those that are
	// required.
	Names []string `json:"names,omitempty"`
	Must  []string `json:"must,omitempty"`
	// Open says that fields that are not listed are free, or like Rest where
	// that is not nil.
	Open bool   `json:"open,omitempty"`
	Rest *Shape `json:"rest,omitempty"`
	// Elem is what the items of a list are; nil when they are free.
	Elem *Shape `json:"elem,omitempty"`
	// Enum are the words that a string may be; nil when it may be any.
	Enum []string `json:"enum,omitzero"`
	// Bounds are those of a number, Runes those of the length of a string.
	Bounds []Bound `json:"bounds,omitempty"`
	Runes  []Bound `json:"runes,omitempty"`
	// Least is how many items a list must have.
	Least int `json:"least,omitempty"`
	// Refused are fields that are unknown for a reason worth saying.
	Refused map[string]Refusal `json:"refused,omitempty"`
	// Comment is the text above the field, in one line.
	Comment string `json:"comment,omitempty"`
	// Part marks a shape that does not say all that the schema says.
	Part bool `json:"part,omitempty"`
}

// Complete reports whether a value that fits the shape satisfies the schema, so
// that CUE, which takes several times as long, need not be asked.
func (s *Shape) Complete() bool {
	return s == nil || !s.Part && s.Rest.Complete() && s.Elem.Complete() &&
		!slices.ContainsFunc(s.Names, func(name string) bool { return !s.Fields[name].Complete() })
}

// A Bound is a limit of a number, or of the length of a string.
type Bound struct {
	// Op is an operator of CUE: >=, >, <= or <.
	Op    string  `json:"op"`
	Limit float64 `json:"limit"`
}

// The operators of a Bound.
const (
	atLeast  = ">="
	moreThan = ">"
	atMost   = "<="
	lessThan = "<"
)

// A Refusal is what is said of a field that people write although it is not
// part of the format. A schema declares it by an attribute of the struct:
// @misplaced(field, why="…", instead="…") or @renamed(field, to=…).
type Refusal struct {
	Rule    string `json:"rule"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// To is the field that is meant; empty where there is none.
	To string `json:"to,omitempty"`
}

// Shape returns that of a definition, such as #Test.
func (c *Checker) Shape(def string) *Shape {
	s, ok := c.shapes[def]
	if !ok {
		s = shapeOf(c.root.LookupPath(cue.ParsePath(def)))
		c.shapes[def] = s
	}
	return s
}

func shapeOf(v cue.Value) *Shape {
	kind := v.IncompleteKind()
	s := &Shape{Kinds: kindsOf(kind), Whole: kind&cue.NumberKind == cue.IntKind}
	s.read(v)
	if op, _ := v.Expr(); op == cue.NoOp {
		s.readOne(v)
	}
	return s
}

// readOne takes over the one value that is allowed.
func (s *Shape) readOne(v cue.Value) {
	switch kind := v.Kind(); {
	case kind == cue.StringKind:
		s.readEnum([]cue.Value{v})
	case kind&cue.NumberKind != 0:
		x, err := v.Float64()
		s.Part = s.Part || err != nil
		s.Bounds = []Bound{{atLeast, x}, {atMost, x}}
	case kind == cue.BoolKind:
		s.Part = true
	}
}

func kindsOf(k cue.Kind) []Kind {
	var kinds []Kind
	for _, pair := range []struct {
		k cue.Kind
		n Kind
	}{
		{cue.StringKind, String}, {cue.NumberKind, Number}, {cue.BoolKind, Bool},
		{cue.ListKind, List}, {cue.StructKind, Object}, {cue.NullKind, Null},
	} {
		if k&pair.k != 0 {
			kinds = append(kinds, pair.n)
		}
	}
	return kinds
}

// read takes over what an expression says, branch by branch.
func (s *Shape) read(v cue.Value) {
	op, args := v.Expr()
	switch op {
	case cue.OrOp:
		s.readEnum(args)
		s.readAll(args, cue.StructKind|cue.ListKind|cue.NumberKind)
		return
	case cue.AndOp:
		s.readAll(args, cue.StructKind)
		return
	case cue.GreaterThanEqualOp, cue.GreaterThanOp, cue.LessThanEqualOp, cue.LessThanOp:
		if limit, err := args[0].Float64(); err == nil {
			s.Bounds = append(s.Bounds, Bound{op.String(), limit})
		}
		return
	case cue.CallOp:
		s.readCall(args)
		return
	case cue.SelectorOp, cue.NoOp:
	default:
		s.Part = true
	}
	switch v.IncompleteKind() {
	case cue.StructKind:
		s.readStruct(v)
		s.readRefused(v)
	case cue.ListKind:
		for v.LookupPath(cue.MakePath(cue.Index(s.Least))).Exists() {
			s.Least++
		}
		if elem := v.LookupPath(cue.MakePath(cue.AnyIndex)); elem.Exists() {
			s.Elem = shapeOf(elem)
		}
	default:
		if v.IncompleteKind() != cue.BottomKind && op == cue.SelectorOp {
			if d := cue.Dereference(v); d != v {
				s.read(d)
			}
		}
	}
}

// readAll adds branches. If two of the given kinds describe the same kind of
// value, a shape cannot tell which one holds.
func (s *Shape) readAll(args []cue.Value, single cue.Kind) {
	var seen cue.Kind
	for _, a := range args {
		kind := a.IncompleteKind() & single
		s.Part = s.Part || seen&kind != 0
		seen |= kind
		s.read(a)
	}
}

func (s *Shape) readStruct(v cue.Value) {
	if s.Fields == nil {
		s.Fields = map[string]*Shape{}
	}
	iter, err := v.Fields(cue.Optional(true))
	if err != nil {
		s.Open, s.Part = true, true
		return
	}
	for iter.Next() {
		sel := iter.Selector()
		name := sel.Unquoted()
		s.Fields[name] = shapeOf(iter.Value())
		s.Fields[name].Comment = oneLine(iter.Value().Doc())
		s.Names = append(s.Names, name)
		if sel.ConstraintType() == cue.RequiredConstraint {
			s.Must = append(s.Must, name)
		}
	}
	if v.Allows(cue.AnyString) {
		s.Open = true
		if rest := v.LookupPath(cue.MakePath(cue.AnyString)); rest.Exists() {
			s.Rest = shapeOf(rest)
		}
	}
}

// oneLine is the text of comments in one line.
func oneLine(comments []*ast.CommentGroup) string {
	var words []string
	for _, group := range comments {
		words = append(words, strings.Fields(group.Text())...)
	}
	return strings.Join(words, " ")
}

// readCall takes the limits of a string's length: strings.MinRunes(1).
func (s *Shape) readCall(args []cue.Value) {
	if len(args) != 2 {
		s.Part = true
		return
	}
	op, ok := map[string]string{"strings.MinRunes": atLeast, "strings.MaxRunes": atMost}[fmt.Sprint(args[0])]
	limit, err := args[1].Float64()
	if !ok || err != nil {
		s.Part = true
		return
	}
	s.Runes = append(s.Runes, Bound{op, limit})
}

func (s *Shape) readRefused(v cue.Value) {
	for _, a := range cue.Dereference(v).Attributes(cue.DeclAttr) {
		args := map[string]string{}
		for i := range a.NumArgs() {
			key, value := a.Arg(i)
			args[key] = value
		}
		name, _ := a.Arg(0)
		var r Refusal
		switch a.Name() {
		case "misplaced":
			r = Refusal{"misplaced-field", fmt.Sprintf("`%s` does not belong here: %s", name, args["why"]), args["instead"], ""}
		case "renamed":
			r = Refusal{"renamed-field", fmt.Sprintf("`%s` is the name that a later version of the format uses", name), fmt.Sprintf("write `%s`", args["to"]), args["to"]}
		default:
			continue
		}
		if s.Refused == nil {
			s.Refused = map[string]Refusal{}
		}
		s.Refused[name] = r
	}
}

// readEnum takes the words of a choice, unless any string may be chosen.
func (s *Shape) readEnum(args []cue.Value) {
	var words []string
	for _, a := range args {
		if a.IncompleteKind()&cue.StringKind == 0 {
			continue
		}
		w, err := a.String()
		if err != nil {
			return
		}
		words = append(words, w)
	}
	s.Enum = words
}

// Holds reports whether a number keeps to the bound.
func (b Bound) Holds(x float64) bool {
	switch b.Op {
	case atLeast:
		return x >= b.Limit
	case moreThan:
		return x > b.Limit
	case atMost:
		return x <= b.Limit
	}
	return x < b.Limit
}

// String says what a number must be: at least 1.
func (b Bound) String() string {
	words := map[string]string{atLeast: "at least", moreThan: "more than", atMost: "at most", lessThan: "less than"}
	return words[b.Op] + " " + strconv.FormatFloat(b.Limit, 'f', -1, 64)
}

// Definitions lists the definitions of the schemas.
func (c *Checker) Definitions() []string {
	iter, err := c.root.Fields(cue.Definitions(true))
	if err != nil {
		return nil
	}
	var names []string
	for iter.Next() {
		names = append(names, iter.Selector().String())
	}
	return names
}

// Validate lets CUE itself say whether a value satisfies a definition.
func (c *Checker) Validate(def string, value ast.Expr) error {
	v := c.root.LookupPath(cue.ParsePath(def)).Unify(c.ctx.BuildExpr(value))
	return v.Validate(cue.All(), cue.Concrete(true), cue.Final())
}
