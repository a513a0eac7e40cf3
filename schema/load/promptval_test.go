package load

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
)

// TestPromptvalAmongOthers loads configurations of every form next to other
// definitions: a mistake in one costs nothing but its own case.
func TestPromptvalAmongOthers(t *testing.T) {
	const config = `{"test_type": "agent", "name": "planner", "user_input": "x", "testing_prompt": "y"}`
	texts := seed()
	for _, tt := range []struct{ name, text string }{
		{"plan.json", config},
		{"plan.yaml", "test_type: agent\nname: planner\nuser_input: x\ntesting_prompt: y\n"},
		{"deep/lines.jsonl", config + "\n"},
		{"deep/wrong.json", strings.Replace(config, "planner", "planer", 1)},
		{"deep/two.json", "[" + config + ", " + config + "]"},
		{"deep/later.json", strings.NewReplacer("test_type", "type", "user_input", "input").Replace(config)},
	} {
		texts["test_definitions/prompts/"+tt.name] = tt.text
	}
	for _, brief := range []bool{false, true} {
		s := settings
		s.DefaultTarget, s.Targets = "planner", map[string]schema.TargetSettings{"planner": {}}
		res, err := Load(t.Context(), fsOf(texts), Options{Settings: s, Brief: brief, Note: noted})
		if err != nil {
			t.Fatal(err)
		}
		var keys, problems []string
		for c := range listed(res) {
			if c.Dialect == schema.DialectPromptval {
				keys = append(keys, c.Key)
			}
		}
		for _, p := range res.Problems {
			problems = append(problems, strings.TrimPrefix(p.String(), "test_definitions/prompts/"))
		}
		if diff := cmp.Diff([]string{"prompts/deep/later", "prompts/deep/lines", "prompts/plan"}, keys); diff != "" {
			t.Error(diff)
		}
		want := []string{
			"deep/two.json:1:87: error: the file holds 2 configurations; it may hold one; write each into a file of its own",
			"deep/wrong.json:1:24: error: unknown target \"planer\"; did you mean `planner`?",
			"plan.yaml:1:1: error: the case prompts/plan is defined twice; the other is in test_definitions/prompts/plan.json:1:1",
		}
		if diff := cmp.Diff(want, problems); diff != "" {
			t.Error(diff)
		}
	}
}
