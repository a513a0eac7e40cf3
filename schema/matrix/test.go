package matrix

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/assertion"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/template"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// A test is a test of the file, merged with the shared settings.
type test struct {
	at          schema.Position
	description string
	vars        template.Variables
	order       []string           // the names of vars in the file's order
	inherited   template.Variables // those of defaultTest
	// varied is what a program returned for the variables; nil for none.
	varied *madeValue
	// functions make the values of variables.
	functions map[variableFunction]computation
	asserts   []written
	threshold *float64
	tags      []string
	inputs    []schema.Input
	// defaults is how many of asserts are the file's defaultTest's, which bare leaves out.
	defaults int
	bare     bool
	expands  bool   // lists of texts in vars multiply the test
	repeat   int    // samples of a case; 0 is the number of the file
	need     string // an unsupported need
	rescored bool   // factuality has its own scores
	// transform is of the answer, before assertions look at it. postprocess is its older
	// name, which counts where transform is not written.
	transform, postprocess string
	assessors              assessors
	provider               string // replaces the file's
	// variation adds to the variables; written are the previous ones, nil if nothing is
	// added.
	variation computation
	written   template.Variables
	// rubricPrompt replaces Gavel's question to judges.
	rubricPrompt string
	prefix       string
	suffix       string
	given        *given // in place of an answer of the target
	// prompts and providers are the test's own; nil for all.
	prompts, providers []string
	emptied            schema.Position // of an empty list of assertions
	// keeps is the name under which later tests have the answer; empty for none.
	keeps string
	// scoring decides by the results of the assertions; nil if their own rules do.
	scoring *written
}

// written is an assertion as it is written.
type written struct {
	Type      string          `json:"type"`
	Value     json.RawMessage `json:"value"`
	Threshold *float64        `json:"threshold"`
	Weight    *float64        `json:"weight"`
	Metric    string          `json:"metric"`
	Transform string          `json:"transform"`
	Config    json.RawMessage `json:"config"`
	// ContextTransform is the function that takes a context from the answer.
	ContextTransform string `json:"contextTransform"`

	at, valueAt  schema.Position
	need         string
	assessors    assessors
	rubricPrompt string
	program      *evaluator.Program
	code         string // of a file with a function that only computes
	set          []written
	column       string // of a table
}

// readShared reads the settings shared by all tests.
func (c *compiler) readShared() test {
	none := test{vars: template.Variables{}, expands: true}
	if !c.Doc.Has("defaultTest") {
		return none
	}
	if name := c.Doc.Text("defaultTest"); name != "" {
		doc := c.open(name, "defaultTest")
		if doc == nil {
			return none
		}
		return c.asDefault(c.readTest(doc, none))
	}
	return c.asDefault(c.readTest(c.Doc, none, "defaultTest"))
}

// asDefault marks the assertions of a test as those that tests may leave out. Its own
// disableDefaultAsserts is of scenarios alone, as in promptfoo.
func (c *compiler) asDefault(t test) test {
	t.defaults = len(t.asserts)
	c.bareScenarios, t.bare = t.bare, false
	return t
}

// strip leaves the default assertions out of the tests that do so.
func strip(tests []test) []test {
	for i, t := range tests {
		if t.bare {
			tests[i].asserts = t.asserts[t.defaults:]
		}
	}
	return tests
}

// open reads another file of the definition; nil if that fails, which is then a
// problem.
func (c *compiler) open(name string, at ...any) *document.Document {
	data := c.file(name, "tests", at...)
	if data.Path == "" {
		return nil
	}
	doc, problems := document.Parse(data.Path, data.Data)
	c.Problems = append(c.Problems, problems...)
	if doc == nil {
		return nil
	}
	doc, problems = doc.Dereferenced()
	c.Problems = append(c.Problems, problems...)
	return doc
}

// file reads a file that the definition names.
func (c *compiler) file(name, role string, at ...any) schema.File {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "file://"), "./")
	found := c.Read(document.Reference{At: c.Doc.At(at...), Path: name, Role: role, Most: document.Limit(name)})
	c.Problems, c.inputs = append(c.Problems, found.Problems...), append(c.inputs, found.Inputs...)
	return found.File
}

// readTests reads the tests of the file and of the files that it names. A file without
// tests has one test with the shared settings, as if its list were empty.
func (c *compiler) readTests() []test {
	c.Budget.At("tests")
	switch {
	case c.Doc.Has("scenarios") && !c.Doc.Has("tests"):
		return c.scenarios()
	case !c.Doc.Has("tests"):
		one := c.shared
		one.at = c.Doc.At()
		return []test{one}
	case c.Doc.Text("tests") != "":
		return append(c.testsOf(c.Doc.Text("tests"), "tests"), c.scenarios()...)
	case c.Doc.Text("tests", "path") != "":
		return append(c.generated(c.Doc, "tests"), c.scenarios()...)
	case !c.Doc.IsList("tests"):
		c.Fail("wrong-type", "`tests` must be a list of tests or the name of a file", "write - vars: {…} for each test, or file://tests.csv", "tests")
		return nil
	}
	var all []test
	for i := range c.Doc.Items("tests") {
		if name := c.Doc.Text("tests", i); name != "" {
			all = append(all, c.testsOf(name, "tests", i)...)
			continue
		}
		if c.Doc.Text("tests", i, "path") != "" {
			all = append(all, c.generated(c.Doc, "tests", i)...)
			continue
		}
		all = append(all, c.oneTest(c.Doc, c.shared, "tests", i))
	}
	if all = append(all, c.scenarios()...); len(all) == 0 && !c.Doc.Has("scenarios") && c.Doc.Items("tests") == 0 {
		one := c.shared
		one.at = c.Doc.At("tests")
		return []test{one}
	}
	return all
}

// scenarios returns tests multiplied by settings: each setting is shared by the tests
// of its scenario.
func (c *compiler) scenarios() []test {
	var all []test
	for i := range c.Doc.Items("scenarios") {
		c.Budget.At("scenarios", i)
		at := []any{"scenarios", i}
		name := c.Doc.Text(at...)
		if name == "" {
			all = append(all, c.scenario(c.Doc, at...)...)
			continue
		}
		files := []string{name}
		if wildcard.IsGlob(name) {
			files = c.glob(name, "scenarios", c.Doc.At(at...))
		}
		for _, file := range files {
			if doc := c.open(file, at...); doc != nil {
				all = append(all, c.scenario(doc)...)
			}
		}
	}
	return all
}

// scenario returns the tests of one scenario.
func (c *compiler) scenario(doc *document.Document, at ...any) []test {
	in := func(steps ...any) []any { return append(slices.Clip(at), steps...) }
	c.Problems = append(c.Problems, doc.CheckPart("#MatrixScenario", schema.Warning, at...)...)
	if doc.Items(in("config")...) == 0 {
		c.Problems = append(c.Problems, doc.Problem("missing-field", "the scenario has no list `config`, and so no test", "write config: with a list of {vars: …}, and tests: with the tests for each", at...))
		return nil
	}
	var all []test
	shared := c.shared
	shared.bare = c.bareScenarios
	for n := range doc.Items(in("config")...) {
		all = append(all, c.scenarioTests(doc, c.readTest(doc, shared, in("config", n)...), in("tests")...)...)
	}
	return all
}

// scenarioTests returns the tests of a scenario with one of its settings, which is a
// test itself if there are none.
func (c *compiler) scenarioTests(doc *document.Document, shared test, at ...any) []test {
	if name := doc.Text(at...); name != "" {
		outer, outerShared := c.Doc, c.shared
		defer func() { c.Doc, c.shared = outer, outerShared }()
		c.Doc, c.shared = doc, shared
		return c.testsOf(name, at...)
	}
	if !doc.Has(at...) {
		c.Budget.Spend(document.Tests, 1)
		return []test{shared}
	}
	var all []test
	for k := range doc.Items(at...) {
		all = append(all, c.oneTest(doc, shared, append(slices.Clip(at), k)...))
	}
	if len(all) == 0 {
		c.Problems = append(c.Problems, doc.Problem("wrong-type", "`tests` of the scenario has no test", "write a list of tests, or remove the key for one test with each setting", at...))
	}
	return all
}

// testsOf reads the tests of another file.
func (c *compiler) testsOf(name string, at ...any) []test {
	scheme, _, isURL := strings.Cut(name, "://")
	file, _ := assertion.SplitFunction(name)
	switch ext := path.Ext(name); {
	case isURL && scheme != "file":
		c.leaveOut("tests that are fetched from the net")
		c.Warn("not-read", fmt.Sprintf("the tests of %s are fetched from the net and are not read", template.Clip(name)), "download them and name the file", at...)
		return nil
	case wildcard.IsGlob(name):
		var all []test
		for _, found := range c.glob(name, "tests", c.Doc.At(at...)) {
			all = append(all, c.testsOf(found, at...)...)
		}
		return all
	case isCode[path.Ext(file)]:
		return c.testsByFunction(name, configured{}, at...)
	case ext == ".csv":
		return c.csvTests(c.file(name, "tests", at...))
	case workbook.MatchString(name):
		c.leaveOut("tests in a workbook of Excel")
		c.Warn("not-read", fmt.Sprintf("the tests of %s are in a workbook of Excel and are not read", template.Clip(name)), "save each sheet as CSV (UTF-8, comma delimited) and name that file", at...)
		return nil
	case !listing[ext]:
		c.Fail("wrong-value", fmt.Sprintf("the tests of %s are in no file of a type that has tests", template.Clip(name)), "name a file of YAML, JSON, JSONL, CSV, JavaScript or Python", at...)
		return nil
	}
	return c.listedTests(c.open(name, at...))
}

// workbook matches the name of a file of Excel, which may be followed by a sheet.
var workbook = lazyregexp.New(`\.xlsx?(?:#.*)?$`)

// listing are the types of files with a list of tests.
var listing = map[string]bool{".yaml": true, ".yml": true, ".json": true, ".jsonl": true}

// leaveOut counts tests of which only the need is known.
func (c *compiler) leaveOut(need string) {
	c.skipped[need]++
	c.absent++
}

// listedTests returns the tests of a document that has nothing else; nil has none.
func (c *compiler) listedTests(doc *document.Document) []test {
	if doc == nil {
		return nil
	}
	c.tables[doc.File] = true
	if !doc.IsList() {
		return []test{c.oneTest(doc, c.shared)}
	}
	var all []test
	for i := range doc.Items() {
		all = append(all, c.oneTest(doc, c.shared, i))
	}
	return all
}

// glob returns the files that match a name with wildcards, as absolute paths of the
// repository. A name without a file is a problem of the whole definition.
func (c *compiler) glob(name, role string, at schema.Position) []string {
	files, problems := c.matching(name, role, at)
	c.Problems = append(c.Problems, problems...)
	return files
}

// matching is like glob, and returns the problems. The folders are inputs.
func (c *compiler) matching(name, role string, at schema.Position) ([]string, []schema.Problem) {
	files, folders, problems := c.Matching(at, strings.TrimPrefix(name, "file://"))
	for _, folder := range folders {
		c.inputs = append(c.inputs, schema.Input{File: folder, Role: role})
	}
	if len(problems)+len(files) == 0 {
		problems = append(problems, schema.Problem{Position: at, Severity: schema.Error, Rule: "missing-file", Message: fmt.Sprintf("no file fits %q", template.Clip(name)), Hint: "correct the path, or name each file"})
	}
	return files, problems
}

// oneTest reads one of many tests.
func (c *compiler) oneTest(doc *document.Document, shared test, at ...any) test {
	c.Budget.Spend(document.Tests, 1)
	t := c.readTest(doc, shared, at...)
	c.Budget.Found(len(c.Problems) + len(c.wrong))
	return t
}

// inherit counts a test's inherited assertions and parts against the budget.
func (c *compiler) inherit(shared test) {
	for _, a := range shared.asserts {
		c.Budget.Spend(document.Assertions, a.count())
	}
	c.Budget.Spend(document.Parts, len(shared.vars)+len(shared.inputs)+len(shared.tags))
}

// count returns the number of assertions in one, including its set.
func (a written) count() int {
	n := 1
	for _, part := range a.set {
		n += part.count()
	}
	return n
}

// readTest reads one test on top of the shared settings.
func (c *compiler) readTest(doc *document.Document, shared test, at ...any) test {
	in := func(steps ...any) []any { return append(at[:len(at):len(at)], steps...) }
	t := shared
	c.inherit(shared)
	c.note(&t, testProblems(doc, at...))
	t.emptied = schema.Position{}
	if doc.IsList(in("assert")...) && doc.Items(in("assert")...) == 0 {
		t.emptied = doc.At(in("assert")...)
	}
	t.at, t.description = doc.At(at...), doc.Text(in("description")...)
	t.asserts, t.inputs = slices.Clone(shared.asserts), slices.Clone(shared.inputs)
	t.vars, t.order, t.inherited = maps.Clone(shared.vars), slices.Clone(shared.order), shared.vars
	t.functions = maps.Clone(shared.functions)
	c.readScoring(&t, doc, in("assertScoringFunction")...)
	t.readGiven(doc.JSON(in("providerOutput")...))
	c.readOptions(&t, doc, in("options")...)
	c.readVars(&t, doc, in("vars")...)
	for i := range doc.Items(in("assert")...) {
		t.asserts = append(t.asserts, c.readAssertion(&t, doc, in("assert", i)...))
	}
	if n, ok := document.ParseNumber(doc.JSON(in("threshold")...)); ok {
		t.threshold = &n
	}
	if t.rescored && t.need == "" && slices.ContainsFunc(t.asserts, func(a written) bool { return strings.HasSuffix(a.Type, "factuality") }) {
		t.need = "a factuality with scores of its own (options.factuality)"
	}
	if id := cmp.Or(doc.Text(in("provider")...), doc.Text(in("provider", "id")...)); id != "" {
		t.provider = id
	}
	if doc.Has(in("prompts")...) {
		t.prompts = c.chosen(&t, doc, "prompt", in("prompts")...)
	}
	if doc.Has(in("providers")...) {
		t.providers = c.chosen(&t, doc, "provider", in("providers")...)
	}
	for _, tag := range append([]string{doc.Text(in("metadata", "category")...)}, doc.Text(in("metadata", "tags")...)) {
		if tag != "" {
			t.tags = append(slices.Clip(t.tags), tag)
		}
	}
	for i := range doc.Items(in("metadata", "tags")...) {
		if tag := doc.Text(in("metadata", "tags", i)...); tag != "" {
			t.tags = append(slices.Clip(t.tags), tag)
		}
	}
	return t
}

const corrected = "a test without errors"

// note records problems of a test. Its errors exclude only its own cases.
func (c *compiler) note(t *test, found []schema.Problem) {
	for _, p := range found {
		if p.Severity != schema.Error {
			c.Problems = append(c.Problems, p)
			continue
		}
		c.wrong = append(c.wrong, p)
		t.need = cmp.Or(t.need, corrected)
	}
}

// lost are the names under which people write assertions that nobody reads.
var lost = []string{
	"asserts", "assertion", "assertions", "expect", "expects", "expected", "expectation", "expectations", "expected_output", "check", "checks", "evaluator", "evaluators",
	"grader", "graders", "scorer", "scorers", "rubric", "rubrics", "criteria", "__expected",
}

// testProblems returns the mistakes in the form of a test. A key that hides its
// assertions is an error, unlike other unknown keys.
func testProblems(doc *document.Document, at ...any) []schema.Problem {
	found := doc.CheckPart("#MatrixTest", schema.Note, at...)
	for _, key := range doc.Keys(at...) {
		place := doc.At(append(slices.Clip(at), key)...)
		p := schema.Problem{Position: place, Severity: schema.Error, Rule: "unknown-field", Message: fmt.Sprintf("unknown field `%s`", key), Hint: "write assert: with a list of assertions, such as {type: contains, value: …}"}
		switch {
		case key == "tests" && len(at) == 0:
			p.Hint = "the file has nothing but a list of tests; write it without the key"
		case !slices.Contains(lost, key):
			continue
		}
		found = slices.DeleteFunc(found, func(p schema.Problem) bool { return p.Position == place })
		found = append(found, p)
	}
	return schema.SortProblems(found)
}

// assertionProblems returns the mistakes in the form of an assertion. One that has its
// type as a key, as in {contains: x}, gets the right form as a hint.
func assertionProblems(doc *document.Document, at ...any) []schema.Problem {
	found := doc.CheckPart("#MatrixAssertion", schema.Note, at...)
	in := func(name string) []any { return append(slices.Clip(at), name) }
	i := slices.IndexFunc(doc.Keys(at...), func(key string) bool { return ReadsAssertion(strings.TrimPrefix(key, "not-")) })
	if i < 0 || doc.Has(in("type")...) {
		return found
	}
	kind := doc.Keys(at...)[i]
	p := doc.Problem("missing-field", fmt.Sprintf("the assertion has no `type`, and %s is the name of one", kind), fmt.Sprintf("write type: %s, and value: with what it looks for", kind), in(kind)...)
	return []schema.Problem{p}
}

// readAssertion reads one assertion.
func (c *compiler) readAssertion(t *test, doc *document.Document, at ...any) written {
	var a written
	c.Budget.Spend(document.Assertions, 1)
	if doc.Text(at...) != "" {
		p := doc.Problem("wrong-type", "an assertion in words is one of AgentV, whose tests have an id each", "write {type: llm-rubric, value: …}, or add the `id` to every test", at...)
		c.note(t, []schema.Problem{p})
		return written{need: corrected}
	}
	if ref := doc.Text(append(at[:len(at):len(at)], "$ref")...); ref != "" {
		c.note(t, []schema.Problem{doc.Problem("missing-reference", "the assertion of the reference "+template.Clip(ref)+" is not in the file", "add it under assertionTemplates, or correct the name", append(at[:len(at):len(at)], "$ref")...)})
		return written{need: corrected}
	}
	found := assertionProblems(doc, at...)
	c.note(t, found)
	if json.Unmarshal(doc.JSON(at...), &a) != nil {
		if !schema.HasErrors(found) {
			c.note(t, []schema.Problem{doc.Problem("wrong-type", "the assertion cannot be read", "write an object with type and value", at...)})
		}
		return written{need: corrected}
	}
	in := func(steps ...any) []any { return append(at[:len(at):len(at)], steps...) }
	a.at, a.valueAt = doc.At(at...), doc.At(at...)
	if doc.Has(in("value")...) {
		a.valueAt = doc.At(in("value")...)
	}
	switch {
	case schema.HasErrors(found):
		a.need = corrected
	case doc.Has(in("contextTransform")...) && !slices.Contains(countedKinds, strings.TrimPrefix(a.Type, "not-")):
		a.need = "`contextTransform` of an assertion"
	}
	a.Transform = c.transformCode(t, a.Transform, doc.At(in("transform")...))
	if a.need == "" && a.ContextTransform != "" {
		code := c.transformCode(t, a.ContextTransform, doc.At(in("contextTransform")...))
		a.ContextTransform = cmp.Or(code, a.ContextTransform) // a file that is not there is one problem
	}
	a.assessors, _ = c.assessors(doc, in("provider")...)
	a.rubricPrompt = c.prompt(t, doc, in("rubricPrompt")...)
	for i := range doc.Items(in("assert")...) {
		a.set = append(a.set, c.readAssertion(t, doc, in("assert", i)...))
	}
	c.resolve(t, &a, a.valueAt)
	return a
}

// resolve reads the target of an assertion's value: code, or a file.
func (c *compiler) resolve(t *test, a *written, at schema.Position) {
	kind := strings.TrimPrefix(a.Type, "not-")
	switch name, isFile := fileName(a.Value); {
	case codes[kind]:
		c.function(t, a, kind, at)
	case isFile && a.need == "" && ReadsAssertion(kind):
		a.Value = c.valueFile(t, name, at)
	}
}

// valueFile returns the value of a JSON or YAML file, and the text of any other.
func (c *compiler) valueFile(t *test, name string, at schema.Position) json.RawMessage {
	text := c.varFile(t, "value", name, at)
	s, isText := document.ParseText(text)
	kind, parsed := map[string]string{".json": "JSON", ".yaml": "YAML", ".yml": "YAML"}[path.Ext(name)]
	if !parsed || !isText {
		return text
	}
	if !json.Valid([]byte(s)) {
		c.note(t, []schema.Problem{{Position: at, Severity: schema.Error, Rule: "value-file", Message: fmt.Sprintf("the file %s is not %s", template.Clip(name), kind), Hint: "correct it, or name a .txt file if its text is meant"}})
		return text
	}
	return json.RawMessage(s)
}

// assessors are targets in the place of the roles; empty for a role.
type assessors struct{ judge, embedder, classifier, moderator string }

// over returns one's targets, completed by another's.
func (a assessors) over(b assessors) assessors {
	return assessors{cmp.Or(a.judge, b.judge), cmp.Or(a.embedder, b.embedder), cmp.Or(a.classifier, b.classifier), cmp.Or(a.moderator, b.moderator)}
}

// assessors returns the targets in a provider of an assertion or of options: one, or
// one for each of its tasks.
func (c *compiler) assessors(doc *document.Document, at ...any) (of assessors, isOne bool) {
	named := func(at ...any) string {
		id := cmp.Or(doc.Text(at...), doc.Text(append(slices.Clip(at), "id")...))
		if id == "" {
			return ""
		}
		target, _, problem := c.find(id)
		if problem != nil {
			problem.Position = doc.At(at...)
			problem.Severity = schema.Warning
			problem.Message = fmt.Sprintf("the provider %q is not a target in gavel.yaml; the role judges in its place", template.Clip(id))
			c.Problems = append(c.Problems, *problem)
			return ""
		}
		return c.Settings.Judge(target)
	}
	of = assessors{
		named(append(slices.Clip(at), "text")...), named(append(slices.Clip(at), "embedding")...),
		named(append(slices.Clip(at), "classification")...), named(append(slices.Clip(at), "moderation")...),
	}
	if one := named(at...); one != "" {
		return assessors{one, one, one, one}, true
	}
	return of, false
}

// prompt returns a judge's prompt: a text, messages as JSON, or the text of a file.
func (c *compiler) prompt(t *test, doc *document.Document, at ...any) string {
	raw := doc.JSON(at...)
	if name, isFile := fileName(raw); isFile {
		raw = c.varFile(t, "prompt", name, doc.At(at...))
	}
	var items []json.RawMessage
	if doc.Items(at...) > 0 && json.Unmarshal(raw, &items) == nil {
		for i, item := range items {
			if name, isFile := fileName(item); isFile {
				items[i] = c.varFile(t, "prompt", name, doc.At(append(slices.Clip(at), i)...))
			}
		}
		raw, _ = json.Marshal(items) // JSON values
	}
	return template.Written(raw)
}
