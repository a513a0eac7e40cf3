package load

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// TestTheSchemaKeyBearsOnNothing has every format with and without the key by
// which an editor finds its schema: the cases are the same.
func TestTheSchemaKeyBearsOnNothing(t *testing.T) {
	const domain, level = "test_definitions/d/domain.json", "test_definitions/d/level_1/"
	for _, tt := range []struct{ name, file, before, after string }{
		{"testcase", "test_definitions/a.json", `{"name": "x"`, `}`},
		{"an envelope", "test_definitions/a.json", `{"test_cases": [{"name": "x"}]`, `}`},
		{"promptval", "test_definitions/a.json", `{"test_type": "agent", "name": "bot", "user_input": "x", "testing_prompt": "y"`, `}`},
		{"evalcase", "test_definitions/a.json", `{"evalcases": [{"id": "x", "expected_outcome": "y", "input": "z"}]`, `}`},
		{"tests of AgentV 4", "test_definitions/a.json", `{"tests": [{"id": "x", "input": "z", "assertions": [{"type": "contains", "value": "y"}]}]`, `}`},
		{"matrix", "test_definitions/promptfooconfig.json", `{"prompts": ["a"], "providers": ["x"], "tests": [{"assert": [{"type": "contains", "value": "y"}]}]`, `}`},
		{"evalcase as YAML", "test_definitions/a.yaml", "evalcases: [{id: x, expected_outcome: y, input: z}]\n", ""},
		{"CUE", "test_definitions/a.cue", "name: \"x\"\n", ""},
		{"a test", level + "b.json", `{"id": "b", "name": "B", "prompt": "x", "expected": {"keywords": ["y"]}`, `}`},
		{"a domain", domain, `{"id": "d", "name": "D", "evaluator_id": "keyword"`, `}`},
		{"a level", level + "level.json", `{"system_prompt": "x"`, `}`},
		{"an evaluator", "test_definitions/evaluators/e.json", `{"id": "e", "eval_prompt": "x"`, `}`},
		{"a tool", "test_definitions/tools/t.json", `{"id": "t", "function": {"name": "t"}`, `}`},
		{"checks", "test_definitions/d/level_1/c.checks.yaml", ".: [{contains: x}]\n", ""},
	} {
		key := `"$schema": "https://json-schema.org/draft/2020-12/schema"`
		if tt.after != "" {
			key = ",\n" + key
		}
		var got []*Result
		for _, text := range []string{tt.before + tt.after, tt.before + key + tt.after} {
			files := map[string]string{
				domain:           `{"id": "d", "name": "D", "evaluator_id": "keyword"}`,
				level + "c.json": `{"id": "c", "name": "C", "prompt": "x", "expected": {"keywords": ["y"]}}`,
			}
			files[tt.file] = text
			res := loadAll(t, files)
			if len(res.Problems) > 0 {
				t.Errorf("%s: problems %v, want none", tt.name, res.Problems)
			}
			got = append(got, res)
		}
		if diff := cmp.Diff(got[0].Cases, got[1].Cases); diff != "" {
			t.Errorf("%s: the cases differ (-without +with):\n%s", tt.name, diff)
		}
	}
}

// TestTheSchemaKeyElsewhere is an unknown field like any other.
func TestTheSchemaKeyElsewhere(t *testing.T) {
	for _, text := range []string{`{"test_type": "agent", "name": "bot", "user_input": "x", "testing_prompt": "y", "$schema": 5}`, `{"name": "x", "persona": {"type": "a", "description": "b", "instructions": "c", "$schema": "d"}}`} {
		if res := loadAll(t, map[string]string{"test_definitions/a.json": text}); len(res.Problems) != 1 || res.Problems[0].Severity == schema.Note {
			t.Errorf("%s: problems %v, want one that is more than a note", text, res.Problems)
		}
	}
}

// TestTheSchemaKeyInEditors holds that the schema to which the key leads takes it.
func TestTheSchemaKeyInEditors(t *testing.T) {
	texts := map[string]string{
		schema.DialectMatrix:    `{"$schema": "x", "prompts": ["a"], "providers": ["x"], "tests": [{"assert": [{"type": "contains", "value": "y"}]}]}`,
		schema.DialectSkill:     `{"$schema": "x", "evals": [{"id": 1, "prompt": "x", "assertions": ["y"]}]}`,
		schema.DialectTestcase:  `{"$schema": "x", "name": "x"}`,
		schema.DialectPromptval: `{"$schema": "x", "test_type": "agent", "name": "bot", "user_input": "x", "testing_prompt": "y"}`,
		schema.DialectEvalcase:  `{"$schema": "x", "evalcases": [{"id": "x", "expected_outcome": "y", "input": "z"}]}`,
		document.FormatConfig:   `{"$schema": "x", "version": 1}`,
		document.FormatServer:   `{"$schema": "x", "version": 1, "repositories": [{"url": "/srv/a.git"}]}`,
		document.FormatChecks:   `{"$schema": "x", ".": [{"contains": "x"}]}`,
		"domain/test":           `{"$schema": "x", "id": "b", "name": "B", "prompt": "x", "evaluator_id": "keyword", "expected": {"keywords": ["y"]}}`,
		"domain/domain":         `{"$schema": "x", "id": "d", "name": "D"}`,
		"domain/level":          `{"$schema": "x"}`,
		"domain/tool":           `{"$schema": "x", "id": "t", "function": {"name": "t"}}`,
		"domain/evaluator":      `{"$schema": "x", "id": "e", "eval_prompt": "x"}`,
	}
	for _, format := range document.Formats() {
		if texts[format] == "" && format != schema.DialectDomain { // whose files have schemas of their own
			t.Errorf("there is no file of %s here, so nobody knows whether it takes a $schema", format)
		}
	}
	for format, text := range texts {
		if err := editorOf(t, format).Check([]byte(text)); err != nil {
			t.Errorf("%s: error %v", format, err)
		}
	}
	if err := editorOf(t, schema.DialectEvalcase).Check([]byte(`{"$schema": "x", "tests": [{"id": "x", "input": "z", "assertions": [{"type": "contains", "value": "y"}]}]}`)); err != nil {
		t.Errorf("tests of AgentV 4: %v", err)
	}
	if err := editorOf(t, schema.DialectTestcase).Check([]byte(`{"$schema": "x", "test_cases": [{"name": "x"}]}`)); err != nil {
		t.Errorf("an envelope: %v", err)
	}
}
