package controller_test

import (
	"strings"
	"testing"
)

// testsOfAgentV5 are a suite of AgentV 5, whose cases differ in how they are judged.
func testsOfAgentV5(url string) map[string]string {
	return map[string]string{
		"gavel.yaml": strings.ReplaceAll(evalcaseConfig, "URL", url),
		"test_definitions/desk.yaml": `name: desk
description: Answers.
category: support
version: 1
author: somebody
license: MIT
requires: {agentv: 5}
governance: {level: 1}
tags: [daily]
metadata: {team: a}
env: {A: b}
output_path: out
derived_metrics: []
nunjucks_filters: {}
$schema: https://example.com/x
prompts: ["{{ input }}"]
providers: [bot]
defaults: {provider: second, grader: second}
input_files: [notes.md]
extensions: [{id: 'agentv:agent-rules', hook: beforeAll, rules: rules}, 'file://hooks/one.mjs:beforeAll']
default_test: {vars: {place: Bern}, assert: [{type: contains, value: all}]}
assert: [{type: contains, value: too}]
tests:
- id: greets
  criteria: A greeting
  vars: {input: Hello, expected_output: Hey}
  input_files: [paper.md]
  assert: [Kind, {type: llm-rubric, value: Nice}]
  description: The first.
  conversation_id: c1
  metadata: {topic: hello}
  on_dependency_failure: skip
- id: alone
  criteria: Anything
  vars: {input: Hi}
  execution: {skip_defaults: true}
- id: talks
  vars: {who: Bob}
  execution: {skip_defaults: true}
  mode: conversation
  on_turn_failure: continue
  aggregation: mean
  window_size: 2
  turns: [{input: "I am {{ who }}", assert: [{type: contains, value: "{{ who }}!"}]}, {input: Who am I now, expected_output: Bob}, {input: Bye}]
- id: counts
  vars: {input: Count}
  execution: {skip_defaults: true}
  run: {threshold: 0.7}
  provider: bot
  options: {repeat: 1}
  environment: {type: host, workdir: bench, setup: {command: [sh, hooks/one.sh]}}
  assert:
  - {type: "trajectory:tool-used", value: find, metric: finds, weight: 2}
  - {type: skill-used, value: pdf}
  - {type: assert-set, assert: [{type: contains, value: inner}]}
  - {type: script, command: [python, judge.py], cwd: tools}
  - {type: javascript, value: 'context.vars.input === "Count"'}
  - {type: contains, value: 'for {{ input }}'}
  - {include: ../templates/shared.yml}
scenarios:
- config: [{id: night, vars: {input: Late}, assert: [{type: contains, value: moon}]}]
  tests: [{id: late, execution: {skip_defaults: true}}]
`,
		"test_definitions/tools/judge.py": "print(1)",
		"test_definitions/bench/a.txt":    "bench",
		"test_definitions/desks/a.txt":    "desk",
		"test_definitions/hooks/one.sh":   "echo 1",
		"test_definitions/hooks/one.mjs":  "export function beforeAll() {}",
		"test_definitions/rules/R.md":     "be kind",
		"templates/shared.yml":            "[{type: contains, value: shared}]",
		"test_definitions/notes.md":       "A note",
		"test_definitions/paper.md":       "A paper",
	}
}

func changesOfV5() []change {
	const (
		suite = "test_definitions/desk.yaml"
		all   = "alone E, counts E, greets E, late E, talks E"
		// ownExecution is the execution of one test.
		ownExecution = "execution: {skip_defaults: true}\n- id: talks"
	)
	changes := []change{
		{"#EvalcaseV5.tests", suite, "vars: {input: Hi}", "vars: {input: Ho}", "alone E"},
		{"#EvalcaseV5.prompts", suite, `["{{ input }}"]`, `["Now: {{ input }}"]`, all},
		{"#EvalcaseV5Test.turns", suite, "Who am I now", "Who was I then", "talks E"},
		{"a variable in turns", suite, "who: Bob", "who: Ann", "talks E"},
		{"a variable in the assertion of a turn", suite, "{{ who }}!", "{{ who }}?", "talks J"},
		{"#EvalcaseV5Test.mode", suite, "  mode: conversation\n", "", ""},
		{"#EvalcaseV5Test.on_turn_failure", suite, "on_turn_failure: continue", "on_turn_failure: stop", "talks J"},
		{"#EvalcaseV5Test.aggregation", suite, "aggregation: mean", "aggregation: min", "talks D"},
		{"#EvalcaseV5Test.window_size", suite, "window_size: 2", "window_size: 1", "talks E"},
		{"another notation of a prompt", suite, `["{{ input }}"]`, `"{{input}}"`, ""},
		{"#EvalcaseV5.providers", suite, "providers: [bot]", "providers: [second]", "alone E, greets E, late E, talks E"},
		{"#EvalcaseV5.defaults", suite, "grader: second", "grader: judge", "alone J, greets J, talks J"},
		{"#EvalcaseV5.programs", suite, "version: 1\n", "version: 1\nprograms: {inputs: [notes.md]}\n", "counts J"},
		{"#EvalcaseV5.target", suite, "version: 1\n", "version: 1\ntarget: second\n", ""},
		{"#EvalcaseV5.execution", suite, "version: 1\n", "version: 1\nexecution: {target: second}\n", ""},
		{"#EvalcaseV5.input_files", suite, "input_files: [notes.md]", "input_files: [paper.md]", all},
		{"a file of the suite", "test_definitions/notes.md", "A note", "Another note", all},
		{"#EvalcaseV5.default_test #EvalcaseV5Shared.assert", suite, "value: all", "value: any", "greets J"},
		{"#EvalcaseV5Shared.threshold", suite, "default_test: {vars", "default_test: {threshold: 0.6, vars", "alone D, greets D, late D, talks D"},
		{"#EvalcaseV5.assert", suite, "value: too", "value: also", "greets J"},
		{"#EvalcaseV5.scenarios", suite, "value: moon", "value: sun", "late J"},
		{"a variable of a setting", suite, "input: Late", "input: Later", "late E"},
		{"#EvalcaseV5.threshold", suite, "version: 1\n", "version: 1\nthreshold: 0.6\n", "alone D, greets D, late D, talks D"},

		{"#EvalcaseV5Test.id", suite, "id: alone", "id: lonely", ""},
		{"#EvalcaseV5Test.vars", suite, "expected_output: Hey", "expected_output: Ho", "greets J"},
		{"#EvalcaseV5Shared.vars with a variable that no prompt has", suite, "place: Bern", "place: Rome", "counts J"},
		{"#EvalcaseV5Test.assert", suite, "Kind", "Kinder", "greets J"},
		{"the rubric of an llm-rubric", suite, "value: Nice", "value: Nicer", "greets J"},
		{"#EvalcaseV5Test.criteria", suite, "Anything", "Something", "alone J"},
		{"#EvalcaseV5Test.input", suite, "  vars: {input: Hi}", "  input: Hi", ""},
		{"#EvalcaseV5Test.expected_output", suite, "vars: {input: Hello, expected_output: Hey}", "expected_output: Hey\n  vars: {input: Hello}", ""},
		{"#EvalcaseV5Test.input_files", suite, "input_files: [paper.md]", "input_files: [notes.md]", "greets E"},
		{"#EvalcaseV5Test.run #EvalcaseV5Run.threshold", suite, "threshold: 0.7", "threshold: 0.75", "counts D"},
		{"#EvalcaseV5Test.execution #EvalcaseV5TestExecution.skip_defaults", suite, "  vars: {input: Hi}\n  execution: {skip_defaults: true}", "  vars: {input: Hi}\n  execution: {skip_defaults: false}", "alone J"},
		{"#EvalcaseV5Test.provider", suite, "provider: bot\n", "provider: second\n", "counts E"},
		{"#EvalcaseV5Test.providers", suite, "provider: bot\n", "providers: [bot]\n", ""},
		{"#EvalcaseV5.environment", suite, "version: 1\n", "version: 1\nenvironment: {workdir: desks}\n", ""},
		{"#EvalcaseV5Test.environment #EvalcaseWorkspace.workdir", suite, "workdir: bench", "workdir: desks", "counts J"},
		{"#EvalcaseV5.workspace", suite, "version: 1\n", "version: 1\nworkspace: {template: desks}\n", ""},
		{"#EvalcaseV5Test.workspace", suite, "environment: {type: host, workdir: bench, setup: {command: [sh, hooks/one.sh]}}", "workspace: {template: desks}", "counts J"},
		{"#EvalcaseWorkspace.setup", suite, "[sh, hooks/one.sh]", "[sh, hooks/one.sh, x]", "counts J"},
		{"a file of a folder", "test_definitions/bench/a.txt", "bench", "table", "counts J"},
		{"#EvalcaseV5.extensions", suite, "file://hooks/one.mjs:beforeAll", "file://hooks/one.mjs:beforeEach", "counts J"},
		{"a program of an extension", "test_definitions/hooks/one.mjs", "{}", "{ }", "counts J"},
		{"a rule for agents", "test_definitions/rules/R.md", "kind", "kinder", "counts J"},
		{"a function", suite, "context.vars.input ===", "context.vars.input !==", "counts J"},
		{"a variable in an assertion", suite, "for {{ input }}", "to {{ input }}", "counts J"},
		{"a template of assertions", "templates/shared.yml", "value: shared", "value: common", "counts J"},
		{"a tool", suite, "value: find", "value: seek", "counts J"},
		{"the opposite of an assertion", suite, `"trajectory:tool-used", value: find, metric: finds`, `"not-trajectory:tool-used", value: find, metric: finds`, "counts J"},
		{"a weight", suite, "weight: 2", "weight: 3", "counts D"},
		{"a skill", suite, "value: pdf", "value: docx", "counts J"},
		{"an assertion of a set", suite, "value: inner", "value: outer", "counts J"},
		{"a program", "test_definitions/tools/judge.py", "print(1)", "print(3)", "counts J"},
		{"#EvalcaseV5Run.repeat", suite, "threshold: 0.7", "threshold: 0.7, repeat: 2", "counts D"},
		{"#EvalcaseV5Run.timeout_seconds", suite, "threshold: 0.7", "threshold: 0.7, timeout_seconds: 9", "counts E"},
		{"#EvalcaseV5Run.budget_usd", suite, "threshold: 0.7", "threshold: 0.7, budget_usd: 9", ""},
		{"#EvalcaseV5TestExecution.assert", suite, ownExecution, "execution: {skip_defaults: true, assert: [Short]}\n- id: talks", "alone J"},
		{"#EvalcaseV5TestExecution.threshold", suite, ownExecution, "execution: {skip_defaults: true, threshold: 0.7}\n- id: talks", "alone D"},
		{"#EvalcaseV5Options.transform", suite, "options: {repeat: 1}", "options: {transform: output}", "counts J"},
		{"#EvalcaseV5Options.provider #EvalcaseV5Options.rubric_prompt without a judge", suite, "options: {repeat: 1}", "options: {provider: judge, rubric_prompt: x}", ""},
		{"#EvalcaseV5Options.repeat", suite, "options: {repeat: 1}", "options: {repeat: 2}", "counts D"},
		{"#EvalcaseV5Shared.options", suite, "default_test: {vars", "default_test: {options: {transform: output}, vars", "alone J, counts J, greets J, late J, talks J"},
		{"#EvalcaseV5Shared.description #EvalcaseV5Shared.metadata", suite, "default_test: {vars", "default_test: {description: x, metadata: {a: b}, vars", ""},
		{"#EvalcaseV5EvaluateOptions.repeat", suite, "version: 1\n", "version: 1\nevaluate_options: {repeat: 2}\n", "alone D, greets D, late D, talks D"},
	}
	for _, key := range []string{"cache", "budget_usd", "fail_on_error", "target", "targets"} {
		changes = append(changes, change{"#EvalcaseV5TestExecution." + key, suite, ownExecution, "execution: {skip_defaults: true, " + key + ": 3}\n- id: talks", ""})
	}
	for _, key := range []string{"max_concurrency", "budget_usd", "timeout_ms", "max_eval_time_ms", "delay", "cache", "filter_range", "generate_suggestions", "interactive_providers", "show_progress_bar"} {
		changes = append(changes, change{"#EvalcaseV5EvaluateOptions." + key, suite, "version: 1\n", "version: 1\nevaluate_options: {" + key + ": 3}\n", ""})
	}
	for _, tt := range []struct{ key, to string }{
		{".name: desk", "front"}, {".description: Answers.", "x"}, {".category: support", "x"}, {".version: 1\n", "2\n"}, {".author: somebody", "x"}, {".license: MIT", "x"},
		{".requires: {agentv: 5}", "{}"}, {".governance: {level: 1}", "{}"}, {".tags: [daily]", "[]"}, {".metadata: {team: a}", "{}"}, {".env: {A: b}", "{}"}, {".output_path: out", "in"},
		{".derived_metrics: []", "[1]"}, {".nunjucks_filters: {}", "{a: b}"}, {".$schema: https://example.com/x", "y"},
		{"Test.description: The first.", "x"}, {"Test.conversation_id: c1", "c2"}, {"Test.metadata: {topic: hello}", "{}"}, {"Test.options: {repeat: 1}", "{}"},
		{"Test.on_dependency_failure: skip", "run"},
	} {
		def, text, _ := strings.Cut(tt.key, ".")
		name, _, _ := strings.Cut(text, ":")
		changes = append(changes, change{"#EvalcaseV5" + def + "." + name, suite, text, name + ": " + tt.to, ""})
	}
	return changes
}

// notRunOfV5 are the fields of cases that are not run, and of warnings, which
// schema/evalcase tests.
func notRunOfV5() []change {
	return []change{{about: "#EvalcaseV5.evaluate_options #EvalcaseV5Test.depends_on"}}
}

// TestWhatTestsOfAgentV5AreAbout changes every field of such a suite.
func TestWhatTestsOfAgentV5AreAbout(t *testing.T) {
	s := newModels(t)
	expectChanges(t, s, testsOfAgentV5(s.URL), changesOfV5())
}
