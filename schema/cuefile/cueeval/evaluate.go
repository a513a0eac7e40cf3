package cueeval

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/gavel-evals/gavel/schema/cuefile"
)

// source is the name of the file in the child. Positions in other files come from text
// that the file passes to json.Unmarshal and similar functions.
const source = "file.cue"

// packages may be imported. They only compute a value from their arguments, so they do
// not weaken "no registry, files or network", and hardly any comprehension can do
// without strings and list. The list is ours: additions to CUE must be reviewed first.
var packages = []string{
	"crypto/hmac", "crypto/md5", "crypto/sha1", "crypto/sha256", "crypto/sha512",
	"encoding/base64", "encoding/csv", "encoding/hex", "encoding/json", "encoding/yaml",
	"html", "list", "math", "math/bits", "path", "regexp", "strconv", "strings", "struct",
	"text/tabwriter", "text/template", "time",
}

// evaluate does one file. A panic of the evaluator is a problem of the file
// that brought it about.
func evaluate(data []byte) (out cuefile.Answer) {
	e := &evaluation{}
	defer func() {
		if r := recover(); r != nil {
			e.fail(token.NoPos, "cue", clip(fmt.Sprintf("CUE's evaluator broke off: %v", r)), "write it another way")
			out = e.answer(nil)
		}
	}()
	f, err := parser.ParseFile(source, data)
	if err != nil {
		e.collect(cue.Value{}, err)
		return e.answer(nil)
	}
	if e.refuse(f); len(e.problems) > 0 {
		return e.answer(nil)
	}
	root := cuecontext.New().BuildFile(f)
	if err := root.Validate(cue.Concrete(true), cue.Final()); err != nil {
		e.collect(root, err)
	}
	// Validate ignores some values that are not concrete; the walk does not. It returns
	// everything except the known mistakes.
	v := e.value(root, origin{key: token.NoPos, value: root.Pos()}, 0)
	return e.answer(v)
}

// An evaluation collects the result of one file.
type evaluation struct {
	problems     cuefile.Problems
	values, text int
	full         bool // a limit was passed: the walk is over
}

func (e *evaluation) answer(v *cuefile.Value) cuefile.Answer {
	if len(e.problems) == 0 {
		return cuefile.Answer{Value: v}
	}
	return cuefile.Answer{Problems: e.problems}
}

// pos returns a position in the file, or its beginning if CUE knows none.
func pos(p token.Pos) (at cuefile.Pos, ok bool) {
	if !p.IsValid() || p.Filename() != source {
		return cuefile.Pos{}, false
	}
	return cuefile.Pos{Offset: p.Offset(), Line: p.Line()}, true
}

func (e *evaluation) fail(p token.Pos, rule, message, hint string) {
	at, _ := pos(p)
	e.add(cuefile.Problem{At: at, Rule: rule, Message: message, Hint: hint})
}

func (e *evaluation) add(p cuefile.Problem) {
	if len(e.problems) < cuefile.MaxProblems && !slices.Contains(e.problems, p) {
		e.problems = append(e.problems, p)
	}
}

// refuse finds references outside of the file, before CUE resolves them.
func (e *evaluation) refuse(f *ast.File) {
	for spec := range f.ImportSpecs() {
		name, err := literal.Unquote(spec.Path.Value)
		if err == nil && slices.Contains(packages, name) {
			continue
		}
		e.fail(spec.Path.Pos(), "cue-import", fmt.Sprintf("the package %q is not available to a definition", clip(name)),
			"it is evaluated without registry, modules, files, commands and network; only CUE's own packages that compute can be imported, such as strings, list, math and encoding/json")
	}
	ast.Walk(f, func(n ast.Node) bool {
		if a, ok := n.(*ast.Attribute); ok {
			if name, _ := a.Split(); name == "embed" || name == "extern" {
				e.fail(a.Pos(), "cue-import", fmt.Sprintf("@%s reads from outside of the file", name), "write the value into the file, or name the other file in a field that takes a path")
			}
		}
		return true
	}, nil)
}

// collect turns CUE's errors into problems.
func (e *evaluation) collect(root cue.Value, err error) {
	for _, one := range cueerrors.Errors(err) {
		if len(e.problems) == cuefile.MaxProblems {
			return
		}
		e.add(e.problem(root, one))
	}
}

func (e *evaluation) problem(root cue.Value, err cueerrors.Error) cuefile.Problem {
	name := strings.Join(err.Path(), ".")
	message := strings.TrimPrefix(err.Error(), name+": ")
	var places []cuefile.Pos
	for _, p := range cueerrors.Positions(err) {
		if at, ok := pos(p); ok {
			places = append(places, at)
		}
	}
	if len(places) == 0 {
		places = append(places, e.nearest(root, err.Path()))
	}
	rule, hint := explain(message, err, places)
	if name != "" {
		message = "`" + name + "`: " + message
	}
	return cuefile.Problem{At: places[0], Rule: rule, Message: clip(message), Hint: hint}
}

// nearest returns the position of a value, or of its parent.
func (e *evaluation) nearest(root cue.Value, path []string) cuefile.Pos {
	best := cuefile.Pos{}
	for i := range path {
		p := cue.ParsePath(strings.Join(path[:i+1], "."))
		if p.Err() != nil {
			return best // an index, which is not written so
		}
		at, ok := pos(root.LookupPath(p).Pos())
		if !ok {
			return best
		}
		best = at
	}
	return best
}

// explain classifies an error by CUE's message, since it exposes no codes, and returns
// the repair.
func explain(message string, err cueerrors.Error, places []cuefile.Pos) (rule, hint string) {
	format, args := err.Msg()
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(message, w) })
	}
	other := ""
	if len(places) > 1 && places[1].Line != places[0].Line {
		other = fmt.Sprintf("; see also line %d", places[1].Line)
	}
	switch {
	case has("cycle"):
		return "cue-cycle", "a value cannot be part of itself: write one of the values out"
	case has("incomplete value", "non-concrete", "required but not present"):
		return "cue-incomplete", "give it a value; of several that are possible, mark one as the default with *" + other
	case has("conflicting values"):
		return "cue-conflict", "a field has one value: keep one of them" + other
	case has("field not allowed"):
		return "cue-conflict", "the definition that it is joined with has no such field: remove it, or add it there" + other
	case has("out of bound", "does not satisfy", "invalid value", "empty disjunction"):
		return "cue-conflict", "change the value or what is demanded of it" + other
	case has("undefined field"):
		return "cue-reference", "correct the name, or add the field" + other
	case strings.HasPrefix(format, "reference "):
		if name, ok := firstString(args); ok && slices.Contains(packages, name) {
			return "cue-reference", fmt.Sprintf("write import %q at the top of the file", name)
		}
		return "cue-reference", "correct the name, or define it in this file: files are evaluated one by one"
	case len(err.Path()) == 0:
		return "syntax", "look for a missing comma, quote or bracket at or before this place"
	}
	return "cue", "correct the expression" + other
}

func firstString(args []any) (string, bool) {
	if len(args) == 0 {
		return "", false
	}
	s, ok := args[0].(string)
	return s, ok
}

// clip bounds a quotation from the file.
func clip(s string) string {
	const most = 300
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
