package domain

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

const (
	// defaultTimeout is the format's timeout of a test.
	defaultTimeout = 30 * time.Second
	// maxToolRounds ends the tool loop.
	maxToolRounds = 16
)

// testFile is the content of a test, except expected.
type testFile struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Prompt      string   `json:"prompt"`
	EvaluatorID string   `json:"evaluator_id"`
	System      string   `json:"system_prompt"`
	Mode        string   `json:"system_prompt_mode"`
	ToolIDs     []string `json:"tool_ids"`
	TimeoutMS   int      `json:"timeout_ms"`
	Weight      *float64 `json:"weight"`
	Enabled     *bool    `json:"enabled"`
	Difficulty  string   `json:"difficulty"`
}

// A compiler compiles one test to a case.
type compiler struct {
	*tree
	document.Complaints
	budget *document.Budget
	file   string
	test   testFile
	domain *folder
	level  *folder // nil without a level.json
	number string  // of the level

	inputs []schema.Input
	// lacking are the names of tools that are listed and cannot be offered.
	lacking []string
	offers  []schema.Tool
}

// test loads one file of tests: an object is a test, and a list, such as the
// lines of a .jsonl file, holds one in each item.
func (t *tree) test(file string) (Definition, []schema.Problem) {
	def := Definition{File: file}
	doc, problems := t.Open(file)
	if doc == nil {
		return def, problems
	}
	_, problems = t.Bounded(doc, func(src document.Source) ([]*schema.Case, []schema.Problem) {
		var found []schema.Problem
		def, found = t.tests(src.Budget, doc, problems)
		return nil, found
	})
	return def, problems
}

// tests compiles the content of a file of tests.
func (t *tree) tests(budget *document.Budget, doc *document.Document, problems []schema.Problem) (Definition, []schema.Problem) {
	def := Definition{File: doc.File}
	if !doc.IsList() {
		test, found := t.compile(budget, doc, false)
		def.Tests = []Test{test}
		return def, found // with the problems of reading it
	}
	budget.Spend(document.Tests, doc.Items())
	if doc.Items() == 0 {
		problems = append(problems, doc.Problem("no-test", "the list has no test", `write objects with "id", "name" and "prompt", or remove the file`))
	}
	for i := range doc.Items() {
		item := doc.Part(i)
		if !item.IsObject() {
			problems = append(problems, item.Problem("wrong-type", "an item of the list is not a test", `write an object with "id", "name" and "prompt"`))
			continue
		}
		test, found := t.compile(budget, item, true)
		def.Tests = append(def.Tests, test)
		problems = append(problems, found...)
	}
	return def, problems
}

// compile compiles a test to a case; a test with errors has none.
func (t *tree) compile(budget *document.Budget, doc *document.Document, listed bool) (Test, []schema.Problem) {
	c := &compiler{tree: t, budget: budget, file: doc.File, Complaints: document.Complaints{Doc: doc, Problems: doc.Check("#Test", schema.Warning)}}
	test := Test{At: doc.At()}
	broken := schema.HasErrors(c.Problems)
	if err := doc.Decode(&c.test); err != nil && !broken {
		return test, append(c.Problems, doc.Problem("decode", err.Error(), ""))
	}
	test.ID, test.At = c.test.ID, doc.At("id")
	switch placed := c.findLevel(); {
	case broken:
		c.checkReferences(placed)
		return test, c.Problems
	case !placed:
		return test, c.Problems
	}
	local := ""
	if listed {
		local = c.test.ID
	}
	tc := c.build(c.Key(c.file, local))
	if !schema.HasErrors(c.Problems) {
		test.Case = tc
	}
	return test, c.Problems
}

// checkReferences checks the checkable parts of a test with mistakes: the names in it,
// and the expected value if its evaluator is known.
func (c *compiler) checkReferences(placed bool) {
	c.Problems = append(c.Problems, c.unknownTools(c.Doc, c.test.ToolIDs)...)
	id := c.test.EvaluatorID
	if placed {
		id = cmp.Or(id, c.domain.EvaluatorID)
	}
	switch {
	case id == "", c.Doc.Has("evaluator_id") && c.test.EvaluatorID == "":
	case !c.hasEvaluator(id) && c.test.EvaluatorID == "": // a problem of the domain
	case !c.hasEvaluator(id):
		c.Problems = append(c.Problems, c.unknownEvaluator(c.Doc, id))
	case placed && c.Doc.Has("expected"):
		c.evaluators()
	}
}

// findLevel finds the domain and level of the test and checks that the file agrees with
// them.
func (c *compiler) findLevel() bool {
	dir := path.Dir(c.file)
	c.number = levelFolder.FindStringSubmatch(path.Base(dir))[1]
	c.level = c.levels[dir]
	for up := path.Dir(dir); c.domain == nil && len(up) >= len(c.Root) && up != "."; up = path.Dir(up) {
		c.domain = c.domains[up]
	}
	switch {
	case c.domain == nil:
		c.Fail("domain-missing", "domain.json is missing", fmt.Sprintf("add %s/domain.json", path.Dir(dir)))
		return false
	case c.domain.broken:
		c.Fail("domain-invalid", c.domain.file+" is invalid", "fix it first; this test depends on it")
		return false
	case c.level != nil && c.level.broken:
		c.Fail("level-invalid", c.level.file+" is invalid", "fix it first; this test depends on it")
		return false
	}
	if id := c.Doc.Text("domain_id"); id != "" && id != c.domain.ID {
		c.Fail("path-disagrees", fmt.Sprintf("domain_id is %q, but the file is in %s", id, c.domain.ID), "make them agree", "domain_id")
	}
	said := c.Doc.Text("level")
	if raw := string(c.Doc.JSON("level")); whole.MatchString(raw) {
		said = raw
	}
	if said != "" && said != c.number {
		c.Fail("path-disagrees", fmt.Sprintf("level is %s, but the file is in level_%s", said, c.number), "make them agree", "level")
	}
	return true
}

// whole is a number without a fraction.
var whole = lazyregexp.New(`^-?[0-9]+$`)

func (c *compiler) build(key string) *schema.Case {
	tc := &schema.Case{
		CaseInfo: schema.CaseInfo{
			Key: key, Dialect: schema.DialectDomain, Origin: c.Doc.At(),
			Labels: schema.Labels{
				Name: c.test.Name, Description: c.test.Description, Difficulty: c.test.Difficulty,
				Groups: []string{c.domain.ID, c.number},
			},
			Weight: 1,
		},
		Drive:  schema.Drive{Messages: []schema.Message{{Role: schema.RoleUser, Content: c.test.Prompt}}},
		Policy: c.policy(),
	}
	if c.test.Weight != nil {
		tc.Weight = *c.test.Weight
	}
	if tools := c.Doc.JSON("tools"); len(tools) > 0 && string(tools) != "null" && string(tools) != "[]" {
		c.Fail("unsupported-field", "`tools` is filled, and tools inside a test are not read", "define each in tools/ and name it in `tool_ids`", "tools")
	}
	c.input(c.file, "definition")
	c.input(c.domain.file, "domain")
	c.levelInputs()
	tc.System, tc.Layers = c.system()
	c.inputs = append(c.inputs, c.Prompt.Inputs...)
	tc.Tools = c.offered()
	c.offers = tc.Tools
	tc.Evaluators, tc.Skip = c.evaluators()
	switch {
	case c.domain.Enabled != nil && !*c.domain.Enabled:
		tc.Skip = "the domain is not enabled"
	case c.test.Enabled != nil && !*c.test.Enabled:
		tc.Skip = "the test is not enabled"
	}
	slices.SortFunc(c.inputs, func(a, b schema.Input) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Role, b.Role))
	})
	tc.Inputs = slices.Compact(c.inputs)
	return tc
}

// policy follows the precedence: written in the case, its target, gavel.yaml's
// defaults, the dialect's default.
func (c *compiler) policy() schema.Policy {
	p := schema.Policy{Iterations: max(c.Settings.Iterations, 1), MaxToolRounds: maxToolRounds, Timeout: defaultTimeout}
	target := c.Settings.Targets[c.Settings.DefaultTarget]
	p.Timeout = cmp.Or(time.Duration(c.test.TimeoutMS)*time.Millisecond, target.Timeout, c.Settings.Timeout, defaultTimeout)
	return p
}

func (c *compiler) input(file, role string) {
	c.budget.Uses(file, role)
	c.inputs = append(c.inputs, schema.Input{File: file, Role: role})
}

func (c *compiler) absent(file, role string) {
	c.inputs = append(c.inputs, schema.Input{File: file, Role: role, Absent: true})
}

// levelInputs names the existing level.json, or the possible ones.
func (c *compiler) levelInputs() {
	if c.level != nil {
		c.input(c.level.file, "level")
		return
	}
	c.inputs = append(c.inputs, c.noLevel[path.Dir(c.file)]...)
}

// system builds the system prompt: the nearest layer that is not empty is used, and its
// mode decides whether it is alone or after the layers above it.
func (c *compiler) system() (string, []schema.Layer) {
	var layers []schema.Layer
	add := func(file, text, mode string) {
		if strings.TrimSpace(text) == "" {
			return
		}
		if mode != "append" {
			layers = nil
		}
		layers = append(layers, schema.Layer{File: file, Text: text})
	}
	outermost := c.Prompt.Layer
	add(outermost.File, outermost.Text, "")
	add(c.domain.file, c.domain.Prompt, c.domain.Mode)
	if c.level != nil {
		add(c.level.file, c.level.Prompt, c.level.Mode)
	}
	add(c.file, c.test.System, c.test.Mode)
	texts := make([]string, len(layers))
	for i, l := range layers {
		texts[i] = l.Text
	}
	if len(texts) == 1 {
		return texts[0], layers
	}
	system := strings.Join(texts, "\n\n")
	c.budget.Spend(document.Text, len(system))
	return system, layers
}

// offered returns the tools of the target and of all layers by function name, the
// nearest winning, sorted so that the order of listing does not matter.
func (c *compiler) offered() []schema.Tool {
	c.Problems = append(c.Problems, c.unknownTools(c.Doc, c.test.ToolIDs)...)
	byName := map[string]schema.Tool{}
	ids := slices.Concat(c.Settings.Targets[c.Settings.DefaultTarget].Tools, c.domain.ToolIDs)
	if c.level != nil {
		ids = append(ids, c.level.ToolIDs...)
	}
	c.budget.Spend(document.Parts, len(ids)+len(c.test.ToolIDs))
	for _, id := range append(ids, c.test.ToolIDs...) {
		tf := c.tools[id]
		switch {
		case tf == nil:
			// It is reported where it is listed; here the case only depends on it.
			c.absent(path.Join(c.Root, "tools", id+".json"), "tool")
			c.lacking = append(c.lacking, id)
			continue
		case tf.broken:
			// A test that does not name it runs without it.
			c.input(tf.file, "tool")
			c.lacking = append(c.lacking, id, tf.tool.Name)
			if slices.Contains(c.test.ToolIDs, id) {
				c.Fail("tool-invalid", tf.file+" is invalid", "fix it first; this test offers it", "tool_ids")
			}
			continue
		}
		byName[tf.tool.Name] = tf.tool
		c.input(tf.file, "tool")
	}
	var tools []schema.Tool
	for _, tool := range byName {
		tools = append(tools, tool)
	}
	slices.SortFunc(tools, func(a, b schema.Tool) int { return cmp.Compare(a.Name, b.Name) })
	return tools
}
