package controller_test

import (
	"strings"
	"testing"
)

// testsOfAgentV4 are a suite of AgentV 4, whose cases differ in how they are judged.
func testsOfAgentV4(url string) map[string]string {
	return map[string]string{
		"gavel.yaml": strings.ReplaceAll(evalcaseConfig, "URL", url),
		"test_definitions/desk.yaml": `name: desk
description: Answers.
category: support
version: 1
author: somebody
license: MIT
requires: {agentv: 4}
governance: {level: 1}
tags: [daily]
metadata: {team: a}
input: [{role: system, content: Be brief}]
input_files: [notes.md]
assertions: [{type: contains, value: all}]
execution: {target: bot, workers: 3, trials: 1, cache: true, budget_usd: 1, fail_on_error: true, targets: [bot], timeout_seconds: 60, assertions: [{type: contains, value: too}]}
preprocessors: [trim]
$schema: https://example.com/x
tests:
- id: greets
  criteria: A greeting
  input: Hello
  input_files: [paper.md]
  expected_output: Hey
  assertions: [Kind, {type: llm-grader, prompt: "As {{ criteria }} and {{ expected_output }}?"}]
  description: The first.
  conversation_id: c1
  note: Mind the tone
  metadata: {topic: hello}
  vars: {x: 1}
- id: alone
  criteria: Anything
  input: Hi
  transform: output.trim()
  execution: {skip_defaults: true}
- id: talks
  execution: {skip_defaults: true, threshold: 0.6}
  mode: conversation
  aggregation: min
  on_turn_failure: continue
  window_size: 2
  turns:
  - {input: First, assertions: [{type: contains, value: one, weight: 4}, {type: contains, value: four}]}
  - {input: Second, expected_output: Twice}
  - {input: Third}
  assertions: [{type: contains, value: whole}]
- id: counts
  input: Count
  vars: {n: 2}
  execution: {skip_defaults: true, threshold: 0.7}
  workspace:
    template: bench
    mode: temp
    isolation: shared
    hooks:
      before_all: {command: [sh, one.sh], cwd: hooks, timeout_ms: 1000}
      before_each: {command: [sh, -c, "date"], reset: fast}
      after_each: {command: [uptime]}
      after_all: {command: [uname]}
  assertions:
  - {type: regex, name: word, value: one, flags: i, weight: 2, required: true, min_score: 0.5}
  - {type: contains, value: two, negate: false}
  - {type: rubrics, criteria: [Fast], target: second, temperature: 0, max_steps: 3}
  - {type: llm-grader, metric: listed, rubrics: [Short]}
  - {type: tool-trajectory, mode: subset, args_match: exact, minimums: {look: 1}, expected: [{tool: find, args: {q: 1}}]}
  - {type: field-accuracy, aggregation: minimum, fields: [{path: a}]}
  - {type: execution-metrics, max_tool_calls: 3, max_llm_calls: 4, max_tokens: 5, max_input_tokens: 6, max_output_tokens: 7, max_cost_usd: 8, max_duration_ms: 9, target_exploration_ratio: 0.3, exploration_tolerance: 0.1}
  - {type: token-usage, max_total: 11, max_input: 12, max_output: 13}
  - {type: latency, threshold: 14}
  - {type: cost, budget: 15}
  - {type: composite, aggregator: {type: threshold, threshold: 0.6}, assertions: [{type: contains, value: inner}]}
  - {type: code-grader, command: [python, judge.py], cwd: tools, config: {least: 1}}
  - {type: composite, name: older, evaluators: [{type: contains, value: deep}]}
  - {type: skill-trigger, skill: pdf, should_trigger: true}
  - {type: word-count, most: 5}
  - {type: javascript, value: "output.length > context.vars.n", threshold: 0.1}
  - {type: contains, name: cut, value: x, transform: "output.slice(1)"}
`,
		"test_definitions/tools/judge.py":  "print(1)",
		".agentv/assertions/word-count.py": "print(4)",
		"test_definitions/bench/a.txt":     "bench",
		"test_definitions/desks/a.txt":     "desk",
		"test_definitions/hooks/one.sh":    "echo 1",
		"test_definitions/later/one.sh":    "echo 2",
		"test_definitions/others/judge.py": "print(2)",
		"test_definitions/notes.md":        "A note",
		"test_definitions/paper.md":        "A paper",
	}
}

func changesOfTests() []change {
	const (
		suite = "test_definitions/desk.yaml"
		all   = "alone E, counts E, greets E, talks E"
	)
	changes := []change{
		{"#EvalcaseTests.tests", suite, "  criteria: Anything\n  input: Hi\n", "  criteria: Anything\n  input: Ho\n", "alone E"},
		{"#EvalcaseTests.input", suite, "Be brief", "Be long", all},
		{"#EvalcaseTests.input_files", suite, "input_files: [notes.md]", "input_files: [paper.md]", all},
		{"a file of the suite", "test_definitions/notes.md", "A note", "Another note", all},
		{"#EvalcaseTests.assertions", suite, "value: all", "value: any", "greets J"},
		{"#EvalcaseTests.execution #EvalcaseTestExecution.timeout_seconds", suite, "timeout_seconds: 60", "timeout_seconds: 61", all},
		{"#EvalcaseTests.threshold", suite, "version: 1\n", "version: 1\nthreshold: 0.6\n", "alone D, greets D"},
		{"#EvalcaseTests.programs", suite, "version: 1\n", "version: 1\nprograms: {inputs: [notes.md]}\n", "counts J"},
		{"#EvalcaseTests.preprocessors", suite, "[trim]", "[]", ""},
		{"#EvalcaseTests.assert", suite, "assertions: [{type: contains, value: all}]", "assert: [{type: contains, value: all}]", ""},
		{"#EvalcaseTests.evaluators", suite, "assertions: [{type: contains, value: all}]", "evaluators: [{type: contains, value: all}]", ""},
		{"#EvalcaseTests.target", suite, "version: 1\n", "version: 1\ntarget: second\n", ""},
		{"#EvalcaseTestExecution.assert", suite, "assertions: [{type: contains, value: too}]", "assert: [{type: contains, value: too}]", ""},
		{"#EvalcaseTestExecution.evaluators", suite, "assertions: [{type: contains, value: too}]", "evaluators: [{type: contains, value: too}]", ""},
		{"#EvalcaseHooks.enabled", suite, "      before_all: {", "      enabled: false\n      before_all: {", "counts J"},
		{"#EvalcaseTest.assert", suite, "  assertions: [Kind, ", "  assert: [Kind, ", ""},
		{"#EvalcaseTest.evaluators", suite, "  assertions: [Kind, ", "  evaluators: [Kind, ", ""},
		{"#EvalcaseTest.rubrics", suite, "  input: Hi\n", "  input: Hi\n  rubrics: [Kind]\n", "alone J"},
		{"#EvalcaseTest.input_messages", suite, "  input: Hi\n", "  input_messages: Hi\n", ""},
		{"#EvalcaseTest.expected_messages", suite, "expected_output: Hey", "expected_messages: Hey", ""},
		{"#EvalcaseTurn.assert", suite, "{input: First, assertions: ", "{input: First, assert: ", ""},
		{"#EvalcaseAssertion.assert", suite, "assertions: [{type: contains, value: inner}]", "assert: [{type: contains, value: inner}]", ""},
		{"several runs of each test", suite, "trials: 1", "trials: {count: 2, strategy: mean}", "alone D, counts D, greets D, talks D"},
		{"the best of several runs", suite, "trials: 1", "trials: {count: 2}", "alone D, counts D, greets D, talks D"},

		{"#EvalcaseTests.workspace", suite, "version: 1\n", "version: 1\nworkspace: {template: desks}\n", ""},
		{"#EvalcaseTest.workspace", suite, "    template: bench\n", "", "counts J"},
		{"#EvalcaseWorkspace.template", suite, "template: bench", "template: desks", "counts J"},
		{"a file of a template", "test_definitions/bench/a.txt", "bench", "table", "counts J"},
		{"another file of a template", "test_definitions/bench/b.txt", "", "chair", "counts J"},
		{"#EvalcaseWorkspace.mode", suite, "mode: temp", "mode: pooled", ""},
		{"#EvalcaseWorkspace.isolation", suite, "isolation: shared", "isolation: per_test", ""},
		{"#EvalcaseWorkspace.hooks #EvalcaseHooks.before_all", suite, "      before_all: {command: [sh, one.sh], cwd: hooks, timeout_ms: 1000}\n", "", "counts J"},
		{"#EvalcaseHooks.before_each", suite, "[sh, -c, \"date\"]", "[sh, -c, \"date -u\"]", "counts J"},
		{"#EvalcaseHooks.after_each", suite, "{command: [uptime]}", "{command: [uptime, -s]}", "counts J"},
		{"#EvalcaseHooks.after_all", suite, "{command: [uname]}", "{command: [uname, -r]}", "counts J"},
		{"#EvalcaseHook.command", suite, "[sh, one.sh]", "[sh, one.sh, x]", "counts J"},
		{"#EvalcaseHook.script", suite, "command: [sh, one.sh]", "script: [sh, one.sh]", ""},
		{"#EvalcaseHook.cwd", suite, "cwd: hooks", "cwd: later", "counts J"},
		{"#EvalcaseHook.timeout_ms", suite, "timeout_ms: 1000", "timeout_ms: 2000", "counts J"},
		{"#EvalcaseHook.reset", suite, "reset: fast", "reset: strict", ""},
		{"a program of a hook", "test_definitions/hooks/one.sh", "echo 1", "echo 3", "counts J"},

		{"#EvalcaseTestExecution.target", suite, "target: bot", "target: second", all},
		{"#EvalcaseTestExecution.threshold", suite, "threshold: 0.7", "threshold: 0.75", "counts D"},
		{"#EvalcaseTestExecution.skip_defaults", suite, "output.trim()\n  execution: {skip_defaults: true}", "output.trim()\n  execution: {skip_defaults: false}", "alone J"},
		{"#EvalcaseTestExecution.assertions", suite, "value: too", "value: also", "greets J"},

		{"#EvalcaseTest.id", suite, "id: alone", "id: lonely", ""},
		{"#EvalcaseTest.criteria", suite, "Anything", "Something", "alone J"},
		{"#EvalcaseTest.expected_outcome", suite, "criteria: Anything", "expected_outcome: Anything", ""},
		{"#EvalcaseTest.input", suite, "input: Count", "input: Sum", "counts E"},
		{"#EvalcaseTest.input_files", suite, "input_files: [paper.md]", "input_files: [notes.md]", "greets E"},
		{"#EvalcaseTest.expected_output", suite, "Hey", "Ho", "greets J"},
		{"#EvalcaseTest.assertions", suite, "Kind", "Nice", "greets J"},
		{"#EvalcaseTest.execution", suite, "{skip_defaults: true, threshold: 0.7}", "{skip_defaults: true, threshold: 0.7, timeout_seconds: 9}", "counts E"},
		{"#EvalcaseTest.transform", suite, "transform: output.trim()", "transform: output.trim().slice(1)", "alone J"},
		{"#EvalcaseAssertion.transform", suite, "output.slice(1)", "output.slice(2)", "counts J"},
		{"#EvalcaseTest.vars", suite, "vars: {n: 2}", "vars: {n: 3}", "counts J"},
		{"a threshold of a function", suite, "threshold: 0.1", "threshold: 0.2", "counts J"},
		{"#EvalcaseTest.turns #EvalcaseTurn.input", suite, "{input: Third}", "{input: Fourth}", "talks E"},
		{"a turn", suite, "  - {input: Third}\n", "", "talks E"},
		{"#EvalcaseTurn.assertions", suite, "value: four", "value: five", "talks J"},
		{"a weight in a turn", suite, "one, weight: 4", "one, weight: 3", "talks D"},
		{"what is required of a turn", suite, "one, weight: 4", "one, weight: 4, required: true", "talks D"},
		{"#EvalcaseTurn.expected_output", suite, "Twice", "Thrice", "talks J"},
		{"an assertion of the whole conversation", suite, "value: whole", "value: half", "talks J"},
		{"#EvalcaseTest.mode", suite, "  mode: conversation\n", "", ""},
		{"#EvalcaseTest.aggregation", suite, "  aggregation: min\n", "  aggregation: max\n", "talks D"},
		{"#EvalcaseTest.on_turn_failure", suite, "on_turn_failure: continue", "on_turn_failure: stop", "talks J"},
		{"#EvalcaseTest.window_size", suite, "window_size: 2", "window_size: 1", "talks E"},
		{"#EvalcaseTest.depends_on #EvalcaseTest.on_dependency_failure", suite, "  input: Hi\n", "  input: Hi\n  on_dependency_failure: run\n", ""},
		{"#EvalcaseTest.checks", suite, "  input: Hi\n", "  input: Hi\n  checks: [{contains: good}]\n", "alone J"},
		{"#EvalcaseTest.note", suite, "the tone", "the time", "greets J"},

		{"#EvalcaseAssertion.type", suite, "{type: contains, value: two", "{type: icontains, value: two", "counts J"},
		{"another notation of a type", suite, "type: field-accuracy", "type: field_accuracy, name: field-accuracy", ""},
		{"#EvalcaseAssertion.name", suite, "name: word", "name: words", ""},
		{"#EvalcaseAssertion.metric", suite, "metric: listed", "name: listed", ""},
		{"#EvalcaseAssertion.weight", suite, "weight: 2", "weight: 3", "counts D"},
		{"#EvalcaseAssertion.required", suite, "required: true, min_score: 0.5", "required: 0.4, min_score: 0.5", "counts D"},
		{"#EvalcaseAssertion.min_score", suite, "min_score: 0.5", "min_score: 0.6", "counts D"},
		{"#EvalcaseAssertion.negate", suite, "negate: false", "negate: true", "counts J"},
		{"negate of a judge", suite, "rubrics: [Short]", "rubrics: [Short], negate: true", "counts D"},
		{"#EvalcaseAssertion.skill", suite, "skill: pdf", "skill: docx", "counts J"},
		{"#EvalcaseAssertion.should_trigger", suite, "should_trigger: true", "should_trigger: false", "counts J"},
		{"skills are meant to be used by default", suite, ", should_trigger: true", "", ""},
		{"an assertion of the team's own", ".agentv/assertions/word-count.py", "print(4)", "print(5)", "counts J"},
		{"a field of an assertion of the team's own", suite, "most: 5", "most: 6", "counts J"},
		{"a nearer assertion of the team's own", "test_definitions/.agentv/assertions/word-count.py", "", "print(6)", "counts J"},
		{"#EvalcaseAssertion.value", suite, "value: two", "value: three", "counts J"},
		{"#EvalcaseAssertion.flags", suite, "flags: i", "flags: m", "counts J"},
		{"#EvalcaseAssertion.prompt", suite, "As {{ criteria }} and", "Like {{ criteria }} and", "greets J"},
		{"notation of a variable", suite, "{{ criteria }}", "{{criteria}}", ""},
		{"#EvalcaseAssertion.rubrics", suite, "[Short]", "[Brief]", "counts J"},
		{"#EvalcaseAssertion.criteria", suite, "[Fast]", "[Quick]", "counts J"},
		{"#EvalcaseAssertion.target", suite, "target: second", "target: judge", "counts J"},
		{"#EvalcaseAssertion.mode", suite, "mode: subset", "mode: superset", "counts J"},
		{"#EvalcaseAssertion.args_match", suite, "args_match: exact", "args_match: subset", "counts J"},
		{"#EvalcaseAssertion.minimums", suite, "{look: 1}", "{look: 2}", "counts J"},
		{"#EvalcaseAssertion.expected", suite, "tool: find", "tool: seek", "counts J"},
		{"#EvalcaseAssertion.aggregation", suite, "aggregation: minimum", "aggregation: all_or_nothing", "counts D"},
		{"#EvalcaseAssertion.fields", suite, "{path: a}", "{path: b}", "counts J"},
		{"#EvalcaseAssertion.target_exploration_ratio", suite, "ratio: 0.3", "ratio: 0.4", "counts J"},
		{"#EvalcaseAssertion.exploration_tolerance", suite, "tolerance: 0.1", "tolerance: 0.2", "counts J"},
		{"#EvalcaseAssertion.command", suite, "[python, judge.py]", "[python, judge.py, -x]", "counts J"},
		{"#EvalcaseAssertion.script", suite, "command: [python", "script: [python", ""},
		{"#EvalcaseAssertion.cwd", suite, "cwd: tools", "cwd: others", "counts J"},
		{"#EvalcaseAssertion.config", suite, "{least: 1}", "{least: 2}", "counts J"},
		{"a program", "test_definitions/tools/judge.py", "print(1)", "print(3)", "counts J"},
		{"#EvalcaseAssertion.assertions", suite, "value: inner", "value: outer", "counts J"},
		{"#EvalcaseAssertion.evaluators", suite, "value: deep", "value: flat", "counts J"},
		{"#EvalcaseAssertion.aggregator", suite, "{type: threshold, threshold: 0.6}", "{type: weighted_average}", "counts D"},
	}
	for _, key := range []string{"max_tool_calls: 3", "max_llm_calls: 4", "max_tokens: 5", "max_input_tokens: 6", "max_output_tokens: 7", "max_cost_usd: 8", "max_duration_ms: 9",
		"max_total: 11", "max_input: 12", "max_output: 13", "threshold: 14", "budget: 15"} {
		name, _, _ := strings.Cut(key, ":")
		changes = append(changes, change{"#EvalcaseAssertion." + name, suite, key, name + ": 99", "counts D"})
	}
	for _, tt := range []struct{ key, to string }{
		{"Tests.name: desk", "front"}, {"Tests.description: Answers.", "x"}, {"Tests.category: support", "x"}, {"Tests.version: 1\n", "2\n"}, {"Tests.author: somebody", "x"},
		{"Tests.license: MIT", "x"}, {"Tests.requires: {agentv: 4}", "{}"}, {"Tests.governance: {level: 1}", "{}"}, {"Tests.tags: [daily]", "[]"}, {"Tests.metadata: {team: a}", "{}"},
		{"Tests.$schema: https://example.com/x", "y"}, {"TestExecution.targets: [bot]", "[]"}, {"TestExecution.workers: 3", "4"}, {"TestExecution.trials: 1", "2"},
		{"TestExecution.cache: true", "false"}, {"TestExecution.budget_usd: 1", "2"}, {"TestExecution.fail_on_error: true", "false"},
		{"Test.description: The first.", "x"}, {"Test.conversation_id: c1", "c2"}, {"Test.metadata: {topic: hello}", "{}"}, {"Test.vars: {x: 1}", "{}"},
		{"Assertion.temperature: 0", "1"}, {"Assertion.max_steps: 3", "4"},
	} {
		def, text, _ := strings.Cut(tt.key, ".")
		name, _, _ := strings.Cut(text, ":")
		changes = append(changes, change{"#Evalcase" + def + "." + name, suite, text, name + ": " + tt.to, ""})
	}
	return changes
}

// notRunOfTests are the fields of cases that are not run, which schema/evalcase tests.
func notRunOfTests() []change {
	return []change{{about: "#EvalcaseWorkspace.repos #EvalcaseWorkspace.path #EvalcaseWorkspace.docker #EvalcaseWorkspace.type #EvalcaseWorkspace.env #EvalcaseTest.environment"}}
}

// TestWhatTestsOfAgentV4AreAbout changes every field of such a suite.
func TestWhatTestsOfAgentV4AreAbout(t *testing.T) {
	s := newModels(t)
	expectChanges(t, s, testsOfAgentV4(s.URL), changesOfTests())
}
