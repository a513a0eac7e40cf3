package evaluate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
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
		{"subset", "{tool: a}", []string{"a {}", "b {}", "a {}"}, 2. / 3},
		{"subset", "{tool: a}", nil, 1},
		// Arguments are compared as a whole unless the assertion says otherwise.
		{"any_order", "{tool: a, args: {x: 1}}", []string{`a {"x": 1, "y": 2}`}, 0},
		{"any_order", "{tool: a, args: {x: 1}}", []string{`a {"x": 1}`}, 1},
		// superset: the call has all that is listed; subset: it has nothing else.
		{"any_order", "{tool: a, args: {x: 1}, args_match: superset}", []string{`a {"x": 1, "y": 2}`}, 1},
		{"any_order", "{tool: a, args: {x: 1}, args_match: subset}", []string{`a {"x": 1, "y": 2}`}, 0},
		{"any_order", "{tool: a, args: {x: 1, y: 2}, args_match: superset}", []string{`a {"x": 1}`}, 0},
		{"any_order", "{tool: a, args: {x: 1, y: 2}, args_match: subset}", []string{`a {"x": 1}`}, 1},
		{"any_order", "{tool: a, args: {x: 1}, args_match: superset}", []string{`a {"x": 2}`}, 0},
		{"any_order", "{tool: a, args: {x: 1}, args_match: subset}", []string{`a {"x": 2}`}, 0},
		{"any_order", "{tool: a, args: {x: 1}, args_match: subset}", []string{`a {}`}, 1},
		{"any_order", "{tool: a, args: {x: 1}, args_match: superset}", []string{`a {}`}, 0},
		{"any_order", "{tool: a, args_match: superset}", []string{`a {"x": 1}`}, 1},
		{"any_order", "{tool: a, args_match: subset}", []string{`a {"x": 1}`}, 1},
		{"any_order", "{tool: a, args: {}, args_match: subset}", []string{`a {"x": 1}`}, 0},
		{"any_order", "{tool: a, args: {}}", []string{`a {"x": 1}`}, 0},
		{"any_order", "{tool: a, args: {}}", []string{`a {}`}, 1},
		{"any_order", "{tool: a, args: {}, args_match: superset}", []string{`a {"x": 1}`}, 1},
		{"any_order", "{tool: a, args: {x: {y: 1}}, args_match: superset}", []string{`a {"x": {"y": 1, "z": 2}}`}, 0},
		{"any_order", "{tool: a, args: {x: {y: 1, z: 2}}, args_match: subset}", []string{`a {"x": {"y": 1}}`}, 0},
		{"any_order", "{tool: a, args: {x: 1}, args_match: superset}", []string{`b {"x": 1}`}, 0},
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
// score fails the case with a score of 0, and a list of criteria is weighed as a whole (A1).
func TestScoresOfAgentV4(t *testing.T) {
	const nine = "assertions: [{type: contains, value: yes, weight: 9}, {type: contains, value: never"
	expect(t, &trial{text: nine + "}]", answer: "yes"}, verdict.Pass, 0.9)
	expect(t, &trial{text: nine + ", required: true}]", answer: "yes"}, verdict.Fail, 0)
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

// TestScriptsOfAgentV5: without a score the mean of the checks counts, else whether the
// program passed; with one, that alone (A1).
func TestScriptsOfAgentV5(t *testing.T) {
	const script = "assertions: [{type: script, command: [grade]}]"
	expect(t, &trial{text: script, printed: []string{`{"pass": true, "reason": "good"}`}}, verdict.Pass, 1)
	expect(t, &trial{text: script, printed: []string{`{"pass": false}`}}, verdict.Fail, 0)
	expect(t, &trial{text: script, printed: []string{`{"pass": false, "score": 0.9}`}}, verdict.Pass, 0.9)
	expect(t, &trial{text: script, printed: []string{`{"checks": [{"text": "a", "pass": true}, {"text": "b", "pass": false}, {"text": "c", "score": 0.5}]}`}}, verdict.Fail, 0.5)
}

// TestExitStatusOfAgentV: a program that prints no JSON is judged by its exit status. One
// that says on stderr what went wrong, that printed JSON and failed, or that was ended,
// gives no judgement.
func TestExitStatusOfAgentV(t *testing.T) {
	exit := func(stderr string) *sandbox.Failure {
		return &sandbox.Failure{Program: "grade", Cause: "exit status 3", Status: 3, Stderr: stderr}
	}
	for _, tt := range []struct {
		printed string
		failure *sandbox.Failure
		want    verdict.Verdict
		score   float64
	}{
		{"it has 5 pages", nil, verdict.Pass, 1},
		{"", nil, verdict.Pass, 1},
		{"0.2", nil, verdict.Pass, 1},
		{"[1]", nil, verdict.Pass, 1},
		{"only 2 pages", exit(""), verdict.Fail, 0},
		{"", exit(" \n"), verdict.Fail, 0},
		{"only 2 pages", exit("Traceback"), verdict.Error, 0},
		{`{"score": 1}`, exit(""), verdict.Error, 0},
		{"[1]", exit(""), verdict.Error, 0},
		{`{"score": 1`, nil, verdict.Error, 0},
		{"only", &sandbox.Failure{Program: "grade", Cause: "signal: killed"}, verdict.Error, 0},
		{"only", &sandbox.Failure{Program: "grade", Cause: "it timed out after 1s", TimedOut: true}, verdict.Error, 0},
	} {
		for _, kind := range []string{"code-grader", "script"} {
			tr := &trial{text: "assertions: [{type: " + kind + ", command: [grade]}]", printed: []string{tt.printed}, failure: tt.failure}
			got := tr.run(t)
			if got.Verdict != tt.want || tt.want != verdict.Error && (got.Score == nil || *got.Score != tt.score) {
				t.Errorf("%s prints %q, %v: %s %v (%s), want %s %v", kind, tt.printed, tt.failure, got.Verdict, got.Score, got.Reason, tt.want, tt.score)
			}
			if text := strings.TrimSpace(tt.printed); text != "" && tt.want != verdict.Error && !strings.Contains(got.Reason, text) {
				t.Errorf("%s prints %q, and the reason is %q", kind, tt.printed, got.Reason)
			}
		}
	}
	// The evalcase format itself has no such rule.
	for _, failure := range []*sandbox.Failure{nil, exit("")} {
		tr := &trial{text: "execution: {evaluators: [{name: c, type: code_judge, script: [grade]}]}", printed: []string{"fine"}, failure: failure}
		if got := tr.run(t); got.Verdict != verdict.Error {
			t.Errorf("a code_judge that prints text, %v: %s (%s), want an error", failure, got.Verdict, got.Reason)
		}
	}
}

// TestScoresThatACodeGraderLeavesOut: the share of its assertions that passed, else 0.
func TestScoresThatACodeGraderLeavesOut(t *testing.T) {
	const grader = "assertions: [{type: code-grader, command: [grade]}]"
	expect(t, &trial{text: grader, printed: []string{`{"pass": true}`}}, verdict.Fail, 0)
	expect(t, &trial{text: grader, printed: []string{`{"assertions": [{"text": "a", "passed": true}, {"text": "b", "passed": false}]}`}}, verdict.Fail, 0.5)
	expect(t, &trial{text: grader, printed: []string{`{"assertions": [{"text": "a", "passed": true}]}`}}, verdict.Pass, 1)
}

// TestACompositeByShareOfAgentV4 scores the share of its members that pass.
func TestACompositeByShareOfAgentV4(t *testing.T) {
	text := "assertions: [{type: composite, aggregator: {type: threshold, threshold: 0.5}, assertions: [{type: contains, value: a}, {type: contains, value: b}, {type: contains, value: c}, {type: contains, value: d}]}]"
	expect(t, &trial{text: text, answer: "abc"}, verdict.Fail, 0.75)
	expect(t, &trial{text: text, answer: "abcd"}, verdict.Pass, 1)
}

// TestACodeGraderOfAgentV4 reads the fields of both forms, and its assertions are the
// ones that held and that did not.
func TestACodeGraderOfAgentV4(t *testing.T) {
	tr := &trial{text: "assertions: [{type: code-grader, command: [grade], level: 3}]", answer: "Hello", printed: []string{
		`{"score": 0.9, "assertions": [{"text": "polite", "passed": true}, {"text": "short", "passed": false}]}`,
	}}
	got := expect(t, tr, verdict.Pass, 0.9)
	var read map[string]any
	if err := json.Unmarshal([]byte(tr.read[0]), &read); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		want any
	}{{"output", "Hello"}, {"criteria", "It works."}, {"candidate_answer", "Hello"}, {"cost_usd", 0.02}, {"duration_ms", 1500.}} {
		if read[tt.name] != tt.want {
			t.Errorf("the program reads %s as %v, want %v", tt.name, read[tt.name], tt.want)
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

// TestFieldsOfPrograms: a field that no assertion has is for the program, also where it
// looks like one that is known.
func TestFieldsOfPrograms(t *testing.T) {
	const fields = `expected_tools: [x], match_fields: [d], score_fields: [s], expected_keywords: [k], expected_files_modified: [f], foo: 1`
	for _, text := range []string{
		"assertions: [{type: code-grader, command: [grade], " + fields + "}]",
		"assertions: [{type: script, command: [grade], " + fields + "}]",
		"execution: {evaluators: [{name: c, type: code_judge, script: [grade], " + fields + "}]}",
	} {
		tr := &trial{text: text, printed: []string{`{"score": 1}`}}
		expect(t, tr, verdict.Pass, 1)
		var read struct{ Config map[string]any }
		if err := json.Unmarshal([]byte(tr.read[0]), &read); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"expected_tools", "match_fields", "score_fields", "expected_keywords", "expected_files_modified", "foo"} {
			if read.Config[name] == nil {
				t.Errorf("%s: the program reads the configuration %v, want %s in it", text, read.Config, name)
			}
		}
	}
}

// TestTrapA1: a required item of a list that is not met costs its share and nothing
// more, as does a program that scores high and says that something fails.
func TestTrapA1(t *testing.T) {
	const two = `assertions: [{type: rubrics, criteria: [{outcome: a, weight: 9}, {outcome: b, required: true}]}]`
	expect(t, &trial{text: two, replies: []string{`{"criteria": [{"id": "rubric-1", "met": true, "reason": ""}, {"id": "rubric-2", "met": false, "reason": ""}], "summary": ""}`}}, verdict.Pass, 0.9)
	expect(t, &trial{text: "assertions: [{type: code-grader, command: [grade]}]", printed: []string{`{"score": 0.9, "assertions": [{"text": "short", "passed": false}]}`}}, verdict.Pass, 0.9)
}

// TestTrapA2: the judge is asked again for an item that it leaves out, where AgentV
// leaves it out of the mean.
func TestTrapA2(t *testing.T) {
	const two = `assertions: [{type: rubrics, criteria: [a, b]}]`
	one := `{"criteria": [{"id": "rubric-1", "met": true, "reason": ""}], "summary": ""}`
	both := `{"criteria": [{"id": "rubric-1", "met": true, "reason": ""}, {"id": "rubric-2", "met": false, "reason": ""}], "summary": ""}`
	expect(t, &trial{text: two, replies: []string{one, both}}, verdict.Fail, 0.5)
	expect(t, &trial{text: two, replies: []string{one, one, one}}, verdict.Error, 0)
}

// TestTrapA11: a program that fails is an error, where AgentV scores 0.
func TestTrapA11(t *testing.T) {
	crash := &sandbox.Failure{Program: "grade", Cause: "exit status 1", Status: 1, Stderr: "Traceback"}
	expect(t, &trial{text: "assertions: [{type: code-grader, command: [grade]}]", printed: []string{""}, failure: crash}, verdict.Error, 0)
	expect(t, &trial{text: "assertions: [{type: cost, budget: 1}]", change: func(tr *verdict.Transcript) { tr.Usage.Unpriced = 1 }}, verdict.Error, 0)
}

// TestNegationsOfAgentV4: 1 minus the score counts, also within a composite and for
// required evaluators.
func TestNegationsOfAgentV4(t *testing.T) {
	const rude = `{type: llm-grader, prompt: "Is it rude? {{output}}", negate: true`
	expect(t, &trial{text: "assertions: [" + rude + "}]", replies: []string{`{"score": 0.1}`}}, verdict.Pass, 0.9)
	expect(t, &trial{text: "assertions: [" + rude + "}]", replies: []string{`{"score": 0.9}`}}, verdict.Fail, 0.1)
	expect(t, &trial{text: "assertions: [{type: contains, value: a, weight: 9}, " + rude + ", required: true}]", answer: "a", replies: []string{`{"score": 1}`}}, verdict.Fail, 0)
	expect(t, &trial{text: "assertions: [{type: composite, assertions: [{type: contains, value: a}, " + rude + "}]}]", answer: "a", replies: []string{`{"score": 0}`}}, verdict.Pass, 1)
}

// TestSkillTrigger finds a skill by the tool for skills and by the path of its folder.
func TestSkillTrigger(t *testing.T) {
	for _, tt := range []struct {
		call string
		used bool
	}{
		{`Skill {"skill": "pdf"}`, true}, {`skill {"command": "office:pdf"}`, true}, {`Read {"file_path": "/agent/.claude/skills/pdf/SKILL.md"}`, true},
		{`exec {"argv": ["cat", "skills/pdf/SKILL.md"]}`, true}, {`Skill {"skill": "pdf-forms"}`, false}, {`Read {"file_path": "skills/pdf2/SKILL.md"}`, false},
		{`search {"query": "pdf"}`, false}, {`Skill {"skill": "docx", "why": "no pdf"}`, false},
	} {
		want := map[bool]verdict.Verdict{true: verdict.Pass, false: verdict.Fail}
		score := map[bool]float64{true: 1}
		const text = "assertions: [{type: skill-trigger, skill: pdf"
		expect(t, &trial{text: text + "}]", calls: []string{tt.call}}, want[tt.used], score[tt.used])
		expect(t, &trial{text: text + ", should_trigger: false}]", calls: []string{tt.call}}, want[!tt.used], score[!tt.used])
	}
	expect(t, &trial{text: "assertions: [{type: skill-trigger, skill: pdf}]", change: func(tr *verdict.Transcript) { tr.Traced = false }}, verdict.Error, 0)
}
