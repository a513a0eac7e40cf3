package controller_test

import (
	"slices"
	"strings"
	"testing"
)

const evalcaseConfig = `version: 1
default_target: bot
targets:
  bot: {provider: openai, model: m1, base_url: URL/bot, price: {input: 1, output: 3}}
  clerk: {provider: http, url: URL/agent, price: {input: 2, output: 1}}
  judge: {provider: openai, model: m2, base_url: URL/judge}
  second: {provider: openai, model: m3, base_url: URL/second}
roles: {judge: judge}
aliases: {robot: bot}
`

// suites are cases that differ in what they begin with.
func suites(url string) map[string]string {
	return map[string]string{
		"gavel.yaml": strings.ReplaceAll(evalcaseConfig, "URL", url),
		"test_definitions/suite.yaml": `name: greetings
dataset: d
description: Says hello.
version: 1
metadata: {team: a}
target: bot
evaluator: llm_judge
execution: {timeout_seconds: 60}
$schema: https://example.com/x
evalcases:
- id: greets
  expected_outcome: A greeting
  input_messages: [{role: system, content: Be brief}, {role: user, content: [Hello, {type: file, value: notes.md}]}]
  expected_messages: [{role: assistant, content: Hi}]
  reference_answer: Hello there
  rubrics: ["Is it kind?", {id: short, expected_outcome: It is short, weight: 2, required: true}, {id: depth, weight: 1, required_min_score: 3, score_ranges: {"0": shallow, "10": deep}}, {id: wide, score_ranges: [{score_range: [0, 3], expected_outcome: narrow}, {score_range: [4, 10], expected_outcome: far}]}]
  execution: {timeout_seconds: 90, evaluators: [{type: llm_judge, prompt: "As good as {{expected_messages}}?"}]}
  description: The first.
  conversation_id: c1
  note: Mind the tone
  metadata: {topic: hello}
- id: calls
  expected_outcome: The weather
  input_messages:
  - {role: user, content: [{type: text, value: Weather}, {type: json, value: {place: here, when: 1.0}}]}
  - {role: assistant, content: Let me see, tool_calls: [{id: c1, type: function, function: {name: find, arguments: "{\"q\": 1}"}}, {tool: look, input: {at: sky}, output: blue, id: c2}]}
  - {role: tool, tool_call_id: c1, name: find, content: found}
  - {role: user, content: [{type: image, value: sky.gif}, And now]}
- id: plain
  expected_outcome: Anything
  input: Hi
  expected_output: Hey
- id: agents
  expected_outcome: It was read
  input: [{role: user, content: [See, {type: file, value: paper.md}]}, {role: assistant, tool_calls: [{id: c1, type: function, function: {name: read, arguments: "{}"}}]}, {role: tool, tool_call_id: c1, name: read, content: so}]
  execution: {target: clerk}
  evaluators: [{type: llm_judge, prompt: "Is it good?"}]
`,
		"test_definitions/notes.md":    "A note",
		"test_definitions/paper.md":    "A paper",
		"test_definitions/sky.gif":     "GIF89a1",
		"test_definitions/lines.jsonl": `{"id": "line", "expected_outcome": "A reply", "input": "Line?"}` + "\n",
		"test_definitions/lines.yaml": `name: lines
dataset: l
description: One a line.
version: "1"
metadata: {team: b}
target: bot
evaluator: {type: llm_judge, prompt: "Is it good?"}
execution: {timeout_seconds: 70}
$schema: https://example.com/l
`,
	}
}

func changesOfSuites() []change {
	const (
		suite = "test_definitions/suite.yaml"
		lines = "test_definitions/lines.yaml"
		cfg   = "gavel.yaml"
		bots  = "calls E, greets E, line E, plain E"
		all   = "agents E, calls E, greets E, line E, plain E"
	)
	return slices.Concat([]change{
		{"#EvalcaseSuite.name", suite, "name: greetings", "name: other", ""},
		{"#EvalcaseSuite.dataset", suite, "dataset: d", "dataset: e", ""},
		{"#EvalcaseSuite.description", suite, "Says hello.", "x", ""},
		{"#EvalcaseSuite.version", suite, "version: 1\n", "version: 2\n", ""},
		{"#EvalcaseSuite.metadata", suite, "team: a", "team: b", ""},
		{"#EvalcaseSuite.target", suite, "target: bot\n", "target: second\n", "calls E, greets E, plain E"},
		{"another name of the target", suite, "target: bot\n", "target: robot\n", ""},
		{"#EvalcaseSuite.evaluator", suite, "evaluator: llm_judge", "evaluator: {type: token_usage, max_total: 9}", "calls J, plain J"},
		{"#EvalcaseSuite.execution #EvalcaseExecution.timeout_seconds", suite, "timeout_seconds: 60", "timeout_seconds: 61", "agents E, calls E, plain E"},
		{"#EvalcaseExecution.evaluators", suite, "timeout_seconds: 60", "timeout_seconds: 60, evaluators: [{type: token_usage, max_total: 9}]", "calls J, plain J"},
		{"target of all", suite, "timeout_seconds: 60", "timeout_seconds: 60, target: second", "calls E, greets E, plain E"},
		{"#EvalcaseExecution.target", suite, "execution: {target: clerk}", "execution: {target: bot}", "agents E"},
		{"#EvalcaseSuite.$schema", suite, "example.com/x", "example.com/y", ""},
		{"#EvalcaseSuite.evalcases", suite, "- id: plain\n  expected_outcome: Anything\n  input: Hi\n", "- id: plain\n  expected_outcome: Anything\n  input: Ho\n", "plain E"},
		{"#EvalcaseSuite.eval_cases", suite, "evalcases:\n", "eval_cases:\n", ""},
		{"#EvalcaseSuite.cases", suite, "evalcases:\n", "cases:\n", ""},

		{"#EvalcaseSidecar.name", lines, "name: lines", "name: other", ""},
		{"#EvalcaseSidecar.dataset", lines, "dataset: l", "dataset: e", ""},
		{"#EvalcaseSidecar.description", lines, "One a line.", "x", ""},
		{"#EvalcaseSidecar.version", lines, `"1"`, `"2"`, ""},
		{"#EvalcaseSidecar.metadata", lines, "team: b", "team: a", ""},
		{"#EvalcaseSidecar.target", lines, "target: bot", "target: second", "line E"},
		{"#EvalcaseSidecar.evaluator", lines, "Is it good?", "Is it bad?", "line J"},
		{"#EvalcaseSidecar.execution", lines, "70", "71", "line E"},
		{"#EvalcaseSidecar.$schema", lines, "example.com/l", "example.com/y", ""},
		{"sidecar goes", lines, "", "", "line E"},
		{"order of keys in a line", "test_definitions/lines.jsonl", "", `{"input":"Line?","expected_outcome":"A reply","id":"line"}`, ""},

		{"model", cfg, "m1", "m9", bots},
		{"judge", cfg, "m2", "m9", "agents J, calls J, greets J, line J, plain J"},
		{"model that nobody asks", cfg, "m3", "m9", ""},
		{"where an agent is", cfg, "/agent,", "/agent2,", "agents E"},
		{"kind of an agent", cfg, "/agent,", "/agent, kind: workflow,", ""},
		{"iterations", cfg, "version: 1", "version: 1\ndefaults: {iterations: 2}", "agents D, calls D, greets D, line D, plain D"},
		{"timeout of a target", cfg, "model: m1", "model: m1, timeout: 50s", ""},
		{"price", cfg, "input: 1, output: 3", "input: 4, output: 3", ""},
		{"checks appear", "test_definitions/lines.checks.yaml", "", "line: [{contains: good}]\n", "line J"},
	}, changesOfCases(suite))
}

func changesOfCases(suite string) []change {
	return []change{
		{"#Evalcase.id", suite, "id: plain", "id: simple", ""},
		{"#Evalcase.expected_outcome", suite, "Anything", "Something", "plain J"},
		{"#Evalcase.outcome", suite, "expected_outcome: Anything", "outcome: Anything", ""},
		{"#Evalcase.criteria", suite, "expected_outcome: Anything", "criteria: Anything", ""},
		{"#Evalcase.input", suite, "input: Hi", "input: Hi!", "plain E"},
		{"input as messages", suite, "input: Hi", "input: [{role: user, content: Hi}]", ""},
		{"input under its other name", suite, "input: Hi", "input_messages: [{role: user, content: Hi}]", ""},
		{"#Evalcase.input_messages", suite, "[Hello, ", "[Hello you, ", "greets E"},
		{"#Evalcase.expected_messages", suite, "content: Hi}", "content: Ho}", "greets J"},
		{"#Evalcase.expected_output", suite, "expected_output: Hey", "expected_output: Ho", "plain J"},
		{"expected_output as messages", suite, "expected_output: Hey", "expected_messages: [{role: assistant, content: Hey}]", ""},
		{"#Evalcase.reference_answer", suite, "Hello there", "Hello you", "greets J"},
		{"#Evalcase.rubrics", suite, "Is it kind?", "Is it polite?", "greets J"},
		{"#Evalcase.execution", suite, "{timeout_seconds: 90, ", "{", "greets E"},
		{"#Evalcase.evaluators", suite, `"Is it good?"`, `"Is it bad?"`, "agents J"},
		{"#Evalcase.checks", suite, "  expected_output: Hey\n", "  expected_output: Hey\n  checks: [{contains: good}]\n", "plain J"},
		{"evaluators under their other name", suite, "  execution: {target: clerk}\n  evaluators: [{type: llm_judge, prompt: \"Is it good?\"}]\n", "  execution: {target: clerk, evaluators: [{type: llm_judge, prompt: \"Is it good?\"}]}\n", ""},
		{"#Evalcase.description", suite, "The first.", "x", ""},
		{"#Evalcase.conversation_id", suite, "conversation_id: c1", "conversation_id: c2", ""},
		{"#Evalcase.note", suite, "Mind the tone", "Mind the length", "greets J"},
		{"#Evalcase.metadata", suite, "topic: hello", "topic: bye", ""},

		{"#EvalcaseMessage.role", suite, "role: system", "role: user", "greets E"},
		{"#EvalcaseMessage.content", suite, "content: Be brief", "content: Be long", "greets E"},
		{"content in blocks", suite, "content: Be brief", "content: [{type: text, value: Be brief}]", ""},
		{"#EvalcaseMessage.tool_call_id", suite, "tool_call_id: c1, name: find", "tool_call_id: c2, name: find", "calls E"},
		{"#EvalcaseMessage.name", suite, "name: read, content", "name: open, content", "agents E"},
		{"#EvalcaseMessage.tool_calls", suite, ", {tool: look, input: {at: sky}, output: blue, id: c2}", "", "calls E"},
		{"#EvalcaseToolCall.id", suite, "{id: c1, type: function, function: {name: find", "{id: c3, type: function, function: {name: find", "calls E"},
		{"#EvalcaseToolCall.type", suite, "type: function, function: {name: find", "function: {name: find", ""},
		{"#EvalcaseToolCall.function", suite, `function: {name: find, arguments: "{\"q\": 1}"}`, `function: {name: seek, arguments: "{}"}`, "calls E"},
		{"#EvalcaseFunction.name", suite, "function: {name: find", "function: {name: seek", "calls E"},
		{"#EvalcaseFunction.arguments", suite, `\"q\": 1`, `\"q\": 2`, "calls E"},
		{"#EvalcaseShortCall.tool", suite, "tool: look", "tool: gaze", "calls E"},
		{"#EvalcaseShortCall.input", suite, "at: sky", "at: sea", "calls E"},
		{"#EvalcaseShortCall.output", suite, "output: blue", "output: grey", "calls E"},
		{"#EvalcaseShortCall.id", suite, "id: c2", "id: c4", "calls E"},
		{"the same id", suite, ", id: c2", ", id: call-2", "calls E"},
		{"#EvalcaseText.type", suite, "{type: text, value: Weather}", "Weather", ""},
		{"#EvalcaseText.value", suite, "value: Weather", "value: Wind", "calls E"},
		{"#EvalcaseFile.type", suite, "{type: file, value: notes.md}", "{type: text, value: notes.md}", "greets E"},
		{"#EvalcaseFile.value", suite, "value: notes.md", "value: paper.md", "greets E"},
		{"a file", "test_definitions/notes.md", "A note", "Another note", "greets E"},
		{"path of a file, for a model", suite, "value: notes.md", "value: /copy/notes.md", ""},
		{"a file that an agent reads", "test_definitions/paper.md", "A paper", "Another paper", "agents E"},
		{"path of a file, for an agent", suite, "value: paper.md", "value: /copy/paper.md", "agents E"},
		{"#EvalcaseImage.type", suite, "{type: image, value: sky.gif}", "{type: file, value: notes.md}", "calls E"},
		{"#EvalcaseImage.value", suite, "value: sky.gif", "value: \"data:image/gif;base64,R0lGODlhMg==\"", "calls E"},
		{"the same image in the definition", suite, "value: sky.gif", "value: \"data:image/gif;base64,R0lGODlhMQ==\"", ""},
		{"an image", "test_definitions/sky.gif", "a1", "a2", "calls E"},
		{"a judge that takes images", "gavel.yaml", "model: m2", "model: m2, accepts_images: true", "calls J"},
		{"a judge that takes none", "gavel.yaml", "model: m2", "model: m2, accepts_images: false", ""},
		{"#EvalcaseJSON.type", suite, "{type: json, value: {place: here, when: 1.0}}", `{type: text, value: "{\"place\":\"here\",\"when\":1}"}`, ""},
		{"#EvalcaseJSON.value", suite, "place: here", "place: there", "calls E"},
		{"order and notation of JSON", suite, "{place: here, when: 1.0}", "{when: 1, place: here}", ""},

		{"#EvalcaseRubric.id", suite, "id: short", "id: brief", "greets J"},
		{"#EvalcaseRubric.expected_outcome", suite, "It is short", "It is brief", "greets J"},
		{"#EvalcaseRubric.description", suite, "expected_outcome: It is short", "description: It is short", ""},
		{"#EvalcaseRubric.outcome", suite, "expected_outcome: It is short", "outcome: It is short", ""},
		{"#EvalcaseRubric.criteria", suite, "expected_outcome: It is short", "criteria: It is short", ""},
		{"#EvalcaseRubric.weight", suite, "weight: 2, required: true", "weight: 3, required: true", "greets D"},
		{"weight by default", suite, "{id: depth, weight: 1, ", "{id: depth, ", ""},
		{"#EvalcaseRubric.required", suite, "required: true", "required: false", "greets D"},
		{"#EvalcaseRubric.required_min_score", suite, "required_min_score: 3", "required_min_score: 4", "greets D"},
		{"#EvalcaseRubric.score_ranges", suite, "shallow", "flat", "greets J"},
		{"#EvalcaseRange.score_range", suite, "[4, 10]", "[5, 10]", "greets J"},
		{"#EvalcaseRange.expected_outcome", suite, "narrow", "slim", "greets J"},
		{"#EvalcaseRange.outcome", suite, "expected_outcome: narrow", "outcome: narrow", ""},
		{"#EvalcaseRange.criteria", suite, "expected_outcome: narrow", "criteria: narrow", ""},
		{"#EvalcaseRange.description", suite, "expected_outcome: narrow", "description: narrow", ""},
	}
}

// TestWhatEvalcasesAreAbout changes every field of the evalcase dialect, those
// of its evaluators aside, and everything that its cases share.
func TestWhatEvalcasesAreAbout(t *testing.T) {
	s := newModels(t)
	base := suites(s.URL)
	base["copy/notes.md"], base["copy/paper.md"] = base["test_definitions/notes.md"], base["test_definitions/paper.md"]
	changes := changesOfSuites()
	expectRows(t, "evalcase.cue", slices.Concat(changes, changesOfEvaluators(), changesOfTests(), notRunOfTests(), changesOfV5(), notRunOfV5()))
	expectChanges(t, s, base, changes)
}
