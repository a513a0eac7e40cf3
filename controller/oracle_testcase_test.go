package controller_test

import (
	"strings"
	"testing"
)

const testcaseConfig = `version: 1
default_target: desk
targets:
  desk: {provider: openai, model: m1, base_url: URL/desk, temperature: 0.5, system_prompt: {file: prompts/desk.md}, tools: [refund, bye], ends_conversation: [quit], price: {input: 1, output: 1}, mocks: {bye: [{params: {order: 8}, response: ok}]}}
  judge: {provider: openai, model: m2, base_url: URL/judge}
  customer: {provider: openai, model: m3, base_url: URL/customer}
roles: {judge: judge, simulator: customer}
defaults: {max_turns_cap: 5}
`

// testcases are a case that has every field and one that has next to none.
func testcases(url string) map[string]string {
	return map[string]string{
		"gavel.yaml":      strings.ReplaceAll(testcaseConfig, "URL", url),
		"prompts/desk.md": "You sell hats.",
		"test_definitions/refund.yaml": `name: Refund
description: A refund.
difficulty: normal
tags: [red-team]
status: active
persona: {type: polite, description: buys hats, instructions: be brief}
initial_message: My hat is torn
user_context: {order: 7, paid: 1.50}
max_turns: 2
expected_outcomes: {refunded: true}
expected_tool_calls:
- {tool: refund, expected_params: {order: 7}, should_call: true, mock_responses: [{expected_params: {order: 7}, response: {ok: true}}]}
evaluation_criteria_override: Be kind
id: 0b9f6a34-58a5-4b8a-9a6e-0f0c6d1b2a3c
created_at: "2026-01-01"
updated_at: "2026-01-01"
`,
		"test_definitions/talk.json":          `{"test_cases": [{"name": "Open"}, {"name": "Once", "initial_message": "Hi", "max_turns": 1}]}`,
		"test_definitions/refund.checks.yaml": `".": [{contains: good}, {not_contains: bad}, {equals: fine}, {regex: "g(oo)d"}, {icontains: FINE}, {any_of: [fair, okay]}, {all_of: [some, thing]}, {json_path: {path: n, value: 1}}, {is_json: {type: object}}, {latency_ms: 50000}, {cost_usd: 0.5}]` + "\n",
		"test_definitions/tools/refund.json":  `{"id": "refund", "function": {"name": "refund", "description": "Pays back", "parameters": {"type": "object"}}}`,
		"test_definitions/tools/bye.json":     `{"id": "bye", "function": {"name": "bye"}, "mock_response": "gone"}`,
	}
}

func changesOfTestcases() []change {
	const (
		refund = "test_definitions/refund.yaml"
		talk   = "test_definitions/talk.json"
		cfg    = "gavel.yaml"
		all    = "once E, open E, refund E"
		played = "open E, refund E"
		judged = "once J, open J, refund J"
	)
	return []change{
		{"#Testcase.name", refund, "name: Refund", "name: Money back", ""},
		{"#Testcase.description", refund, "A refund.", "Another.", ""},
		{"#Testcase.difficulty", refund, "difficulty: normal", "difficulty: hard", ""},
		{"#Testcase.tags", refund, "red-team", "edge-case", ""},
		{"#Testcase.status written out", talk, `"name": "Open"`, `"name": "Open", "status": "active"`, ""},
		{"#Testcase.persona", refund, "persona: {type: polite, description: buys hats, instructions: be brief}", "persona: null", "refund E"},
		{"#TestcasePersona.type", refund, "type: polite", "type: angry", "refund E"},
		{"#TestcasePersona.description", refund, "buys hats", "sells hats", "refund E"},
		{"#TestcasePersona.instructions", refund, "be brief", "be long", "refund E"},
		{"#Testcase.initial_message", refund, "My hat is torn", "My hat is lost", "refund E"},
		{"#Testcase.initial_message appears", talk, `"name": "Open"`, `"name": "Open", "initial_message": "Hello"`, "open E"},
		{"#Testcase.user_context", refund, "order: 7, paid", "order: 8, paid", "refund E"},
		{"persona where nobody plays", talk, `"max_turns": 1`, `"max_turns": 1, "persona": {"type": "a", "description": "b", "instructions": "c"}`, ""},
		{"user_context of nothing", talk, `"name": "Open"`, `"name": "Open", "user_context": null`, ""},
		{"order and notation of user_context", refund, "{order: 7, paid: 1.50}", "{paid: 1.5, order: 7}", ""},
		{"#Testcase.persona_context", talk, `"name": "Open"`, `"name": "Open", "persona_context": "Be brief."`, "open E"},
		{"#Testcase.first_message", talk, `"name": "Open"`, `"name": "Open", "first_message": "Hello"`, "open E"},
		{"first_message by its other name", talk, `"initial_message": "Hi"`, `"first_message": "Hi"`, ""},
		{"#Testcase.first_turn", talk, `"name": "Open"`, `"name": "Open", "first_turn": "agent"`, "open E"},
		{"first_turn of an agent with words", talk, `"name": "Open"`, `"name": "Open", "first_turn": "agent", "first_message": "Welcome"`, "open E"},
		{"first_turn as it is", talk, `"name": "Open"`, `"name": "Open", "first_turn": "user"`, ""},
		{"#Testcase.agent_id", talk, `"name": "Open"`, `"name": "Open", "agent_id": "a"`, ""},
		{"#Testcase.source_call_id", talk, `"name": "Open"`, `"name": "Open", "source_call_id": "a"`, ""},
		{"#TestcaseFile.exported_at", talk, `{"test_cases"`, `{"exported_at": "2026-05-01", "test_cases"`, ""},
		{"#TestcaseFile.count", talk, `{"test_cases"`, `{"count": 2, "test_cases"`, ""},
		{"statements instead of labels", refund, "expected_outcomes: {refunded: true}", "expected_outcomes: [refunded]", ""},
		{"#TestcaseToolCall.mock_response", refund, "mock_responses: [{expected_params: {order: 7}, response: {ok: true}}]", "mock_response: {ok: true}", ""},
		{"max_turns of the target", cfg, "model: m1,", "model: m1, max_turns: 3,", "open E"},
		{"max_turns of the defaults", cfg, "max_turns_cap: 5", "max_turns: 3, max_turns_cap: 5", "open E"},
		{"#Testcase.max_turns", refund, "max_turns: 2", "max_turns: 3", "refund E"},
		{"max_turns is open", refund, "max_turns: 2", "max_turns: null", "refund E"},
		{"#Testcase.expected_outcomes", refund, "refunded: true", "refunded: false", "refund J"},
		{"no expected_outcomes", refund, "expected_outcomes: {refunded: true}\n", "", "refund J"},
		{"#Testcase.expected_tool_calls", refund, "expected_tool_calls:", "expected_tool_calls:\n- {tool: hello}", "refund J"},
		{"no expected calls are none", talk, `"name": "Open"`, `"name": "Open", "expected_tool_calls": []`, ""},
		{"#TestcaseToolCall.tool", refund, "tool: refund", "tool: repay", "refund E"},
		{"#TestcaseToolCall.expected_params", refund, "tool: refund, expected_params: {order: 7}", "tool: refund, expected_params: {order: 8}", "refund J"},
		{"#TestcaseToolCall.should_call", refund, "should_call: true", "should_call: false", "refund J"},
		{"should_call as it is", refund, ", should_call: true", "", ""},
		{"#TestcaseToolCall.mock_responses", refund, "mock_responses: [", "mock_responses: [{response: no}, ", "refund E"},
		{"#TestcaseMock.expected_params", refund, "mock_responses: [{expected_params: {order: 7}", "mock_responses: [{expected_params: {order: 8}", "refund E"},
		{"#TestcaseMock.response", refund, "ok: true", "ok: false", "refund E"},
		{"#Testcase.evaluation_criteria_override", refund, "Be kind", "Be quick", "refund J"},
		{"#Testcase.checks", talk, `{"name": "Open"}`, `{"name": "Open", "checks": [{"contains": "good"}]}`, "open J"},
		{"#Testcase.id", refund, "0b9f6a34", "1b9f6a34", ""},
		{"#Testcase.created_at", refund, `created_at: "2026-01-01"`, `created_at: "2026-01-02"`, ""},
		{"#Testcase.updated_at", refund, `updated_at: "2026-01-01"`, "updated_at: null", ""},
		{"#TestcaseFile.test_cases", talk, "", `[{"name": "Open"}, {"name": "Once", "initial_message": "Hi", "max_turns": 1}]`, ""},

		{"#Check.contains", "test_definitions/refund.checks.yaml", "contains: good}, {not", "contains: nice}, {not", "refund J"},
		{"#Check.not_contains", "test_definitions/refund.checks.yaml", "bad", "worse", "refund J"},
		{"#Check.equals", "test_definitions/refund.checks.yaml", "fine", "finer", "refund J"},
		{"#Check.regex", "test_definitions/refund.checks.yaml", "g(oo)d", "good", "refund J"},
		{"#Check.icontains", "test_definitions/refund.checks.yaml", "FINE", "FINER", "refund J"},
		{"#Check.any_of", "test_definitions/refund.checks.yaml", "okay", "nice", "refund J"},
		{"#Check.all_of", "test_definitions/refund.checks.yaml", "thing", "one", "refund J"},
		{"#Check.json_path", "test_definitions/refund.checks.yaml", "value: 1", "value: 2", "refund J"},
		{"#Check.is_json", "test_definitions/refund.checks.yaml", "type: object", "type: array", "refund J"},
		{"#Check.latency_ms", "test_definitions/refund.checks.yaml", "50000", "60000", "refund D"},
		{"#Check.cost_usd", "test_definitions/refund.checks.yaml", "0.5", "0.25", "refund D"},
		{"#Check.pass", "test_definitions/refund.checks.yaml", "{cost_usd: 0.5}", "{cost_usd: 0.5}, {pass: 0.9}", "refund D"},
		{"checks go", "test_definitions/refund.checks.yaml", "", "", "refund J"},
		{"checks appear", "test_definitions/talk.checks.yaml", "", "open: [{contains: good}]\n", "open J"},

		{"model", cfg, "m1", "m9", all},
		{"temperature", cfg, "0.5", "0.6", all},
		{"judge", cfg, "m2", "m9", judged},
		{"simulator", cfg, "m3", "m9", played},
		{"another simulator", cfg, "simulator: customer", "simulator: judge", played},
		{"another name of the judge", cfg, "judge: judge, simulator", "judge: customer, simulator", judged},
		{"system prompt", "prompts/desk.md", "hats", "coats", all},
		{"an empty system prompt", "prompts/desk.md", "You sell hats.", " \n", all},
		{"offered tools", cfg, "tools: [refund, bye]", "tools: [refund]", all},
		{"a tool", "test_definitions/tools/refund.json", "Pays back", "Repays", all},
		{"a tool's mock", "test_definitions/tools/bye.json", "gone", "left", all},
		{"the target's mock", cfg, "order: 8", "order: 7", all},
		{"what ends a conversation", cfg, "[quit]", "[bye]", all},
		{"cap", cfg, "max_turns_cap: 5", "max_turns_cap: 2", "open E"},
		{"timeout", cfg, "defaults: {", "defaults: {timeout: 50s, ", all},
		{"iterations", cfg, "defaults: {", "defaults: {iterations: 2, ", "once D, open D, refund D"},
		{"weights of difficulties", cfg, "defaults: {", "defaults: {difficulties: {normal: 3}, ", ""},
		{"threshold", cfg, "version: 1", "version: 1\nthresholds: {testcase: 0.5}", "once D, open D, refund D"},
		{"threshold of others", cfg, "version: 1", "version: 1\nthresholds: {domain: 0.5}", ""},
		{"price", cfg, "input: 1", "input: 2", "refund J"},
		{"concurrency", cfg, "model: m1", "model: m1, concurrency: 2", ""},
		{"gate", cfg, "version: 1", "version: 1\ngate: {fail_on: never}", ""},
	}
}

// TestWhatTestcasesAreAbout changes every field of the testcase dialect and of
// checks, and everything that its cases share.
func TestWhatTestcasesAreAbout(t *testing.T) {
	s := newModels(t)
	changes := changesOfTestcases()
	expectRows(t, "testcase.cue", changes)
	expectRows(t, "checks.cue", changes)
	expectChanges(t, s, testcases(s.URL), changes)
}
