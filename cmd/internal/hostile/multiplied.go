package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/stage"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// A shape is a definition, with the files that it names, whose lists multiply one another.
type shape struct {
	name  string
	files map[string]string
	words string // of the problem; empty if all of it is within the bounds
	job   bool   // gavel pr judges it, too
}

// lines returns n lines of a pattern with their number.
func lines(n int, pattern string) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, pattern+"\n", i)
	}
	return all.String()
}

// named returns a list that has a name this many times.
func named(n int, name string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(name+", ", n), ", ") + "]"
}

const (
	rowsBound    = "the file makes more than 20000 cases"
	testsBound   = "more than 20000 cases" // of all new ones together
	assertsBound = "more than 200000 assertions"
	textBound    = "more than 64 MiB" // of text, or of files that are read
)

// shapes multiplies names, rows, assertions, files, scenarios and depth in all formats.
func shapes() []shape {
	return slices.Concat(matrixShapes(), suiteShapes(), shapesOfAgentV5(), otherShapes())
}

func matrixShapes() []shape {
	const head = "prompts: [\"say {{x}}\"]\nproviders: [agent]\n"
	asserts := func(n int) string {
		return "defaultTest:\n  assert:\n" + lines(n, "  - {type: contains, value: w%d}")
	}
	tests := func(n int) string { return "tests:\n" + lines(n, "- {vars: {x: b%d}}") }
	file := func(text string) map[string]string { return map[string]string{"promptfooconfig.yaml": text} }
	and := func(files map[string]string, name, text string) map[string]string {
		files[name] = text
		return files
	}
	deep := "{type: contains, value: w}"
	for range 5 {
		deep = "{type: assert-set, assert: " + named(5, deep) + "}"
	}
	table := "x\n" + lines(5000, "a%d")
	long := strings.Repeat("x", 200_000)
	many := map[string]string{}
	for i := range 20 {
		many[fmt.Sprintf("m%d/promptfooconfig.yaml", i)] = head + asserts(100) + tests(1900)
	}
	return []shape{
		{"scenarios by tests", file(head + "scenarios:\n- config:\n" + lines(4000, "  - vars: {x: a%d}") + "  tests:\n" + lines(4000, "  - vars: {y: b%d}")), rowsBound, true},
		{"scenarios by tables", and(file(head+"scenarios:\n- config:\n"+lines(4000, "  - vars: {x: a%d}")+"  tests: file://t.csv\n"), "t.csv", table), rowsBound, false},
		{"tables by names", and(file(head+"tests: "+named(300, "file://t.csv")+"\n"), "t.csv", table), rowsBound, false},
		{"files by globs", and(and(file(head+"tests: "+named(300, `"file://c/*.yaml"`)+"\n"), "c/a.yaml", lines(3000, "- {vars: {x: b%d}}")), "c/b.yaml", lines(3000, "- {vars: {x: c%d}}")), rowsBound, false},
		{"assertions by tests", file(head + asserts(2000) + tests(2000)), assertsBound, false},
		{"sets within sets by tests", file(head + "defaultTest: {assert: [" + deep + "]}\n" + tests(2000)), assertsBound, false},
		{"assertions by rows of a table", and(file(head+asserts(39)+"tests: file://t.csv\n"), "t.csv", table), "", true}, // all that is allowed
		{"assertions by prompts by providers", file("prompts:\n" + lines(150, "- say %d {{x}}") + "providers: [agent]\n" + asserts(60) + tests(100)), assertsBound, false},
		{"variables by rows of a table", and(file(head+"defaultTest:\n  vars:\n"+lines(400, "    v%d: a")+"tests: file://t.csv\n"), "t.csv", table), "more than 2000000 variables and files", false},
		{"values by values", file(head + "tests:\n- vars:\n" + lines(12, "    v%d: [a, b, c, d, e, f, g]")), rowsBound, false},
		{"long variables by rows", file(head + "defaultTest: {vars: {x: " + long + "}}\ntests:\n" + lines(2500, "- {vars: {y: b%d}}")), textBound, false},
		{"long assertions by rows", file(head + "defaultTest: {assert: [{type: contains, value: " + long + "}]}\n" + tests(2000)), textBound, false},
		{"code by rows", file(head + "defaultTest: {vars: {y: " + long[:20_000] + "}, assert: " + named(50, "{type: javascript, value: 'true'}") + "}\n" + tests(1500)), textBound, false},
		{"prompts of a file by names", and(file("prompts: "+named(50, "file://p.txt")+"\nproviders: [agent]\n"+tests(10)), "p.txt", lines(20_000, "%d\n---")), "more than 20000 prompts", false},
		{"many files, each within its bound", many, assertsBound, true},
	}
}

func suiteShapes() []shape {
	const one = "assertions: [{type: contains, value: word}]"
	test := "- {id: t%d, criteria: g, input: x, " + one + "}"
	suite := func(text string) map[string]string { return map[string]string{"s.eval.yaml": "name: s\n" + text} }
	with := func(files map[string]string, name, text string) map[string]string {
		files[name] = text
		return files
	}
	deep := "{name: a, type: latency, threshold: 5}"
	for i := range 6 {
		deep = fmt.Sprintf("{name: c%d, type: composite, evaluators: [%s, {name: b%d, type: latency, threshold: 5}]}", i, deep, i)
	}
	return []shape{
		{"names by tests of AgentV 4", with(suite("tests: "+named(3000, "t.yaml")+"\n"), "t.yaml", lines(3000, test)), testsBound, true},
		{"targets by tests of AgentV 4", suite("execution:\n  targets:\n" + lines(2000, "  - agent%d") + "tests:\n" + lines(2000, test)), testsBound, false},
		{"assertions by tests of AgentV 4", suite("assertions:\n" + lines(2000, "- {type: contains, value: w%d}") + "tests:\n" + lines(2000, "- {id: t%d, criteria: g, input: x}")), assertsBound, false},
		{"files by tests of AgentV 4", with(suite("input_files: [a.txt]\ntests:\n"+lines(2000, test)), "a.txt", strings.Repeat("x", 900_000)), textBound, false},
		{"files of one test of AgentV 4", with(suite("tests:\n- {id: a, criteria: g, input: x, "+one+", input_files: "+named(20_000, "a.txt")+"}\n"), "a.txt", strings.Repeat("x", 900_000)), textBound, false},
		{"evaluators by cases", map[string]string{"s.yaml": "execution:\n  evaluators:\n" + lines(1500, "  - {name: e%d, type: latency, threshold: 5}") + "evalcases:\n" + lines(1500, "- {id: t%d, expected_outcome: g, input: x}")}, assertsBound, false},
		{"composites by cases", map[string]string{"s.yaml": "execution:\n  evaluators: [" + deep + "]\nevalcases:\n" + lines(4000, "- {id: t%d, expected_outcome: g, input: x}")}, "", false},
	}
}

func shapesOfAgentV5() []shape {
	const head = "name: s\nprompts: [\"{{ input }}\"]\nproviders: [agent]\ndefault_test: {}\n"
	const test = "- {id: t%d, criteria: g, vars: {input: x}}"
	suite := func(text string) map[string]string { return map[string]string{"s.eval.yaml": text} }
	named5 := suite(head + "tests: " + named(3000, "t.yaml") + "\n")
	named5["t.yaml"] = lines(3000, test)
	included := suite("name: s\nprompts: [\"{{ input }}\"]\nproviders: [agent]\ndefault_test: {}\nassert: " + named(200, "{include: ./a.yaml}") + "\ntests:\n" + lines(20, test))
	included["a.yaml"] = named(200, "{include: ./b.yaml}") + "\n"
	included["b.yaml"] = named(200, "{type: contains, value: '{{ input }}'}") + "\n"
	return []shape{
		{"names by tests of AgentV 5", named5, rowsBound, false},
		{"scenarios by tests of AgentV 5", suite(head + "scenarios:\n- config:\n" + lines(3000, "  - vars: {x: a%d}") + "  tests:\n" + lines(3000, "  "+test)), rowsBound, false},
		{"assertions by tests of AgentV 5", suite("name: s\nprompts: [\"{{ input }}\"]\nproviders: [agent]\ndefault_test:\n  assert:\n" + lines(1500, "  - {type: contains, value: '{{ input }} %d'}") + "tests:\n" + lines(1500, test)), assertsBound, false},
		{"includes within includes", included, "more than", false},
		{"values by values of AgentV 5", suite(head + "tests:\n- id: a\n  criteria: g\n  vars: {input: " + named(300, "x") + ", b: " + named(300, "y") + "}\n"), rowsBound, false},
	}
}

func otherShapes() []shape {
	domain := map[string]string{
		"d/domain.json":         `{"id": "d", "name": "d", "system_prompt": "` + strings.Repeat("x", 200_000) + `"}`,
		"d/level_1/level.json":  `{"system_prompt": "more", "system_prompt_mode": "append"}`,
		"d/level_1/tests.jsonl": lines(2000, `{"id": "t%d", "name": "t", "prompt": "p", "evaluator_id": "keyword", "expected": {"keywords": ["a"]}}`),
	}
	folders := maps.Clone(domain)
	delete(folders, "d/level_1/tests.jsonl")
	for i := range 1200 {
		folders[fmt.Sprintf("d/level_1/t%d.json", i)] = fmt.Sprintf(`{"id": "t%d", "name": "t", "prompt": "p", "evaluator_id": "keyword", "expected": {"keywords": ["a"]}}`, i)
	}
	lists := map[string]string{}
	for i := range 60 {
		lists[fmt.Sprintf("l%d.jsonl", i)] = lines(3000, `{"name": "a%d", "initial_message": "hello", "expected_outcomes": {"greets": true}}`)
	}
	inputs := map[string]string{}
	for i := range 300 {
		inputs[fmt.Sprintf("p%d.json", i)] = `{"test_type": "agent", "name": "agent", "testing_prompt": "greets", "user_input": ` + named(9000, `"hi"`) + `}`
	}
	long := map[string]string{}
	for i := range 400 {
		long[fmt.Sprintf("c%d.json", i)] = `{"name": "a", "expected_outcomes": {"greets": true}, "initial_message": "` + strings.Repeat("word ", 50_000) + `"}`
	}
	return []shape{
		{"prompts by tests of a domain", domain, textBound, false},
		{"prompts by files of a domain", folders, textBound, false},
		{"cases by files of testcase", lists, testsBound, false},
		{"inputs by files of promptval", inputs, testsBound, false},
		{"long cases by names", long, "more than 64 MiB", true},
	}
}

// newMultiplied makes a repository with a head for each shape.
func newMultiplied(s *stage.Stage, dir string) *fixture {
	p := begin(s, filepath.Join(dir, "multiplied"))
	for _, shape := range shapes() {
		p.shaped(shape, false)
	}
	gittest.Run(p, p.dir, "checkout", "-q", "-f", "main")
	p.add(head{name: "harmless", green: true}, "100644 blob "+p.blob(definition)+"\ttest_definitions/b.json")
	p.open()
	return p
}

// shaped adds a head of a shape.
func (p *fixture) shaped(shape shape, writer bool) {
	gittest.Run(p, p.dir, "checkout", "-q", "-f", "--detach", p.base)
	gittest.Run(p, p.dir, "clean", "-q", "-f", "-d")
	files := map[string]string{}
	for name, text := range shape.files {
		files["test_definitions/"+name] = text
	}
	p.add(head{name: shape.name, job: shape.job, words: shape.words, writer: writer, sha: gittest.Commit(p, p.dir, files)})
}
