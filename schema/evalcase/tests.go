package evalcase

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// maxTests bounds a file with tests outside of the suite.
const maxTests = 64 << 20

// places are the cases of the suite. A suite of AgentV 4 lists them under `tests`,
// as objects or as paths of files with more of them.
func (s *suite) places(doc *document.Document) ([]document.Place, []schema.Problem) {
	var list []any
	if doc.IsObject() {
		list = append(list, listKey(doc))
	}
	if !s.isTests {
		return s.placesIn(doc, list), nil
	}
	named := document.Place{Doc: doc, Path: list}
	if named.IsText() {
		return s.testsIn(named)
	}
	var out []document.Place
	var problems []schema.Problem
	s.Budget.At(list...)
	for _, item := range named.List() {
		s.Budget.Found(len(problems))
		if !item.IsText() {
			s.takes(1)
			out = append(out, item)
			continue
		}
		more, found := s.testsIn(item)
		out, problems = append(out, more...), append(problems, found...)
	}
	return out, problems
}

// takes counts tests against the budget. AgentV 5's were counted when they were
// rewritten.
func (s *suite) takes(n int) {
	if s.form != formV5 {
		s.Budget.Spend(document.Tests, n)
	}
}

func (s *suite) placesIn(doc *document.Document, list []any) []document.Place {
	s.takes(doc.Items(list...))
	out := make([]document.Place, doc.Items(list...))
	for i := range out {
		out[i] = document.Place{Doc: doc, Path: append(slices.Clip(list), i)}
	}
	return out
}

// testsIn are the cases of a file that the suite names: a list of cases, a case a
// line, or an object with `tests`.
func (s *suite) testsIn(named document.Place) ([]document.Place, []schema.Problem) {
	set, isSet := expandFragment(s.Source, named.At(), named.Text())
	if !isSet {
		return s.testsOf(named, named.Text())
	}
	s.inputs = append(s.inputs, set.inputs("tests")...)
	switch {
	case len(set.Problems) > 0:
		return nil, set.Problems
	case len(set.Files) == 0:
		return nil, []schema.Problem{named.Problem("missing-file", fmt.Sprintf("there are no tests in %s", named.Text()), "name files with tests, or a folder with folders that have a case.yaml")}
	}
	var out []document.Place
	var problems []schema.Problem
	for _, file := range set.Files {
		more, found := s.testsOf(named, file)
		out, problems = append(out, more...), append(problems, found...)
	}
	return out, problems
}

// testsOf are the tests of one file.
func (s *suite) testsOf(named document.Place, file string) ([]document.Place, []schema.Problem) {
	file = strings.TrimPrefix(file, "file://")
	if !slices.Contains([]string{".yaml", ".yml", ".json", ".jsonl"}, path.Ext(file)) {
		return nil, []schema.Problem{named.Problem("wrong-value", fmt.Sprintf("tests are not read from %q", file), "name a file that ends in .yaml, .json or .jsonl")}
	}
	found := s.Read(document.Reference{At: named.At(), Path: file, Role: "tests", Most: maxTests})
	s.inputs = append(s.inputs, found.Inputs...)
	if !found.Found() {
		return nil, found.Problems
	}
	doc, problems := s.docs[found.File.Path], []schema.Problem(nil)
	if doc == nil {
		doc, problems = document.Parse(found.File.Path, found.File.Data)
	}
	if doc == nil || schema.HasErrors(problems) {
		return nil, append(found.Problems, problems...)
	}
	s.docs[found.File.Path] = doc
	var list []any
	switch {
	case doc.IsObject() && !doc.Has("tests"):
		s.Budget.Spend(document.Tests, 1)
		return []document.Place{fragmentCase(doc)}, append(found.Problems, problems...)
	case doc.IsObject():
		list = []any{"tests"}
	}
	out := s.placesIn(doc, list)
	if len(out) == 0 {
		problems = append(problems, doc.Problem("no-cases", "the file has no tests", "write a list of tests"))
	}
	return out, append(found.Problems, problems...)
}

// need records an unsupported need, because of which the case is not run.
func (c *compiler) need(what string) { c.lacks = append(c.lacks, what) }

// lackingOf are unsupported keys of a test, with their needs.
var lackingOf = map[string]string{
	"environment": "a workspace",
}

// readTest records the unsupported parts of an AgentV 4 test.
func (c *compiler) readTest() {
	for _, key := range slices.Sorted(maps.Keys(lackingOf)) {
		if c.tc.Has(key) {
			c.need(lackingOf[key])
		}
	}
	if c.tc.Has("depends_on") {
		c.warn(c.tc.Problem("order-not-kept", "`depends_on` is not kept: a verdict that is reused has no order, so every test is run by itself", "remove it; a test that needs what another one says is a conversation with turns", "depends_on"))
	}
	if wrong, has := c.mistakes[c.ID]; has {
		c.fail(wrong)
	}
	for _, what := range []string{c.needs[c.ID], c.needOfAll} {
		if what != "" {
			c.need(what)
		}
	}
	c.lacks = slices.Compact(c.lacks)
}

// workspace returns the agent's working folder; nil if the test has none.
func (c *compiler) workspace() *schema.Workspace {
	read := c.testbeds.Read(testbedSource{Suite: c.keys.Sub("workspace"), Own: c.tc.Sub("workspace"), Extensions: c.extensions})
	c.inputs, c.problems = append(c.inputs, read.Inputs...), append(c.problems, read.Problems...)
	if read.Lacks != "" {
		c.need(read.Lacks)
	}
	if w := read.Workspace; w != nil && len(w.Before)+len(w.After) > 0 {
		w.Test, w.Metadata = c.ID, c.tc.JSON("metadata")
	}
	return read.Workspace
}

// reportLacks reports in one line how many tests run, and the needs of the others.
func (s *suite) reportLacks(doc *document.Document, all int) []schema.Problem {
	said := document.Unread(s.lacking, all)
	if said == "" {
		return nil
	}
	p := doc.Problem(document.RuleUnread, said, document.HintUnread, listKey(doc))
	p.Severity = schema.Warning
	return []schema.Problem{p}
}

// testInput returns the target's input: the suite's, then the test's, with the files of
// both before the text of the user's first message.
func (c *compiler) testInput() conversation {
	said := conversation{}
	for _, p := range []document.Place{c.keys.Sub("input"), c.tc.Sub("input")} {
		if !p.Has() {
			continue
		}
		more := c.said(p)
		said.layers = append(said.layers, more.layers...)
		said.messages = append(said.messages, more.messages...)
	}
	switch turns := c.readTurns(); {
	case len(turns) > 0:
		said.messages, said.turns = append(said.messages, turns[0]...), turns[1:]
	case len(said.messages) == 0 && !c.tc.Has("turns") && !c.tc.Has("mode"):
		c.fail(c.tc.Problem("missing-field", "the case has no input", `add "input": …`))
	}
	texts := make([]string, len(said.layers))
	for i, l := range said.layers {
		texts[i] = l.Text
	}
	said.system = strings.Join(texts, "\n\n")
	c.attach(said.messages)
	return said
}

// attach puts the files of input_files before the first message of the user.
func (c *compiler) attach(messages []schema.Message) {
	var blocks []schema.Block
	for _, p := range []document.Place{c.keys.Sub("input_files"), c.tc.Sub("input_files")} {
		for _, item := range p.List() {
			f, ok := c.read(item, item.Text(), "file", maxText)
			if !ok {
				continue
			}
			c.Budget.Spend(document.Text, len(f.Data))
			blocks = append(blocks, schema.Block{Type: "file", Path: f.Path, Text: string(f.Data)})
		}
	}
	i := slices.IndexFunc(messages, func(m schema.Message) bool { return m.Role == schema.RoleUser })
	if len(blocks) == 0 || i < 0 {
		return
	}
	m := &messages[i]
	if m.Blocks == nil {
		m.Blocks = []schema.Block{{Type: "text", Text: m.Content}}
	}
	texts := make([]string, 0, len(blocks)+1)
	for _, b := range blocks {
		texts = append(texts, trimmed(b.Text))
	}
	m.Content = strings.Join(append(texts, m.Content), "\n\n")
	m.Blocks = append(blocks, m.Blocks...)
}

// bands are the least scores of the two verdicts. AgentV 4 passes at its threshold
// and knows nothing between.
func (c *compiler) bands() *schema.Bands {
	if !c.isTests {
		return &schema.Bands{Pass: passing, Borderline: borderline}
	}
	pass := passing
	for _, p := range []document.Place{c.keys.Sub("threshold"), c.keys.Sub("execution", "threshold"), c.tc.Sub("execution", "threshold")} {
		if p.Has() {
			pass = p.Number()
		}
	}
	return &schema.Bands{Pass: pass, Borderline: pass}
}
