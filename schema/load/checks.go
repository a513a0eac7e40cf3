package load

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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

// addChecks returns the cases of a definition the checks next to it. A
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
		c := checksReader{Complaints: schema.Complaints{Doc: doc}, src: src, def: def, brief: l.opts.Brief && l.opts.Note == nil, invalid: invalid}
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
	// brief leaves the cases as they are, invalid says that some of them could
	// not be compiled.
	brief, invalid bool
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
		spec, rule := r.list(id)
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
		case ok && !r.brief && len(spec.Checks) > 0:
			attach(c, r.Doc.File, spec, rule)
		}
	}
}

// attach adds the checks to a case. They have no share in its score, unless
// nothing else has.
func attach(c *schema.Case, file string, spec evaluator.Checks, rule schema.Rule) {
	// The format says of its runs that all have to hold.
	rule.Unanimous = c.Dialect == schema.DialectPromptval
	ev := schema.Evaluator{Name: "checks", File: file, Spec: spec, Rule: rule}
	for slices.ContainsFunc(c.Evaluators, func(other schema.Evaluator) bool { return other.Name == ev.Name }) {
		ev.Name += " beside"
	}
	if !slices.ContainsFunc(c.Evaluators, func(other schema.Evaluator) bool { return other.Weight > 0 }) {
		ev.Weight = 1
	}
	c.Evaluators = append(slices.Clip(c.Evaluators), ev)
}

// list reads the checks of one case.
func (r *checksReader) list(id string) (evaluator.Checks, schema.Rule) {
	var spec evaluator.Checks
	most := map[string]float64{}
	if !r.Doc.IsList(id) || r.Doc.Items(id) == 0 {
		r.Fail("wrong-type", fmt.Sprintf("the checks of %q are not a list", id), `write [{"contains": "…"}]`, id)
		return spec, schema.Rule{}
	}
	count := map[string]int{}
	for i := range r.Doc.Items(id) {
		found := r.Doc.CheckPart("#Check", schema.Error, id, i)
		r.Problems = append(r.Problems, found...)
		if schema.HasErrors(found) {
			continue
		}
		keys := r.Doc.Keys(id, i)
		if len(keys) != 1 {
			r.Fail("one-check", fmt.Sprintf("a check has one field, and this one has %d", len(keys)), "write an item of the list for each check", id, i)
			continue
		}
		check := evaluator.Check{Kind: keys[0], ID: keys[0]}
		if count[check.Kind]++; count[check.Kind] > 1 {
			check.ID = fmt.Sprintf("%s %d", check.Kind, count[check.Kind])
		}
		r.value(&check, most, id, i, keys[0])
		spec.Checks = append(spec.Checks, check)
	}
	if len(most) == 0 {
		most = nil
	}
	return spec, spec.Rule(most)
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
func (r *checksReader) value(check *evaluator.Check, most map[string]float64, at ...any) {
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
		most[check.ID] = bound
	}
}
