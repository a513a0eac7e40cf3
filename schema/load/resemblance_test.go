package load

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// said is the warning about a file; "" for none.
func said(t *testing.T, name, text string) string {
	t.Helper()
	file := "test_definitions/" + name
	doc, problems := document.Parse(file, []byte(text))
	if doc == nil {
		t.Fatal(problems)
	}
	if found := Detect(doc); found != "" {
		return "is " + found
	}
	if wrong := misfit(doc, "test_definitions"); len(wrong) > 0 {
		return "is wrong: " + wrong[0].Message
	}
	p, ok := resemblance(doc, "test_definitions")
	if !ok {
		return ""
	}
	if p.Severity != schema.Warning && !strings.Contains(p.Hint, "above the list") && !strings.Contains(p.Hint, "as an item of a list") || p.Rule != schema.RuleLooksLike || p.File != file || p.Line == 0 {
		t.Errorf("%s: %+v, want a warning that names the line and the resemblance", name, p)
	}
	return strings.TrimPrefix(p.Message, "the file is not read; it looks like ")
}

func TestResemblance(t *testing.T) {
	for _, tt := range []struct{ name, file, text, want string }{
		{"a rubric without a type", "a.json", `{"name": "bot", "input": "Hi", "rubric": {"criteria": []}}`, "promptval: `test_type` and `testing_prompt` are missing"},
		{"tools that are counted", "a.yaml", "name: bot\nexpected_tools: []\n", "promptval: `test_type` and `testing_prompt` are missing"},
		{"cases with checks", "a.yaml", "- {id: x, input: Hi, checks: [{contains: a}]}\n", "is evalcase"},
		{"lines with checks", "a.jsonl", `{"id": "x", "input": "Hi", "checks": [{"contains": "a"}]}`, "is evalcase"},
		{"cases without an outcome", "a.yaml", "- {id: x, input: Hi}\n", "evalcase: `expected_outcome` is missing"},
		{"lines without an outcome", "a.jsonl", `{"input": "Hi", "expected_output": "Hello"}`, "evalcase: `id` and `expected_outcome` are missing"},
		{"a case, not a suite", "a.yaml", "id: x\ninput: Hi\nassertions: []\n", "evalcase: `expected_outcome` and the list `evalcases` are missing"},
		{"an outcome that is expected", "a.json", `[{"id": "x", "input": "Hi", "expected": "Hello"}]`, "evalcase: `expected_outcome` is missing"},
		{"a testcase without a name", "a.json", `{"title": "Refund", "difficulty": "hard", "status": "draft"}`, "testcase: `name` is missing"},
		{"a test in no level", "a.json", `{"id": "x", "prompt": "2?", "expected": {"answer": 2}}`, "domain: a test is in test_definitions/<domain>/level_1, next to a domain.json"},
		{"a tool elsewhere", "a.json", `{"type": "function", "function": {"name": "f", "parameters": {}}}`, "domain: a tool is read from test_definitions/tools alone"},
		{"cases under another key", "a.yaml", "scenarios:\n- {title: x, persona: {type: a}, description: y}\n", "testcase: its cases are under `scenarios`; write them as a list under `test_cases`, each with a `name`"},
		{"cases in a map", "a.yaml", "refund: {input: Hi, expected_outcome: ok}\ngreeting: {input: Hi, expected_outcome: ok}\n", "evalcase: its cases are a map; write them as a list under `evalcases`, each with an `id`"},

		{"nothing of ours", "a.json", `{"colour": "red"}`, ""},
		{"a list of nothing", "a.json", `[]`, ""},
		{"a number", "a.json", `5`, ""},
		{"data with a name", "a.json", `[{"name": "Oslo", "country": "Norway", "population": 700000}]`, ""},
		{"data with an id and a weight", "a.json", `[{"id": 1, "weight": 3, "level": 2}]`, ""},
		{"a library of prompts", "a.json", `{"id": "x", "name": "y", "prompt": "Be kind."}`, ""},
		{"settings with retries", "a.yaml", "name: client\nretry: true\nmax_retries: 3\nthreshold: 0.5\niterations: 100\n", ""},
		{"pairs of a training set", "a.jsonl", `{"prompt": "2?", "completion": "2"}`, ""},
		{"messages", "a.json", `[{"role": "user", "content": "Hi"}]`, ""},
		{"a ticket", "a.json", `{"title": "Broken", "difficulty": "easy", "status": "open"}`, ""},
		{"a JSON Schema", "a.json", `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "id": "x", "input": "y"}`, ""},
		{"a JSON Schema of cases", "a.json", `{"type": "object", "properties": {"id": {"type": "string"}, "input": {"type": "string"}}}`, ""},
		{"a description of an API", "a.yaml", "openapi: 3.1.0\ninfo: {title: x}\npaths: {}\n", ""},
		{"a package", "composer.json", `{"name": "x/y", "description": "z", "version": "1", "dependencies": {}}`, ""},
		{"a configuration", "a.yaml", "version: 1\ntargets: {bot: {provider: mock}}\n", ""},
		{"a map of settings", "a.yaml", "dev: {url: a}\nprod: {url: b}\n", ""},
	} {
		if got := said(t, tt.file, tt.text); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestUnwrapped has files of tests without the key of their list: nobody would judge them,
// which is an error, unless they demand nothing of an answer.
func TestUnwrapped(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{"a.yaml", "- {id: x, input: Hi, assertions: [{type: contains, value: a}]}\n", "write `tests:` above the list, or name the file in .gavelignore"},
		{"a.json", `[{"id": "x", "input": "Hi", "assert": [{"type": "contains", "value": "a"}]}]`, "write `tests:` above the list, or name the file in .gavelignore"},
		{"a.yaml", "- {id: x, input: Hi, evaluators: [{type: latency}]}\n", "write `evalcases:` above the list, or name the file in .gavelignore"},
		{"a.yaml", "id: x\ninput: Hi\nassertions: [{type: contains, value: a}]\n", "write it as an item of a list under `tests:`, or name the file in .gavelignore"},
		{"a.yaml", "- {id: x, input: Hi}\n", ""},
	} {
		doc, _ := document.Parse(tt.file, []byte(tt.text))
		p, ok := resemblance(doc, "test_definitions")
		got := ""
		if ok && p.Severity == schema.Error {
			got = p.Hint
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.text, got, tt.want)
		}
	}
}
