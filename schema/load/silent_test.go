package load

import (
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

// TestAsksNothing: a case that passes whatever is answered is marked, and its file is named
// once, in every format that has such cases.
func TestAsksNothing(t *testing.T) {
	const plan = `{"test_type": "agent", "name": "planner", "testing_prompt": "Plan.", "user_input": "Plan.", "analysis": false}`
	texts := map[string]string{
		"test_definitions/plan.json":            plan,
		"test_definitions/counted.json":         `{"test_type": "agent", "name": "planner", "testing_prompt": "Plan.", "user_input": "Plan.", "analysis": true}`,
		"test_definitions/checked.json":         plan,
		"test_definitions/checked.checks.yaml":  ".: [{contains: hat}]\n",
		"test_definitions/promptfooconfig.yaml": "prompts: [Hi]\ntests: [{vars: {a: 1}}, {vars: {a: 2}}, {vars: {a: 3}, assert: [{type: contains, value: Hi}]}]\n",
		"test_definitions/all.yaml":             "prompts: [Hi]\ntests: [{vars: {a: 1}}]\n",
		"test_definitions/weights.yaml":         "prompts: [Hi]\ntests:\n- assert: [{type: contains, value: no, weight: 0}]\n- {threshold: 0, assert: [{type: contains, value: no}]}\n- assert: [{type: assert-set, threshold: 0, assert: [{type: contains, value: no}]}]\n- assert: [{type: assert-set, weight: 0, assert: [{type: contains, value: no}]}]\n",
		"test_definitions/weighed.yaml":         "prompts: [Hi]\ntests:\n- assert: [{type: contains, value: no, weight: 0}, {type: contains, value: no}]\n- {threshold: 0.5, assert: [{type: contains, value: no, weight: 0}]}\n- assert: [{type: assert-set, assert: [{type: contains, value: no}]}]\n- assert: [{type: llm-rubric, value: greets}]\n",
		"test_definitions/suite.yaml":           "evalcases: [{id: a, input: Hi, expected_outcome: Greets.}]\n",
	}
	want := map[string]int{"test_definitions/plan.json": 1, "test_definitions/promptfooconfig.yaml": 2, "test_definitions/all.yaml": 1, "test_definitions/weights.yaml": 4}
	res, err := Load(t.Context(), fsOf(texts), Options{Settings: schema.Settings{Definitions: []string{"test_definitions"}}})
	if err != nil {
		t.Fatal(err)
	}
	marked, named := map[string]int{}, map[string]int{}
	for _, c := range res.Cases {
		if c.AsksNothing {
			marked[c.Origin.File]++
		}
		var back schema.CaseInfo
		if !decodeListing(encodeListing(&c.CaseInfo), &back) || back.AsksNothing != c.AsksNothing || back.PerTarget != c.PerTarget {
			t.Errorf("the listing of %s is read as %+v", c.Key, back)
		}
	}
	for _, p := range res.Problems {
		if p.Rule == "asks-nothing" {
			named[p.File]++
		}
	}
	for file := range texts {
		if marked[file] != want[file] || named[file] != min(want[file], 1) {
			t.Errorf("%s: %d cases are marked and %d problems name them, want %d and %d: %v", file, marked[file], named[file], want[file], min(want[file], 1), res.Problems)
		}
	}
}
