package cueeval

import (
	"fmt"
	"io/fs"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cuebuild "cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/parser"

	"github.com/gavel-evals/gavel/schema/shape"
)

// Schemas are compiled CUE schemas. They are not safe for concurrent use, since a CUE context is not:
// each goroutine needs its own.
type Schemas struct {
	ctx    *cue.Context
	root   cue.Value
	shapes map[string]*shape.Shape
}

// CompileSchemas compiles the .cue files of a folder into one namespace. A file imports the
// packages of CUE that it needs.
func CompileSchemas(fsys fs.FS) (*Schemas, error) {
	c := &Schemas{ctx: cuecontext.New(), shapes: map[string]*shape.Shape{}}
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

// Shape returns the shape of a definition, such as #Test.
func (c *Schemas) Shape(def string) *shape.Shape {
	s, ok := c.shapes[def]
	if !ok {
		s = shapeOf(c.root.LookupPath(cue.ParsePath(def)))
		c.shapes[def] = s
	}
	return s
}

func shapeOf(v cue.Value) *shape.Shape {
	kind := v.IncompleteKind()
	s := &shape.Shape{Kinds: kindsOf(kind), Whole: kind&cue.NumberKind == cue.IntKind}
	read(s, v)
	if op, _ := v.Expr(); op == cue.NoOp {
		readOne(s, v)
	}
	return s
}

// readOne takes over the one value that is allowed.
func readOne(s *shape.Shape, v cue.Value) {
	switch kind := v.Kind(); {
	case kind == cue.StringKind:
		readEnum(s, []cue.Value{v})
	case kind&cue.NumberKind != 0:
		x, err := v.Float64()
		s.Part = s.Part || err != nil
		s.Bounds = []shape.Bound{{Op: shape.AtLeast, Limit: x}, {Op: shape.AtMost, Limit: x}}
	case kind == cue.BoolKind:
		s.Part = true
	}
}

func kindsOf(k cue.Kind) []shape.Kind {
	var kinds []shape.Kind
	for _, pair := range []struct {
		k cue.Kind
		n shape.Kind
	}{
		{cue.StringKind, shape.String}, {cue.NumberKind, shape.Number}, {cue.BoolKind, shape.Bool},
		{cue.ListKind, shape.List}, {cue.StructKind, shape.Object}, {cue.NullKind, shape.Null},
	} {
		if k&pair.k != 0 {
			kinds = append(kinds, pair.n)
		}
	}
	return kinds
}

// read takes over the parts of an expression, branch by branch.
func read(s *shape.Shape, v cue.Value) {
	op, args := v.Expr()
	switch op {
	case cue.OrOp:
		readEnum(s, args)
		readAll(s, args, cue.StructKind|cue.ListKind|cue.NumberKind)
		return
	case cue.AndOp:
		readAll(s, args, cue.StructKind)
		return
	case cue.GreaterThanEqualOp, cue.GreaterThanOp, cue.LessThanEqualOp, cue.LessThanOp:
		if limit, err := args[0].Float64(); err == nil {
			s.Bounds = append(s.Bounds, shape.Bound{Op: op.String(), Limit: limit})
		}
		return
	case cue.CallOp:
		readCall(s, args)
		return
	case cue.SelectorOp, cue.NoOp:
	default:
		s.Part = true
	}
	switch v.IncompleteKind() {
	case cue.StructKind:
		readStruct(s, v)
		readRefused(s, v)
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
				read(s, d)
			}
		}
	}
}

// readAll adds branches. If two of the given kinds describe the same kind of
// value, a shape cannot tell which one holds.
func readAll(s *shape.Shape, args []cue.Value, single cue.Kind) {
	var seen cue.Kind
	for _, a := range args {
		kind := a.IncompleteKind() & single
		s.Part = s.Part || seen&kind != 0
		seen |= kind
		read(s, a)
	}
}

func readStruct(s *shape.Shape, v cue.Value) {
	if s.Fields == nil {
		s.Fields = map[string]*shape.Shape{}
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
func readCall(s *shape.Shape, args []cue.Value) {
	if len(args) != 2 {
		s.Part = true
		return
	}
	op, ok := map[string]string{"strings.MinRunes": shape.AtLeast, "strings.MaxRunes": shape.AtMost}[fmt.Sprint(args[0])]
	limit, err := args[1].Float64()
	if !ok || err != nil {
		s.Part = true
		return
	}
	s.Runes = append(s.Runes, shape.Bound{Op: op, Limit: limit})
}

func readRefused(s *shape.Shape, v cue.Value) {
	for _, a := range cue.Dereference(v).Attributes(cue.DeclAttr) {
		args := map[string]string{}
		for i := range a.NumArgs() {
			key, value := a.Arg(i)
			args[key] = value
		}
		name, _ := a.Arg(0)
		var r shape.Refusal
		switch a.Name() {
		case "misplaced":
			r = shape.Refusal{Rule: "misplaced-field", Message: fmt.Sprintf("`%s` does not belong here: %s", name, args["why"]), Hint: args["instead"]}
		case "renamed":
			r = shape.Refusal{Rule: "renamed-field", Message: fmt.Sprintf("`%s` is the name that a later version of the format uses", name), Hint: fmt.Sprintf("write `%s`", args["to"]), To: args["to"]}
		default:
			continue
		}
		if s.Refused == nil {
			s.Refused = map[string]shape.Refusal{}
		}
		s.Refused[name] = r
	}
}

// readEnum takes the words of a choice, unless any string may be chosen.
func readEnum(s *shape.Shape, args []cue.Value) {
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

// Definitions lists the definitions of the schemas.
func (c *Schemas) Definitions() []string {
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
func (c *Schemas) Validate(def string, value ast.Expr) error {
	v := c.root.LookupPath(cue.ParsePath(def)).Unify(c.ctx.BuildExpr(value))
	return v.Validate(cue.All(), cue.Concrete(true), cue.Final())
}
