package main

import "strings"

// withTargets is a suite that asks each of some targets.
func withTargets(names string) map[string]string {
	return map[string]string{
		"gavel.yaml": usual("  fox: {provider: openai, model: new, base_url: MODELS/v1, api_key_env: MODEL_KEY}\n"),
		"test_definitions/s.eval.yaml": "tests: [{id: a, criteria: It says a, input: say a, assertions: [{type: contains, value: a!}]}]\n" +
			"execution: {targets: [" + names + "]}\n",
	}
}

// nul answers as echo does, with a NUL and texts that look like escapes.
func nul(prompt string, n int) string { return echo(prompt, n) + " \x00 \\u0000 \\ud83d" }

// storedScenarios are rows of the table, about several targets and about texts that a store may
// refuse.
var storedScenarios = []scenario{
	{
		name: "a case of several targets gets worse", base: withTargets("bot, fox"), answer: wrongly("now say a | by new"),
		head: map[string]string{"test_definitions/s.eval.yaml": strings.Replace(withTargets("bot, fox")["test_definitions/s.eval.yaml"], "say a,", "now say a,", 1)},
		want: outcome{
			gate: "fail", reason: "1 case regressed", some: true, cases: map[string]string{"s.eval#a": "fail regression"},
			calls: map[string]int{"now say a | by new": 5, "say a | by new": 5},
		},
	},
	{
		name: "a case is also asked of another target", base: withTargets("bot"), head: withTargets("bot, fox"), answer: wrongly(byNew),
		want: outcome{gate: "fail", reason: "1 new case", some: true, calls: map[string]int{"say a | by new": 3}},
	},
	{
		name: "replies with NUL", base: shopOf("a b", nil), head: map[string]string{domainFile: domainWith("Be brief.")},
		answer: func(prompt string, n int) string {
			if strings.Contains(prompt, "brief. | say b") {
				return nul("no", n)
			}
			return nul(prompt, n)
		},
		want: outcome{
			gate: "fail", reason: "1 case regressed", cases: map[string]string{key("b"): "fail regression"},
			calls: map[string]int{"Be brief. | say a": 1, "Be brief. | say b": 5, "Be kind. | say b": 5},
		},
	},
	{
		name: "a changed expectation of replies with NUL, quoted", answer: nul,
		base: map[string]string{"gavel.yaml": usual(), "test_definitions/one.yaml": "evalcases: [{id: a, input: say a, checks: [{contains: a!}]}]\n"},
		head: map[string]string{"test_definitions/one.yaml": "evalcases: [{id: a, input: say a, checks: [{equals: a!}]}]\n"},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"one#a": "fail regression"}, calls: map[string]int{"say a": 1}},
	},
	{
		name: "a target is removed that a case names", answer: echo,
		base: map[string]string{
			"gavel.yaml":                usual("  fox: {provider: openai, model: new, base_url: MODELS/v1, api_key_env: MODEL_KEY}\n"),
			"test_definitions/one.yaml": "evalcases:\n  - {id: a, input: say a, execution: {target: fox}, checks: [{contains: a!}]}\n  - {id: b, input: say b, checks: [{contains: b!}]}\n",
		},
		head: map[string]string{"gavel.yaml": usual()},
		want: outcome{
			gate: "undetermined", reason: "1 case of base was not run because the definition is invalid",
			problems: []string{"test_definitions/one.yaml"}, cases: map[string]string{"one#a": "error"}, calls: map[string]int{},
		},
	},
}
