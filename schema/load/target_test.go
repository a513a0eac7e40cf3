package load

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

// TestNoDefaultTarget: a case without a target goes to no target that has another job,
// whatever its format is. Where the default one cannot be used, none comes in its place.
func TestNoDefaultTarget(t *testing.T) {
	texts := map[string]string{
		"test_definitions/desk.json":             `{"name": "Desk", "initial_message": "Hi", "expected_outcomes": {"greeted": true}}`,
		"test_definitions/suite.yaml":            "evalcases: [{id: a, input: Hi, expected_outcome: Greets.}]\n",
		"test_definitions/tests.eval.yaml":       "tests: [{id: a, input: Hi, criteria: Greets.}]\n",
		"test_definitions/five.eval.yaml":        "prompts: ['{{ input }}']\ntests: [{id: a, vars: {input: Hi}, assert: [{type: contains, value: Hi}]}]\n",
		"test_definitions/promptfooconfig.yaml":  "prompts: [Hi]\ntests: [{assert: [{type: contains, value: Hi}]}]\n",
		"test_definitions/d/domain.json":         `{"id": "d", "name": "D"}`,
		"test_definitions/d/level_1/test_a.json": `{"id": "a", "name": "a", "prompt": "Hi", "expected": {"keywords": ["hi"]}, "evaluator_id": "keyword"}`,
	}
	judge := map[string]schema.TargetSettings{"judge": {}}
	broken := schema.Problem{Position: schema.Position{File: ".agentv/targets.yaml", Line: 3, Column: 5}, Rule: "unknown-provider", Message: "the provider is not known here"}
	for _, tt := range []struct {
		name, want string
		settings   schema.Settings
		skipped    int // of AgentV, for unsupported features
	}{
		{"a judge alone", "there is no default target", schema.Settings{Targets: judge}, 0},
		{"one that cannot be used", "the default target default cannot be used (.agentv/targets.yaml:3): the provider is not known here",
			schema.Settings{Targets: judge, DefaultTarget: "default", Unusable: map[string]schema.Problem{"default": broken}}, 2},
	} {
		s := tt.settings
		s.Definitions = []string{"test_definitions"}
		res, err := Load(t.Context(), fsOf(texts), Options{Settings: s})
		if err != nil {
			t.Fatal(err)
		}
		named := map[string]bool{}
		for _, p := range res.Problems {
			if strings.HasPrefix(p.Message, tt.want) && strings.Contains(p.Hint, "add default_target: … to gavel.yaml") {
				named[p.File] = true
			}
		}
		for file := range texts {
			if !named[file] && !strings.HasSuffix(file, "domain.json") {
				t.Errorf("%s: nothing is said of %s", tt.name, file)
			}
		}
		skipped := 0
		for _, c := range res.Cases {
			if c.Skip == "" {
				t.Errorf("%s: %s is run", tt.name, c.Key)
			}
			skipped++
		}
		if skipped != tt.skipped {
			t.Errorf("%s: %d cases are skipped, want %d: %v", tt.name, skipped, tt.skipped, res.Problems)
		}
	}
	res, err := Load(t.Context(), fsOf(texts), Options{Settings: schema.Settings{Definitions: []string{"test_definitions"}}})
	if err != nil || len(res.Cases) != 6 {
		t.Errorf("without a configuration: %d cases, %v, %v", len(res.Cases), res.Problems, err)
	}
}
