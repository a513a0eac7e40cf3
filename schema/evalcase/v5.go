package evalcase

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/template"
)

// v5keys are keys of AgentV 5 that neither promptfoo nor AgentV 4 has at the top of
// a file with prompts or providers.
var v5keys = []string{"default_test", "evaluate_options", "governance", "environment"}

// IsV5 reports whether a document is of AgentV 5: it has prompts, providers or
// default_test, and tests or scenarios with an id each, or keys in its spelling. The tests of
// promptfoo have no id, and its providers are a vendor and a model.
func IsV5(doc *document.Document) bool {
	keys := doc.Keys()
	has := func(names ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(names, key) })
	}
	switch {
	case !has("tests", "scenarios"), !has("prompts", "providers", "default_test"), has("defaultTest", "evaluateOptions", "targets", "redteam"):
		return false
	case strings.HasPrefix(path.Base(doc.File), "promptfooconfig"):
		return false
	case has(v5keys...):
		return true
	case has("threshold", "assert") && !lacksID(doc):
		return true
	case ofVendor(doc):
		return false
	}
	if hasTest(document.Place{Doc: doc}) || doc.Text("tests") != "" && isTarget(doc.Text("target")) {
		return true
	}
	return slices.ContainsFunc(document.Place{Doc: doc}.List("scenarios"), hasTest)
}

// lacksID reports whether a test has no id, as promptfoo's, which ignores a `threshold` and an
// `assert` next to the tests.
func lacksID(doc *document.Document) bool {
	return slices.ContainsFunc(document.Place{Doc: doc}.List("tests"), func(p document.Place) bool {
		return p.IsObject() && !p.Has("id") && !p.Has("include")
	})
}

// hasTest reports whether a test of a list has an id, which promptfoo's lack.
func hasTest(of document.Place) bool {
	return slices.ContainsFunc(of.List("tests"), func(p document.Place) bool {
		return p.Has("id") && (p.Has("vars") || p.Has("assert") || p.Has("criteria"))
	})
}

// isTarget reports whether a text is the name of a target, which promptfoo has no field for.
func isTarget(name string) bool { return name != "" && !strings.Contains(name, ":") }

// ofVendor reports whether a provider is named as promptfoo does, as in openai:chat:gpt-5.
func ofVendor(doc *document.Document) bool {
	for _, p := range append(document.Place{Doc: doc, Path: []any{"providers"}}.List(), document.Place{Doc: doc, Path: []any{"providers"}}) {
		name := cmp.Or(p.Text("label"), p.Text("id"), p.Text())
		if strings.Contains(name, ":") && !strings.HasPrefix(name, "file://") && !strings.HasPrefix(name, "agentv:") {
			return true
		}
	}
	return false
}

// A v5Suite is a file of AgentV 5 in the form of AgentV 4.
type v5Suite struct {
	// Doc is a suite of AgentV 4; nil if the file has errors.
	Doc *document.Document
	// Inputs are its source files, apart from the file itself.
	Inputs   []schema.Input
	Problems []schema.Problem
	// Needs maps the ids of tests to their unsupported needs.
	Needs map[string]string
	// Mistakes maps the ids of tests to mistakes of their templates.
	Mistakes map[string]schema.Problem
	// NeedOfAll is an unsupported need of every test, or empty.
	NeedOfAll string
	// Judges maps the ids of tests to their judges, for assertions without one.
	Judges map[string]document.Place
	// PerTarget is set if the tests run against several providers.
	PerTarget bool
}

// rewriteV5 reads a file of AgentV 5.
func rewriteV5(src document.Source, doc *document.Document) (out v5Suite) {
	if src.Budget != nil {
		return rewrite(src, doc)
	}
	_, out.Problems = src.Bounded(doc, func(src document.Source) ([]*schema.Case, []schema.Problem) {
		out = rewrite(src, doc)
		return nil, out.Problems
	})
	return out
}

func rewrite(src document.Source, doc *document.Document) v5Suite {
	src.Budget.Multiplies()
	r := &v5rewriter{templates: map[string]*document.Document{}, Source: src, doc: doc, out: v5Suite{Needs: map[string]string{}, Mistakes: map[string]schema.Problem{}, Judges: map[string]document.Place{}}}
	r.add(doc.Check("#EvalcaseV5", schema.Warning)...)
	r.shared = document.Place{Doc: doc, Path: []any{"default_test"}}
	if name := doc.Text("default_test"); name != "" {
		r.shared = document.Place{Doc: r.open(name, "default_test")}
		if r.shared.Doc != nil {
			r.add(r.shared.Doc.Check("#EvalcaseV5Shared", schema.Warning)...)
		}
	}
	if !doc.Has("tests") && doc.Items("scenarios") == 0 {
		r.add(doc.Problem("missing-field", "the suite has neither `tests` nor `scenarios`", "write a list of tests, each with an id"))
	}
	r.defaults = document.Place{Doc: doc, Path: []any{"defaults"}}
	if name := doc.Text("defaults"); name != "" {
		r.defaults = document.Place{Doc: r.open(name, "defaults")}
	}
	r.prompts = r.readPrompts()
	r.Budget.Within(document.Providers, doc.Items("providers"))
	r.providers = r.distinct(r.labels(doc.Part("providers")))
	if len(r.providers) == 0 {
		r.providers = []v5provider{{label: cmp.Or(r.defaults.Piece("provider"), r.formerTarget())}}
	}
	r.out.PerTarget = len(r.providers) > 1
	var shared []document.Piece
	for _, list := range r.sharedAsserts() {
		r.sharedFilled = r.sharedFilled || isTemplate(string(list.JSON())) || slices.ContainsFunc(list.List(), func(p document.Place) bool { return p.Has("include") })
	}
	if !r.sharedFilled {
		shared = r.assertions(v5row{}, r.sharedAsserts()...)
	}
	var tests []document.Piece
	all := r.tests()
	if r.sharedFilled {
		r.Budget.Within(document.Assertions, r.takenOver(all))
	}
	for _, p := range all {
		tests = append(tests, r.test(p)...)
		r.Budget.Found(len(r.out.Problems))
	}
	if schema.HasErrors(r.out.Problems) {
		return r.out
	}
	at := doc.At()
	fields := []document.NamedPiece{
		{Name: "tests", Piece: document.ListPiece(doc.At("tests"), tests...)},
		{Name: "assertions", Piece: document.ListPiece(at, shared...)},
	}
	fields = append(fields, document.NamedPiece{Name: "workspace", Piece: cmp.Or(doc.Piece("environment"), doc.Piece("workspace"))})
	for _, key := range []string{"name", "description", "category", "tags", "metadata", "input_files"} {
		fields = append(fields, document.NamedPiece{Name: key, Piece: doc.Piece(key)})
	}
	r.out.Doc = document.Compose(doc.File, document.ObjectPiece(at, fields...))
	return r.out
}

// takenOver counts the assertions that tests inherit from the shared settings.
func (r *v5rewriter) takenOver(tests []document.Place) int {
	shared := 0
	for _, list := range r.sharedAsserts() {
		shared += len(list.List())
	}
	n := 0
	for _, p := range tests {
		if !p.Truth("execution", "skip_defaults") {
			n += shared
		}
	}
	return n
}

// sharedAsserts are the assertions of all tests.
func (r *v5rewriter) sharedAsserts() []document.Place {
	return []document.Place{r.shared.Sub("assert"), {Doc: r.doc, Path: []any{"assert"}}}
}

// A v5rewriter rewrites one file.
type v5rewriter struct {
	document.Source
	doc      *document.Document
	out      v5Suite
	shared   document.Place // the settings shared by all tests; of no document without any
	defaults document.Place // the target and the judge where nothing else names one
	// sharedFilled says that assertions of all tests have variables, so that each test has
	// them among its own.
	sharedFilled bool
	depth        int // of templates that include others
	templates    map[string]*document.Document
	prompts      []v5prompt
	providers    []v5provider
	engine       template.Engine
}

func (r *v5rewriter) add(problems ...schema.Problem) {
	r.out.Problems = append(r.out.Problems, problems...)
}

func (r *v5rewriter) warn(p schema.Problem) {
	p.Severity = schema.Warning
	r.add(p)
}

// need records a need of a test; the first counts.
func (r *v5rewriter) need(id, what string) {
	if id != "" && r.out.Needs[id] == "" {
		r.out.Needs[id] = what
	}
}

// read reads a file that the suite names at a place.
func (r *v5rewriter) read(name, role string, at schema.Position) schema.File {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "file://"), "./")
	found := r.Read(document.Reference{At: at, Path: name, Role: role, Most: document.Limit(name)})
	r.out.Inputs = append(r.out.Inputs, found.Inputs...)
	r.add(found.Problems...)
	return found.File
}

// open reads a document that the suite names; nil if that fails.
func (r *v5rewriter) open(name string, at ...any) *document.Document {
	file := r.read(name, "suite", r.doc.At(at...))
	if file.Path == "" {
		return nil
	}
	doc, problems := document.Parse(file.Path, file.Data)
	r.add(problems...)
	return doc
}

// formerTarget is the target of a suite as AgentV had it before it had providers.
func (r *v5rewriter) formerTarget() document.Piece {
	for _, at := range [][]any{{"target"}, {"execution", "target"}} {
		for _, name := range [][]any{at, append(slices.Clip(at), "extends")} {
			if r.doc.Text(name...) != "" {
				return r.doc.Piece(name...)
			}
		}
	}
	return document.Piece{}
}

// A v5provider is a target of the tests.
type v5provider struct {
	label document.Piece // the name of a target; one that is missing is the default target
	// name is its label, with the position at; both are empty for the default target.
	name string
	at   schema.Position
	// prompts are the ids of those that it is sent; nil for all.
	prompts []string
	// transform applies to its answers.
	transform document.Place
}

// labels are the providers that a part names: a text, an object with a label or an id, a map of
// objects by their labels, a list of these, or the file with one. The names of targets in
// gavel.yaml are looked up later.
func (r *v5rewriter) labels(doc *document.Document) []v5provider {
	if doc == nil {
		return nil
	}
	if name := doc.Text(); strings.HasPrefix(name, "file://") {
		file := r.read(name, "providers", doc.At())
		if file.Path == "" {
			return nil
		}
		said, problems := document.Parse(file.Path, file.Data)
		if r.add(problems...); said == nil {
			return nil
		}
		doc = said
	}
	items := []document.Place{{Doc: doc}}
	if doc.IsList() {
		items = items[0].List()
	}
	var out []v5provider
	for _, p := range items {
		r.Budget.Go()
		if keys := p.Keys(); !doc.IsList() && !p.Has("label") && !p.Has("id") && !p.Has("name") && len(keys) > 0 && p.IsObject(keys[0]) {
			for _, key := range keys {
				out = append(out, v5provider{document.TextPiece(p.At(key), key), key, p.At(key), promptIDs(p.Sub(key)), p.Sub(key, "transform")})
			}
			continue
		}
		name := cmp.Or(p.Text(), p.Text("label"), p.Text("name"), p.Text("id"))
		if name == "" {
			r.add(doc.Problem("missing-field", "the provider has neither a label nor an id", `write the name of a target of gavel.yaml, or {label: …}`, p.Path...))
			continue
		}
		out = append(out, v5provider{document.TextPiece(p.At(), name), name, p.At(), promptIDs(p), p.Sub("transform")})
	}
	return out
}

// distinct leaves out providers that are like an earlier one: their cases would be the same,
// and are run once.
func (r *v5rewriter) distinct(all []v5provider) []v5provider {
	var out []v5provider
	seen := map[string]bool{}
	for _, p := range all {
		like := strings.Join(append([]string{p.name, p.transform.Text()}, p.prompts...), "\x00")
		if !seen[like] {
			out, seen[like] = append(out, p), true
			continue
		}
		problem := schema.Problem{
			Position: p.at, Severity: schema.Warning, Rule: "same-provider",
			Message: fmt.Sprintf("the provider %q is listed twice; its cases are run once", p.name), Hint: "remove it",
		}
		if !slices.Contains(r.out.Problems, problem) {
			r.add(problem)
		}
	}
	return out
}

// promptIDs are the prompts that a provider is limited to.
func promptIDs(p document.Place) []string {
	if !p.IsList("prompts") {
		return nil
	}
	return p.Strings("prompts")
}

// takes reports whether the provider is sent a prompt.
func (p v5provider) takes(id string) bool {
	return len(p.prompts) == 0 || slices.Contains(p.prompts, id)
}

// variables returns a test's variables on top of the shared ones, and their names in
// the file's order.
func (r *v5rewriter) variables(p document.Place) (vars template.Variables, pieces map[string]document.Piece, order []string) {
	vars, pieces = template.Variables{}, map[string]document.Piece{}
	for _, from := range []document.Place{r.shared.Sub("vars"), p.Sub("vars")} {
		if from.Doc == nil {
			continue
		}
		r.Budget.Spend(document.Parts, len(from.Doc.Keys(from.Path...)))
		for _, name := range from.Doc.Keys(from.Path...) {
			if _, known := vars[name]; !known {
				order = append(order, name)
			}
			vars[name], pieces[name] = from.Doc.JSON(from.Sub(name).Path...), from.Piece(name)
		}
	}
	for _, name := range []string{"input", "expected_output"} { // as data files have them
		if _, known := vars[name]; !known && p.Has(name) {
			vars[name], pieces[name], order = p.Doc.JSON(p.Sub(name).Path...), p.Piece(name), append(order, name)
		}
	}
	return vars, pieces, order
}

// listOfTexts are the texts of a variable that has several values.
func listOfTexts(raw json.RawMessage) []string {
	var texts []string
	if json.Unmarshal(raw, &texts) != nil || slices.Contains(texts, "") {
		return nil
	}
	return texts
}
