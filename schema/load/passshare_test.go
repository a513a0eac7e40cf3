package load

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
)

// TestPassShareOf: the case itself wins, then the longest glob, then the first by name.
func TestPassShareOf(t *testing.T) {
	shares := map[string]schema.PassShare{}
	for i, glob := range []string{"**", "shop/**", "shop/*", "s*/*", "a", "**/long/name/a"} {
		shares[glob] = schema.PassShare{Share: float64(i+1) / 10}
	}
	for key, want := range map[string]float64{"other": .1, "shop/x": .2, "shop/x/y": .2, "sun/x": .4, "a": .5, "b/long/name/a": .6} {
		if got, ok := passShareOf(shares, key); !ok || got.Share != want {
			t.Errorf("%s has %v, want %v", key, got.Share, want)
		}
	}
	if _, ok := passShareOf(map[string]schema.PassShare{"x": {Share: 1}}, "y"); ok {
		t.Error("a share of another case")
	}
}

// TestPassSharesOfEveryFormat: the policy of the cases of each format has the share and its
// number of samples, whatever the format says of iterations; another key has neither.
func TestPassSharesOfEveryFormat(t *testing.T) {
	settings := settings
	settings.PassShares = map[string]schema.PassShare{"**": {Share: .8, Samples: 10}, "other*": {Share: .5}}
	settings.Iterations, settings.DefaultTarget = 3, "bot"
	settings.Targets = map[string]schema.TargetSettings{"bot": {}, "planner": {Kind: "agent", Agent: true}}
	found := map[string]bool{}
	for _, c := range loadBy(t, settings, map[string]string{
		"test_definitions/suite.yaml":            "evalcases: [{id: hi, expected_outcome: Greets, input: Hi}]\n",
		"test_definitions/other.yaml":            "evalcases: [{id: hi, expected_outcome: Greets, input: Hi}]\n",
		"test_definitions/talk.yaml":             "name: Greets\npersona: {type: user, description: Greets, instructions: Greet.}\ninitial_message: Hi\nexpected_outcomes: {greeted: yes}\n",
		"test_definitions/promptfooconfig.yaml":  "prompts: [\"say {{x}}\"]\nproviders: [bot]\ntests: [{description: one, vars: {x: a}, options: {repeat: 4}, assert: [{type: contains, value: a}]}]\n",
		"test_definitions/shop/domain.json":      `{"id": "shop", "name": "Shop", "evaluator_id": "keyword"}`,
		"test_definitions/shop/level_1/a.json":   `{"id": "a", "name": "a", "prompt": "say a", "expected": {"keywords": ["a"]}}`,
		"test_definitions/plans/tone.json":       `{"test_type": "agent", "name": "planner", "user_input": ["Hi", "Ho"], "iterations": 2, "testing_prompt": "The answer is friendly."}`,
		"test_definitions/wrap/SKILL.md":         "---\nname: wrap\ndescription: Wraps.\n---\nWrap.\n",
		"test_definitions/wrap/evals/evals.json": `{"skill_name": "wrap", "evals": [{"id": 1, "prompt": "Wrap it.", "expected_output": "It is wrapped.", "expectations": ["It is wrapped."]}]}`,
	}).Cases {
		want := schema.Policy{PassShare: .8, Iterations: 10}
		if c.Key == "other#hi" {
			want = schema.Policy{PassShare: .5, Iterations: 3}
		}
		if c.Policy.PassShare != want.PassShare || c.Policy.Iterations != want.Iterations {
			t.Errorf("%s has %v of %d samples, want %v of %d", c.Key, c.Policy.PassShare, c.Policy.Iterations, want.PassShare, want.Iterations)
		}
		found[c.Dialect] = true
	}
	want := []string{"domain", "evalcase", "matrix", "promptval", "skill", "testcase"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(found))); diff != "" {
		t.Errorf("dialects (-want +got):\n%s", diff)
	}
}
