package load

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/schema"
)

// mixed makes a repository of n files, as many of each dialect: JSON, YAML and
// lines, alone and several in a file.
func mixed(n int) fstest.MapFS {
	texts := map[string]string{"test_definitions/d/domain.json": `{"id": "d", "name": "D", "evaluator_id": "keyword", "system_prompt": "Be brief."}`}
	for i := range n {
		switch file := fmt.Sprintf("test_definitions/f%d/x%d", i%100, i); i % 4 {
		case 0:
			texts[fmt.Sprintf("test_definitions/d/level_%d/t%d.json", 1+i%10, i)] = fmt.Sprintf(
				`{"id": "t%d", "name": "Test %d", "prompt": "What is %d?", "expected": {"keywords": ["%d"]}, "weight": 1.5}`, i, i, i, i)
		case 1:
			texts[file+".json"] = fmt.Sprintf(`{"name": "Case %d", "tags": ["owner:me"], "persona": {"type": "polite", "description": "buys hats", "instructions": "be brief"}, "initial_message": "Hat %d is torn", "max_turns": 4, "expected_outcomes": {"refunded": true}, "expected_tool_calls": [{"tool": "refund", "expected_params": {"order": %d}}]}`, i, i, i)
		case 2:
			texts[file+".json"] = fmt.Sprintf(`{"test_type": "agent", "name": "bot", "user_input": ["Hello %d", "Bye"], "testing_prompt": "Is it kind?", "evaluation_type": "numeric", "threshold": 7, "rubric": {"criteria": [{"name": "tone", "weight": 0.5}, {"name": "facts", "weight": 0.5}]}}`, i)
		case 3:
			texts[file+".yaml"] = fmt.Sprintf("name: suite %d\nevalcases:\n- id: greets\n  expected_outcome: A greeting\n  input: Hello %d\n  rubrics: [It is kind, {id: short, expected_outcome: It is short, weight: 2}]\n", i, i)
		}
	}
	return fsOf(texts)
}

// BenchmarkMixed loads files of all dialects: without constraints, and with
// some that every definition has to be asked about.
func BenchmarkMixed(b *testing.B) {
	const n = 10_000
	files := mixed(n)
	constrained := settings
	constrained.Constraints = []schema.ConstraintFile{{
		File: "test_definitions/schema/team.cue",
		Text: "#Testcase: tags: [_, ...]\n#Promptval: iterations?: <9\n#Test: weight?: <9\n#Evalcase: id: !=\"\"\n",
	}}
	for _, tt := range []struct {
		name string
		with schema.Settings
	}{{"plain", settings}, {"constrained", constrained}} {
		b.Run(fmt.Sprint(tt.name, "/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, err := Load(b.Context(), files, Options{Settings: tt.with})
				if err != nil || len(res.Cases) != n || schema.HasErrors(res.Problems) {
					b.Fatal(err, len(res.Cases), res.Problems[:min(3, len(res.Problems))])
				}
			}
		})
	}
}
