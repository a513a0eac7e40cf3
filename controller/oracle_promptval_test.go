package controller_test

import (
	"strings"
	"testing"
)

const promptvalConfig = `version: 1
default_target: clerk
targets:
  clerk: {provider: http, url: URL/agent, kind: agent, accepts_prompt: true}
  guide: {provider: http, url: URL/agent2, kind: agent, accepts_prompt: true}
  flow: {provider: openai, model: m1, base_url: URL/flow, kind: workflow, accepts_prompt: true, tools: [], system_prompt: Plan days.}
  own: {provider: openai, model: m1, base_url: URL/own, kind: custom_workflow, accepts_prompt: true, inputs: ["agent/*.py"], tools: [], system_prompt: {file: prompts/own.md}}
  judge: {provider: openai, model: m2, base_url: URL/judge}
  gemini: {provider: openai, model: m3, base_url: URL/gemini}
  claude: {provider: openai, model: m4, base_url: URL/claude}
roles: {judge: judge, editors: {gemini: gemini, claude: claude}}
aliases: {robot: clerk, robot2: clerk, robot3: guide}
`

// promptvals are a numeric and a semantic configuration, each with a prompt
// that it is compared with, and one that fails and is run again.
func promptvals(url string) map[string]string {
	return map[string]string{
		"gavel.yaml":     strings.ReplaceAll(promptvalConfig, "URL", url),
		"agent/own.py":   "print()",
		"prompts/own.md": "You know hats.\n",
		"test_definitions/numeric.yaml": `test_type: agent
name: robot
user_input: [Hello, Bye]
iterations: 1
testing_prompt: Is it kind?
rubric: {criteria: [{name: tone, description: how it sounds, weight: 0.5}, {name: facts, weight: 0.5}]}
evaluation_type: numeric
threshold: 7
retry: false
max_retries: 0
edit_prompt: false
editor_model: gemini
new_prompt: Be very kind.
expected_tools: [{name: search, eq: 1}, {name: a, lt: 9}, {name: b, le: 8}, {name: c, gt: 0, le: 9}, {name: d, ge: 1, le: 9}]
analysis: true
output: left over
`,
		"test_definitions/semantic.json": `{"test_type": "workflow", "name": "flow", "user_input": "Plan", "testing_prompt": "Is it a plan?",
			"rubric": {"criteria": [{"name": "depth", "weight": 1}]}, "new_prompt": "Plan well."}`,
		"test_definitions/tools/find.json": `{"id": "find", "function": {"name": "find"}, "mock_response": "found"}`,
		"test_definitions/again.yaml": `test_type: custom_workflow
name: own
user_input: {days: 1.50, topic: hats}
testing_prompt: FAIL unless it is about hats
evaluation_type: numeric
rubric: {criteria: [{name: hats, weight: 1}]}
threshold: 7
retry: true
max_retries: 1
edit_prompt: true
editor_model: gemini
`,
	}
}

func changesOfPromptvals() []change {
	const (
		numeric  = "test_definitions/numeric.yaml"
		semantic = "test_definitions/semantic.json"
		again    = "test_definitions/again.yaml"
		cfg      = "gavel.yaml"
	)
	return []change{
		{"#Promptval.test_type", numeric, "test_type: agent\nname: robot", "test_type: workflow\nname: flow", "numeric E"},
		{"#Promptval.name", numeric, "name: robot\n", "name: robot3\n", "numeric E"},
		{"another name of the target", numeric, "name: robot\n", "name: robot2\n", ""},
		{"#Promptval.user_input", numeric, "[Hello, Bye]", "[Hello, Bye!]", "numeric E"},
		{"user_input as an object", again, "topic: hats", "topic: coats", "again E"},
		{"order and notation of user_input", again, "{days: 1.50, topic: hats}", "{topic: hats, days: 1.5}", ""},
		{"user_input as a list of one", semantic, `"Plan",`, `["Plan"],`, ""},
		{"#Promptval.iterations", numeric, "iterations: 1", "iterations: 2", "numeric D"},
		{"iterations by default", numeric, "iterations: 1\n", "", ""},
		{"iterations of one that is retried", again, "retry: true", "retry: true\niterations: 2", "again E"},
		{"#Promptval.testing_prompt", numeric, "Is it kind?", "Is it short?", "numeric J"},
		{"testing_prompt of one that is retried", again, "about hats", "about a hat", "again E"},
		{"#Promptval.rubric", semantic, `"rubric": {"criteria": [{"name": "depth", "weight": 1}]}, `, "", "semantic J"},
		{"#PromptvalRubric.criteria", numeric, "{name: facts, weight: 0.5}", "{name: facts, weight: 0.5}, {name: wit, weight: 0}", "numeric J"},
		{"#PromptvalCriterion.name", numeric, "name: facts", "name: truth", "numeric J"},
		{"#PromptvalCriterion.description", numeric, "how it sounds", "its sound", "numeric J"},
		{"#PromptvalCriterion.weight", numeric, "facts, weight: 0.5", "facts, weight: 0.25", "numeric D"},
		{"weight that a judge is told", semantic, `"weight": 1`, `"weight": 2`, "semantic J"},
		{"#Promptval.evaluation_type", numeric, "evaluation_type: numeric", "evaluation_type: default", "numeric J"},
		{"evaluation_type by default", semantic, `"test_type"`, `"evaluation_type": "default", "test_type"`, ""},
		{"#Promptval.threshold", numeric, "threshold: 7", "threshold: 8", "numeric D"},
		{"no threshold", numeric, "threshold: 7\n", "", "numeric D"},
		{"threshold of one that is retried", again, "threshold: 7", "threshold: 8", "again E"},
		{"#Promptval.retry", again, "retry: true", "retry: false", "again E"},
		{"retry without a number", numeric, "retry: false", "retry: true", ""},
		{"#Promptval.max_retries", again, "max_retries: 1", "max_retries: 2", "again E"},
		{"#Promptval.edit_prompt", again, "edit_prompt: true", "edit_prompt: false", "again E"},
		{"edit_prompt without a retry", numeric, "edit_prompt: false", "edit_prompt: true", "numeric E"},
		{"#Promptval.type", numeric, "test_type: agent", "type: agent", ""},
		{"#Promptval.id", numeric, "name: robot\n", "id: robot\n", ""},
		{"#Promptval.input", numeric, "user_input:", "input:", ""},
		{"#Promptval.editor_model", again, "editor_model: gemini", "editor_model: claude", "again E"},
		{"editor_model by default", again, "editor_model: gemini\n", "", ""},
		{"editor_model without a retry", numeric, "editor_model: gemini", "editor_model: claude", ""},
		{"#Promptval.new_prompt", numeric, "Be very kind.", "Be kind.", "numeric E"},
		{"no new_prompt", semantic, `, "new_prompt": "Plan well."`, "", "semantic E"},
		{"question of a comparison", semantic, "Is it a plan?", "Is it a good plan?", "semantic J"},
		{"#Promptval.expected_tools", numeric, "expected_tools: [", "expected_tools: [{name: find, le: 1}, ", "numeric J"},
		{"#PromptvalToolCount.name", numeric, "name: search", "name: find", "numeric J"},
		{"#PromptvalToolCount.eq", numeric, "eq: 1", "eq: 2", "numeric J"},
		{"#PromptvalToolCount.lt", numeric, "lt: 9", "lt: 8", "numeric J"},
		{"#PromptvalToolCount.le", numeric, "le: 8", "le: 7", "numeric J"},
		{"the same bound", numeric, "le: 8", "lt: 9", ""},
		{"#PromptvalToolCount.gt", numeric, "gt: 0", "gt: 1", "numeric J"},
		{"#PromptvalToolCount.ge", numeric, "ge: 1", "ge: 2", "numeric J"},
		{"#Promptval.analysis", numeric, "analysis: true", "analysis: false", "numeric J"},
		{"#Promptval.checks", numeric, "analysis: true\n", "analysis: true\nchecks: [{contains: good}]\n", "numeric J"},
		{"analysis by default", numeric, "analysis: true\n", "", ""},
		{"#Promptval.output", numeric, "left over", "other", ""},

		{"checks appear", "test_definitions/again.checks.yaml", "", `".": [{contains: good}]`, "again E"},
		{"where an agent is", cfg, "/agent,", "/agent/new,", "numeric E"},
		{"which agent is meant", cfg, "robot: clerk", "robot: guide", "numeric E"},
		{"target that is not used", cfg, "/agent2", "/agent3", ""},
		{"what an agent is built from", "agent/own.py", "print()", "print(1)", "again E"},
		{"a file of an agent appears", "agent/more.py", "", "print()", "again E"},
		{"judge", cfg, "m2", "m9", "again E, numeric J, semantic J"},
		{"editor", cfg, "m3", "m9", "again E"},
		{"editor that is not asked", cfg, "m4", "m9", ""},
		{"another editor", cfg, "gemini: gemini", "gemini: claude", "again E"},
		{"default of iterations", cfg, "version: 1", "version: 1\ndefaults: {iterations: 2}", "again E, semantic D"},
		{"system prompt in a file", "prompts/own.md", "know hats", "love hats", "again E"},
		{"system prompt in gavel.yaml", cfg, "Plan days.", "Plan weeks.", "semantic E"},
		{"no system prompt", cfg, ", system_prompt: Plan days.", "", "semantic E"},
		{"the same system prompt as gavel.yaml has it", cfg, "system_prompt: {file: prompts/own.md}", `system_prompt: "You know hats.\n"`, ""},
		{"a tool for a workflow", cfg, "tools: [], system_prompt: Plan days.", "tools: [find], system_prompt: Plan days.", "semantic E"},
		{"timeout of a target", cfg, "kind: workflow,", "kind: workflow, timeout: 50s,", "semantic E"},
	}
}

// TestWhatPromptvalsAreAbout changes every field of the promptval dialect and
// everything that its configurations share.
func TestWhatPromptvalsAreAbout(t *testing.T) {
	s := newModels(t)
	changes := changesOfPromptvals()
	expectRows(t, "promptval.cue", changes)
	expectChanges(t, s, promptvals(s.URL), changes)
}
