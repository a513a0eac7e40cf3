package load

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// kindsOf are the evaluators of the cases with their weights, by key.
func kindsOf(cases []*schema.Case) map[string]string {
	out := map[string]string{}
	for _, c := range cases {
		var kinds []string
		for _, ev := range c.Evaluators {
			text := ev.Spec.Kind()
			if ev.Weight == 0 {
				text = "(" + text + ")"
			}
			if spec, ok := ev.Spec.(evaluator.Checks); ok {
				for _, check := range spec.Checks {
					text += " " + check.ID
				}
			}
			kinds = append(kinds, text)
		}
		out[c.Key] = strings.Join(kinds, ", ")
	}
	return out
}

// TestChecksWithinCases holds that checks within a case and its checks file's add up,
// that a case without any other evaluator is judged by them alone, and that next to a
// judge they have no share in the score.
func TestChecksWithinCases(t *testing.T) {
	res := loadAll(t, map[string]string{
		"test_definitions/suite.yaml": `evalcases:
- {id: alone, expected_outcome: x, input: i, checks: [{contains: a}, {latency_ms: 9}]}
- {id: both, expected_outcome: x, input: i, checks: [{contains: a}]}
- {id: beside, expected_outcome: x, input: i}
- {id: judged, expected_outcome: x, input: i, rubrics: [Is kind], checks: [{contains: a}]}
- {id: listed, expected_outcome: x, input: i, evaluators: [{type: latency, threshold: 5}], checks: [{contains: a}]}
- {id: none, expected_outcome: x, input: i}
- {id: terse, input: i, checks: [{contains: a}]}
`,
		"test_definitions/suite.checks.yaml": "both: [{contains: b}, {equals: c}]\nbeside: [{contains: a}]\n",
		"test_definitions/named.yaml":        "evaluator: llm_judge\nevalcases: [{id: x, expected_outcome: x, input: i, checks: [{contains: a}]}]\n",
		"test_definitions/lines.jsonl":       `{"id": "x", "expected_outcome": "x", "input": "i", "checks": [{"contains": "a"}]}` + "\n",
		"test_definitions/talk.json":         `{"name": "Talk", "checks": [{"contains": "a"}]}`,
		"test_definitions/talks.json":        `{"test_cases": [{"name": "Talk", "checks": [{"contains": "a"}]}, {"name": "Walk"}]}`,
		"test_definitions/prompt.json":       `{"test_type": "agent", "name": "planner", "user_input": "x", "testing_prompt": "y", "checks": [{"contains": "a"}]}`,
		"test_definitions/alone.json":        `{"test_type": "agent", "name": "planner", "user_input": "x", "testing_prompt": "y", "analysis": false, "checks": [{"contains": "a"}]}`,
	})
	for _, p := range res.Problems {
		if p.Severity == schema.Error {
			t.Error(p)
		}
	}
	want := map[string]string{
		"suite#alone": "checks contains latency_ms", "suite#both": "checks contains contains 2 equals", "suite#beside": "checks contains",
		"suite#judged": "rubric, (checks) contains", "suite#listed": "latency, (checks) contains", "suite#none": "llm_judge", "suite#terse": "checks contains",
		"named#x": "llm_judge, (checks) contains", "lines#x": "checks contains", "talk": "conversation, (checks) contains",
		"talks#talk": "conversation, (checks) contains", "talks#walk": "conversation", "prompt": "semantic, (checks) contains", "alone": "checks contains",
	}
	got := kindsOf(res.Cases)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, c := range res.Cases {
		isAlone := len(c.Evaluators) == 1 && c.Evaluators[0].Name == "checks"
		if c.Dialect == schema.DialectEvalcase && isAlone != (c.Policy.Bands == nil) {
			t.Errorf("%s has the bands %v", c.Key, c.Policy.Bands)
		}
	}
	var noted []string
	for _, p := range res.Problems {
		if p.Rule == "judged-by-checks" {
			noted = append(noted, p.String())
		}
	}
	slices.Sort(noted)
	if len(noted) != 4 || !strings.Contains(noted[1], "suite.yaml:2:3: note: the case is judged by its checks alone") {
		t.Errorf("noted is %q, want the four cases whose judge the checks replace", noted)
	}
}

// TestOnlyChecksAloneNeedNoOutcome: a case that a judge or an evaluator of its own
// scores says what success is.
func TestOnlyChecksAloneNeedNoOutcome(t *testing.T) {
	for _, tt := range []struct{ more, want string }{
		{"checks: [{contains: a}]", ""},
		{"checks: [{contains: a}], rubrics: [Is kind]", "the field `expected_outcome` is missing"},
		{"checks: [{contains: a}], evaluators: [{type: latency, threshold: 5}]", "the field `expected_outcome` is missing"},
		{"note: x", "the field `expected_outcome` is missing"},
	} {
		res := loadAll(t, map[string]string{"test_definitions/suite.yaml": "evalcases: [{id: a, input: i, " + tt.more + "}]\n"})
		var said []string
		for _, p := range res.Problems {
			said = append(said, p.String())
		}
		if all := strings.Join(said, "\n"); (tt.want == "" && all != "") || !strings.Contains(all, tt.want) {
			t.Errorf("%s: the problems are\n%s\nwant %q", tt.more, all, tt.want)
		}
	}
}

// TestABadCheckCostsItsCase: a case whose checks cannot be read would pass without
// them.
func TestABadCheckCostsItsCase(t *testing.T) {
	res := loadAll(t, map[string]string{
		"test_definitions/suite.yaml": "- {id: a, expected_outcome: x, input: i, checks: [{contain: a}]}\n- {id: b, expected_outcome: x, input: i, checks: [{regex: \"(\"}]}\n- {id: c, expected_outcome: x, input: i}\n",
	})
	var said []string
	for _, p := range res.Problems {
		said = append(said, p.String())
	}
	want := []string{
		"test_definitions/suite.yaml:1:52: error: unknown field `contain`; did you mean `contains`?",
		"test_definitions/suite.yaml:2:52: error: the pattern does not compile: missing closing ): `(`; write an RE2 pattern",
	}
	if diff := cmp.Diff(want, said); diff != "" || len(res.Cases) != 1 {
		t.Errorf("%d cases, problems (-want +got):\n%s", len(res.Cases), diff)
	}
}
