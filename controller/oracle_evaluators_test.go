package controller_test

import (
	"strings"
	"testing"
)

// judgedSuites are cases that begin simply and differ in what judges them:
// programs, models, and nobody.
func judgedSuites(url string) map[string]string {
	return map[string]string{
		"gavel.yaml": strings.ReplaceAll(evalcaseConfig, "URL", url),
		"test_definitions/suite.yaml": `evalcases:
- id: programs
  expected_outcome: It runs
  note: Mind it
  input: [{role: user, content: [Run, {type: file, value: data/facts.md}]}]
  expected_output: {total: 7}
  evaluators:
  - {name: code, type: code_judge, weight: 2, script: [python, judge.py], cwd: tools, target: {max_calls: 3}, config: {level: 1}, strict: true}
  - {name: asked, type: llm_judge, weight: 1, prompt: {script: [python, asks/ask.py], config: {tone: mild}}}
  - {name: both, type: composite, weight: 1, evaluators: [{name: inner, type: llm_judge, prompt: "Is it good?"}], aggregator: {type: code_judge, path: gate.py, cwd: gates, config: {min: 1}}}
- id: judges
  expected_outcome: It is kind
  input: Judge?
  evaluators:
  - {name: file, type: llm_judge, weight: 1, prompt: prompts/judge.md, target: second, config: {a: 1}}
  - {name: kind, type: rubric, weight: 1, rubrics: ["Is it kind?"], target: second}
  - {name: listed, type: llm_judge, rubrics: ["Is it short?"]}
  - {name: panel, type: composite, weight: 1, evaluators: [{name: a, type: llm_judge, prompt: "Is it A?"}, {name: b, type: rubric, rubrics: ["B?", {id: c, outcome: "C?", weight: 2}]}], aggregator: {type: llm_judge, prompt: "Sum {{evaluator_results}} up", target: second}}
  - {name: gated, type: composite, weight: 1, evaluators: [{name: a, type: token_usage, max_total: 1}, {name: b, type: llm_judge}], aggregator: {type: safety_gate, weights: {a: 2}, gates: [a]}}
  - {name: whole, type: composite, weight: 1, evaluators: [{name: a, type: token_usage, max_total: 9001}], aggregator: {type: all_or_nothing, threshold: 0.5}}
- id: measures
  expected_outcome: It is fast
  input: Measure?
  execution: {target: clerk}
  expected_output: {total: 7, day: 01/02/2026, word: good, other: good}
  evaluators:
  - {name: calls, type: tool_trajectory, weight: 1, mode: any_order, minimums: {search: 1}, expected: [{tool: search, args: {who: me}, max_duration_ms: 100}]}
  - {name: fields, type: field_accuracy, weight: 1, aggregation: minimum, fields: [{path: total, match: numeric_tolerance, tolerance: 1, relative: false, required: true, weight: 2}, {path: day, match: date, formats: [DD/MM/YYYY]}, {path: word, match: contains}]}
  - {name: metrics, type: execution_metrics, weight: 1, max_tool_calls: 3, max_llm_calls: 3, max_tokens: 9000, max_cost_usd: 1, max_duration_ms: 50000, max_input_tokens: 9000, max_output_tokens: 9002, target_exploration_ratio: 0.5, exploration_tolerance: 0.4, config: {exploration_tools: [look]}}
  - {name: quick, type: latency, weight: 1, threshold: 50000}
  - {name: fast, type: latency, max_ms: 50000}
  - {name: cheap, type: cost, weight: 1, budget: 1}
  - {name: poor, type: cost, max_usd: 1}
  - {name: terse, type: token_usage, weight: 1, max_total: 9000, max_input: 9000, max_output: 9000}
  - {name: short, type: token_usage, max_total_tokens: 9000}
`,
		"test_definitions/data/facts.md":         "Facts",
		"test_definitions/prompts/judge.md":      "Is {{candidate_answer}} kind?",
		"test_definitions/tools/judge.py":        "print(1)",
		"test_definitions/tools/deep/judge.py":   "print(1)",
		"test_definitions/others/judge.py":       "print(1)",
		"test_definitions/others/deep/judge.py":  "print(1)",
		"test_definitions/asks/ask.py":           "print('?')",
		"test_definitions/gates/gate.py":         "print(2)",
		"test_definitions/gates/helper.py":       "print(3)",
		"test_definitions/gates/deep/gate.py":    "print(2)",
		"test_definitions/gates/deep/helper.py":  "print(3)",
		"test_definitions/gates/deep/another.md": "unread",
	}
}

func changesOfEvaluators() []change {
	const (
		suite = "test_definitions/suite.yaml"
		cfg   = "gavel.yaml"
	)
	changes := []change{
		{"#EvalcaseSuite.programs #EvalcasePrograms.inputs", suite, "evalcases:\n", "programs: {inputs: [prompts/**]}\nevalcases:\n", "programs J"},
		{"#EvalcaseEvaluator.name #EvalcaseCodeJudge.name", suite, "name: code,", "name: program,", ""},
		{"#EvalcaseEvaluator.type #EvalcaseCodeJudge.type", suite, "type: code_judge, weight: 2, script: [python, judge.py], cwd: tools, target: {max_calls: 3}", "type: llm_judge, weight: 2, prompt: {script: [python, tools/judge.py]}", "programs J"},
		{"#EvalcaseEvaluator.weight #EvalcaseCodeJudge.weight", suite, "weight: 2, script", "weight: 3, script", "programs D"},
		{"#EvalcaseEvaluator.required #EvalcaseCodeJudge.required", suite, "type: code_judge, weight: 2", "type: code_judge, required: true, weight: 2", "programs D"},
		{"#EvalcaseCodeJudge.script", suite, "[python, judge.py]", "[python, judge.py, -x]", "programs J"},
		{"#EvalcaseCodeJudge.cwd", suite, "cwd: tools,", "cwd: tools/deep,", "programs J"},
		{"cwd that looks the same from inside", suite, "cwd: tools,", "cwd: others,", ""},
		{"#EvalcaseCodeJudge.config", suite, "level: 1", "level: 2", "programs J"},
		{"#EvalcaseCodeJudge.target", suite, ", target: {max_calls: 3}", "", "programs J"},
		{"#EvalcaseProxy.max_calls", suite, "max_calls: 3", "max_calls: 4", "programs J"},
		{"#EvalcaseProxy.name", suite, "{max_calls: 3}", "{max_calls: 3, name: second}", "programs J"},
		{"a field that goes to config", suite, "strict: true", "strict: false", "programs J"},
		{"config with that field", suite, "config: {level: 1}, strict: true", "config: {strict: true, level: 1}", ""},
		{"a program", "test_definitions/tools/judge.py", "print(1)", "print(9)", "programs J"},
		{"a file next to a program appears", "test_definitions/tools/more.py", "", "print()", "programs J"},
		{"a file next to a program goes", "test_definitions/gates/helper.py", "", "", "programs J"},
		{"a file next to a program is called otherwise", "test_definitions/gates/helper.py => test_definitions/gates/tool.py", "", "", "programs J"},
		{"a file of another kind", "test_definitions/gates/deep/another.md", "unread", "still unread", "programs J"},
		{"a file that a program is told about", "test_definitions/data/facts.md", "Facts", "Other facts", "programs E"},
		{"path of a file that a program is told about", "test_definitions/suite.yaml", "value: data/facts.md", "value: /copy/facts.md", "programs J"},
		{"note of programs", suite, "Mind it", "Mind that", "programs J"},
		{"expected by programs", suite, "{total: 7}\n", "{total: 8}\n", "programs J"},

		{"#EvalcaseLLMJudge.name", suite, "name: file,", "name: other,", ""},
		{"#EvalcaseLLMJudge.type", suite, "type: llm_judge, weight: 1, prompt: prompts/judge.md, target: second, config: {a: 1}", "type: token_usage, weight: 1, max_total: 9", "judges J"},
		{"#EvalcaseLLMJudge.weight", suite, "weight: 1, prompt: prompts", "weight: 2, prompt: prompts", "judges D"},
		{"#EvalcaseLLMJudge.required", suite, "type: llm_judge, weight: 1, prompt: prompts", "type: llm_judge, required: true, weight: 1, prompt: prompts", "judges D"},
		{"#EvalcaseLLMJudge.prompt", suite, "prompt: prompts/judge.md", "prompt: Is it so", "judges J"},
		{"prompt in the definition", suite, "prompt: prompts/judge.md", `prompt: "Is {{candidate_answer}} kind?"`, ""},
		{"a prompt", "test_definitions/prompts/judge.md", "kind", "polite", "judges J"},
		{"#EvalcaseLLMJudge.rubrics", suite, "Is it short?", "Is it long?", "judges J"},
		{"#EvalcaseLLMJudge.target", suite, "judge.md, target: second", "judge.md, target: judge", "judges J"},
		{"#EvalcaseLLMJudge.config", suite, "config: {a: 1}", "config: {a: 2}", ""},
		{"#EvalcasePrompt.script", suite, "[python, asks/ask.py]", "[python, asks/ask.py, -x]", "programs J"},
		{"#EvalcasePrompt.config", suite, "tone: mild", "tone: harsh", "programs J"},
		{"a program that asks", "test_definitions/asks/ask.py", "?", "!", "programs J"},
		{"#EvalcaseRubricEvaluator.name", suite, "name: kind,", "name: polite,", ""},
		{"#EvalcaseRubricEvaluator.type", suite, "type: rubric, weight", "type: llm_judge, weight", ""},
		{"#EvalcaseRubricEvaluator.weight", suite, "type: rubric, weight: 1", "type: rubric, weight: 2", "judges D"},
		{"#EvalcaseRubricEvaluator.required", suite, "type: rubric, weight: 1", "type: rubric, required: true, weight: 1", "judges D"},
		{"#EvalcaseRubricEvaluator.rubrics", suite, "Is it kind?", "Is it polite?", "judges J"},
		{"#EvalcaseRubricEvaluator.target", suite, `kind?"], target: second`, `kind?"]`, "judges J"},

		{"#EvalcaseComposite.name", suite, "name: panel,", "name: jury,", ""},
		{"#EvalcaseComposite.type", suite, "type: composite, weight: 1, evaluators: [{name: inner", "type: rubric, weight: 1, rubrics: [x], evaluators: [{name: inner", "programs J"},
		{"#EvalcaseComposite.weight", suite, "{name: panel, type: composite, weight: 1", "{name: panel, type: composite, weight: 2", "judges D"},
		{"#EvalcaseComposite.required", suite, "{name: panel, type: composite, weight: 1", "{name: panel, type: composite, required: true, weight: 1", "judges D"},
		{"#EvalcaseComposite.evaluators", suite, `"Is it A?"`, `"Is it B?"`, "judges J"},
		{"weight of a criterion that an aggregator sees", suite, `"C?", weight: 2`, `"C?", weight: 3`, "judges J"},
		{"name of a member", suite, "{name: inner,", "{name: within,", "programs J"},
		{"#EvalcaseComposite.aggregator", suite, ", aggregator: {type: code_judge, path: gate.py, cwd: gates, config: {min: 1}}", "", "programs J"},
		{"#EvalcaseAggregator.type", suite, "type: safety_gate, weights: {a: 2}, gates: [a]", "type: minimum", "judges J"},
		{"#EvalcaseAggregator.weights", suite, "weights: {a: 2}", "weights: {a: 3}", "judges D"},
		{"#EvalcaseAggregator.gates", suite, "gates: [a]", "gates: [b]", "judges J"},
		{"#EvalcaseAggregator.required", suite, "gates: [a]", "required: [a]", ""},
		{"#EvalcaseAggregator.threshold", suite, "threshold: 0.5", "threshold: 0.6", "judges D"},
		{"threshold by default", suite, "{type: all_or_nothing, threshold: 0.5}", "{type: all_or_nothing}", "judges D"},
		{"#EvalcaseAggregator.script", suite, "path: gate.py, cwd: gates", "script: [python, gate.py], cwd: gates", ""},
		{"#EvalcaseAggregator.path", suite, "path: gate.py", "path: helper.py", "programs J"},
		{"#EvalcaseAggregator.cwd", suite, "cwd: gates", "cwd: gates/deep", "programs J"},
		{"#EvalcaseAggregator.config", suite, "min: 1", "min: 2", "programs J"},
		{"a program that aggregates", "test_definitions/gates/gate.py", "print(2)", "print(9)", "programs J"},
		{"#EvalcaseAggregator.prompt", suite, "Sum {{evaluator_results}} up", "Sum it up", "judges J"},
		{"#EvalcaseAggregator.target", suite, `up", target: second`, `up"`, "judges J"},

		{"judge", cfg, "m2", "m9", "judges J, programs J"},
		{"a judge of its own", cfg, "m3", "m9", "judges J"},
		{"price of a model", cfg, "input: 1, output: 3", "input: 4, output: 3", "programs J"},
		{"price of an agent", cfg, "input: 2, output: 1", "input: 4, output: 1", "measures J"},
	}
	return append(changes, changesOfMeasures(suite)...)
}

func changesOfMeasures(suite string) []change {
	return []change{
		{"#EvalcaseToolTrajectory.name", suite, "name: calls,", "name: trajectory,", ""},
		{"#EvalcaseToolTrajectory.type", suite, "type: tool_trajectory, weight: 1, mode: any_order, minimums: {search: 1}, expected: [{tool: search, args: {who: me}, max_duration_ms: 100}]", "type: latency, weight: 1, max_ms: 9", "measures J"},
		{"#EvalcaseToolTrajectory.weight", suite, "tool_trajectory, weight: 1", "tool_trajectory, weight: 2", "measures D"},
		{"#EvalcaseToolTrajectory.required", suite, "tool_trajectory, weight: 1", "tool_trajectory, required: true, weight: 1", "measures D"},
		{"#EvalcaseToolTrajectory.mode", suite, "mode: any_order, minimums: {search: 1}", "mode: exact", "measures J"},
		{"#EvalcaseToolTrajectory.minimums", suite, "search: 1", "search: 2", "measures J"},
		{"#EvalcaseToolTrajectory.expected", suite, ", expected: [{tool: search, args: {who: me}, max_duration_ms: 100}]", "", "measures J"},
		{"#EvalcaseStep.tool", suite, "tool: search, args", "tool: find, args", "measures J"},
		{"#EvalcaseStep.args", suite, "who: me", "who: you", "measures J"},
		{"args that may be anything", suite, "{who: me}", "any", "measures J"},
		{"#EvalcaseStep.max_duration_ms", suite, "max_duration_ms: 100", "max_duration_ms: 200", "measures J"},
		{"#EvalcaseFieldAccuracy.name", suite, "name: fields,", "name: values,", ""},
		{"#EvalcaseFieldAccuracy.type", suite, "type: field_accuracy, weight: 1, aggregation: minimum, fields:", "type: cost, weight: 1, budget: 1, fields:", "measures J"},
		{"#EvalcaseFieldAccuracy.weight", suite, "field_accuracy, weight: 1", "field_accuracy, weight: 2", "measures D"},
		{"#EvalcaseFieldAccuracy.required", suite, "field_accuracy, weight: 1", "field_accuracy, required: true, weight: 1", "measures D"},
		{"#EvalcaseFieldAccuracy.fields", suite, ", {path: word, match: contains}", "", "measures J"},
		{"#EvalcaseFieldAccuracy.aggregation", suite, "aggregation: minimum", "aggregation: all_or_nothing", "measures D"},
		{"expected fields", suite, "word: good,", "word: bad,", "measures J"},
		{"#EvalcaseField.path", suite, "path: word", "path: other", "measures J"},
		{"#EvalcaseField.match", suite, "match: contains", "match: exact", "measures J"},
		{"#EvalcaseField.required", suite, "required: true", "required: false", "measures J"},
		{"#EvalcaseField.weight", suite, "required: true, weight: 2", "required: true, weight: 3", "measures D"},
		{"#EvalcaseField.tolerance", suite, "tolerance: 1,", "tolerance: 2,", "measures J"},
		{"#EvalcaseField.relative", suite, "relative: false", "relative: true", "measures J"},
		{"relative by default", suite, "relative: false, ", "", ""},
		{"#EvalcaseField.formats", suite, "[DD/MM/YYYY]", "[MM/DD/YYYY]", "measures J"},
		{"#EvalcaseExecutionMetrics.name", suite, "name: metrics,", "name: sums,", ""},
		{"#EvalcaseExecutionMetrics.type", suite, "type: execution_metrics, weight: 1, max_tool_calls: 3, max_llm_calls: 3, max_tokens: 9000, max_cost_usd: 1, max_duration_ms: 50000", "type: cost, weight: 1, budget: 1", "measures J"},
		{"#EvalcaseExecutionMetrics.weight", suite, "execution_metrics, weight: 1", "execution_metrics, weight: 2", "measures D"},
		{"#EvalcaseExecutionMetrics.required", suite, "execution_metrics, weight: 1", "execution_metrics, required: true, weight: 1", "measures D"},
		{"#EvalcaseExecutionMetrics.max_tool_calls", suite, "max_tool_calls: 3", "max_tool_calls: 4", "measures D"},
		{"a quantity more", suite, "max_tool_calls: 3, ", "", "measures J"},
		{"#EvalcaseExecutionMetrics.max_llm_calls", suite, "max_llm_calls: 3", "max_llm_calls: 4", "measures D"},
		{"#EvalcaseExecutionMetrics.max_tokens", suite, "max_tokens: 9000", "max_tokens: 8000", "measures D"},
		{"#EvalcaseExecutionMetrics.max_cost_usd", suite, "max_cost_usd: 1", "max_cost_usd: 2", "measures D"},
		{"#EvalcaseExecutionMetrics.max_duration_ms", suite, "max_duration_ms: 50000", "max_duration_ms: 60000", "measures D"},
		{"#EvalcaseExecutionMetrics.max_input_tokens", suite, "max_input_tokens: 9000", "max_input_tokens: 8000", "measures D"},
		{"#EvalcaseExecutionMetrics.max_output_tokens", suite, "max_output_tokens: 9002", "max_output_tokens: 8000", "measures D"},
		{"#EvalcaseExecutionMetrics.target_exploration_ratio", suite, "ratio: 0.5", "ratio: 0.6", "measures J"},
		{"#EvalcaseExecutionMetrics.exploration_tolerance", suite, "tolerance: 0.4", "tolerance: 0.3", "measures J"},
		{"#EvalcaseExecutionMetrics.config", suite, "[look]", "[look, find]", "measures J"},
		{"#EvalcaseLatency.name", suite, "name: quick,", "name: swift,", ""},
		{"#EvalcaseLatency.type", suite, "type: latency, weight: 1, threshold: 50000", "type: cost, weight: 1, budget: 1", "measures J"},
		{"#EvalcaseLatency.weight", suite, "latency, weight: 1", "latency, weight: 2", "measures D"},
		{"#EvalcaseLatency.required", suite, "latency, weight: 1", "latency, required: true, weight: 1", "measures D"},
		{"#EvalcaseLatency.threshold", suite, "threshold: 50000", "threshold: 60000", "measures D"},
		{"#EvalcaseLatency.max_ms", suite, "max_ms: 50000", "max_ms: 60000", "measures D"},
		{"the other name of a bound", suite, "max_ms: 50000", "threshold: 50000", ""},
		{"#EvalcaseCost.name", suite, "name: cheap,", "name: frugal,", ""},
		{"#EvalcaseCost.type", suite, "type: cost, weight: 1, budget: 1", "type: latency, weight: 1, max_ms: 1", "measures J"},
		{"#EvalcaseCost.weight", suite, "cost, weight: 1", "cost, weight: 2", "measures D"},
		{"#EvalcaseCost.required", suite, "cost, weight: 1", "cost, required: true, weight: 1", "measures D"},
		{"#EvalcaseCost.budget", suite, "budget: 1", "budget: 2", "measures D"},
		{"#EvalcaseCost.max_usd", suite, "max_usd: 1", "max_usd: 2", "measures D"},
		{"#EvalcaseTokenUsage.name", suite, "name: terse,", "name: brief,", ""},
		{"#EvalcaseTokenUsage.type", suite, "type: token_usage, weight: 1, max_total: 9000, max_input: 9000, max_output: 9000", "type: cost, weight: 1, budget: 1", "measures J"},
		{"#EvalcaseTokenUsage.weight", suite, "token_usage, weight: 1", "token_usage, weight: 2", "measures D"},
		{"#EvalcaseTokenUsage.required", suite, "token_usage, weight: 1", "token_usage, required: true, weight: 1", "measures D"},
		{"#EvalcaseTokenUsage.max_total", suite, "weight: 1, max_total: 9000", "weight: 1, max_total: 8000", "measures D"},
		{"#EvalcaseTokenUsage.max_input", suite, "max_input: 9000, max_output", "max_input: 8000, max_output", "measures D"},
		{"#EvalcaseTokenUsage.max_output", suite, "max_output: 9000", "max_output: 8000", "measures D"},
		{"#EvalcaseTokenUsage.max_total_tokens", suite, "max_total_tokens: 9000", "max_total_tokens: 8000", "measures D"},
	}
}

// TestWhatEvaluatorsAreAbout changes every field of the evaluators of the
// evalcase dialect, and the files that they are made of.
func TestWhatEvaluatorsAreAbout(t *testing.T) {
	s := newModels(t)
	base := judgedSuites(s.URL)
	base["copy/facts.md"] = base["test_definitions/data/facts.md"]
	expectChanges(t, s, base, changesOfEvaluators())
}
