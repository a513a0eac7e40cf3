package cueeval

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/gavel-evals/gavel/schema/cuefile"
)

// A ruleSet is the child's compiled constraints. It keeps the last set, since compiling
// takes many times as long as checking a value.
type ruleSet struct {
	id    string
	ctx   *cue.Context
	root  cue.Value
	files []*ast.File // the constraints
	// refs maps the schema's definitions to the ones that each refers to.
	refs map[string][]string
	seen cuefile.RuleAnswer // the answer about the set itself
}

// rules answers a request, reusing the last set if it is the same.
func (s *server) rules(r *cuefile.RuleRequest) (out cuefile.RuleAnswer) {
	defer func() {
		if p := recover(); p != nil {
			out = cuefile.RuleAnswer{Problems: []cuefile.FileProblem{{Rule: "cue", Message: clip(fmt.Sprintf("CUE's evaluator broke off: %v", p)), Hint: "write it another way"}}}
		}
	}()
	if s.set == nil || s.set.id != r.ID {
		s.set = compileRules(r)
	}
	if r.Def == "" || len(s.set.seen.Problems) > 0 {
		return s.set.seen
	}
	return cuefile.RuleAnswer{Violations: s.set.check(r.Def, r.Value)}
}

func compileRules(r *cuefile.RuleRequest) *ruleSet {
	s := &ruleSet{id: r.ID, ctx: cuecontext.New(), refs: map[string][]string{}}
	inst := build.NewContext().NewInstance("schema", nil)
	for i, data := range r.Schema {
		f, err := parser.ParseFile(fmt.Sprintf("schema%d.cue", i), data)
		if err != nil {
			panic(err) // it is ours
		}
		s.learn(f)
		add(inst, f)
	}
	for i, data := range r.Files {
		if !s.vet(i, data) {
			continue
		}
		f, err := parser.ParseFile(fileName(i), data, parser.ParseComments)
		if err != nil {
			continue // vet has reported it
		}
		s.files = append(s.files, f)
		s.reopen(i, f)
		add(inst, f)
	}
	if len(s.seen.Problems) > 0 {
		return s
	}
	s.root = s.ctx.BuildInstance(inst)
	if inst.Err != nil { // root.Err also reports false errors: it treats lists as empty
		s.collect(inst.Err)
	}
	s.use()
	s.touch()
	s.conflicts()
	return s
}

// add puts a file into the package, whatever its own package name.
func add(inst *build.Instance, f *ast.File) {
	f.Decls = slices.DeleteFunc(f.Decls, func(d ast.Decl) bool { _, is := d.(*ast.Package); return is })
	f.Decls = append([]ast.Decl{&ast.Package{Name: ast.NewIdent("schema")}}, f.Decls...)
	_ = inst.AddSyntax(f) // its mistakes are in inst.Err too
}

// filePos finds a place in the constraints.
func filePos(p token.Pos) (cuefile.FilePos, bool) {
	digits, ours := strings.CutPrefix(p.Filename(), "constraints")
	i, err := strconv.Atoi(strings.TrimSuffix(digits, ".cue"))
	if !ours || err != nil {
		return cuefile.FilePos{Index: -1}, false
	}
	return cuefile.FilePos{Index: i, Pos: cuefile.Pos{Offset: p.Offset(), Line: p.Line()}}, true
}

func (s *ruleSet) fail(at cuefile.FilePos, rule, message, hint string) {
	if len(s.seen.Problems) < cuefile.MaxProblems {
		s.seen.Problems = append(s.seen.Problems, cuefile.FileProblem{At: at, Rule: rule, Message: clip(message), Hint: hint})
	}
}

// vet finds the mistakes in a file by itself.
func (s *ruleSet) vet(i int, data []byte) bool {
	e := &evaluation{}
	f, err := parser.ParseFile(source, data)
	if err != nil {
		e.collect(cue.Value{}, err)
	} else {
		e.refuse(f)
		e.patterns(f)
	}
	for _, p := range e.problems {
		s.fail(cuefile.FilePos{Index: i, Pos: p.At}, p.Rule, p.Message, p.Hint)
	}
	return len(e.problems) == 0
}

// patterns finds invalid patterns: CUE reports them for every value that they are
// compared with, and not by themselves.
func (e *evaluation) patterns(f *ast.File) {
	ast.Walk(f, func(n ast.Node) bool {
		var pattern ast.Expr
		switch x := n.(type) {
		case *ast.UnaryExpr:
			if x.Op == token.MAT || x.Op == token.NMAT {
				pattern = x.X
			}
		case *ast.BinaryExpr:
			if x.Op == token.MAT || x.Op == token.NMAT {
				pattern = x.Y
			}
		}
		if lit, is := pattern.(*ast.BasicLit); is {
			if text, err := literal.Unquote(lit.Value); err == nil {
				if _, err := regexp.Compile(text); err != nil {
					e.fail(lit.Pos(), "cue-regexp", "the pattern does not compile: "+clip(strings.TrimPrefix(err.Error(), "error parsing regexp: ")), "write an RE2 pattern")
				}
			}
		}
		return true
	}, nil)
}

// learn reads and opens the definitions of a schema file: only required parts are
// checked here, not allowed ones.
func (s *ruleSet) learn(f *ast.File) {
	for _, d := range f.Decls {
		field, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		name, _, _ := ast.LabelName(field.Label)
		ast.Walk(field.Value, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.StructLit:
				open(x)
			case *ast.Ident:
				if strings.HasPrefix(x.Name, "#") {
					s.refs[name] = append(s.refs[name], x.Name)
				}
			}
			return true
		}, nil)
		s.refs[name] = append(s.refs[name], "")
	}
}

func open(x *ast.StructLit) {
	end := x.End() // the position of the dots counts as part of the struct
	if !slices.ContainsFunc(x.Elts, func(d ast.Decl) bool { _, is := d.(*ast.Ellipsis); return is }) {
		x.Elts = append(x.Elts, &ast.Ellipsis{Ellipsis: end})
	}
}

// reopen records a file's constraints on definitions of the schema, and requires every
// field that it names without ?: a value that CUE would fill in is in no file.
func (s *ruleSet) reopen(i int, f *ast.File) {
	for _, d := range f.Decls {
		field, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		name, isIdent, err := ast.LabelName(field.Label)
		at, _ := filePos(field.Label.Pos())
		switch {
		case err != nil || !isIdent || !strings.HasPrefix(strings.TrimPrefix(name, "_"), "#") && !strings.HasPrefix(name, "_"):
			s.fail(at, "constraint-name", fmt.Sprintf("`%s` constrains nothing", clip(name)), "open a definition again, such as #Testcase: {…}; names of your own begin with _")
			continue
		case !strings.HasPrefix(name, "#"):
			continue // with their own name
		}
		s.seen.Fields = append(s.seen.Fields, cuefile.ConstrainedField{Def: name, At: at})
		if s.refs[name] == nil {
			continue
		}
		demand(field.Value, func(label ast.Label) {
			if inner, _, err := ast.LabelName(label); err == nil {
				at, _ := filePos(label.Pos())
				s.seen.Fields = append(s.seen.Fields, cuefile.ConstrainedField{Def: name, Field: inner, At: at})
			}
		})
	}
}

// demand opens the structs of a constraint and makes their fields required; named is
// called with the outermost fields.
func demand(expr ast.Node, named func(ast.Label)) {
	switch x := expr.(type) {
	case *ast.StructLit:
		for _, elt := range x.Elts {
			demand(elt, named)
		}
		open(x)
	case *ast.Field:
		if label, isIdent, err := ast.LabelName(x.Label); err == nil {
			if isIdent && (strings.HasPrefix(label, "_") || strings.HasPrefix(label, "#")) {
				return // none of the value's
			}
			if named != nil {
				named(x.Label)
			}
			if x.Constraint == token.ILLEGAL {
				x.Constraint = token.NOT
			}
		}
		demand(x.Value, nil)
	case *ast.BinaryExpr:
		demand(x.X, named)
		demand(x.Y, named)
	case *ast.ParenExpr:
		demand(x.X, named)
	case *ast.EmbedDecl:
		demand(x.Expr, named)
	case *ast.Comprehension:
		demand(x.Value, named)
	case *ast.ListLit:
		for _, elt := range x.Elts {
			demand(elt, nil)
		}
	case *ast.Ellipsis:
		if x.Type != nil {
			demand(x.Type, nil)
		}
	}
}

// use finds the definitions that the files refer to.
func (s *ruleSet) use() {
	used := map[string]bool{}
	for _, f := range s.files {
		for _, d := range f.Decls {
			var refers ast.Node = d
			if field, is := d.(*ast.Field); is {
				refers = field.Value // its label is not a reference
			}
			ast.Walk(refers, func(n ast.Node) bool {
				if name, is := n.(*ast.Ident); is {
					used[name.Name] = true
				}
				return true
			}, nil)
		}
	}
	for i := range s.seen.Fields {
		s.seen.Fields[i].Used = used[s.seen.Fields[i].Def]
	}
}

// touch finds the definitions that the files affect.
func (s *ruleSet) touch() {
	hit := map[string]bool{}
	for _, f := range s.seen.Fields {
		hit[f.Def] = s.refs[f.Def] != nil
	}
	for more := true; more; {
		more = false
		for name, refs := range s.refs {
			if !hit[name] && slices.ContainsFunc(refs, func(ref string) bool { return hit[ref] }) {
				hit[name], more = true, true
			}
		}
	}
	for name := range hit {
		if hit[name] {
			s.seen.Touched = append(s.seen.Touched, name)
		}
	}
	slices.Sort(s.seen.Touched)
}

// conflicts finds demanded fields that the schema never allows.
func (s *ruleSet) conflicts() {
	for _, f := range s.seen.Fields {
		if f.Field == "" || s.refs[f.Def] == nil {
			continue
		}
		v := s.root.LookupPath(cue.MakePath(cue.Def(f.Def), cue.Str(f.Field).Optional()))
		if one := contradiction(v.Err()); one != nil {
			s.fail(f.At, "cue-conflict", fmt.Sprintf("`%s` can never be so: %v", f.Field, message(one)), "demand a value that the format allows; gavel schema prints it")
		}
	}
}

// contradiction returns the first of errors that all report a contradiction between
// demands; nil if one reports something else, such as an error("…") that forbids a
// field.
func contradiction(err error) cueerrors.Error {
	var first cueerrors.Error
	for _, one := range cueerrors.Errors(err) {
		format, _ := one.Msg()
		switch {
		case strings.Contains(format, "empty disjunction"):
		case !strings.HasPrefix(format, "conflicting values") && !strings.HasPrefix(format, "incompatible"):
			return nil
		case first == nil:
			first = one
		}
	}
	return first
}

func (s *ruleSet) collect(err error) {
	for _, one := range cueerrors.Errors(err) {
		at := cuefile.FilePos{} // an error without a place is of the first file
		for _, p := range slices.Backward(cueerrors.Positions(one)) {
			if found, ok := filePos(p); ok {
				at = found
			}
		}
		rule, hint := explain(one.Error(), one, []cuefile.Pos{at.Pos})
		switch {
		case strings.HasPrefix(hint, "correct the name"):
			hint = "correct the name, or define it here or in a file next to this one"
		case strings.HasPrefix(message(one), "imported and not used"):
			hint = "remove the import"
		}
		s.fail(at, rule, message(one), hint)
	}
}

// message returns CUE's message, without the path and the position.
func message(err cueerrors.Error) string {
	text := strings.TrimPrefix(err.Error(), strings.Join(err.Path(), ".")+": ")
	return strings.TrimPrefix(text, err.Position().String()+": ")
}
