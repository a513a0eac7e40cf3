package schema

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"cuelang.org/go/cue"
	cuebuild "cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/parser"
)

//go:embed *.cue
var sources embed.FS

// A Checker holds the compiled schemas. It is not safe for concurrent use,
// since a CUE context is not: every goroutine takes one of its own.
type Checker struct {
	ctx    *cue.Context
	root   cue.Value
	shapes map[string]*shape
}

// checkers keeps Checkers that are not in use: compiling takes far longer than
// checking a file.
var checkers = sync.Pool{New: func() any {
	c, err := newChecker(sources)
	if err != nil {
		panic(fmt.Sprintf("the built-in schemas do not compile: %v", err))
	}
	return c
}}

// newChecker compiles the .cue files of a folder into one namespace. A file
// imports what it needs of CUE's own packages.
func newChecker(fsys fs.FS) (*Checker, error) {
	c := &Checker{ctx: cuecontext.New(), shapes: map[string]*shape{}}
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

// CUE gives the text of a built-in schema file, such as domain.cue.
func CUE(name string) (string, error) {
	src, err := sources.ReadFile(name)
	return string(src), err
}

// A shape is what a schema says of one value, read off CUE once, so that the
// common mistakes are found and explained without evaluating anything.
type shape struct {
	kinds  []nodeKind
	whole  bool // a number must be an integer
	fields map[string]*shape
	names  []string // of fields
	must   []string // names of required fields
	open   bool     // fields that are not listed are free
	rest   *shape   // what unlisted fields look like; nil when free
	elem   *shape   // of list items; nil when free
	enum   []string
	bounds []bound
	runes  []bound // of the length of a string
	least  int     // items that a list must have
	// refused are fields that are unknown for a reason worth saying.
	refused map[string]refusal
	// part marks a shape that does not say all that the schema says.
	part bool
}

// complete reports whether a value that fits the shape satisfies the schema, so
// that CUE, which takes several times as long, need not be asked.
func (s *shape) complete() bool {
	return s == nil || !s.part && s.rest.complete() && s.elem.complete() &&
		!slices.ContainsFunc(s.names, func(name string) bool { return !s.fields[name].complete() })
}

// A bound is a limit of a number, or of the length of a string.
type bound struct {
	op    cue.Op
	limit float64
}

// A refusal is what is said of a field that people write although it is not
// part of the format. A schema declares it by an attribute of the struct:
// @misplaced(field, why="…", instead="…") or @renamed(field, to=…).
type refusal struct{ rule, message, hint string }

func (c *Checker) shape(def string) *shape {
	s, ok := c.shapes[def]
	if !ok {
		s = shapeOf(c.root.LookupPath(cue.ParsePath(def)))
		c.shapes[def] = s
	}
	return s
}

func shapeOf(v cue.Value) *shape {
	kind := v.IncompleteKind()
	s := &shape{kinds: kindsOf(kind), whole: kind&cue.NumberKind == cue.IntKind}
	s.read(v)
	if op, _ := v.Expr(); op == cue.NoOp {
		s.readOne(v)
	}
	return s
}

// readOne takes over the one value that is allowed.
func (s *shape) readOne(v cue.Value) {
	switch kind := v.Kind(); {
	case kind == cue.StringKind:
		s.readEnum([]cue.Value{v})
	case kind&cue.NumberKind != 0:
		x, err := v.Float64()
		s.part = s.part || err != nil
		s.bounds = []bound{{cue.GreaterThanEqualOp, x}, {cue.LessThanEqualOp, x}}
	case kind == cue.BoolKind:
		s.part = true
	}
}

func kindsOf(k cue.Kind) []nodeKind {
	var kinds []nodeKind
	for _, pair := range []struct {
		k cue.Kind
		n nodeKind
	}{
		{cue.StringKind, stringNode}, {cue.NumberKind, numberNode}, {cue.BoolKind, boolNode},
		{cue.ListKind, listNode}, {cue.StructKind, objectNode}, {cue.NullKind, nullNode},
	} {
		if k&pair.k != 0 {
			kinds = append(kinds, pair.n)
		}
	}
	return kinds
}

// read takes over what an expression says, branch by branch.
func (s *shape) read(v cue.Value) {
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
			s.bounds = append(s.bounds, bound{op, limit})
		}
		return
	case cue.CallOp:
		s.readCall(args)
		return
	case cue.SelectorOp, cue.NoOp:
	default:
		s.part = true
	}
	switch v.IncompleteKind() {
	case cue.StructKind:
		s.readStruct(v)
		s.readRefused(v)
	case cue.ListKind:
		for v.LookupPath(cue.MakePath(cue.Index(s.least))).Exists() {
			s.least++
		}
		if elem := v.LookupPath(cue.MakePath(cue.AnyIndex)); elem.Exists() {
			s.elem = shapeOf(elem)
		}
	default:
		if v.IncompleteKind() != cue.BottomKind && op == cue.SelectorOp {
			if d := cue.Dereference(v); d != v {
				s.read(d)
			}
		}
	}
}

// readAll takes over branches. Of two that speak of the same kind of value, of
// those given, a shape cannot tell which one holds.
func (s *shape) readAll(args []cue.Value, single cue.Kind) {
	var seen cue.Kind
	for _, a := range args {
		kind := a.IncompleteKind() & single
		s.part = s.part || seen&kind != 0
		seen |= kind
		s.read(a)
	}
}

func (s *shape) readStruct(v cue.Value) {
	if s.fields == nil {
		s.fields = map[string]*shape{}
	}
	iter, err := v.Fields(cue.Optional(true))
	if err != nil {
		s.open, s.part = true, true
		return
	}
	for iter.Next() {
		sel := iter.Selector()
		name := sel.Unquoted()
		s.fields[name] = shapeOf(iter.Value())
		s.names = append(s.names, name)
		if sel.ConstraintType() == cue.RequiredConstraint {
			s.must = append(s.must, name)
		}
	}
	if v.Allows(cue.AnyString) {
		s.open = true
		if rest := v.LookupPath(cue.MakePath(cue.AnyString)); rest.Exists() {
			s.rest = shapeOf(rest)
		}
	}
}

// readCall takes the limits of a string's length: strings.MinRunes(1).
func (s *shape) readCall(args []cue.Value) {
	if len(args) != 2 {
		s.part = true
		return
	}
	op, ok := map[string]cue.Op{
		"strings.MinRunes": cue.GreaterThanEqualOp, "strings.MaxRunes": cue.LessThanEqualOp,
	}[fmt.Sprint(args[0])]
	limit, err := args[1].Float64()
	if !ok || err != nil {
		s.part = true
		return
	}
	s.runes = append(s.runes, bound{op, limit})
}

func (s *shape) readRefused(v cue.Value) {
	for _, a := range cue.Dereference(v).Attributes(cue.DeclAttr) {
		args := map[string]string{}
		for i := range a.NumArgs() {
			key, value := a.Arg(i)
			args[key] = value
		}
		name, _ := a.Arg(0)
		var r refusal
		switch a.Name() {
		case "misplaced":
			r = refusal{"misplaced-field", fmt.Sprintf("`%s` does not belong here: %s", name, args["why"]), args["instead"]}
		case "renamed":
			r = refusal{"renamed-field", fmt.Sprintf("`%s` is the name that a later version of the format uses", name), fmt.Sprintf("write `%s`", args["to"])}
		default:
			continue
		}
		if s.refused == nil {
			s.refused = map[string]refusal{}
		}
		s.refused[name] = r
	}
}

// readEnum takes the words of a choice, unless any string may be chosen.
func (s *shape) readEnum(args []cue.Value) {
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
	s.enum = words
}

// Fields lists the fields of a definition of the built-in schemas, in the
// order of its file.
func Fields(def string) []string {
	c := checkers.Get().(*Checker)
	defer checkers.Put(c)
	return c.shape(def).names
}
