// Package matrix reads the matrix dialect: a file is prompts × vars × assertions, as in
// promptfooconfig.yaml. Every row of the matrix is a case.
//
// Most callers want [Load]. A row with an unsupported need, such as a program, is a
// case that is listed and not run; the other rows of the file run.
package matrix

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/chat"
	"github.com/gavel-evals/gavel/schema/document"

	"github.com/gavel-evals/gavel/schema/suggest"
	"github.com/gavel-evals/gavel/schema/template"
)

const (
	// defaultTimeout bounds a sample if neither the target nor gavel.yaml does.
	defaultTimeout = 120 * time.Second
	// maxToolRounds ends the tool loop of a model.
	maxToolRounds = 16
	// maxRepeat bounds the samples of a case.
	maxRepeat = 1000
)

// Load compiles the rows of a file to cases. The cases of a test with errors are not run;
// a file with other errors compiles to none.
func Load(src document.Source, doc *document.Document) ([]*schema.Case, []schema.Problem) {
	return src.Bounded(doc, func(src document.Source) ([]*schema.Case, []schema.Problem) {
		src.Budget.Multiplies()
		return compile(src, doc)
	})
}

func compile(src document.Source, doc *document.Document) ([]*schema.Case, []schema.Problem) {
	doc, problems := doc.Dereferenced()
	c := &compiler{Source: src, Complaints: document.Complaints{Doc: doc, Problems: append(problems, fileProblems(doc)...)}, skipped: map[string]int{}, counted: map[string]int{}, tables: map[string]bool{}, keeping: map[int][]*schema.Case{}, keptBy: map[*schema.Case]schema.Kept{}, inputsOf: map[inputKey][]schema.Input{}, scanner: newScanner()}
	if !doc.IsObject() || schema.HasErrors(c.Problems) {
		return nil, schema.SortProblems(c.Problems)
	}
	cases := c.build()
	if schema.HasErrors(c.Problems) {
		cases = nil
	}
	return cases, schema.SortProblems(append(c.Problems, c.wrong...))
}

// fileProblems returns the mistakes in the form of a file. Assertions next to the tests
// get a hint about their place, since nothing evaluates them there.
func fileProblems(doc *document.Document) []schema.Problem {
	found := doc.Check("#Matrix", schema.Warning)
	for i, p := range found {
		for _, key := range append([]string{"assert"}, lost...) {
			if p.Rule == "unknown-field" && doc.Has(key) && doc.At(key) == p.Position {
				found[i].Severity, found[i].Message, found[i].Hint = schema.Error, fmt.Sprintf("`%s` is not read here, and its assertions are not asked", key), "move it under defaultTest: as assert:"
			}
		}
	}
	return found
}

// A compiler compiles the cases of one file.
type compiler struct {
	document.Source
	document.Complaints
	inputs    []schema.Input
	wrong     []schema.Problem // errors of single tests, whose cases are not run
	tables    map[string]bool  // files that only have tests
	prompts   []prompt
	providers []provider
	shared    test
	// bareScenarios means that scenarios leave the assertions of defaultTest out.
	bareScenarios bool
	// strangers are the problems of providers that are not targets. They are errors if
	// no provider is one.
	strangers []schema.Problem
	counted   map[string]int            // of the names of providers
	skipped   map[string]int            // rows by their needs
	missing   map[string]map[string]int // rows by the prompt and the variable that they lack
	sent      map[string]int            // rows by their prompt
	lacking   map[schema.Position]*lack // by the place of an assertion's value
	hook      string                    // a need of every row; empty for none
	base      string                    // the file of the definition
	absent    int                       // how many of them make no case, as tests from the net
	inputsOf  map[inputKey][]schema.Input
	scanner   *scanner
	engine    template.Engine
	caller    jsCaller
	misreads  map[schema.Problem]bool // reported by misread
	keeping   map[int][]*schema.Case  // the cases of rows whose answers others have
	keptBy    map[*schema.Case]schema.Kept
	makings   int // programs that made a part of the file
	made      madeVariables
}

// A provider is one of the targets that every row runs against.
type provider struct {
	target    string
	id, label string // as they are written
	// prompts are the labels that it is limited to; nil for all.
	prompts []string
	config  json.RawMessage
	// tools are its config's, as written.
	tools []json.RawMessage
	// transform is of its answers, before assertions look at them; empty for none.
	transform string
	need      string // of its cases
}

func (c *compiler) build() []*schema.Case {
	c.readHooks()
	if c.Doc.Has("redteam") {
		c.Warn("not-read", "`redteam` is not read", "generate the tests with promptfoo and commit them; tests are run, and their generation is not", "redteam")
	}
	c.inputs = append(c.inputs, schema.Input{File: c.Doc.File, Role: "definition"})
	c.base, c.caller.Budget = c.Doc.File, c.Functions
	c.engine.Later = map[string]string{"_conversation": "the answers of other tests (_conversation)"}
	c.engine.Kept = schema.HasKept
	c.engine.Environment = map[string]string{}
	for _, name := range c.Doc.Keys("env") {
		c.engine.Environment[name] = template.Written(c.Doc.JSON("env", name))
	}
	c.readFilters()
	c.prompts = c.readPrompts()
	c.providers = c.readProviders()
	c.shared = c.readShared()
	tests := strip(c.readTests())
	if schema.HasErrors(c.Problems) {
		return nil
	}
	rows := c.expand(tests)
	c.makeVariables(rows)
	var cases []*schema.Case
	for i, row := range c.name(rows) {
		made := c.cases(row)
		if row.test.keeps != "" {
			c.keeping[i] = made
		}
		cases = append(cases, made...)
		c.Budget.Found(len(c.Problems) + len(c.wrong))
	}
	c.reportSkipped(len(cases))
	c.reportSilent(tests)
	c.reportMissing(rows)
	c.reportLacking(rows)
	return cases
}

// readHooks reads the hooks of the file, which are not run. They may change the variables of
// every row, so that no row is judged without them; one after all rows changes none.
func (c *compiler) readHooks() {
	const key = "extensions"
	var names []string
	if !c.Doc.IsList(key) && c.Doc.Has(key) && string(c.Doc.JSON(key)) != "null" {
		names = append(names, c.Doc.Text(key))
	}
	for i := range c.Doc.Items(key) {
		names = append(names, c.Doc.Text(key, i))
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ":afterAll") {
			c.hook = "a hook (extensions)"
		}
	}
	switch {
	case c.hook != "":
		c.Warn("not-read", "the hooks of `extensions` are not run, and no row is judged without them", "write what they do into the tests, or remove them", key)
	case len(names) > 0:
		c.Warn("not-read", "`extensions` is not read", "remove it; the tests are run without it", key)
	}
}

// reportSkipped reports in one line how many rows are supported. Tests with errors have their
// own problems.
func (c *compiler) reportSkipped(all int) {
	unread := maps.Clone(c.skipped)
	delete(unread, corrected)
	if said := document.Unread(unread, all+c.absent-c.skipped[corrected]); said != "" {
		c.Warn(document.RuleUnread, said, document.HintUnread, "tests")
	}
}

// cases returns the cases of one row: one for every prompt and target.
func (c *compiler) cases(r row) []*schema.Case {
	var cases []*schema.Case
	r.listed = r.list()
	for at, p := range c.prompts {
		c.Budget.Go()
		local := r.name
		if p.id != "" {
			local += "/" + p.id
		}
		for _, t := range c.asked(r) {
			if t.prompts != nil && !p.isAmong(t.prompts) || r.test.prompts != nil && !p.isAmong(r.test.prompts) {
				continue
			}
			c.Budget.Spend(document.Cases, 1)
			made := c.oneCase(r, p, t, local)
			made.Labels.GridColumn = 1 + at*(len(c.providers)+1) + c.place(t)
			cases = append(cases, made)
		}
	}
	if len(cases) == 0 && r.test.need == "" {
		p := schema.Problem{Position: r.test.at, Severity: schema.Warning, Rule: "no-row", Message: "the test has no row: no prompt is sent to any provider that it names", Hint: "correct its prompts and providers, or the prompts of the providers"}
		c.Problems = append(c.Problems, p)
	}
	c.compare(cases)
	return cases
}

// place returns the place of a provider in the file; one of a single test comes last.
func (c *compiler) place(t provider) int {
	if i := slices.IndexFunc(c.providers, func(p provider) bool { return p.target == t.target }); i >= 0 {
		return i
	}
	return len(c.providers)
}

// asked returns the providers of a row: the file's, or the test's own one.
func (c *compiler) asked(r row) []provider {
	if c.Settings.Against != "" {
		return c.providers
	}
	if r.test.provider == "" {
		return slices.DeleteFunc(slices.Clone(c.providers), func(p provider) bool { return r.test.providers != nil && !p.isAmong(r.test.providers) })
	}
	target, _, problem := c.find(r.test.provider)
	if problem != nil {
		return []provider{{target: r.test.provider, need: fmt.Sprintf("a target for the provider %s", template.Clip(r.test.provider))}}
	}
	for _, p := range c.providers {
		if p.target == target {
			return []provider{{target: target, id: r.test.provider, tools: p.tools, need: p.need}}
		}
	}
	return []provider{{target: target, id: r.test.provider}}
}

func (c *compiler) oneCase(r row, p prompt, t provider, local string) *schema.Case {
	tc := &schema.Case{
		CaseInfo: schema.CaseInfo{
			Key: c.Key(c.Doc.File, local), Dialect: schema.DialectMatrix, Origin: r.test.at,
			Labels: schema.Labels{Name: schema.ShowKept(r.title()), Description: r.test.description, Tags: r.test.tags, Prompt: p.name(), Vars: r.listed, Groups: []string{c.Key(c.Doc.File, "")}},
			Target: t.target, PerTarget: len(c.providers) > 1, Weight: 1,
			Inputs: c.rowInputs(r, p),
		},
		Policy: schema.Policy{
			Iterations: cmp.Or(r.test.repeat, c.repeat()), MaxToolRounds: maxToolRounds, Timeout: c.timeout(t.target),
			Every: true, // promptfoo judges each repetition as a row of its own
		},
	}
	r = c.called(r, p, t)
	skip := cmp.Or(r.test.need, c.hook, r.need, t.need)
	c.engine.Missing()
	if err := c.send(tc, p, r, t); err != nil {
		skip = cmp.Or(skip, c.misread(err, p.at))
	}
	c.countMissing(p)
	if err := c.offer(tc, r, t); err != nil {
		skip = cmp.Or(skip, c.misread(err, r.test.at))
	}
	if c.Settings.Targets[t.target].TakesRow && r.test.given == nil {
		tc.Drive.Row, _ = json.Marshal(map[string]any{"vars": r.resolved, "prompt": map[string]any{"raw": p.template(), "label": p.label}}) // JSON and texts
		c.Budget.Spend(document.Text, len(tc.Drive.Row))
	}
	if tc.Drive.Given = r.test.given.answer(); tc.Drive.Given != nil {
		c.Budget.Spend(document.Text, len(*tc.Drive.Given))
	}
	tc.Row = &schema.Row{Vars: shown(r.resolved), Prompt: p.template(), Label: p.label, PromptFile: p.file, Test: r.name, Description: r.test.description}
	if tc.System != "" {
		tc.Layers = []schema.Layer{{File: p.file, Text: tc.System}}
	}
	j := judgement{
		threshold: r.test.threshold, prompt: chat.Prompt{System: tc.System, Messages: tc.Drive.Messages}.Text(), transforms: []string{t.transform, cmp.Or(r.test.transform, r.test.postprocess)}, by: r.test.assessors,
		given: r.test.given, structured: c.Settings.Targets[t.target].Structured && r.test.given == nil, test: r.test, provider: t,
		rubricPrompt: r.test.rubricPrompt, names: map[string]int{}, engine: &c.engine, budget: c.Budget, scanner: c.scanner,
	}
	if r.test.scoring != nil {
		j.decidesAlone()
	}
	c.engine.Missing()
	for _, a := range r.test.asserts {
		c.Budget.Spend(document.Evaluators, a.count())
		tc.Row.Asserts = append(tc.Row.Asserts, schema.RowAssertion{Type: a.Type, Value: a.Value, Threshold: a.Threshold, Weight: a.Weight, Metric: a.Metric})
		if err := j.add(a, r.resolved); err != nil {
			skip = cmp.Or(skip, c.misread(r.filled(j.failed, err), cmp.Or(j.failed.valueAt, r.test.at)))
		}
		c.noteLacking(a, r.test)
	}
	if r.test.scoring != nil && len(j.evaluators) > 0 && skip == "" {
		if err := j.score(r.resolved); err != nil {
			skip = c.misread(r.filled(j.failed, err), cmp.Or(j.failed.valueAt, r.test.at))
		}
	}
	tc.Evaluators, tc.Policy.Bands = j.result()
	if err := c.keep(tc, r, &j); err != nil {
		skip = cmp.Or(skip, err.Error())
	}
	if skip != "" {
		c.skip(tc, skip)
	}
	return tc
}

// timeout bounds a sample.
func (c *compiler) timeout(target string) time.Duration {
	if t := c.Settings.Targets[target].Timeout; t > 0 {
		return t
	}
	if c.Settings.Timeout > 0 {
		return c.Settings.Timeout
	}
	return defaultTimeout
}

// repeat returns the number of samples of a case whose test does not say it.
func (c *compiler) repeat() int {
	return cmp.Or(repeat(c.Doc.JSON("evaluateOptions", "repeat")), max(1, c.Settings.Iterations))
}

// repeat returns a number of samples, or 0 if a value is none.
func repeat(value json.RawMessage) int {
	if n, ok := document.ParseNumber(value); ok && n >= 1 && n <= maxRepeat && n == math.Trunc(n) {
		return int(n)
	}
	return 0
}

// readProviders finds the targets of the file.
func (c *compiler) readProviders() []provider {
	field := "providers"
	if !c.Doc.Has(field) && c.Doc.Has("targets") {
		field = "targets"
	}
	var all []provider
	switch {
	case !c.Doc.Has(field):
		all = append(all, provider{target: c.Settings.DefaultTarget, id: c.Settings.DefaultTarget})
	case c.Doc.Text(field) != "":
		all = append(all, c.withFile(c.provider([]string{c.Doc.Text(field)}, nil, field), c.Doc.Text(field), field))
	case c.Doc.IsList(field):
		c.Budget.At(field)
		for i := range c.Doc.Items(field) {
			c.Budget.Spend(document.Providers, 1)
			all = append(all, c.listed(field, i))
		}
		if len(all) == 0 {
			c.Fail("no-provider", "`"+field+"` has no provider", "name a target of gavel.yaml or a model such as openai:chat:gpt-5, or remove the key for the default target", field)
		}
	default:
		c.Fail("wrong-type", "`"+field+"` must be a name or a list of names", "write the names of targets in gavel.yaml, or of their aliases", field)
	}
	if against := c.Settings.Against; against != "" {
		return []provider{as(all, against)}
	}
	if len(c.strangers) == len(all) {
		c.Problems = append(c.Problems, c.strangers...)
	}
	return c.distinct(all, field)
}

// as returns the provider that is a target, with its name and settings and for all prompts.
func as(all []provider, target string) provider {
	i := slices.IndexFunc(all, func(p provider) bool { return p.target == target })
	if i < 0 {
		return provider{target: target, id: target}
	}
	p := all[i]
	p.prompts = nil
	return p
}

// distinct leaves out providers that are the target of an earlier one: their cases
// would be the same.
func (c *compiler) distinct(all []provider, field string) []provider {
	var out []provider
	for i, p := range all {
		same := slices.ContainsFunc(out, func(o provider) bool {
			return o.target == p.target && o.transform == p.transform && slices.Equal(o.prompts, p.prompts) && (o.prompts == nil) == (p.prompts == nil)
		})
		if !same {
			out = append(out, p)
			continue
		}
		c.Warn("same-provider", fmt.Sprintf("the provider is the target %q, as an earlier one is; its cases are not run again", p.target), "give each provider a target of its own in gavel.yaml, or remove it", field, i)
	}
	return out
}

// listed reads an item of the list of providers: a name, {id, label, prompts} or
// {name: {…}}.
func (c *compiler) listed(field string, i int) provider {
	if name := c.Doc.Text(field, i); name != "" {
		return c.withFile(c.provider([]string{name}, nil, field, i), name, field, i)
	}
	var names, prompts []string
	for _, key := range []string{"label", "id"} {
		if name := c.Doc.Text(field, i, key); name != "" {
			names = append(names, name)
		}
	}
	if keys := c.Doc.Keys(field, i); len(names) == 0 && len(keys) == 1 {
		names = keys
	}
	label, id := c.Doc.Text(field, i, "label"), c.Doc.Text(field, i, "id")
	if len(names) == 0 {
		c.Fail("missing-field", "the provider has no `id`", `add "id": …`, field, i)
		return provider{}
	}
	for _, at := range [][]any{{field, i, "prompts"}, {field, i, names[0], "prompts"}} {
		if !c.Doc.Has(at...) {
			continue
		}
		prompts = []string{}
		for n := range c.Doc.Items(at...) {
			prompts = append(prompts, c.Doc.Text(append(at, n)...))
		}
	}
	p := c.provider(names, prompts, field, i)
	p.label, p.id, p.config = label, cmp.Or(id, names[0]), c.Doc.JSON(field, i, "config")
	if c.toolsOf(&p, c.Doc, field, i, "config", "tools"); len(p.tools) == 0 {
		p = c.withFile(p, id, field, i, "id")
	}
	if c.Doc.Has(field, i, "config") && !slices.Equal(c.Doc.Keys(field, i, "config"), []string{"tools"}) && p.need == "" && c.Settings.Targets[p.target].File == "" {
		c.Note("not-read", fmt.Sprintf("the config of provider %q is not read but for tools", names[0]), "the target in gavel.yaml says how it is called", field, i, "config")
	}
	for _, at := range [][]any{{field, i, "transform"}, {field, i, names[0], "transform"}} {
		var read test
		if code := c.Doc.Text(at...); code != "" {
			p.transform = c.transformCode(&read, code, c.Doc.At(at...))
			p.need, c.inputs = cmp.Or(p.need, read.need), append(c.inputs, read.inputs...)
		}
	}
	return p
}

// provider finds the target of a provider by the first of its names that
// gavel.yaml knows.
func (c *compiler) provider(names, prompts []string, path ...any) provider {
	var problem *schema.Problem
	for _, name := range names {
		c.counted[name]++
		target, _, p := c.find(schema.NthTarget(name, c.counted[name]))
		if p != nil && c.counted[name] > 1 {
			target, _, p = c.find(name)
		}
		if p == nil {
			return provider{target: target, id: name, prompts: prompts}
		}
		problem = p
	}
	name := names[len(names)-1]
	why := fmt.Sprintf("the provider %q is not a target in gavel.yaml", template.Clip(name))
	if problem.File != "" { // the file describes how to call it, which is not supported here
		why = fmt.Sprintf("the provider %q cannot be used: %s", template.Clip(name), problem.Message)
		if strings.HasSuffix(problem.Message, "is not known here") {
			why = problem.Message
		}
	}
	if problem.File == "" || problem.Hint == "" {
		problem.Hint = fmt.Sprintf("add it to gavel.yaml, as in targets: {model: {provider: …, model: …}} and aliases: {%q: model}", name)
	}
	problem.Position, problem.Message = c.Doc.At(path...), why
	if near := meantVendor(names); near != "" {
		c.Fail("unknown-provider", why, suggest.Question(near), path...)
	}
	c.strangers = append(c.strangers, *problem)
	need := fmt.Sprintf("a target for the provider %s", template.Clip(name))
	for _, written := range names {
		if why := c.Settings.Unusable[written].Message; why != "" && !strings.Contains(why, "is not known here") {
			need += " (" + why + ")"
			break
		}
	}
	return provider{need: need, target: name, prompts: prompts}
}

// find returns the target of a name: this file's own target, if another file uses the
// name for another one.
func (c *compiler) find(name string) (target string, ok bool, problem *schema.Problem) {
	if target, ok, problem = c.Settings.FindTarget(schema.QualifiedTarget(name, c.Doc.File)); ok {
		return target, ok, problem
	}
	return c.Settings.FindTarget(name)
}
