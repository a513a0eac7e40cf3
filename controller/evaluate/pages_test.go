package evaluate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"

	format "github.com/gavel-evals/gavel/schema/evalcase"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// A trial is a case as it is written, what the target did, and how judges and
// programs answer in turn.
type trial struct {
	// text is added to a case with an id, an input and an expected outcome.
	text string
	// calls are the target's calls: a name and its arguments.
	calls []string
	// answer is the last message of the target.
	answer string
	// change is applied to the transcript.
	change func(*verdict.Transcript)
	// replies are the judges' replies, printed the outputs of programs.
	replies, printed []string
	// failure is the error of each program; nil if it succeeds.
	failure *sandbox.Failure

	asked []string // what judges were asked
	read  []string // what programs read
	ran   []evaluator.Program
}

// run compiles the case, measures it and decides.
func (tr *trial) run(t *testing.T) verdict.Result {
	t.Helper()
	c := compiled(t, tr.text)
	transcript := &verdict.Transcript{
		Traced: true, Latency: 1500 * time.Millisecond,
		Usage:    verdict.Usage{Calls: 1, InputTokens: 900, OutputTokens: 100, CostUSD: 0.02},
		Messages: append([]schema.Message(nil), c.Drive.Messages...),
	}
	for i, call := range tr.calls {
		name, args, _ := strings.Cut(call, " ")
		transcript.Messages = append(transcript.Messages, schema.Message{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{
			{ID: fmt.Sprint(i), Function: schema.FunctionCall{Name: name, Arguments: args}},
		}})
	}
	transcript.Messages = append(transcript.Messages, schema.Message{Role: schema.RoleAssistant, Content: tr.answer})
	if tr.change != nil {
		tr.change(transcript)
	}
	in := Input{Case: c, Transcript: transcript, Ask: tr.ask, Programs: tr.program}
	var sample verdict.Sample
	for _, ev := range c.Evaluators {
		m, err := Measure(t.Context(), ev, in)
		if err != nil {
			t.Fatal(err)
		}
		sample.Measurements = append(sample.Measurements, m)
	}
	return verdict.DecideCase(c, []verdict.Sample{sample})
}

func (tr *trial) ask(_ context.Context, _ schema.Role, req target.Request) (target.Reply, error) {
	text := ""
	for _, m := range req.Messages {
		text += m.Content
	}
	tr.asked = append(tr.asked, text)
	if len(tr.asked) > len(tr.replies) {
		return target.Reply{}, errors.New("one call more than expected")
	}
	return target.Reply{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: tr.replies[len(tr.asked)-1]}}}, nil
}

func (tr *trial) program(_ context.Context, start Start) ([]byte, error) {
	tr.read, tr.ran = append(tr.read, string(start.Stdin)), append(tr.ran, start.Program)
	if len(tr.read) > len(tr.printed) {
		return nil, errors.New("one program more than expected")
	}
	if tr.failure != nil {
		tr.failure.Printed = []byte(tr.printed[len(tr.read)-1])
		return nil, tr.failure
	}
	return []byte(tr.printed[len(tr.read)-1]), nil
}

// compiled is a case that lacks nothing but the text that is added.
func compiled(t *testing.T, text string) *schema.Case {
	t.Helper()
	head := ""
	if strings.HasPrefix(text, "assertions:") {
		head = "tests:\n" // a test of AgentV 4
	}
	text = strings.ReplaceAll(strings.TrimRight("\n"+text, "\n"), "\n", "\n  ")
	files := fstest.MapFS{"suites/a.yaml": {Data: []byte(head + "- id: example\n  expected_outcome: It works.\n  input: Hi" + text + "\n")}}
	doc, problems := document.Open(files, "suites/a.yaml")
	if doc == nil {
		t.Fatalf("%s has problems, want none: %v", text, problems)
	}
	cases, problems := format.Load(document.Source{FS: files, Root: "suites", KeyRoot: "suites"}, doc)
	if schema.HasErrors(problems) || len(cases) != 1 {
		t.Fatalf("%s: %d cases, problems %v", text, len(cases), problems)
	}
	return cases[0]
}

// expect fails the test unless a trial ends with a verdict and a score.
func expect(t *testing.T, tr *trial, want verdict.Verdict, score float64) verdict.Result {
	t.Helper()
	got := tr.run(t)
	switch {
	case got.Verdict != want:
		t.Errorf("%s\ncalls %q: the verdict is %s (%s), want %s", tr.text, tr.calls, got.Verdict, got.Reason, want)
	case want == verdict.Error:
	case got.Score == nil || math.Abs(*got.Score-score) > 1e-9:
		t.Errorf("%s\ncalls %q: the score is %v (%s), want %v", tr.text, tr.calls, show(got.Score), got.Reason, score)
	}
	return got
}

func show(score *float64) string {
	if score == nil {
		return "none"
	}
	return fmt.Sprint(*score)
}

// TestToolTrajectoryModeDefaultsToAnyOrder covers evaluators without a mode.
func TestToolTrajectoryModeDefaultsToAnyOrder(t *testing.T) {
	const text = "evaluators: [{type: tool_trajectory, expected: [{tool: a}, {tool: b}]}]"
	expect(t, &trial{text: text, calls: []string{"b {}", "c {}", "a {}"}}, verdict.Pass, 1)
	expect(t, &trial{text: text, calls: []string{"b {}"}}, verdict.Fail, 0.5)
}

// TestToolTrajectoryScores has the calls of a target under each mode, and the
// share that matched.
func TestToolTrajectoryScores(t *testing.T) {
	for _, tt := range []struct {
		mode, expected string
		calls          string
		score          float64
	}{
		{"in_order", "a b", "a c b", 1},
		{"in_order", "a b", "b a", 0}, // all called, in another order
		{"in_order", "a b c", "a c", 2. / 3},
		{"in_order", "a b c", "b a", 1. / 3}, // c is missing: the longest run in order
		{"in_order", "a a b", "b a", 1. / 3}, // one a is missing
		{"in_order", "a b", "", 0},
		{"exact", "a b", "a b", 1},
		{"exact", "a b", "a b c", 0}, // one too many
		{"exact", "a b", "a c b", 0}, // not expected
		{"exact", "a b", "a a b", 0},
		{"exact", "a b", "b a", 0}, // another order
		{"exact", "a b", "a", 0.5},
		{"exact", "a b c", "b", 1. / 3},
		{"exact", "a b c", "a c", 2. / 3},
		{"exact", "a b", "", 0},
		{"any_order", "a b", "b c a", 1},
		{"any_order", "a a", "a", 0.5},
	} {
		var steps []string
		for _, name := range strings.Fields(tt.expected) {
			steps = append(steps, "{tool: "+name+"}")
		}
		text := fmt.Sprintf("evaluators: [{type: tool_trajectory, mode: %s, expected: [%s]}]", tt.mode, strings.Join(steps, ", "))
		want := verdict.Fail
		switch {
		case tt.score >= 0.8:
			want = verdict.Pass
		case tt.score >= 0.6:
			want = verdict.Borderline
		}
		expect(t, &trial{text: text, calls: strings.Fields(tt.calls)}, want, tt.score)
	}
}

// TestToolTrajectoryMinimumsCountInEveryMode: each tool of minimums is one of the
// expectations.
func TestToolTrajectoryMinimumsCountInEveryMode(t *testing.T) {
	for _, tt := range []struct {
		mode, calls string
		verdict     verdict.Verdict
		score       float64
	}{
		{"any_order", "a b b", verdict.Pass, 1},
		{"any_order", "a b", verdict.Fail, 0.5},
		{"in_order", "a b b", verdict.Pass, 1},
		{"in_order", "a", verdict.Fail, 0.5},
		{"exact", "a", verdict.Fail, 0.5},
		{"exact", "a b b", verdict.Fail, 0}, // the minimum is reached, and b is one too many
	} {
		text := "evaluators: [{type: tool_trajectory, mode: " + tt.mode + ", minimums: {b: 2}, expected: [{tool: a}]}]"
		expect(t, &trial{text: text, calls: strings.Fields(tt.calls)}, tt.verdict, tt.score)
	}
	for _, mode := range []string{"any_order", "in_order", "exact"} {
		text := "evaluators: [{type: tool_trajectory, mode: " + mode + ", minimums: {b: 2}}]"
		expect(t, &trial{text: text, calls: []string{"c {}", "b {}", "b {}"}}, verdict.Pass, 1)
	}
}

// TestToolTrajectoryOfNoCall covers an empty list under exact.
func TestToolTrajectoryOfNoCall(t *testing.T) {
	const text = "evaluators: [{type: tool_trajectory, mode: exact, expected: []}]"
	expect(t, &trial{text: text}, verdict.Pass, 1)
	expect(t, &trial{text: text, calls: []string{"a {}"}}, verdict.Fail, 0)
}

// TestToolTrajectoryArguments: a call whose arguments do not fit is a step that
// is missing, and never one that is too many.
func TestToolTrajectoryArguments(t *testing.T) {
	const exact = "evaluators: [{type: tool_trajectory, mode: exact, expected: [{tool: a, args: {x: 1}}, {tool: b, args: any}]}]"
	expect(t, &trial{text: exact, calls: []string{`a {"x": 1, "y": 2}`, `b {"z": 3}`}}, verdict.Pass, 1)
	expect(t, &trial{text: exact, calls: []string{`a {"x": 2}`, `b {}`}}, verdict.Fail, 0.5)
	const perKey = "evaluators: [{type: tool_trajectory, mode: in_order, expected: [{tool: a, args: {x: any, y: 2}}]}]"
	expect(t, &trial{text: perKey, calls: []string{`a {"x": 9, "y": 2}`}}, verdict.Pass, 1)
	expect(t, &trial{text: perKey, calls: []string{`a {"y": 2}`}}, verdict.Fail, 0)
	const order = "evaluators: [{type: tool_trajectory, mode: in_order, expected: [{tool: a, args: {x: 1}}, {tool: b}]}]"
	expect(t, &trial{text: order, calls: []string{`b {}`, `a {"x": 2}`}}, verdict.Fail, 0.5) // a is missing, so no other order
}

// TestToolTrajectoryDurations: a call that takes too long is not its step.
func TestToolTrajectoryDurations(t *testing.T) {
	const text = "evaluators: [{type: tool_trajectory, mode: exact, expected: [{tool: a, max_duration_ms: 100}, {tool: b}]}]"
	took := func(ms float64) func(*verdict.Transcript) {
		return func(tr *verdict.Transcript) { tr.Messages[1].ToolCalls[0].DurationMS = &ms }
	}
	expect(t, &trial{text: text, calls: []string{"a {}", "b {}"}, change: took(100)}, verdict.Pass, 1)
	expect(t, &trial{text: text, calls: []string{"a {}", "b {}"}, change: took(101)}, verdict.Fail, 0.5)
	expect(t, &trial{text: text, calls: []string{"a {}", "b {}"}}, verdict.Error, 0)
}

// TestExecutionMetricsAreAllOrNothing: 1 of 5 bounds exceeded is 0.
func TestExecutionMetricsAreAllOrNothing(t *testing.T) {
	const text = "evaluators: [{type: execution_metrics, max_tool_calls: 1, max_llm_calls: 5, max_tokens: 5000, max_cost_usd: 0.05, max_duration_ms: 30000}]"
	expect(t, &trial{text: text, calls: []string{"a {}"}}, verdict.Pass, 1)
	expect(t, &trial{text: text, calls: []string{"a {}", "b {}"}}, verdict.Fail, 0)
}

// TestExecutionMetricsOfTokens bounds those that are sent and received apart.
func TestExecutionMetricsOfTokens(t *testing.T) {
	expect(t, &trial{text: "evaluators: [{type: execution_metrics, max_input_tokens: 900, max_output_tokens: 100}]"}, verdict.Pass, 1)
	expect(t, &trial{text: "evaluators: [{type: execution_metrics, max_input_tokens: 899}]"}, verdict.Fail, 0)
	expect(t, &trial{text: "evaluators: [{type: execution_metrics, max_output_tokens: 99}]"}, verdict.Fail, 0)
}

// TestExecutionMetricsOfExploration: the share of calls that read is within the
// tolerance of the one that is wanted.
func TestExecutionMetricsOfExploration(t *testing.T) {
	const ratio = "evaluators: [{type: execution_metrics, target_exploration_ratio: 0.6}]"
	expect(t, &trial{text: ratio, calls: []string{"read_file", "getUser", "write"}}, verdict.Pass, 1) // 2/3
	expect(t, &trial{text: ratio, calls: []string{"read-file", "GrepCode", "list"}}, verdict.Fail, 0) // 1
	expect(t, &trial{text: ratio, calls: []string{"gadget", "targets", "open"}}, verdict.Fail, 0)     // words, not parts of them
	expect(t, &trial{text: ratio}, verdict.Fail, 0)
	const narrow = "evaluators: [{type: execution_metrics, target_exploration_ratio: 0.6, exploration_tolerance: 0.05}]"
	expect(t, &trial{text: narrow, calls: []string{"read_file", "getUser", "write"}}, verdict.Fail, 0)
	const listed = "evaluators: [{type: execution_metrics, target_exploration_ratio: 0.5, exploration_tolerance: 0, config: {exploration_tools: [open]}}]"
	expect(t, &trial{text: listed, calls: []string{"open", "read"}}, verdict.Pass, 1)
}

// TestRequiredEvaluator: one that is required and scores 0 fails the case, whatever
// the others give.
func TestRequiredEvaluator(t *testing.T) {
	const text = "evaluators: [{type: latency, threshold: 100, required: true}, {type: cost, budget: 1, weight: 9}]"
	expect(t, &trial{text: text}, verdict.Fail, 0.9)
	expect(t, &trial{text: strings.Replace(text, "required: true", "required: false", 1)}, verdict.Pass, 0.9)
	expect(t, &trial{text: strings.Replace(text, "threshold: 100", "threshold: 2000", 1)}, verdict.Pass, 1)
}

const met, missed = `{"criteria": [{"id": "rubric-1", "met": true, "reason": "yes"}], "summary": ""}`, `{"criteria": [{"id": "rubric-1", "met": false, "reason": "no"}], "summary": ""}`

// TestRequiredWithinComposites: a required evaluator inside of a composite fails the
// case like one outside, at any depth.
func TestRequiredWithinComposites(t *testing.T) {
	const member = `evaluators:
- name: all
  type: composite
  evaluators:
    - {name: slow, type: latency, threshold: 100, required: true}
    - {name: cheap, type: cost, budget: 1, weight: 9}
`
	expect(t, &trial{text: member}, verdict.Fail, 0.9)
	const rubric = `evaluators:
- name: all
  type: composite
  aggregator: {type: maximum}
  evaluators:
    - name: inner
      type: composite
      evaluators:
        - {name: words, type: rubric, rubrics: [{id: rubric-1, expected_outcome: Greets, required: true}]}
    - {name: cheap, type: cost, budget: 1}
`
	expect(t, &trial{text: rubric, replies: []string{met}}, verdict.Pass, 1)
	expect(t, &trial{text: rubric, replies: []string{missed}}, verdict.Fail, 1)
}

// TestCompositeWeights: the aggregator's weights win over a child's own weight,
// which wins over 1, in every average.
func TestCompositeWeights(t *testing.T) {
	for _, aggregator := range []string{"type: weighted_average", "type: safety_gate, required: [cheap]", "type: all_or_nothing, threshold: 0"} {
		text := `evaluators:
- name: all
  type: composite
  aggregator: {` + aggregator + `, weights: {slow: 3}}
  evaluators:
    - {name: slow, type: latency, threshold: 100, weight: 50}
    - {name: cheap, type: cost, budget: 1, weight: 6}
    - {name: few, type: token_usage, max_total: 5000}
`
		expect(t, &trial{text: text}, verdict.Borderline, 0.7)
	}
}

// TestCompositeSafetyGate: the required ones are measured first; where one is below
// 0.6 the others are not run, the score is 0 and the case fails.
func TestCompositeSafetyGate(t *testing.T) {
	const text = `evaluators:
- name: all
  type: composite
  aggregator: {type: %s: [safe]}
  evaluators:
    - {name: good, type: llm_judge}
    - {name: safe, type: rubric, rubrics: [{id: a, expected_outcome: Safe, score_ranges: {0: no, 10: yes}}]}
- {name: other, type: cost, budget: 1, weight: 99}
`
	for _, key := range []string{"safety_gate, required", "safety_gate, gates"} {
		text := fmt.Sprintf(text, key)
		scored := func(score string) string {
			return `{"criteria": [{"id": "a", "score": ` + score + `, "reason": "x"}], "summary": "s"}`
		}
		shut := &trial{text: text, replies: []string{scored("5.9")}}
		got := expect(t, shut, verdict.Fail, 0.99)
		if len(shut.asked) != 1 || got.Evaluators[0].Score != 0 || !strings.Contains(got.Reason, "the gate safe") {
			t.Errorf("%d calls, score %v, reason %q: want one call, 0 and the gate as the reason", len(shut.asked), got.Evaluators[0].Score, got.Reason)
		}
		open := &trial{text: text, replies: []string{scored("6"), `{"score": 1, "reasoning": "good"}`}}
		got = expect(t, open, verdict.Pass, 0.998)
		if len(open.asked) != 2 || math.Abs(got.Evaluators[0].Score-0.8) > 1e-9 {
			t.Errorf("%d calls, score %v: want the mean of both", len(open.asked), got.Evaluators[0].Score)
		}
	}
}

// TestCompositeSafetyGateAtAnyDepth: a gate in a composite of a composite fails
// the case.
func TestCompositeSafetyGateAtAnyDepth(t *testing.T) {
	const text = `evaluators:
- name: outer
  type: composite
  aggregator: {type: maximum}
  evaluators:
    - name: inner
      type: composite
      aggregator: {type: safety_gate, required: [slow]}
      evaluators:
        - {name: slow, type: latency, threshold: 100}
        - {name: cheap, type: cost, budget: 1}
    - {name: cheap, type: cost, budget: 1}
`
	expect(t, &trial{text: text}, verdict.Fail, 1)
	expect(t, &trial{text: strings.Replace(text, "100", "2000", 1)}, verdict.Pass, 1)
}

// TestCompositeAllOrNothing: 0 if one is below the threshold, which is 0.6 by default,
// else the average.
func TestCompositeAllOrNothing(t *testing.T) {
	const text = `evaluators:
- name: all
  type: composite
  aggregator: {type: all_or_nothing%s}
  evaluators:
    - {name: cheap, type: cost, budget: 1}
    - {name: words, type: llm_judge}
`
	for _, tt := range []struct {
		threshold, score string
		verdict          verdict.Verdict
		want             float64
	}{
		{"", "0.6", verdict.Pass, 0.8},
		{"", "0.59", verdict.Fail, 0},
		{", threshold: 0.4", "0.5", verdict.Borderline, 0.75},
		{", threshold: 0.9", "0.8", verdict.Fail, 0},
		{", threshold: 0", "0", verdict.Fail, 0.5},
	} {
		expect(t, &trial{text: fmt.Sprintf(text, tt.threshold), replies: []string{`{"score": ` + tt.score + `}`}}, tt.verdict, tt.want)
	}
}

// TestCompositeProgramIsACommandLine: path may hold arguments, and a quoted text is
// one.
func TestCompositeProgramIsACommandLine(t *testing.T) {
	const text = `evaluators:
- name: all
  type: composite
  aggregator: {type: code_judge, path: "judge --strict 'two words'"}
  evaluators: [{name: cheap, type: cost, budget: 1}]
`
	tr := &trial{text: text, printed: []string{`{"score": 0.9}`}}
	expect(t, tr, verdict.Pass, 0.9)
	if got := fmt.Sprintf("%q", tr.ran[0].Argv); got != `["sh" "-c" "judge --strict 'two words'"]` {
		t.Errorf("the program is started as %s", got)
	}
}

// TestCompositeJudgeSeesTheResults where its template asks for them.
func TestCompositeJudgeSeesTheResults(t *testing.T) {
	for _, name := range []string{"EVALUATOR_RESULTS_JSON", "evaluator_results"} {
		text := `evaluators:
- name: all
  type: composite
  aggregator: {type: llm_judge, prompt: "Settle {{ ` + name + ` }}."}
  evaluators: [{name: cheap, type: cost, budget: 1}]
`
		tr := &trial{text: text, replies: []string{`{"score": 0.9}`}}
		expect(t, tr, verdict.Pass, 0.9)
		if !strings.Contains(tr.asked[0], `"name":"cheap"`) || strings.Count(tr.asked[0], "EVALUATOR RESULTS") != 2 {
			t.Errorf("the judge is asked\n%s", tr.asked[0])
		}
	}
}

// TestFieldAccuracyDefaults: match is exact, and a field is not required.
func TestFieldAccuracyDefaults(t *testing.T) {
	const text = `expected_output: {name: Ada, age: 36, born: 1815}
evaluators: [{type: field_accuracy, fields: [{path: name}, {path: age}, {path: born}]}]
`
	expect(t, &trial{text: text, answer: `{"name": "Ada", "age": 36, "born": 1815}`}, verdict.Pass, 1)
	expect(t, &trial{text: text, answer: `{"name": "ada", "age": 36, "born": 1815}`}, verdict.Borderline, 2./3)
	expect(t, &trial{text: text, answer: `{"name": "Ada"}`}, verdict.Pass, 1) // missing fields do not count
	required := strings.Replace(text, "{path: age}", "{path: age, required: true}", 1)
	expect(t, &trial{text: required, answer: `{"name": "Ada"}`}, verdict.Fail, 0.5)
}

// TestFieldAccuracyWithoutFields: where no field counts the score is 0, and that
// is not an error.
func TestFieldAccuracyWithoutFields(t *testing.T) {
	const text = "expected_output: {name: Ada}\nevaluators: [{type: field_accuracy, fields: [{path: name}]}]\n"
	for _, answer := range []string{`{}`, `Ada`, `{"nam": "Ada"}`} {
		expect(t, &trial{text: text, answer: answer}, verdict.Fail, 0)
	}
}

// TestFieldAccuracyOfFieldsWithoutExpectation looks whether they are there.
func TestFieldAccuracyOfFieldsWithoutExpectation(t *testing.T) {
	const text = "expected_output: {name: Ada}\nevaluators: [{type: field_accuracy, fields: [{path: name}, {path: id, required: true}]}]\n"
	expect(t, &trial{text: text, answer: `{"name": "Ada", "id": null}`}, verdict.Pass, 1)
	expect(t, &trial{text: text, answer: `{"name": "Ada"}`}, verdict.Fail, 0.5)
	const none = "evaluators: [{type: field_accuracy, fields: [{path: id}]}]\n"
	expect(t, &trial{text: none, answer: `{"id": 5}`}, verdict.Pass, 1)
	expect(t, &trial{text: none, answer: `{}`}, verdict.Fail, 0)
}

// TestNoteReachesEveryEvaluator that asks somebody.
func TestNoteReachesEveryEvaluator(t *testing.T) {
	const text = `note: Dates are DD/MM/YYYY.
rubrics: [Greets]
evaluators:
- {name: default, type: llm_judge}
- {name: own, type: llm_judge, prompt: "Is {{candidate_answer}} right?"}
- {name: placed, type: llm_judge, prompt: "Mind {{note}}"}
- {name: written, type: llm_judge, prompt: {script: [write]}}
- {name: program, type: code_judge, script: [judge]}
- name: all
  type: composite
  aggregator: {type: llm_judge}
  evaluators: [{name: inner, type: code_judge, script: [judge]}]
`
	score := `{"score": 1}`
	tr := &trial{text: text, answer: "Hi", replies: []string{met, score, score, score, score, score}, printed: []string{"Judge it.", score, score}}
	expect(t, tr, verdict.Pass, 1)
	for i, asked := range append(tr.asked, tr.read...) {
		isWritten := strings.Contains(asked, "Judge it.") // the program was told
		if n := strings.Count(asked, "DD/MM/YYYY"); n == 0 && !isWritten {
			t.Errorf("question %d does not have the note:\n%s", i, asked)
		}
	}
	if len(tr.asked) != 6 || len(tr.read) != 3 {
		t.Errorf("%d questions and %d programs", len(tr.asked), len(tr.read))
	}
}

// TestDemandsOnToolsNeedTheTrace: a target that does not report its calls is an
// error, and one that reports none made none.
func TestDemandsOnToolsNeedTheTrace(t *testing.T) {
	untraced := func(tr *verdict.Transcript) { tr.Traced = false }
	for _, tt := range []struct {
		text   string
		silent verdict.Verdict
	}{
		{"evaluators: [{type: tool_trajectory, expected: [{tool: a}]}]", verdict.Fail},
		{"evaluators: [{type: tool_trajectory, mode: exact, expected: []}]", verdict.Pass},
		{"evaluators: [{type: tool_trajectory, minimums: {a: 1}}]", verdict.Fail},
		{"evaluators: [{type: execution_metrics, max_tool_calls: 5}]", verdict.Pass},
		{"evaluators: [{type: execution_metrics, target_exploration_ratio: 0.5}]", verdict.Fail},
		{"evaluators: [{type: composite, name: c, evaluators: [{name: t, type: tool_trajectory, minimums: {a: 1}}]}]", verdict.Fail},
	} {
		got := expect(t, &trial{text: tt.text, change: untraced}, verdict.Error, 0)
		if !strings.Contains(got.Reason, "does not report its tool calls") {
			t.Errorf("%s: the reason is %q", tt.text, got.Reason)
		}
		if got := (&trial{text: tt.text}).run(t); got.Verdict != tt.silent {
			t.Errorf("%s: no call gives %s (%s), want %s", tt.text, got.Verdict, got.Reason, tt.silent)
		}
	}
}
