package load

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/jsonschema"
)

const (
	// checksSuffix replaces the extension of a definition
	// in the name of the file with its checks.
	checksSuffix = ".checks.yaml"
	// checksRole is the role of that file among the inputs of a case.
	checksRole = "checks"
	// theCase is the local id of a case that is the whole of its file.
	theCase = "."
	// maxCheckPattern bounds a pattern, whose compiled form grows with it.
	maxCheckPattern = 4096
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
func (l *loader) addChecks(src schema.Source, def *Definition, invalid bool) []schema.Problem {
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
		c := checksReader{Complaints: schema.Complaints{Doc: doc}, src: src, def: def, invalid: invalid}
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
		return // its name follows from that of the definition
	}
	for _, c := range def.Cases {
		at, _ := slices.BinarySearchFunc(c.Inputs, in, func(a, b schema.Input) int { return cmp.Compare(a.File, b.File) })
		inputs := append(make([]schema.Input, 0, len(c.Inputs)+1), c.Inputs[:at]...)
		c.Inputs = append(append(inputs, in), c.Inputs[at:]...)
	}
}

// A checksReader reads the checks of one definition.
type checksReader struct {
	schema.Complaints
	src schema.Source
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
		list := r.list(fmt.Sprintf("the checks of %q", id), id)
		c, ok := cases[id]
		switch {
		case !ok && !r.invalid:
			hint := schema.DidYouMean(id, known)
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

// A writtenCheck is a check with the bound of the quantity that it looks at, which
// is nil for others.
type writtenCheck struct {
	evaluator.Check
	most *float64
}

// attach adds checks to a case, and to those that it has. They take the place of
// a judge that nobody asked for, and have no share in the score unless nothing
// else has.
func (r *checksReader) attach(c *schema.Case, list []writtenCheck) {
	if len(list) == 0 {
		return
	}
	others := slices.DeleteFunc(slices.Clone(c.Evaluators), func(ev schema.Evaluator) bool { return ev.Fallback })
	if len(others) < len(c.Evaluators) {
		r.Problems = append(r.Problems, schema.Problem{
			Position: c.Origin, Severity: schema.Note, Rule: "judged-by-checks",
			Message: fmt.Sprintf("%s is judged by its checks alone, and no judge is asked about `expected_outcome`", c.Key),
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
	for _, check := range list {
		check.ID = check.Kind
		if n := count(spec.Checks, check.Kind); n > 0 {
			check.ID = fmt.Sprintf("%s %d", check.Kind, n+1)
		}
		if check.most != nil {
			if most == nil {
				most = map[string]float64{}
			}
			most[check.ID] = *check.most
		}
		spec.Checks = append(spec.Checks, check.Check)
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

// list reads a list of checks.
func (r *checksReader) list(of string, at ...any) []writtenCheck {
	if !r.Doc.IsList(at...) || r.Doc.Items(at...) == 0 {
		r.Fail("wrong-type", of+" are not a list", `write [{"contains": "…"}]`, at...)
		return nil
	}
	var out []writtenCheck
	for i := range r.Doc.Items(at...) {
		item := append(slices.Clip(at), i)
		found := r.Doc.CheckPart("#Check", schema.Error, item...)
		r.Problems = append(r.Problems, found...)
		if schema.HasErrors(found) {
			continue
		}
		keys := r.Doc.Keys(item...)
		if len(keys) != 1 {
			r.Fail("one-check", fmt.Sprintf("a check has one field, and this one has %d", len(keys)), "write an item of the list for each check", item...)
			continue
		}
		check := writtenCheck{Check: evaluator.Check{Kind: keys[0]}}
		r.value(&check, append(item, keys[0])...)
		out = append(out, check)
	}
	return out
}

// schemaHint says what to write instead of a JSON Schema that cannot be used.
func schemaHint(err error) string {
	const example = "write a schema such as {type: object, required: [id]}"
	if unknown, ok := errors.AsType[*jsonschema.UnknownError](err); ok {
		return cmp.Or(schema.DidYouMean(unknown.Name, unknown.Known), example)
	}
	return example
}

// value reads what a check compares with.
func (r *checksReader) value(check *writtenCheck, at ...any) {
	check.Text = r.Doc.Text(at...)
	raw := r.Doc.JSON(at...)
	switch check.Kind {
	case evaluator.CheckRegex:
		if n := len(check.Text); n > maxCheckPattern {
			r.Fail("regex", fmt.Sprintf("the pattern has %d bytes", n), fmt.Sprintf("it may have %d", maxCheckPattern), at...)
		} else if _, err := regexp.Compile(check.Text); err != nil {
			r.Fail("regex", "the pattern does not compile: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "write an RE2 pattern", at...)
		}
	case evaluator.CheckJSON:
		if !r.Doc.IsObject(at...) {
			if string(raw) == "false" {
				r.Fail("wrong-value", "`is_json: false` demands nothing", "write true or a JSON Schema, or remove it", at...)
			}
			return
		}
		if _, err := jsonschema.Compile(raw); err != nil {
			r.Fail("json-schema", "the JSON Schema cannot be used: "+err.Error(), schemaHint(err), at...)
		}
		check.Form = raw
	case evaluator.CheckLatency, evaluator.CheckCost:
		var bound float64
		if err := json.Unmarshal(raw, &bound); err != nil {
			r.Fail("decode", err.Error(), "", at...)
		}
		check.most = &bound
	}
}
