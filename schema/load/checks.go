package load

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/suggest"
)

const (
	// checksSuffix replaces the extension of a definition
	// in the name of the file with its checks.
	checksSuffix = ".checks.yaml"
	// checksRole is the role of that file among the inputs of a case.
	checksRole = "checks"
	// theCase is the local id of a case that is the whole of its file.
	theCase = "."
)

// definitionsOf lists the files that a file of checks may belong to.
func definitionsOf(checks string) []string {
	base, ok := strings.CutSuffix(checks, checksSuffix)
	if !ok {
		return nil
	}
	files := make([]string, len(extensions))
	for i, ext := range extensions {
		files[i] = base + ext
	}
	return files
}

// addChecks gives the cases of a definition the checks next to it. A
// case whose checks cannot be read would pass without them, so it is left out.
func (l *loader) addChecks(src document.Source, def *Definition, invalid bool) []schema.Problem {
	if def.Dialect == "" || def.isSidecar(src) {
		return nil
	}
	file := stem(def.File) + checksSuffix
	if _, err := fs.Stat(src.FS, file); errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, syscall.ENAMETOOLONG) {
		l.addInput(def, schema.Input{File: file, Role: checksRole, Absent: true})
		return nil
	}
	l.addInput(def, schema.Input{File: file, Role: checksRole})
	doc, problems := src.Open(file)
	if doc != nil {
		c := checksReader{Complaints: document.Complaints{Doc: doc}, src: src, def: def, invalid: invalid}
		c.read()
		problems = append(problems, c.Problems...)
	}
	if schema.HasErrors(problems) {
		def.Cases = nil
		problems = append(problems, schema.Problem{
			Position: schema.Position{File: def.File, Line: 1, Column: 1}, Severity: schema.Error, Rule: "checks-invalid",
			Message: file + " is invalid", Hint: "fix it first; the cases here would pass without their checks",
		})
	}
	return problems
}

// addInput puts a file among those that the cases were built from, in its place.
func (l *loader) addInput(def *Definition, in schema.Input) {
	if l.opts.Brief {
		return // its name follows from the definition's
	}
	for _, c := range def.Cases {
		at, _ := slices.BinarySearchFunc(c.Inputs, in, func(a, b schema.Input) int { return cmp.Compare(a.File, b.File) })
		inputs := append(make([]schema.Input, 0, len(c.Inputs)+1), c.Inputs[:at]...)
		c.Inputs = append(append(inputs, in), c.Inputs[at:]...)
	}
}

// A checksReader reads the checks of one definition.
type checksReader struct {
	document.Complaints
	src document.Source
	def *Definition
	// invalid says that some of the cases could not be compiled.
	invalid bool
}

func (r *checksReader) read() {
	if !r.Doc.IsObject() {
		r.Fail("wrong-type", "checks are a map from the local id of a case to its checks", `write "id": [{"contains": "…"}]; the id is . where the file is one case`)
		return
	}
	whole := r.src.Key(r.def.File, "")
	cases := map[string]*schema.Case{}
	var known []string
	for _, c := range r.def.Cases {
		id := theCase
		if c.Key != whole {
			id = strings.TrimPrefix(c.Key, whole+"#")
		}
		cases[id], known = c, append(known, id)
	}
	for _, id := range r.Doc.Keys() {
		list, found := readChecks(r.Doc, fmt.Sprintf("the checks of %q", id), id)
		r.Problems = append(r.Problems, found...)
		c, ok := cases[id]
		switch {
		case !ok && !r.invalid:
			hint := suggest.DidYouMean(id, known)
			switch {
			case len(known) == 0:
				hint = "it has no cases; put the checks next to a file that has some"
			case hint == "":
				hint = "the cases are " + strings.Join(known, ", ")
			}
			r.Fail("unknown-case", fmt.Sprintf("%s has no case %q", path.Base(r.def.File), id), hint, id)
		case ok:
			r.attach(c, list)
		}
	}
}

// attach adds checks to a case, and to those that it has. They take the place of
// a judge that nobody asked for, and have no share in the score unless nothing
// else has. It also sets the share of samples that must pass.
func (r *checksReader) attach(c *schema.Case, list checkList) {
	if list.share != nil {
		c.Policy.Demand(*list.share)
	}
	if len(list.checks) == 0 {
		return
	}
	others := slices.DeleteFunc(slices.Clone(c.Evaluators), func(ev schema.Evaluator) bool { return ev.Fallback })
	if len(others) < len(c.Evaluators) {
		r.Problems = append(r.Problems, schema.Problem{
			Position: c.Origin, Severity: schema.Note, Rule: "judged-by-checks",
			Message: "the case is judged by its checks alone, and no judge is asked about `expected_outcome`",
			Hint:    "write `rubrics` or `evaluators` to have a judge score it",
		})
	}
	ev := schema.Evaluator{Name: "checks"}
	var spec evaluator.Checks
	at := slices.IndexFunc(others, func(other schema.Evaluator) bool { _, is := other.Spec.(evaluator.Checks); return is })
	if at >= 0 {
		ev = others[at]
		spec, _ = ev.Spec.(evaluator.Checks)
		others = slices.Delete(others, at, at+1)
	}
	for slices.ContainsFunc(others, func(other schema.Evaluator) bool { return other.Name == ev.Name }) {
		ev.Name += " beside"
	}
	most := maps.Clone(ev.Rule.Most)
	spec.Checks = slices.Clone(spec.Checks)
	for _, added := range list.checks {
		added.ID = added.Kind
		if n := count(spec.Checks, added.Kind); n > 0 {
			added.ID = fmt.Sprintf("%s %d", added.Kind, n+1)
		}
		if added.Most != nil {
			if most == nil {
				most = map[string]float64{}
			}
			most[added.ID] = *added.Most
		}
		spec.Checks = append(spec.Checks, added.Check)
	}
	ev.File, ev.Spec, ev.Rule = r.Doc.File, spec, spec.Rule(most)
	// The format says of its runs that all have to hold.
	ev.Rule.Unanimous = c.Dialect == schema.DialectPromptval
	if !slices.ContainsFunc(others, func(other schema.Evaluator) bool { return other.Weight > 0 }) {
		ev.Weight = 1
	}
	if len(others) == 0 {
		c.Policy.Bands = nil // it passes or fails, and is not borderline
	}
	c.Evaluators = append(others, ev)
}

func count(checks []evaluator.Check, kind string) int {
	n := 0
	for _, c := range checks {
		if c.Kind == kind {
			n++
		}
	}
	return n
}
