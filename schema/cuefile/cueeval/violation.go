package cueeval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/literal"
	cuejson "cuelang.org/go/encoding/json"

	"github.com/gavel-evals/gavel/schema/cuefile"
)

// check holds a value against a definition.
func (s *ruleSet) check(def string, value []byte) []cuefile.Violation {
	expr, err := cuejson.Extract("data.json", value)
	if err != nil {
		return nil // the parent sends parsed data
	}
	data := s.ctx.BuildExpr(expr)
	v := s.root.LookupPath(cue.MakePath(cue.Def(def))).Unify(data)
	byPath := map[string][]cueerrors.Error{}
	var paths []string
	for _, one := range cueerrors.Errors(v.Validate(cue.All(), cue.Concrete(true), cue.Final())) {
		path := strings.Join(one.Path(), "\x00")
		if byPath[path] == nil {
			paths = append(paths, path)
		}
		byPath[path] = append(byPath[path], one)
	}
	var out []cuefile.Violation
	for _, path := range paths {
		// CUE reports all consequences of a mistake, outwards.
		isOuter := slices.ContainsFunc(paths, func(other string) bool { return strings.HasPrefix(other, path+"\x00") })
		if !isOuter && len(out) < cuefile.MaxProblems {
			out = append(out, s.violation(byPath[path], data))
		}
	}
	return out
}

// violation merges the errors at one place.
func (s *ruleSet) violation(errs []cueerrors.Error, data cue.Value) cuefile.Violation {
	// For a value that may be null, "not null" is the least useful message.
	told := slices.DeleteFunc(slices.Clone(errs), func(one cueerrors.Error) bool {
		text := one.Error()
		return strings.HasSuffix(text, "in empty disjunction:") || strings.Contains(text, "null and ") || strings.Contains(text, "and null")
	})
	if len(told) > 0 {
		errs = told
	}
	out := cuefile.Violation{Message: clip(message(errs[0])), By: cuefile.FilePos{Index: -1}}
	for _, name := range errs[0].Path()[1:] {
		if text, err := literal.Unquote(name); err == nil {
			name = text
		}
		out.Path = append(out.Path, name)
	}
	absent := absentField(errs[0])
	switch mismatch := mistyped(errs[0], data, out.Path); {
	case absent != "":
		out.Message = fmt.Sprintf("a constraint looks at `%s`, which is not here: add it, or begin the condition with if %[1]s != _|_", absent)
	case len(errs) > 1:
		out.Message = "the value is not one of those that are allowed here"
	case mismatch != "":
		out.Message = mismatch
	}
	for _, one := range errs {
		out.Missing = out.Missing || strings.Contains(one.Error(), "required but not present")
		for _, p := range cueerrors.Positions(one) {
			at, ours := filePos(p)
			if !ours {
				continue
			}
			if out.By.Index < 0 {
				out.By = at
			}
			if absent != "" { // it is nothing that the constraint speaks of
				out.By, out.Own = at, true
				return out
			}
			if text := s.own(at, one); text != "" {
				out.By, out.Message, out.Own = at, clip(text), true
				return out
			}
		}
	}
	return out
}

// absentField returns the absent field that a condition reads. The demands of the rest
// of the constraint are then unknown.
func absentField(err cueerrors.Error) string {
	format, args := err.Msg()
	if !strings.HasPrefix(format, "cannot reference optional field") || len(args) == 0 {
		return ""
	}
	return fmt.Sprint(args[0])
}

// kinds are CUE's kinds in words for people.
var kinds = map[string]string{
	"string": "a string", "int": "a whole number", "float": "a number", "number": "a number",
	"bool": "true or false", "list": "a list", "struct": "an object", "null": "null",
}

// mistyped describes the type of a mistyped value; empty if CUE reports another error.
func mistyped(err cueerrors.Error, data cue.Value, path []string) string {
	format, args := err.Msg()
	if !strings.Contains(format, "mismatched types") || len(args) != 4 {
		return ""
	}
	for _, step := range path {
		next := data.LookupPath(cue.MakePath(cue.Str(step)))
		if i, err := strconv.Atoi(step); err == nil && data.Kind() == cue.ListKind {
			next = data.LookupPath(cue.MakePath(cue.Index(i)))
		}
		data = next
	}
	have, want := data.Kind().String(), fmt.Sprint(args[2])
	if want == have {
		want = fmt.Sprint(args[3])
	}
	if kinds[have] == "" || kinds[want] == "" {
		return ""
	}
	return fmt.Sprintf("it must be %s, not %s", kinds[want], kinds[have])
}

// own returns the constraint's own message for an error: the evaluated error("…"), else
// its source text, else the comment above the field.
func (s *ruleSet) own(at cuefile.FilePos, err cueerrors.Error) string {
	var field *ast.Field
	isSaid := false
	ast.Walk(s.files[at.Index], func(n ast.Node) bool {
		if f, isFile := n.(*ast.File); !isFile && (n.Pos().Offset() > at.Offset || n.End().Offset() <= at.Offset) {
			return false
		} else if isFile {
			return f != nil
		}
		switch x := n.(type) {
		case *ast.Field:
			field = x
		case *ast.CallExpr:
			isSaid = isSaid || isError(x)
		}
		return true
	}, nil)
	if isSaid {
		format, args := err.Msg()
		return fmt.Sprintf(format, args...)
	}
	if field == nil {
		return ""
	}
	text := errorText(field.Value)
	if name, is := field.Value.(*ast.Ident); is && text == "" {
		text = errorText(s.named(name.Name))
	}
	for _, group := range ast.Comments(field) {
		if text == "" && group.Doc {
			text = strings.TrimSuffix(strings.Join(strings.Fields(group.Text()), " "), ".")
		}
	}
	return text
}

// named returns the value of a name at the top of the files.
func (s *ruleSet) named(name string) ast.Node {
	var found ast.Node = &ast.BottomLit{}
	for _, f := range s.files {
		for _, d := range f.Decls {
			field, is := d.(*ast.Field)
			if !is {
				continue
			}
			if label, _, err := ast.LabelName(field.Label); err == nil && label == name {
				found = field.Value
			}
		}
	}
	return found
}

// errorText returns the text of the first error("…") in an expression.
func errorText(expr ast.Node) string {
	text := ""
	ast.Walk(expr, func(n ast.Node) bool {
		if call, is := n.(*ast.CallExpr); is && isError(call) && text == "" {
			if lit, is := call.Args[0].(*ast.BasicLit); is {
				text, _ = literal.Unquote(lit.Value)
			}
		}
		return true
	}, nil)
	return text
}

func isError(call *ast.CallExpr) bool {
	name, is := call.Fun.(*ast.Ident)
	return is && name.Name == "error" && len(call.Args) == 1
}

// fileName returns the name of the constraints with an index in the child.
func fileName(i int) string { return "constraints" + strconv.Itoa(i) + ".cue" }
