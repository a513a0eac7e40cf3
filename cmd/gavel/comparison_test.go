package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestTheComparison validates each snippet of the page that compares formats: Gavel
// says of it what the page says.
func TestTheComparison(t *testing.T) {
	t.Parallel()
	const judge = "version: 1\ndefault_target: model\ntargets:\n  model: {provider: mock, replies: [{reply: a}]}\nroles: {judge: model}\n"
	// Each skeleton has a place for keys of the file and one for keys of its test.
	const (
		matrix   = "prompts: [\"hi {{ name }}\"]\nproviders: [model]\nTOP\ntests: [{description: a, TEST}]\n"
		evalcase = "TOP\ntests: [{id: a, input: hi, criteria: It greets., TEST}]\n"
	)
	ofFile := regexp.MustCompile(`^(redteam|extensions|default_test): `)
	rows := regexp.MustCompile("(?m)^\\|([^|]*)\\| `([^`]+)` \\| `([^`]+)` \\|$").FindAllStringSubmatch(page(t, "examples/comparison.md"), -1)
	if len(rows) != 10 {
		t.Fatalf("the page has %d rows with a snippet, want 10", len(rows))
	}
	format := ""
	for _, row := range rows {
		if row[1] != " " {
			format = row[1]
		}
		snippet, want := row[2], row[3]
		file, text := "promptfooconfig.yaml", matrix
		if strings.Contains(format, "`evalcase`") && !strings.HasPrefix(snippet, "default_test") {
			file, text = "test_definitions/a.yaml", evalcase
		}
		if strings.Contains(format, "`skill`") {
			file, text = "skills/a/evals/evals.json", `{"evals": [{"id": 1, "prompt": "hi", TEST}]}`
		}
		top, test := "description: a", snippet
		if ofFile.MatchString(snippet) {
			top, test = snippet, "assert: [{type: contains, value: hi}]"
		}
		text = strings.NewReplacer("TOP", top, "TEST", test).Replace(text)
		dir := t.TempDir()
		gittest.Init(t, dir, "master")
		gittest.Commit(t, dir, map[string]string{"gavel.yaml": judge, "test_definitions/.keep": "\n", "skills/a/SKILL.md": "Greet.\n", file: text})
		stdout, stderr, _ := gavel(t, dir, "validate")
		if flat := strings.Join(strings.Fields(stdout), " "); !strings.Contains(flat, want) || strings.Contains(flat, "unknown field") {
			t.Errorf("%s is answered without %q:\n%s%s", text, want, stdout, stderr)
		}
	}
}
