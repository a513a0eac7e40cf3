package controller_test

import (
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
)

// A mutation changes one field of a definition. Of the digests those from
// changes on differ: E takes J and D along, J takes D, and "" leaves all.
type mutation struct{ field, from, to, changes string }

// A mutated dialect has a definition with all of its fields, the definitions
// of the schema that it is made of, and a row for each of their fields.
type mutated struct {
	file, text string
	beside     map[string]string
	defs       []string
	rows       []mutation
}

const mutationConfig = `version: 1
default_target: bot
targets:
  bot: {provider: openai, model: m, base_url: http://localhost:1}
  other: {provider: openai, model: n, base_url: http://localhost:1}
  flow: {provider: http, url: http://localhost:1, kind: workflow, accepts_prompt: true}
  bot_flow: {provider: http, url: http://localhost:1, kind: agent, accepts_prompt: true}
roles: {judge: other, simulator: other, editors: {gemini: other, claude: other}}
aliases: {robot: bot_flow, robot2: bot_flow}
`

func mutatedTestcase() mutated {
	return mutated{
		file: "test_definitions/x.yaml",
		text: `name: Refund
description: A refund.
difficulty: normal
tags: [red-team]
status: active
persona: {type: polite, description: buys hats, instructions: be brief}
initial_message: My hat is torn
user_context: {order: 7, paid: 1.50}
max_turns: 4
expected_outcomes: {refunded: true}
expected_tool_calls:
- {tool: refund, expected_params: {order: 7}, should_call: true, mock_responses: [{expected_params: {order: 7}, response: {ok: true}}]}
evaluation_criteria_override: Be kind
id: 0b9f6a34-58a5-4b8a-9a6e-0f0c6d1b2a3c
created_at: "2026-01-01"
updated_at: "2026-01-01"
`,
		defs: []string{"#Testcase", "#TestcasePersona", "#TestcaseToolCall", "#TestcaseMock"},
		rows: []mutation{
			{"#Testcase.name", "name: Refund", "name: Money back", ""},
			{"#Testcase.description", "A refund.", "Another.", ""},
			{"#Testcase.difficulty", "difficulty: normal", "difficulty: hard", ""},
			{"#Testcase.tags", "red-team", "edge-case", ""},
			{"#Testcase.status", "status: active\n", "", ""},
			{"#Testcase.persona", "persona: {type: polite, description: buys hats, instructions: be brief}", "persona: null", "E"},
			{"#TestcasePersona.type", "type: polite", "type: angry", "E"},
			{"#TestcasePersona.description", "buys hats", "sells hats", "E"},
			{"#TestcasePersona.instructions", "be brief", "be long", "E"},
			{"#Testcase.initial_message", "My hat is torn", "My hat is lost", "E"},
			{"#Testcase.user_context", "order: 7, paid", "order: 8, paid", "E"},
			{"#Testcase.user_context", "{order: 7, paid: 1.50}", "{paid: 1.5, order: 7}", ""},
			{"#Testcase.max_turns", "max_turns: 4", "max_turns: 5", "E"},
			{"#Testcase.expected_outcomes", "refunded: true", "refunded: false", "J"},
			{"#Testcase.expected_outcomes", "expected_outcomes: {refunded: true}\n", "", "J"},
			{"#Testcase.expected_tool_calls", "expected_tool_calls:", "expected_tool_calls:\n- {tool: hello}", "J"},
			{"#TestcaseToolCall.tool", "tool: refund", "tool: repay", "E"},
			{"#TestcaseToolCall.expected_params", "tool: refund, expected_params: {order: 7}", "tool: refund, expected_params: {order: 8}", "J"},
			{"#TestcaseToolCall.should_call", "should_call: true", "should_call: false", "J"},
			{"#TestcaseToolCall.should_call", ", should_call: true", "", ""},
			{"#TestcaseToolCall.mock_responses", "mock_responses: [", "mock_responses: [{response: no}, ", "E"},
			{"#TestcaseMock.expected_params", "mock_responses: [{expected_params: {order: 7}", "mock_responses: [{expected_params: {order: 8}", "E"},
			{"#TestcaseMock.response", "ok: true", "ok: false", "E"},
			{"#Testcase.evaluation_criteria_override", "Be kind", "Be quick", "J"},
			{"#Testcase.id", "0b9f6a34", "1b9f6a34", ""},
			{"#Testcase.created_at", "created_at: \"2026-01-01\"", "created_at: \"2026-01-02\"", ""},
			{"#Testcase.updated_at", "updated_at: \"2026-01-01\"", "updated_at: null", ""},
		},
	}
}

func mutatedPromptval() mutated {
	return mutated{
		file: "test_definitions/x.yaml",
		text: `test_type: agent
name: robot
user_input: [Hello, Bye]
iterations: 2
testing_prompt: Is it kind?
rubric: {criteria: [{name: tone, description: how it sounds, weight: 0.5}, {name: facts, weight: 0.5}]}
evaluation_type: numeric
threshold: 7
retry: true
max_retries: 2
edit_prompt: true
editor_model: gemini
new_prompt: Be very kind.
expected_tools: [{name: search, eq: 1}, {name: a, lt: 9}, {name: b, le: 8}, {name: c, gt: 0, le: 9}, {name: d, ge: 1, le: 9}]
analysis: true
output: left over
`,
		defs: []string{"#Promptval", "#PromptvalRubric", "#PromptvalCriterion", "#PromptvalToolCount"},
		rows: []mutation{
			{"#Promptval.test_type", "test_type: agent\nname: robot", "test_type: workflow\nname: flow", "E"},
			{"#Promptval.name", "name: robot", "name: robot2", ""},
			{"#Promptval.user_input", "[Hello, Bye]", "[Hello, Bye!]", "E"},
			{"#Promptval.iterations", "iterations: 2", "iterations: 3", "E"}, // a retry depends on what is decided
			{"#Promptval.testing_prompt", "Is it kind?", "Is it short?", "E"},
			{"#Promptval.rubric", "facts, weight: 0.5", "facts, weight: 0.25", "E"},
			{"#PromptvalRubric.criteria", ", {name: facts, weight: 0.5}", "", "E"},
			{"#PromptvalCriterion.name", "name: facts", "name: truth", "E"},
			{"#PromptvalCriterion.description", "how it sounds", "its sound", "E"},
			{"#PromptvalCriterion.weight", "how it sounds, weight: 0.5", "how it sounds, weight: 0.75", "E"},
			{"#Promptval.evaluation_type", "evaluation_type: numeric\nthreshold: 7\n", "evaluation_type: default\n", "E"},
			{"#Promptval.threshold", "threshold: 7", "threshold: 8", "E"},
			{"#Promptval.threshold", "threshold: 7\n", "", "E"},
			{"#Promptval.retry", "retry: true", "retry: false", "E"},
			{"#Promptval.max_retries", "max_retries: 2", "max_retries: 3", "E"},
			{"#Promptval.edit_prompt", "edit_prompt: true", "edit_prompt: false", "E"},
			{"#Promptval.editor_model", "editor_model: gemini", "editor_model: claude", "E"},
			{"#Promptval.editor_model", "editor_model: gemini\n", "", ""},
			{"#Promptval.new_prompt", "Be very kind.", "Be kind.", "E"},
			{"#Promptval.expected_tools", "expected_tools: [", "expected_tools: [{name: find, le: 1}, ", "E"},
			{"#PromptvalToolCount.name", "name: search", "name: find", "E"},
			{"#PromptvalToolCount.eq", "eq: 1", "eq: 2", "E"},
			{"#PromptvalToolCount.lt", "lt: 9", "lt: 8", "E"},
			{"#PromptvalToolCount.le", "le: 8", "le: 7", "E"},
			{"#PromptvalToolCount.gt", "gt: 0", "gt: 1", "E"},
			{"#PromptvalToolCount.ge", "ge: 1", "ge: 2", "E"},
			{"#Promptval.analysis", "analysis: true", "analysis: false", "E"},
			{"#Promptval.analysis", "analysis: true\n", "", ""},
			{"#Promptval.output", "left over", "other", ""},
		},
	}
}

// withoutRetry is the same configuration where nothing steers what is run, so
// that each digest is about its own.
func withoutRetry() mutated {
	m := mutatedPromptval()
	m.text = strings.Replace(m.text, "retry: true\nmax_retries: 2\nedit_prompt: true\n", "", 1)
	m.defs = nil
	m.rows = []mutation{
		{"iterations", "iterations: 2", "iterations: 3", "D"},
		{"testing_prompt", "Is it kind?", "Is it short?", "J"},
		{"criterion", "name: facts", "name: truth", "J"},
		{"weight", "facts, weight: 0.5", "facts, weight: 0.25", "D"},
		{"threshold", "threshold: 7", "threshold: 8", "D"},
		{"expected_tools", "eq: 1", "eq: 2", "J"},
		{"editor_model", "editor_model: gemini", "editor_model: claude", ""},
	}
	return m
}

func mutatedEvalcase() mutated {
	return mutated{
		file: "test_definitions/x.yaml",
		text: `name: greetings
dataset: d
description: Says hello.
version: 1
metadata: {team: a}
target: bot
execution: {timeout_seconds: 60}
$schema: https://example.com/x
evalcases:
- id: greets
  expected_outcome: A greeting
  input_messages: [{role: system, content: Be brief}, {role: user, content: [Hello, {type: file, value: notes.md}]}]
  expected_messages: [{role: assistant, content: Hi}]
  reference_answer: Hello there
  rubrics: ["Is it kind?", {id: short, expected_outcome: It is short, weight: 2, required: true}, {id: depth, weight: 1, required_min_score: 3, score_ranges: {"0": shallow, "10": deep}}]
  execution: {timeout_seconds: 90}
  evaluators: [{name: calls, type: tool_trajectory, weight: 2, mode: any_order, minimums: {greet: 1}, expected: [{tool: greet, args: {who: me}, max_duration_ms: 100}]}, {type: llm_judge, prompt: "As good as {{expected_messages}}?"}]
  description: The first.
  conversation_id: c1
  note: Mind the tone
  metadata: {topic: hello}
`,
		beside: map[string]string{"test_definitions/notes.md": "A note"},
		defs:   []string{"#Evalcase", "#EvalcaseSuite", "#EvalcaseMessage", "#EvalcaseRubric", "#EvalcaseExecution", "#EvalcaseToolTrajectory", "#EvalcaseStep", "#EvalcaseFile"},
		rows: []mutation{
			{"#EvalcaseSuite.name", "name: greetings", "name: other", ""},
			{"#EvalcaseSuite.dataset", "dataset: d", "dataset: e", ""},
			{"#EvalcaseSuite.description", "Says hello.", "x", ""},
			{"#EvalcaseSuite.version", "version: 1", "version: 2", ""},
			{"#EvalcaseSuite.metadata", "team: a", "team: b", ""},
			{"#EvalcaseSuite.target", "target: bot", "target: other", "E"},
			{"#EvalcaseSuite.evaluator", "target: bot", "target: bot\nevaluator: llm_judge", ""},
			{"#EvalcaseSuite.execution", "execution: {timeout_seconds: 60}\n$", "execution: {timeout_seconds: 60, target: other}\n$", "E"},
			{"#EvalcaseSuite.$schema", "example.com/x", "example.com/y", ""},
			{"#EvalcaseSuite.evalcases", "input_messages: [{role: system, content: Be brief}, ", "input_messages: [", "E"},
			{"#EvalcaseExecution.timeout_seconds", "timeout_seconds: 90", "timeout_seconds: 91", "E"},
			{"#EvalcaseExecution.timeout_seconds", "timeout_seconds: 60", "timeout_seconds: 61", ""}, // the case has its own
			{"#EvalcaseExecution.target", "timeout_seconds: 90", "timeout_seconds: 90, target: other", "E"},
			{"#EvalcaseExecution.evaluators", "timeout_seconds: 60", "timeout_seconds: 60, evaluators: [{type: latency, max_ms: 5}]", ""}, // the case has its own
			{"#Evalcase.id", "id: greets", "id: says", ""},
			{"#Evalcase.expected_outcome", "A greeting", "A long greeting", "J"},
			{"#Evalcase.outcome", "expected_outcome: A greeting", "outcome: A greeting", ""},
			{"#Evalcase.input", "input_messages: [{role: system, content: Be brief}, {role: user, content: [Hello, {type: file, value: notes.md}]}]", "input: Hello", "E"},
			{"#Evalcase.input_messages", "[Hello, ", "[Hello you, ", "E"},
			{"#EvalcaseMessage.role", "role: system", "role: user", "E"},
			{"#EvalcaseMessage.content", "content: Be brief", "content: Be long", "E"},
			{"#EvalcaseMessage.tool_call_id", "{role: user, content: [Hello", "{role: assistant, tool_calls: [{id: c, function: {name: f, arguments: \"{}\"}}]}, {role: tool, tool_call_id: c, content: x}, {role: user, content: [Hello", "E"},
			{"#EvalcaseMessage.name", "{role: user, content: [Hello", "{role: user, name: me, content: [Hello", "E"},
			{"#EvalcaseMessage.tool_calls", "{role: user, content: [Hello", "{role: assistant, content: x, tool_calls: [{id: c, function: {name: f, arguments: \"{}\"}}]}, {role: user, content: [Hello", "E"},
			{"#EvalcaseFile.value", "test_definitions/notes.md: A note", "test_definitions/notes.md: Another note", "E"},
			{"#EvalcaseFile.type", "{type: file, value: notes.md}", "{type: text, value: notes.md}", "E"},
			{"#Evalcase.expected_messages", "content: Hi}", "content: Ho}", "J"},
			{"#Evalcase.expected_output", "expected_messages: [{role: assistant, content: Hi}]", "expected_output: Hi", ""},
			{"#Evalcase.reference_answer", "Hello there", "Hello you", "J"},
			{"#Evalcase.rubrics", "Is it kind?", "Is it polite?", "J"},
			{"#EvalcaseRubric.id", "id: short", "id: brief", "J"},
			{"#EvalcaseRubric.expected_outcome", "It is short", "It is brief", "J"},
			{"#EvalcaseRubric.description", "expected_outcome: It is short", "description: It is short", ""},
			{"#EvalcaseRubric.outcome", "expected_outcome: It is short", "outcome: It is short", ""},
			{"#EvalcaseRubric.weight", "weight: 2, required: true", "weight: 3, required: true", "D"},
			{"#EvalcaseRubric.required", "required: true", "required: false", "D"},
			{"#EvalcaseRubric.required_min_score", "required_min_score: 3", "required_min_score: 4", "D"},
			{"#EvalcaseRubric.score_ranges", "shallow", "flat", "J"},
			{"#Evalcase.execution", "  execution: {timeout_seconds: 90}\n", "", "E"},
			{"#Evalcase.evaluators", "minimums: {greet: 1}", "minimums: {greet: 2}", "J"},
			{"#EvalcaseToolTrajectory.name", "name: calls", "name: trajectory", ""},
			{"#EvalcaseToolTrajectory.type", "type: tool_trajectory, weight: 2, mode: any_order, minimums: {greet: 1}, expected: [{tool: greet, args: {who: me}, max_duration_ms: 100}]", "type: latency, weight: 2, max_ms: 9", "J"},
			{"#EvalcaseToolTrajectory.weight", "tool_trajectory, weight: 2", "tool_trajectory, weight: 3", "D"},
			{"#EvalcaseToolTrajectory.mode", "mode: any_order, minimums: {greet: 1}", "mode: exact", "J"},
			{"#EvalcaseToolTrajectory.minimums", "greet: 1", "greet: 3", "J"},
			{"#EvalcaseToolTrajectory.expected", ", expected: [{tool: greet, args: {who: me}, max_duration_ms: 100}]", "", "J"},
			{"#EvalcaseStep.tool", "tool: greet", "tool: wave", "J"},
			{"#EvalcaseStep.args", "who: me", "who: you", "J"},
			{"#EvalcaseStep.max_duration_ms", "max_duration_ms: 100", "max_duration_ms: 200", "J"},
			{"#Evalcase.description", "The first.", "x", ""},
			{"#Evalcase.conversation_id", "conversation_id: c1", "conversation_id: c2", ""},
			{"#Evalcase.note", "Mind the tone", "Mind the length", "J"},
			{"#Evalcase.metadata", "topic: hello", "topic: bye", ""},
		},
	}
}

// planned gives the digests of the one case of a repository.
func planned(t *testing.T, texts map[string]string) [3]string {
	t.Helper()
	repo := fstest.MapFS{"gavel.yaml": {Data: []byte(mutationConfig)}}
	for name, text := range texts {
		repo[name] = &fstest.MapFile{Data: []byte(text)}
	}
	cfg, problems := config.Parse("gavel.yaml", []byte(mutationConfig))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	prepared, err := controller.Prepare(t.Context(), controller.Request{
		Head:       controller.State{Commit: controller.Worktree, FS: repo, Config: cfg},
		ConfigFile: "gavel.yaml", LookupEnv: func(string) (string, bool) { return "", false },
	})
	if err != nil {
		t.Fatal(err)
	}
	if schema.HasErrors(prepared.Problems) || len(prepared.Plan.Rows) != 1 {
		t.Fatalf("%d cases, problems %v", len(prepared.Plan.Rows), prepared.Problems)
	}
	d := prepared.Plan.Rows[0].HeadDigests
	return [3]string{d.E, d.J, d.D}
}

// TestEveryFieldIsInTheDigestsItBelongsTo changes every field of the dialects
// of conversations, configurations and suites, one at a time: what is sent is
// in E, what is judged by in J, what is decided by in D, and what is shown, or
// only written otherwise, in none.
func TestEveryFieldIsInTheDigestsItBelongsTo(t *testing.T) {
	for name, m := range map[string]mutated{
		"testcase": mutatedTestcase(), "promptval": mutatedPromptval(), "promptval without retry": withoutRetry(), "evalcase": mutatedEvalcase(),
	} {
		t.Run(name, func(t *testing.T) {
			texts := maps.Clone(m.beside)
			if texts == nil {
				texts = map[string]string{}
			}
			texts[m.file] = m.text
			before := planned(t, texts)
			for _, row := range append(m.rows, writtenOtherwise(m)...) {
				changed := maps.Clone(texts)
				if file, text, isFile := strings.Cut(row.from, ": "); isFile && texts[file] == text {
					changed[file] = strings.TrimPrefix(row.to, file+": ")
				} else {
					changed[m.file] = strings.Replace(m.text, row.from, row.to, 1)
				}
				if maps.Equal(texts, changed) {
					t.Errorf("%s: there is no %q", row.field, row.from)
					continue
				}
				t.Run(row.field, func(t *testing.T) {
					if got := differing(before, planned(t, changed)); got != row.changes {
						t.Errorf("%q to %q changes %q on, want %q", row.from, row.to, got, row.changes)
					}
				})
			}
			for _, def := range m.defs {
				for _, field := range schema.Fields(def) {
					if !hasRow(m.rows, def+"."+field) {
						t.Errorf("%s.%s has no row", def, field)
					}
				}
			}
		})
	}
}

// writtenOtherwise are changes that every file survives.
func writtenOtherwise(m mutated) []mutation {
	lines := strings.SplitAfter(m.text, "\n")
	return []mutation{
		{"a comment", lines[0], "# a comment\n" + lines[0], ""},
		{"an empty line", lines[0], "\n" + lines[0], ""},
		{"the order of keys", lines[0] + lines[1], lines[1] + lines[0], ""},
		{"quotes", lines[0], strings.Replace(strings.TrimSuffix(lines[0], "\n"), ": ", ": \"", 1) + "\"\n", ""},
	}
}

// differing names the first digest that differs. Those after it contain it.
func differing(before, after [3]string) string {
	first := ""
	for i := range before {
		if before[i] != after[i] && first == "" {
			first = "EJD"[i : i+1]
		}
	}
	return first
}

func hasRow(rows []mutation, field string) bool {
	for _, r := range rows {
		if r.field == field {
			return true
		}
	}
	return false
}
