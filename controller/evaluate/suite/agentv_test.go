package suite_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/verdict"
)

// TestTrajectoriesOfAgentV4 gives partial scores, where the evalcase format gives 0.
func TestTrajectoriesOfAgentV4(t *testing.T) {
	for _, tt := range []struct {
		mode, steps string
		calls       []string
		score       float64
	}{
		{"in_order", "{tool: a}, {tool: b}", []string{"b {}", "a {}"}, 0.5},
		{"in_order", "{tool: a}, {tool: b}", []string{"a {}", "c {}", "b {}"}, 1},
		{"exact", "{tool: a}, {tool: b}", []string{"a {}", "b {}", "c {}"}, 2. / 3},
		{"exact", "{tool: a}, {tool: b}", []string{"b {}", "a {}"}, 0},
		{"superset", "{tool: a}", []string{"b {}", "a {}"}, 1},
		{"superset", "{tool: a}, {tool: c}", []string{"b {}", "a {}"}, 0.5},
		{"subset", "{tool: a}, {tool: c}", []string{"a {}"}, 1},
		{"subset", "{tool: a}", []string{"a {}", "b {}", "a {}"}, 1. / 3},
		{"subset", "{tool: a}", nil, 1},
		// Arguments are compared as a whole unless the assertion says otherwise.
		{"any_order", "{tool: a, args: {x: 1}}", []string{`a {"x": 1, "y": 2}`}, 0},
		{"any_order", "{tool: a, args: {x: 1}}", []string{`a {"x": 1}`}, 1},
		{"any_order", "{tool: a, args: {x: 1}, args_match: subset}", []string{`a {"x": 1, "y": 2}`}, 1},
		{"any_order", "{tool: a, args: {x: 1}, args_match: ignore}", []string{`a {"x": 3}`}, 1},
	} {
		want := verdict.Fail
		if tt.score >= 0.8 {
			want = verdict.Pass
		}
		text := "assertions: [{type: tool-trajectory, mode: " + tt.mode + ", expected: [" + tt.steps + "]}]"
		expect(t, &trial{text: text, calls: tt.calls}, want, tt.score)
	}
}

// TestScoresOfAgentV4: the score decides at 0.8, a required assertion below its least
// score fails the case, and a list of criteria is weighed as a whole (A1).
func TestScoresOfAgentV4(t *testing.T) {
	const nine = "assertions: [{type: contains, value: yes, weight: 9}, {type: contains, value: never"
	expect(t, &trial{text: nine + "}]", answer: "yes"}, verdict.Pass, 0.9)
	expect(t, &trial{text: nine + ", required: true}]", answer: "yes"}, verdict.Fail, 0.9)
	expect(t, &trial{text: "assertions: [{type: contains, value: yes, weight: 7}, {type: contains, value: no, weight: 3}]", answer: "yes"}, verdict.Fail, 0.7)
	expect(t, &trial{text: "assertions: [{type: equals, value: ' yes '}]", answer: "yes\n"}, verdict.Pass, 1)
	expect(t, &trial{text: "assertions: [{type: execution-metrics, max_tool_calls: 5, max_tokens: 10}]"}, verdict.Fail, 0.5)

	const six = `assertions: [{type: rubrics, criteria: [a, b, c, d, e, {outcome: f, required: true}]}]`
	var list []string
	for i, met := range []string{"true", "true", "true", "true", "true", "false"} {
		list = append(list, `{"id": "rubric-`+string(rune('1'+i))+`", "met": `+met+`, "reason": "r"}`)
	}
	expect(t, &trial{text: six, replies: []string{`{"criteria": [` + strings.Join(list, ", ") + `], "summary": ""}`}}, verdict.Pass, 5./6)
}

// TestACompositeByShareOfAgentV4 scores the share of its members that pass.
func TestACompositeByShareOfAgentV4(t *testing.T) {
	text := "assertions: [{type: composite, aggregator: {type: threshold, threshold: 0.5}, assertions: [{type: contains, value: a}, {type: contains, value: b}, {type: contains, value: c}, {type: contains, value: d}]}]"
	expect(t, &trial{text: text, answer: "abc"}, verdict.Fail, 0.75)
	expect(t, &trial{text: text, answer: "abcd"}, verdict.Pass, 1)
}

// TestACodeGraderOfAgentV4 reads the fields of both forms, and its assertions are
// what held and what did not.
func TestACodeGraderOfAgentV4(t *testing.T) {
	tr := &trial{text: "assertions: [{type: code-grader, command: [grade], level: 3}]", answer: "Hello", printed: []string{
		`{"score": 0.9, "assertions": [{"text": "polite", "passed": true}, {"text": "short", "passed": false}]}`,
	}}
	got := expect(t, tr, verdict.Pass, 0.9)
	var read map[string]any
	if err := json.Unmarshal([]byte(tr.read[0]), &read); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"output": "Hello", "criteria": "It works.", "candidate_answer": "Hello", "cost_usd": 0.02, "duration_ms": 1500.} {
		if read[name] != want {
			t.Errorf("the program reads %s as %v, want %v", name, read[name], want)
		}
	}
	if config, ok := read["config"].(map[string]any); !ok || config["level"] != 3. {
		t.Errorf("the program reads the configuration %v, want the field level in it", read["config"])
	}
	c := got.Evaluators[0].Criteria[0]
	if strings.Join(c.Hits, " ") != "polite" || strings.Join(c.Misses, " ") != "short" {
		t.Errorf("hits %q, misses %q", c.Hits, c.Misses)
	}
}
