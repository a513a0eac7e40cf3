package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Rules why a scenario does not go through a door.
const (
	atTheKeyboard = "the person at the keyboard is the operator"
	noPullRequest = "a working tree has no pull request"
	ownMirror     = "a server fetches whole objects into a mirror of its own"
	ownObjects    = "what a person has not fetched ends the command, with the repair; a job and a server fetch it"
	nothingToDo   = "nothing is run, so that no worker is asked"
	ownBranches   = "a server judges its branches by itself, so that base may be judged at any time"
	askedOfAll    = "a watch asks no score of a part"
	saidBefore    = "a watch judges what the agent said since it looked last"
)

// unscored are the doors that ask no score.
var unscored = map[string]string{"watch": askedOfAll}

// ownSettings is the rule of a desk.
const ownSettings = "at a desk each side is asked and judged as its own gavel.yaml says"

// keyboard are the doors of a person, and idle those and the workers.
var (
	keyboard = map[string]string{"run": atTheKeyboard, "run on PostgreSQL": atTheKeyboard, "watch": atTheKeyboard}
	idle     = map[string]string{"run": atTheKeyboard, "run on PostgreSQL": atTheKeyboard, "watch": atTheKeyboard, "workers": nothingToDo}
)

// scenarios are the rows of the table.
var scenarios = []scenario{
	{
		name: "nothing changed", base: shopOf("a b c", nil), head: map[string]string{"docs.md": "words"}, answer: echo,
		want: outcome{gate: "pass", reason: "no affected cases"},
	},
	{
		name: "one case broken for good", base: shopOf("a b c", nil), answer: echo,
		head: map[string]string{at("a"): asks("a", "say nothing", "a!")},
		want: outcome{
			gate: "fail", reason: "1 case regressed", cases: map[string]string{key("a"): "fail regression"},
			calls: map[string]int{"Be kind. | say nothing": 5, "Be kind. | say a": 5},
		},
	},
	{
		name: "a regression is notified where base says so", base: shopOf("a b c", map[string]string{"gavel.yaml": notified("CHAT", "regression")}), answer: echo,
		head: map[string]string{at("a"): asks("a", "say nothing", "a!"), "gavel.yaml": notified("OTHER", "regression")},
		want: outcome{
			gate: "fail", reason: "1 case regressed", cases: map[string]string{key("a"): "fail regression"},
			told: []string{"regression " + key("a")},
		},
	},
	{
		name: "what stays undetermined is notified", base: shopOf("a b", map[string]string{"gavel.yaml": notified("CHAT", "undetermined")}), answer: echo,
		head:   map[string]string{"gavel.yaml": strings.Replace(notified("CHAT", "undetermined"), "MODELS/v1", "MODELS/v2", 1)},
		want:   outcome{gate: "undetermined", reason: "2 cases were not run", notice: "base url", some: true, told: []string{"undetermined " + key("a") + " " + key("b")}},
		unlike: keyboard,
	},
	{
		name: "a pass share that is met although a sample fails", base: shopOf("a b", map[string]string{"gavel.yaml": usual(threeOfFourPass)}),
		head: map[string]string{at("a"): asks("a", "now say a", "a!")},
		answer: func(prompt string, n int) string {
			if n == 1 && strings.Contains(prompt, "now") {
				return "no"
			}
			return echo(prompt, n)
		},
		want: outcome{
			gate: "pass", reason: "no case regressed", cases: map[string]string{key("a"): "pass unchanged"},
			calls: map[string]int{"Be kind. | now say a": 4, "Be kind. | say a": 3},
		},
	},
	{
		name: "a pass share that is missed stops early", base: shopOf("b", map[string]string{"gavel.yaml": usual(threeOfFourPass), at("a"): asks("a", "say nothing", "a!")}),
		head: map[string]string{at("a"): asks("a", "now say nothing", "a!")}, answer: echo,
		want: outcome{
			gate: "pass", reason: "no case regressed", cases: map[string]string{key("a"): "fail unchanged"},
			calls: map[string]int{"Be kind. | now say nothing": 2, "Be kind. | say nothing": 2},
		},
	},
	{
		name: "a pass share that flips is tested by further pairs of shares", base: shopOf("a b", map[string]string{"gavel.yaml": usual(threeOfFourPass)}), answer: echo,
		head: map[string]string{at("a"): asks("a", "say nothing", "a!")},
		want: outcome{
			gate: "fail", reason: "1 case regressed", cases: map[string]string{key("a"): "fail regression"},
			calls: map[string]int{"Be kind. | say nothing": 5 * 2, "Be kind. | say a": 5 * 3},
		},
	},
	{
		name: "a pass share that is missed once by chance", base: shopOf("a b", map[string]string{"gavel.yaml": usual(threeOfFourPass)}),
		head: map[string]string{at("a"): asks("a", "now say a", "a!")},
		answer: func(prompt string, n int) string {
			if n <= 2 && strings.Contains(prompt, "now") {
				return "no"
			}
			return echo(prompt, n)
		},
		want: outcome{gate: "pass", reason: "no case regressed", cases: map[string]string{key("a"): "fail flaky"}},
	},
	{
		name: "fails once by chance", base: shopOf("a b c", nil), head: map[string]string{at("a"): asks("a", "now say a", "a!")},
		answer: func(prompt string, n int) string {
			if n == 1 && strings.Contains(prompt, "now") {
				return "no"
			}
			return echo(prompt, n)
		},
		want: outcome{gate: "pass", reason: "no case regressed", cases: map[string]string{key("a"): "fail flaky"}},
	},
	{
		name: "a prompt breaks three of ten", base: shopOf(ids(10), nil), head: map[string]string{domainFile: domainWith("Be brief.")},
		answer: wrongly("brief. | say c1", "brief. | say c2", "brief. | say c3"),
		want: outcome{gate: "fail", reason: "3 cases regressed", cases: map[string]string{
			key("c1"): "fail regression", key("c2"): "fail regression", key("c3"): "fail regression",
		}},
	},
	{
		name: "threshold lowered", answer: echo,
		base: map[string]string{"gavel.yaml": usual(), "test_definitions/promptfooconfig.yaml": menu("a", "1")},
		head: map[string]string{"test_definitions/promptfooconfig.yaml": menu("a", "0.5")},
		want: outcome{
			gate: "pass", notice: "threshold", cases: map[string]string{"promptfooconfig#one": "pass unchanged"},
			calls: map[string]int{"say a": 1},
		},
	},
	{
		name: "weight lowered", answer: wrongly("say d"),
		base:   shopOf("a b c d", map[string]string{"gavel.yaml": usual("gate: {min_score: 0.9}\n")}),
		head:   map[string]string{at("d"): strings.Replace(asks("d", "say d", "d!"), "{", `{"weight": 0.01, `, 1)},
		want:   outcome{gate: "fail", reason: "score 0.750", notice: "weight", cases: map[string]string{key("d"): "fail unchanged"}},
		differ: map[string]outcome{"watch": {rule: askedOfAll, gate: "pass", notice: "weight"}},
	},
	{
		name: "removed with removed: fail", answer: echo,
		base: shopOf("a b", map[string]string{"gavel.yaml": usual("gate: {removed: fail}\n")}), head: map[string]string{at("a"): gone},
		want: outcome{gate: "fail", reason: "1 case removed (removed: fail)", cases: map[string]string{key("a"): "removed"}},
	},
	{
		name: "disabled with removed: fail", answer: echo,
		base: shopOf("a b", map[string]string{"gavel.yaml": usual("gate: {removed: fail}\n")}),
		head: map[string]string{at("a"): strings.Replace(asks("a", "say a", "a!"), "{", `{"enabled": false, `, 1)},
		want: outcome{gate: "fail", reason: "1 case disabled", cases: map[string]string{key("a"): "skipped"}},
	},
	{
		name: "invalid file", base: shopOf("a b", nil), head: map[string]string{at("a"): `{"id": "a", "nam`}, answer: echo,
		want: outcome{gate: "undetermined", problems: []string{at("a")}, cases: map[string]string{key("a"): "error"}},
	},
	{
		name: "a typing error in a pattern", base: matching("^bye"), head: map[string]string{"test_definitions/promptfooconfig.yaml": matching("^(bye")["test_definitions/promptfooconfig.yaml"]}, answer: echo,
		want: outcome{
			gate: "undetermined", reason: "invalid", problems: []string{"test_definitions/promptfooconfig.yaml"},
			cases: map[string]string{"promptfooconfig#one": "skipped"}, notice: "is not run here: it needs a test without errors",
		},
	},
	{
		name: "a definition is none any more", answer: echo,
		base: map[string]string{"gavel.yaml": usual(), "test_definitions/one.yaml": "evalcases: [{id: a, input: say a, checks: [{contains: x!}]}, {id: b, input: say b, checks: [{contains: b!}]}]\n"},
		head: map[string]string{"test_definitions/one.yaml": "{}\n"},
		want: outcome{gate: "undetermined", reason: "invalid", cases: map[string]string{"one#a": "error", "one#b": "error"}},
	},
	{
		name: "the only case asks nothing any more", base: menuOf("[{type: contains, value: \"a!\"}]"), head: menuOf("[]"), answer: echo,
		want: outcome{
			gate: "undetermined", reason: "asks nothing", notice: "drops the evaluator",
			cases: map[string]string{"promptfooconfig#one": "pass unchanged"}, calls: map[string]int{"say a": 1},
		},
	},
	{
		name: "a failing case that asks nothing any more, next to a passing one", base: matching("^zzz"), answer: echo, judged: true,
		head: map[string]string{"test_definitions/promptfooconfig.yaml": strings.Replace(matching("^zzz")["test_definitions/promptfooconfig.yaml"], `assert: [{type: regex, value: "^zzz"}]`, "assert: []", 1)},
		want: outcome{gate: "undetermined", reason: "1 case asks nothing of the answer, and no other affected case was judged", some: true},
	},
	{
		name: "a new case that is not run", base: matching("^a"), answer: echo,
		head: map[string]string{"test_definitions/promptfooconfig.yaml": matching("^a")["test_definitions/promptfooconfig.yaml"] + "  - {description: three, vars: {x: c}, assert: [{type: gleu, value: c}]}\n"},
		want: outcome{gate: "pass", reason: "no case regressed", some: true},
	},
	{
		name: "a turn that fits, and a context with all that is expected", answer: echo,
		base: judgedMenu("[{type: contains, value: a}]"), head: judgedMenu("[{type: conversation-relevance}, {type: context-recall, value: what a is}]"),
		want: outcome{gate: "pass", reason: "no case regressed", some: true, cases: map[string]string{"promptfooconfig#one": "pass unchanged"}},
	},
	{
		name: "a check next to a judge changes", answer: echo, judged: true,
		base: judgedMenu("[{type: contains, value: a}, {type: context-recall, value: what a is}]"), head: judgedMenu("[{type: contains, value: a!}, {type: context-recall, value: what a is}]"),
		want: outcome{gate: "pass", reason: "no case regressed", cases: map[string]string{"promptfooconfig#one": "pass unchanged"}, calls: map[string]int{"say a": 1, toJudge: 1}},
	},
	{
		name: "a context without what is expected", answer: echo,
		base: judgedMenu("[{type: contains, value: a}]"), head: judgedMenu("[{type: context-recall, value: FAIL}]"),
		want: outcome{gate: "fail", reason: "regressed", some: true},
	},
	{
		name: "answers that refuse, are XML and have the words", answer: echo,
		base: menuOf("[{type: not-is-refusal}, {type: contains, value: a}]"),
		head: menuOf("[{type: is-refusal}, {type: not-is-xml}, {type: rouge-n, value: say a}]"),
		want: outcome{gate: "fail", reason: "regressed", some: true},
	},
	{
		name: "new failing case", base: shopOf("a", nil), head: map[string]string{at("d"): asks("d", "say d", "x!")}, answer: echo,
		want: outcome{gate: "fail", reason: "1 new case", cases: map[string]string{key("d"): "fail new"}, calls: map[string]int{"Be kind. | say d": 3}},
	},
	{
		name: "provider down", base: shopOf("a", nil), head: map[string]string{at("a"): asks("a", "now say a", "a!")}, down: true,
		want: outcome{gate: "undetermined", cases: map[string]string{key("a"): "error error"}},
	},
	{
		name: "a target that cannot be opened", base: withoutProgram("say"), head: withoutProgram("now say"), answer: echo, programs: "sh",
		want: outcome{gate: "undetermined", reason: "1 case ended in an error", cases: map[string]string{"talk#two": "error error"}},
	},
	{
		name: "two prompts compared", base: rated("say a", ""), head: rated("say a", `, "new_prompt": "Be brief."`), answer: echo,
		want: outcome{
			gate: "pass", reason: "no case regressed", cases: map[string]string{"rated": "pass unchanged"},
			calls: map[string]int{"Be brief. | say a": 1},
		},
	},
	{
		name: "matrix with a changed variable", answer: echo,
		base: map[string]string{"gavel.yaml": usual(), "test_definitions/promptfooconfig.yaml": menu("a", "0.5")},
		head: map[string]string{"test_definitions/promptfooconfig.yaml": menu("b", "0.5")},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"promptfooconfig#one": "fail regression"}},
	},
	{
		// Each measurement of the later test has an answer of the earlier one of its own.
		name: "a later test has the answer of a changed one", answer: echo,
		base: storing("a"), head: map[string]string{"test_definitions/promptfooconfig.yaml": storing("b")["test_definitions/promptfooconfig.yaml"]},
		want: outcome{
			gate: "fail", reason: "1 case regressed", cases: map[string]string{"promptfooconfig#one": "pass unchanged", "promptfooconfig#two": "fail regression"},
			calls: map[string]int{"say so b!": 5, "say so a!": 5, "say b": 5, "say a": 5},
		},
	},
	{
		name: "a changed function that decides by the scores", answer: echo,
		base: scoring("true"), head: map[string]string{"test_definitions/score.js": scoring("scores.kind > 0")["test_definitions/score.js"]},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"promptfooconfig#one": "fail regression"}},
	},
	{
		name: "tests of a function whose config changes", answer: echo,
		base: generated("b"), head: map[string]string{"test_definitions/words.yaml": generated("c")["test_definitions/words.yaml"]},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"promptfooconfig#two": "fail regression"}},
	},
	{
		name: "a changed function of tests", answer: echo,
		base: generated("b"), head: map[string]string{"test_definitions/tests.js": strings.Replace(generated("b")["test_definitions/tests.js"], "x: word", "x: word === 'a' ? 'z' : word", 1)},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"promptfooconfig#one": "fail regression"}},
	},
	{
		name: "a changed function of a variable", answer: echo,
		base: byFunction("a"), head: map[string]string{"test_definitions/word.js": byFunction("b")["test_definitions/word.js"]},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"promptfooconfig#one": "fail regression"}},
	},
	{
		name: "the imported module of a code judge", base: codeJudge("score=1\n"), answer: echo, programs: "sh",
		head: map[string]string{"test_definitions/checks/lib/rules.sh": "score=0\n"},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"sums#sum": "fail regression"}},
	},
	{
		name: "a new file of a code judge", base: saysWord("assertions", "suite.yaml", strings.Replace(suiteOf("{name: j, type: code_judge, script: [sh, assertions/word.sh]}"), "target: model", "target: bot", 1)),
		answer: echo, programs: "sh", head: map[string]string{"test_definitions/assertions/lib/fresh.txt": "b\n"},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"suite#one": "fail regression"}},
	},
	{
		name: "a removed file of an agent", base: saysWord("agent", "talk.yaml", "execution: {target: agent}\ntests: [{id: one, input: z, assertions: [{type: contains, value: say a}]}]\n"),
		answer: echo, programs: "sh", head: map[string]string{"test_definitions/agent/lib/word.txt": gone},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"talk#one": "fail regression"}},
	},
	{
		name: "a renamed file of an assertion of one's own", base: saysWord(".agentv/assertions", "talk.yaml", "execution: {target: bot}\ntests: [{id: one, input: z, assertions: [{type: word}]}]\n"),
		answer: echo, programs: "sh", head: map[string]string{"test_definitions/.agentv/assertions/lib/word.txt": gone, "test_definitions/.agentv/assertions/lib/words.txt": "a\n"},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"talk#one": "fail regression"}},
	},
	{
		name: "a prompt that a program writes is changed", answer: echo, programs: "sh",
		base: map[string]string{"gavel.yaml": usual(), "test_definitions/promptfooconfig.yaml": `prompts: ["exec:sh write.sh"]
providers: [bot]
tests: [{description: one, vars: {x: a}, assert: [{type: contains, value: "a!"}]}]
`, "test_definitions/write.sh": "echo say a\n"},
		head: map[string]string{"test_definitions/write.sh": "echo say b\n"},
		want: outcome{
			gate: "fail", reason: "1 case regressed", cases: map[string]string{"promptfooconfig#one": "fail regression"},
			calls: map[string]int{"say a": 5, "say b": 5},
		},
	},
	{
		name: "a module of a program that makes tests is changed", base: madeByProgram("a"), answer: echo, programs: "node", head: map[string]string{"test_definitions/gen/word.js": "module.exports = 'b'\n"},
		want: outcome{
			gate: "fail", reason: "1 case regressed", cases: map[string]string{"promptfooconfig#one": "fail regression"},
			calls: map[string]int{"say a": 5, "say b": 5},
		},
	},
	{
		name: "a program that makes tests fails", base: madeByProgram("a"), answer: echo, programs: "node", head: map[string]string{"test_definitions/gen/word.js": "throw new Error('no word')\n"},
		want:   outcome{gate: "undetermined", reason: "invalid", problems: []string{"test_definitions/promptfooconfig.yaml"}, cases: map[string]string{"promptfooconfig#one": "error"}},
		unlike: map[string]string{"workers": nothingToDo},
	},
	{
		name: "a program that makes a variable is changed", answer: echo, programs: "python3",
		base: map[string]string{"gavel.yaml": usual(), "test_definitions/promptfooconfig.yaml": `prompts: ["say {{x}}"]
providers: [bot]
tests: [{description: one, vars: {x: file://gen/get.py}, assert: [{type: contains, value: "a!"}]}]
`, "test_definitions/gen/get.py": "def get_var(name, prompt, others): return {'output': 'a'}\n"},
		head: map[string]string{"test_definitions/gen/get.py": "def get_var(name, prompt, others): return {'output': 'b'}\n"},
		want: outcome{
			gate: "fail", reason: "1 case regressed", cases: map[string]string{"promptfooconfig#one": "fail regression"},
			calls: map[string]int{"say a": 5, "say b": 5},
		},
	},
	{
		name: "a new file that no program sees", base: saysWord("agent", "talk.yaml", "execution: {target: agent}\ntests: [{id: one, input: z, assertions: [{type: contains, value: say a}]}]\n"),
		answer: echo, programs: "sh", head: map[string]string{"test_definitions/lib/fresh.txt": "b\n", "lib/fresh.txt": "b\n"},
		want: outcome{gate: "pass", reason: "no affected cases"},
	},
	{
		name: "a workspace with folders without end", base: withHook("plain"), head: withHook("deep"), programs: "sh",
		want: outcome{gate: "undetermined", cases: map[string]string{"shop.eval#open": "error error"}},
	},
	{
		name: "a workspace with files that are all hole", base: withHook("plain"), head: withHook("sparse"), programs: "sh",
		want: outcome{gate: "undetermined", cases: map[string]string{"shop.eval#open": "error error"}},
	},
	{
		name: "a hook of a workspace is changed", programs: "sh", base: map[string]string{
			"gavel.yaml": withHook("")["gavel.yaml"], "test_definitions/shop.eval.yaml": withHook("")["test_definitions/shop.eval.yaml"], "tpl/kind": "plain",
			"agent.sh": "cat >/dev/null; cat said\n", "hook.sh": "cat >/dev/null; echo word >\"$1/said\"\n",
		},
		head: map[string]string{"hook.sh": "cat >/dev/null; echo nothing >\"$1/said\"\n"},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"shop.eval#open": "fail regression"}},
	},
	{
		name: "a skill is changed, next to another one", base: withSkills("word", "It opens."), head: map[string]string{".claude/skills/pdf/SKILL.md": skillText("pdf", "nothing")}, programs: "sh",
		answer: echo,
		want:   outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{".claude/skills/pdf#1": "fail regression"}},
	},
	{
		name: "a file that a skill names is changed", base: withSkills("word", "It opens."), head: map[string]string{"skills/csv/references/words.md": "word\nmore\n"}, programs: "sh",
		answer: echo,
		want:   outcome{gate: "pass", reason: "no case regressed", cases: map[string]string{"skills/csv#1": "pass unchanged", "skills/csv#2": "pass unchanged"}},
	},
	{
		name: "one eval of a skill is asked more", base: withSkills("word", "It opens."), head: withSkills("word", "FAIL, it says."), programs: "sh",
		answer: echo,
		want:   outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"skills/csv#2": "fail regression"}, calls: map[string]int{toJudge: 10}},
		differ: map[string]outcome{"serve": askedOfBranch, "serve on PostgreSQL": askedOfBranch, "workers": askedOfBranch},
	},
	{
		name: "an eval of a skill loses a criterion", base: withSkills("word", "It opens."), programs: "sh", answer: echo,
		head: map[string]string{".claude/skills/pdf/evals/evals.json": strings.Replace(withSkills("", "")[".claude/skills/pdf/evals/evals.json"], `{"name": "said", "type": "contains", "value": "word"}, `, "", 1)},
		want: outcome{gate: "pass", reason: "no case regressed", notice: "no longer requires the criterion said of checks", cases: map[string]string{".claude/skills/pdf#1": "pass unchanged"}},
	},
	{
		name: "an eval of a skill loses all criteria", base: withSkills("word", "It opens."), programs: "sh", answer: echo,
		head: map[string]string{".claude/skills/pdf/evals/evals.json": `{"evals": [{"id": 1, "prompt": "Open."}]}`},
		want: outcome{gate: "pass", reason: "", notice: "not judged: no criteria", cases: map[string]string{".claude/skills/pdf#1": "skipped"}},
	},
	{
		name: "the description of a skill with a trigger list is changed", base: withTriggers("tables"), programs: "sh", answer: echo,
		head: map[string]string{"skills/csv/SKILL.md": withTriggers("nothing")["skills/csv/SKILL.md"]},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"skills/csv/triggers#sum-tables": "fail regression", "skills/csv/triggers#say-hello": "pass unchanged"}, triggers: "1 of 2 right: 0 of 1 wanted, 1 of 1 unwanted (2 of 2 at base)"},
	},
	{
		name: "the body of a skill with a trigger list is changed", base: withTriggers("tables"), programs: "sh", answer: echo,
		head: map[string]string{"skills/csv/SKILL.md": withTriggers("tables")["skills/csv/SKILL.md"] + "More.\n", "skills/csv/run.sh": "true\n"},
		want: outcome{gate: "pass", reason: "no affected cases"},
	},
	{
		name: "a stranger changes a skill", base: withSkills("word", "It opens."), programs: "sh", answer: echo, stranger: true,
		head:   map[string]string{".claude/skills/pdf/SKILL.md": skillText("pdf", "nothing")},
		want:   outcome{gate: "undetermined", reason: "approve", some: true},
		unlike: idle,
	},
	{
		name: "a stranger changes a skill, which a writer approves", base: withSkills("word", "It opens."), programs: "sh", answer: echo, stranger: true,
		head:    map[string]string{".claude/skills/pdf/SKILL.md": skillText("pdf", "nothing")},
		remarks: []remark{{"mona", "/gavel approve HEAD"}},
		want:    outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{".claude/skills/pdf#1": "fail regression"}},
		unlike:  keyboard,
	},
	{
		name: "lift is on, and a skill is changed", base: withLift(), head: map[string]string{".claude/skills/pdf/SKILL.md": skillText("pdf", "nothing")}, programs: "sh", answer: echo,
		want: outcome{
			gate: "fail", reason: "1 case regressed", cases: map[string]string{".claude/skills/pdf#1": "fail regression"},
			lift: "with the skill 0 of 1, without 0 of 1 (0 points, 95 % CI −92 … +92: may be noise)",
		},
	},
	{
		name: "lift is on, and a file that a skill names is changed", base: withLift(), head: map[string]string{"skills/csv/references/words.md": "word\nmore\n"}, programs: "sh", answer: echo,
		want: outcome{
			gate: "pass", reason: "no case regressed", cases: map[string]string{"skills/csv#1": "pass unchanged", "skills/csv#2": "pass unchanged"},
			lift: "with the skill 2 of 2, without 1 of 2 (+50 points, 95 % CI −56 … +100: may be noise)",
		},
	},
	{
		name: "lift is on, and a stranger changes a skill and its prompt, which a writer approves", base: withLift(), programs: "sh", answer: echo, stranger: true,
		head: map[string]string{
			".claude/skills/pdf/SKILL.md":         skillText("pdf", "nothing"),
			".claude/skills/pdf/evals/evals.json": strings.Replace(withSkills("", "")[".claude/skills/pdf/evals/evals.json"], "Open.", "Open it.", 1),
		},
		remarks: []remark{{"mona", "/gavel approve HEAD"}},
		want: outcome{
			gate: "fail", reason: "1 case regressed", cases: map[string]string{".claude/skills/pdf#1": "fail regression"},
			lift: "with the skill 0 of 1, without 0 of 1 (0 points, 95 % CI −92 … +92: may be noise)",
		},
		unlike: keyboard,
	},
	{
		name: "a coding agent reads a changed skill", base: withCodingAgent("word"), head: map[string]string{"skills/csv/SKILL.md": skillText("csv", "nothing")}, programs: "python3",
		agents: map[string]string{"claude": readingClaude}, answer: echo,
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"skills/csv#1": "fail regression"}, calls: map[string]int{"Open. Say word": 5, "Open. Say nothing": 5}},
	},
	{
		name: "skills without a target are listed and not run", answer: echo,
		base: shopOf("a", map[string]string{"skills/csv/SKILL.md": skillText("csv", "word"), "skills/csv/evals/evals.json": `{"evals": [{"id": 1, "prompt": "Open.", "expected_output": "It opens."}]}`}),
		head: map[string]string{"skills/csv/SKILL.md": skillText("csv", "nothing")},
		want: outcome{gate: "pass", reason: "no affected cases", cases: map[string]string{"skills/csv#1": "skipped unchanged"}},
	},
	{
		name: "the program of a simulator is changed", programs: "sh", answer: func(string, int) string { return "Hello!" },
		base: map[string]string{
			"gavel.yaml":   usual("  guest: {provider: command, argv: [sh, guest/say.sh], inputs: [guest/say.sh]}\n" + strings.Replace(judging, "simulator: judge", "simulator: guest", 1)),
			"guest/say.sh": "cat >/dev/null; echo '{\"message\": \"And then?\", \"done\": false}'\n", "test_definitions/talk.json": persona("")["test_definitions/talk.json"],
		},
		head: map[string]string{"guest/say.sh": "cat >/dev/null; echo '{\"message\": \"FAIL then?\", \"done\": false}'\n"},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"talk": "fail regression"}},
	},
	{
		name: "a started agent gets worse", base: withServer("30"), programs: "python3", answer: echo,
		head: map[string]string{"prompts/system.md": "60"},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{key("window"): "fail regression"}},
	},
	{
		name: "a module of a started agent is changed", base: withServer("30"), programs: "python3", answer: echo,
		head: map[string]string{"agent/words.py": "def said(days): return 'at once'\n"},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{key("window"): "fail regression"}},
	},
	{
		name: "a started agent changes for nothing", base: withServer("30"), programs: "python3", answer: echo,
		head: map[string]string{"prompts/system.md": "30 days, or 30"},
		want: outcome{gate: "pass", reason: "no case regressed"},
	},
	{
		name: "a started agent does not come up", base: withServer("30"), programs: "python3", answer: echo,
		head: map[string]string{"agent/words.py": "raise ValueError('no words')\n"},
		want: outcome{gate: "undetermined", reason: "1 case ended in an error", cases: map[string]string{key("window"): "error error"}},
	},
	{
		name: "a stranger changes a started agent", base: withServer("30"), programs: "python3", answer: echo, stranger: true,
		head:   map[string]string{"prompts/system.md": "60"},
		want:   outcome{gate: "undetermined", reason: "approve", some: true},
		unlike: idle,
	},
	{
		name: "a stranger changes a started agent, which a writer approves", base: withServer("30"), programs: "python3", answer: echo, stranger: true,
		head:    map[string]string{"prompts/system.md": "60"},
		remarks: []remark{{"mona", "/gavel approve HEAD"}},
		want:    outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{key("window"): "fail regression"}},
		unlike:  keyboard,
	},
	{
		name: "a head starts another agent", base: withServer("30"), programs: "python3", answer: echo,
		head:   map[string]string{"gavel.yaml": strings.Replace(withServer("30")["gavel.yaml"], "agent/server.py", "agent/other.py", 1), "agent/other.py": "raise ValueError('never started')\n"},
		want:   outcome{gate: "undetermined", reason: "changes argv", notice: "is not judged: agent: argv", some: true},
		unlike: keyboard,
	},
	{
		name: "an agent with a version of its own gets worse", base: withAgent("url: MODELS/agent, revision: {reply: any}", "30"), judged: true,
		head: map[string]string{"prompts/system.md": "60"}, agent: days, version: ownVersion,
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{key("window"): "fail regression"}},
	},
	{
		name: "base's agent with a version of its own is still deployed", base: withAgent("url: MODELS/agent, revision: {reply: any}", "30"), judged: true,
		head: map[string]string{"prompts/system.md": "60"}, agent: func(string, bool) string { return "30 days" }, version: func(bool) string { return "1.4.1" },
		want: outcome{gate: "undetermined", reason: "1 case ended in an error", cases: map[string]string{key("window"): "error error"}},
	},
	{
		name: "a case is added for an agent with a version of its own", base: withAgent("url: MODELS/agent, revision: {reply: any}", "30"), judged: true,
		head: map[string]string{at("other"): asks("other", "And gloves?", "30 days")}, agent: func(string, bool) string { return "30 days" }, version: func(bool) string { return "1.4.1" },
		want: outcome{gate: "pass", reason: "no case regressed", cases: map[string]string{key("other"): "pass new"}},
	},
	{
		name: "an agent names no commit although it has to", base: withAgent("url: MODELS/agent, revision: reply, wait_for: 1ms", "30"),
		head: map[string]string{"prompts/system.md": "60"}, agent: days, version: func(bool) string { return "1.4.1" },
		want: outcome{gate: "undetermined", reason: "1 case ended in an error", some: true, cases: map[string]string{key("window"): "error error"}},
	},
	{
		name: "an agent without revision gets worse", base: withAgent("url: MODELS/agent", "30"), judged: true,
		head: map[string]string{"prompts/system.md": "60"}, agent: days,
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{key("window"): "fail regression"}},
	},
	{
		name: "an agent without revision changes for nothing", base: withAgent("url: MODELS/agent", "30"), judged: true,
		head: map[string]string{"prompts/system.md": "thirty"}, agent: func(string, bool) string { return "30 days" },
		want: outcome{gate: "pass", reason: "no case regressed"},
	},
	{
		name: "an agent without revision whose base nobody judged", base: withAgent("url: MODELS/agent", "30"),
		head: map[string]string{"prompts/system.md": "60"}, agent: days,
		want:   outcome{gate: "undetermined", some: true},
		unlike: map[string]string{"serve": ownBranches, "serve on PostgreSQL": ownBranches, "workers": ownBranches},
	},
	{
		name: "an agent without revision fails a changed check once by chance", base: withAgent("url: MODELS/agent", "30"), judged: true,
		head:  map[string]string{at("window"): asks("window", "How long can I return a helmet?", "30 day")},
		agent: func(string, bool) string { return "30 days" }, atHead: firstWrong,
		want:   outcome{gate: "pass", reason: "no case regressed", cases: map[string]string{key("window"): "fail flaky"}},
		differ: map[string]outcome{"watch": {rule: saidBefore, gate: "pass", reason: "no case regressed"}},
	},
	{
		name: "an agent without revision fails a changed check for good", base: withAgent("url: MODELS/agent", "30"), judged: true,
		head:  map[string]string{at("window"): asks("window", "How long can I return a helmet?", "60 days")},
		agent: func(string, bool) string { return "30 days" },
		want:  outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{key("window"): "fail regression"}},
		differ: map[string]outcome{"watch": {
			rule: saidBefore, gate: "fail", reason: "1 case regressed", cases: map[string]string{key("window"): "fail regression"},
		}},
	},
	{
		name: "an agent without revision that gets files that count, which change", judged: true, agent: days,
		base: map[string]string{
			"gavel.yaml": withAgent("url: MODELS/agent", "")["gavel.yaml"], "prompts/system.md": "30", "lib/days.md": "30",
			domainFile: domainWith(""), at("window"): asks("window", "How long can I return a helmet?", "30 days"),
		},
		head: map[string]string{
			"gavel.yaml":  strings.Replace(withAgent("url: MODELS/agent", "")["gavel.yaml"], "prompts/**", "prompts/**\", \"lib/**", 1),
			"lib/days.md": "60",
		},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{key("window"): "fail regression"}},
	},
	{
		name: "an agent with revision", base: withAgent("url_template: \"MODELS/agent/{sha}\"", "30"),
		head: map[string]string{"prompts/system.md": "60"}, agent: days,
		want:   outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{key("window"): "fail regression"}},
		unlike: map[string]string{"run": "a working tree has no commit", "run on PostgreSQL": "a working tree has no commit", "watch": "a working tree has no commit"},
	},
	{
		name: "a target's model is swapped", base: shopOf("a b c", nil), answer: wrongly("say a" + byNew),
		head: map[string]string{"gavel.yaml": strings.Replace(usual(), "model: model", "model: new", 1)},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{key("a"): "fail regression"}},
	},
	{
		name: "a target's model is swapped, and a writer accepts each case that it broke", base: shopOf("a b c d e f g h", nil), answer: wrongly(byNew),
		head:    map[string]string{"gavel.yaml": strings.Replace(usual(), "model: model", "model: new", 1)},
		remarks: acceptances("a b c d e f g h"),
		want:    outcome{gate: "pass", reason: "8 cases accepted", some: true},
		unlike:  keyboard,
	},
	{
		name: "a target's address is changed", base: shopOf("a b", nil), answer: echo,
		head:   map[string]string{"gavel.yaml": strings.Replace(usual(), "MODELS/v1", "MODELS/v2", 1)},
		want:   outcome{gate: "undetermined", reason: "2 cases were not run", notice: "base url", some: true},
		unlike: keyboard,
	},
	{
		name: "a target's address is changed, which a writer accepts", base: shopOf("a b", nil), answer: echo,
		head: map[string]string{
			"gavel.yaml": strings.Replace(usual(), "MODELS/v1", "MODELS/old/v1", 1), at("a"): asks("a", "please say a", "a!"),
		},
		remarks: []remark{{"mona", "/gavel accept gavel.yaml it is live since Monday"}},
		want: outcome{
			gate: "pass", reason: "no case regressed", notice: "accepted by mona",
			calls: map[string]int{"Be kind. | please say a": 1, "Be kind. | please say a" + atOld: 0},
		},
		unlike: keyboard,
	},
	{
		name: "a target's address is changed, which a reader accepts", base: shopOf("a b", nil), answer: echo,
		head:    map[string]string{"gavel.yaml": strings.Replace(usual(), "MODELS/v1", "MODELS/old/v1", 1)},
		remarks: []remark{{"rita", "/gavel accept gavel.yaml it is live since Monday"}},
		want:    outcome{gate: "undetermined", reason: "2 cases were not run", notice: "base url", some: true},
		unlike:  keyboard,
	},
	{
		name: "a stranger changes a program that makes tests", base: madeByProgram("a"), answer: echo, stranger: true, programs: "node",
		head:   map[string]string{"test_definitions/gen/word.js": "module.exports = 'b'\n"},
		want:   outcome{gate: "undetermined", reason: "waits for approval", problems: []string{"test_definitions/promptfooconfig.yaml"}, waits: true, cases: map[string]string{"promptfooconfig#one": "error"}, calls: map[string]int{"say b": 0}},
		unlike: idle,
	},
	{
		name: "a stranger changes a program that makes tests, which a writer approves", base: madeByProgram("a"), answer: echo, stranger: true, programs: "node",
		head:    map[string]string{"test_definitions/gen/word.js": "module.exports = 'b'\n"},
		remarks: []remark{{"mona", "/gavel approve HEAD"}},
		want:    outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"promptfooconfig#one": "fail regression"}},
		unlike:  idle, // nothing is run before the approval
	},
	{
		name: "a stranger changes something else than a program that makes tests", base: madeByProgram("a"), answer: echo, stranger: true, programs: "node",
		head:   map[string]string{"test_definitions/prompt.txt": "say more, {{x}}\n"},
		want:   outcome{gate: "undetermined", reason: "approve", calls: map[string]int{"say more, a": 0}},
		unlike: idle,
	},
	{
		name: "a stranger swaps a target's model", base: shopOf("a b", nil), answer: echo, stranger: true,
		head:   map[string]string{"gavel.yaml": strings.Replace(usual(), "model: model", "model: new", 1)},
		want:   outcome{gate: "undetermined", reason: "approve", notice: "is not judged: bot: model model → new", calls: map[string]int{"Be kind. | say a" + byNew: 0}},
		unlike: keyboard,
	},
	{
		name: "a stranger swaps a target's model, which a writer approves", base: shopOf("a b", nil), answer: wrongly("say a" + byNew), stranger: true,
		head:    map[string]string{"gavel.yaml": strings.Replace(usual(), "model: model", "model: new", 1)},
		remarks: []remark{{"mona", "/gavel approve HEAD"}},
		want:    outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{key("a"): "fail regression"}},
		unlike:  keyboard,
	},
	{
		name: "a new target with an address of its own", base: shopOf("a b", nil), answer: echo, head: toOther("MODELS/old/v1"),
		want: outcome{
			gate: "undetermined", reason: "2 cases were not run", notice: "next: new, with an address that no target of base has", some: true,
			calls: map[string]int{"Be kind. | say a" + byNew + atOld: 0},
		},
		unlike: keyboard,
	},
	{
		name: "a new target with an address of its own, which a writer accepts", base: shopOf("a b", nil), answer: echo, head: toOther("MODELS/old/v1"),
		remarks: []remark{{"mona", "/gavel accept gavel.yaml it starts on Monday"}},
		want:    outcome{gate: "pass", notice: "accepted by mona", some: true, calls: map[string]int{"Be kind. | say a" + byNew + atOld: 0}},
		unlike:  keyboard,
	},
	{
		name: "a new target with an address of its own, which a writer accepts where nothing fails the gate",
		base: shopOf("a b", map[string]string{"gavel.yaml": usual("gate: {fail_on: never}\n")}), answer: echo,
		head:    map[string]string{"gavel.yaml": toOther("MODELS/old/v1")["gavel.yaml"] + "gate: {fail_on: never}\n"},
		remarks: []remark{{"mona", "/gavel accept gavel.yaml it starts on Monday"}},
		want:    outcome{gate: "pass", notice: "accepted by mona", some: true, calls: map[string]int{"Be kind. | say a" + byNew + atOld: 0}},
		unlike:  keyboard,
	},
	{
		name: "a new target with the address of another one", base: shopOf("a b", nil), answer: wrongly("say a" + byNew), head: toOther("MODELS/v1"),
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{key("a"): "fail regression"}},
	},
	{
		name: "the model of a provider of promptfoo is swapped", base: matrixOf("model", "MODELS/v1"), head: matrixOf("new", "MODELS/v1"), answer: wrongly(byNew),
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"promptfooconfig#one": "fail regression"}},
	},
	{
		name: "the address of a provider of promptfoo is changed", base: matrixOf("model", "MODELS/v1"), head: matrixOf("model", "MODELS/old/v1"), answer: echo,
		want:   outcome{gate: "undetermined", reason: "1 case was not run", notice: "promptfooconfig.yaml 0  is not judged: bot: base url", some: true, calls: map[string]int{"say a" + atOld: 0}},
		unlike: keyboard,
	},
	{
		name: "the model of a target of AgentV is swapped", base: targetsOf("model", "MODELS/v1"), head: targetsOf("new", "MODELS/v1"), answer: wrongly(byNew),
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"s.eval#a": "fail regression"}},
	},
	{
		name: "the address of a target of AgentV is changed", base: targetsOf("model", "MODELS/v1"), head: targetsOf("model", "MODELS/old/v1"), answer: echo,
		want:   outcome{gate: "undetermined", reason: "1 case was not run", notice: ".agentv/targets.yaml 0  is not judged: bot: base url", some: true, calls: map[string]int{"say a" + atOld: 0}},
		unlike: keyboard,
	},
	{
		name: "the model of the judge is swapped", base: ratedBy("model", "judge", "judge"), head: ratedBy("model", "harsh", "judge"), answer: echo,
		want: outcome{gate: "pass", notice: "changes judge: model judge → harsh, which no case is run against"},
		differ: map[string]outcome{
			"run":               {rule: ownSettings, gate: "fail", reason: "1 case regressed", cases: map[string]string{"rated": "fail regression"}},
			"run on PostgreSQL": {rule: ownSettings, gate: "fail", reason: "1 case regressed", cases: map[string]string{"rated": "fail regression"}},
			"watch":             {rule: ownSettings, gate: "fail", reason: "1 case regressed", cases: map[string]string{"rated": "fail regression"}},
		},
	},
	{
		name: "the model of an agent that is its own judge is swapped", base: ratedBy("model", "judge", "bot"), head: ratedBy("harsh", "judge", "bot"), answer: echo,
		want: outcome{gate: "pass", reason: "no case regressed", cases: map[string]string{"rated": "pass unchanged"}, calls: map[string]int{"Be kind. | say a" + byHarsh: 1}},
		differ: map[string]outcome{
			"run":               {rule: ownSettings, gate: "fail", reason: "1 case regressed", cases: map[string]string{"rated": "fail regression"}},
			"run on PostgreSQL": {rule: ownSettings, gate: "fail", reason: "1 case regressed", cases: map[string]string{"rated": "fail regression"}},
			"watch":             {rule: ownSettings, gate: "fail", reason: "1 case regressed", cases: map[string]string{"rated": "fail regression"}},
		},
	},
	{
		name: "another target gets the role of the judge", base: ratedBy("model", "judge", "judge"), head: ratedBy("model", "judge", "bot"), answer: echo,
		want:   outcome{gate: "undetermined", reason: "1 case was not run", notice: "roles.judge judge → bot", some: true},
		unlike: keyboard,
	},
	{
		name: "a file counts no more for a target, and changes", base: shopOf("a b", map[string]string{"gavel.yaml": built("'prompts/**'")["gavel.yaml"], "prompts/a.md": "kind"}),
		head: map[string]string{"gavel.yaml": usual(), "prompts/a.md": "brief"}, answer: echo,
		want:   outcome{gate: "pass", reason: "no case regressed", calls: map[string]int{"Be kind. | say a": 2}},
		differ: map[string]outcome{"watch": {rule: ownSettings, gate: "pass", reason: "no case regressed"}},
	},
	{
		name: "min_score with the other cases judged before", answer: wrongly("say d"), judged: true,
		base: shopOf("a b c d", map[string]string{"gavel.yaml": usual("gate: {min_score: 0.7}\n")}),
		head: map[string]string{at("d"): asks("d", "please say d", "d!")},
		want: outcome{gate: "pass", cases: map[string]string{key("d"): "fail unchanged"}, calls: map[string]int{"Be kind. | say a": 1}},
	},
	{
		name: "min_score with no case judged before", answer: wrongly("say d"),
		base: shopOf("a b c d", map[string]string{"gavel.yaml": usual("gate: {min_score: 0.7}\n")}),
		head: map[string]string{at("d"): asks("d", "please say d", "d!")},
		want: outcome{gate: "pass", cases: map[string]string{key("d"): "fail unchanged"}, calls: map[string]int{"Be kind. | say a": 1}},
		differ: map[string]outcome{"watch": {
			rule: askedOfAll, gate: "pass", cases: map[string]string{key("d"): "fail unchanged"}, calls: map[string]int{"Be kind. | say a": 0},
		}},
	},
	{
		name: "min_score that the untouched cases miss", answer: wrongly("say d"),
		base: shopOf("a b c d", map[string]string{"gavel.yaml": usual("gate: {min_score: 0.8}\n")}),
		head: map[string]string{at("a"): asks("a", "please say a", "a!")},
		want: outcome{gate: "fail", reason: "score 0.750", some: true},
		differ: map[string]outcome{"watch": {
			rule: askedOfAll, gate: "pass", calls: map[string]int{"Be kind. | say d": 0},
		}},
	},
	{
		name: "a conversation with simulator and judge", base: persona("Be kind."), head: map[string]string{"prompts/bot.md": "FAIL now."},
		answer: func(prompt string, _ int) string {
			if strings.HasPrefix(prompt, "FAIL") {
				return "FAIL!"
			}
			return "Hello!"
		},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"talk": "fail regression"}},
	},
	{
		name: "edit_prompt", base: rated("say a", ""), head: rated("say FAIL", `, "retry": true, "max_retries": 1, "edit_prompt": true`),
		answer: func(prompt string, _ int) string {
			if strings.HasPrefix(prompt, "Be better.") {
				return "with pleasure"
			}
			return prompt
		},
		want: outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{"rated": "fail regression"}},
	},
	{
		name: "iterations 3", base: shopOf("a", map[string]string{"gavel.yaml": usual("defaults: {iterations: 3}\n")}),
		head: map[string]string{at("a"): asks("a", "say nothing", "a!")}, answer: echo,
		want: outcome{
			gate: "fail", reason: "1 case regressed", cases: map[string]string{key("a"): "fail regression"},
			calls: map[string]int{"Be kind. | say nothing": 15, "Be kind. | say a": 15},
		},
	},
	{
		name: "a budget that is too small", base: shopOf("a b", map[string]string{"gavel.yaml": usual("budget: {calls: 1}\n")}), answer: echo,
		head: map[string]string{domainFile: domainWith("Be brief.")},
		want: outcome{gate: "undetermined", reason: "budget", some: true},
	},
	{
		name: "two pull requests of one commit", base: shopOf("a b", nil), part: map[string]string{at("a"): asks("a", "say nothing", "a!")},
		head: map[string]string{"docs.md": "words"}, answer: echo,
		want:   outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{key("a"): "fail regression"}},
		unlike: map[string]string{"run": noPullRequest, "run on PostgreSQL": noPullRequest, "watch": noPullRequest},
	},
	{
		name: "a fork from an old merge base with milder rules", answer: echo,
		forked: shopOf("a b", map[string]string{"gavel.yaml": usual("gate: {fail_on: never}\n")}), base: map[string]string{"gavel.yaml": usual()},
		head:   map[string]string{at("a"): asks("a", "say nothing", "a!")},
		want:   outcome{gate: "fail", reason: "1 case regressed", notice: "is another one at main", cases: map[string]string{key("a"): "fail regression"}},
		unlike: keyboard,
	},
	{
		name: "a stranger's fork from an old merge base with milder rules", answer: echo, stranger: true,
		forked: shopOf("a b", map[string]string{"gavel.yaml": usual("gate: {fail_on: never}\n")}), base: map[string]string{"gavel.yaml": usual()},
		head:   map[string]string{at("a"): asks("a", "say nothing", "a!")},
		want:   outcome{gate: "undetermined", reason: "approve", notice: "is another one at main"},
		unlike: idle,
	},
	{
		name: "a fork from an old merge base with another address", answer: echo,
		forked: shopOf("a b", map[string]string{"gavel.yaml": strings.ReplaceAll(usual(), "MODELS/v1", "MODELS/old/v1")}), base: map[string]string{"gavel.yaml": usual()},
		head: map[string]string{at("a"): asks("a", "now say a", "a!")},
		want: outcome{
			gate: "pass", reason: "no case regressed", notice: "is another one at main",
			calls: map[string]int{"Be kind. | now say a": 1, "Be kind. | now say a" + atOld: 0},
		},
		unlike: keyboard,
	},
	{
		name: "a fork from an old merge base with a larger budget", answer: echo,
		forked: shopOf("a b", nil), base: map[string]string{"gavel.yaml": usual("budget: {calls: 1}\n")},
		head:   map[string]string{domainFile: domainWith("Be brief.")},
		want:   outcome{gate: "undetermined", reason: "budget", notice: "is another one at main", some: true},
		unlike: keyboard,
	},
	{
		name: "a fork from before there was a gavel.yaml", answer: echo,
		forked: map[string]string{domainFile: domainWith("Be kind."), at("a"): asks("a", "say a", "a!")}, base: map[string]string{"gavel.yaml": usual()},
		head:   map[string]string{at("a"): asks("a", "say nothing", "a!")},
		want:   outcome{gate: "fail", reason: "1 case regressed", notice: "is another one at main", cases: map[string]string{key("a"): "fail regression"}},
		unlike: keyboard,
	},
	{
		name: "a fork from before the definitions moved", answer: echo,
		forked: shopOf("a b", map[string]string{"evals/shop/domain.json": domainWith("Be kind."), "evals/shop/level_1/c.json": asks("c", "say c", "c!")}),
		base:   map[string]string{"gavel.yaml": "definitions: evals\n" + usual()},
		head:   map[string]string{at("a"): asks("a", "say nothing", "a!")},
		want:   outcome{gate: "undetermined", notice: "is another one at main", problems: []string{at("a")}},
		unlike: idle,
	},
	{
		name: "a pull request to a branch that nobody vouches for", base: shopOf("a b", nil), answer: echo,
		release: map[string]string{"gavel.yaml": strings.ReplaceAll(usual("gate: {fail_on: never}\n"), "MODELS/v1", "MODELS/old/v1")},
		head:    map[string]string{at("a"): asks("a", "say nothing", "a!")},
		want: outcome{
			gate: "fail", reason: "1 case regressed", notice: "goes to release, which is neither", cases: map[string]string{key("a"): "fail regression"},
			calls: map[string]int{"Be kind. | say nothing" + atOld: 0},
		},
		unlike: keyboard,
	},
	{
		name: "a pull request to a listed branch", base: shopOf("a b", map[string]string{"gavel.yaml": usual("gate: {fail_on: never}\n")}), answer: echo, listed: true,
		release: map[string]string{"gavel.yaml": usual()}, head: map[string]string{at("a"): asks("a", "say nothing", "a!")},
		want:   outcome{gate: "fail", reason: "1 case regressed", cases: map[string]string{key("a"): "fail regression"}},
		unlike: keyboard,
	},
	{
		name: "a stranger's head", base: shopOf("a b", nil), head: map[string]string{at("a"): asks("a", "say nothing", "a!")}, answer: echo, stranger: true,
		want:   outcome{gate: "undetermined", reason: "approve"},
		unlike: keyboard,
	},
	{
		name: "a stranger's head where nothing fails the gate", answer: echo, stranger: true,
		base: shopOf("a b", map[string]string{"gavel.yaml": usual("gate: {fail_on: never}\n")}), head: map[string]string{at("a"): asks("a", "say nothing", "a!")},
		want:   outcome{gate: "undetermined", reason: "approve", calls: map[string]int{"Be kind. | say nothing": 0}},
		unlike: keyboard,
	},
	{
		name: "a stranger's head that affects no case", base: shopOf("a b", nil), head: map[string]string{"docs.md": "words"}, answer: echo, stranger: true,
		want:   outcome{gate: "pass", reason: "no affected cases"},
		unlike: keyboard,
	},
	{
		name: "a partial clone with a removed case", answer: echo, partial: true,
		base: shopOf("a b", map[string]string{"gavel.yaml": usual("gate: {removed: fail}\n")}), head: map[string]string{at("a"): gone},
		want: outcome{gate: "fail", reason: "1 case removed (removed: fail)", cases: map[string]string{key("a"): "removed"}},
		differ: map[string]outcome{
			"run":               {gate: "none", reason: "is missing, as in a partial clone: run git fetch --refetch --no-filter", rule: ownObjects},
			"run on PostgreSQL": {gate: "none", reason: "is missing, as in a partial clone: run git fetch --refetch --no-filter", rule: ownObjects},
			"watch":             {gate: "none", reason: "is missing, as in a partial clone: run git fetch --refetch --no-filter", rule: ownObjects},
		},
		unlike: map[string]string{"serve": ownMirror, "serve on PostgreSQL": ownMirror, "workers": ownMirror},
	},
	{
		name: "a new case that fails once", base: shopOf("a", nil), head: map[string]string{at("b"): asks("b", "say b", "b!")},
		answer: func(prompt string, n int) string {
			if n == 1 && strings.Contains(prompt, "say b") {
				return "no"
			}
			return echo(prompt, n)
		},
		want: outcome{
			gate: "pass", reason: "no case regressed", notice: "1 case passes as flaky", cases: map[string]string{key("b"): "fail new"},
			calls: map[string]int{"Be kind. | say b": 2},
		},
	},
	{
		name: "scores that fall while no verdict changes", base: fourWords(nil), answer: threeOfFour,
		head: map[string]string{domainFile: domainWith("Be brief.")},
		want: outcome{gate: "pass", reason: "scores fell by 0.25, certain; no verdict changed", cases: map[string]string{}},
	},
	{
		name: "scores that fall where that fails", base: fourWords(map[string]string{"gavel.yaml": usual("gate: {scores: fail}\n")}), answer: threeOfFour,
		head: map[string]string{domainFile: domainWith("Be brief.")},
		want: outcome{gate: "fail", reason: "scores fell by 0.25, certain; no verdict changed (p = 0.0", cases: map[string]string{}},
	},
	{
		name: "a burst of failures in head's minute", base: shopOf(ids(20), nil), head: map[string]string{domainFile: domainWith("Be brief.")},
		answer: unhurried,
		reply: func(k int) string {
			if k > 4 && k <= 14 {
				return fmt.Sprintf("busy %d", k)
			}
			return ""
		},
		want: outcome{gate: "pass", some: true},
	},
	{
		name: "a slow provider that is worse for a while", base: shopOf(ids(20), nil), head: map[string]string{domainFile: domainWith("Be brief.")},
		answer: func(prompt string, n int) string {
			time.Sleep(100 * time.Millisecond)
			return echo(prompt, n)
		},
		reply: func(k int) string {
			if k > 10 && k <= 25 && k%3 == 0 {
				return "busy"
			}
			return ""
		},
		want: outcome{gate: "pass", some: true},
	},
	{
		name: "a provider that turns every tenth call away", base: shopOf(ids(20), nil), head: map[string]string{domainFile: domainWith("Be brief.")},
		answer: echo,
		fault: func(k int) (int, string) {
			if k%10 == 0 {
				return http.StatusTooManyRequests, "slow down"
			}
			return 0, ""
		},
		want: outcome{gate: "pass", some: true},
	},
	{
		name: "a reply that a filter stops once", base: shopOf(ids(20), nil), head: map[string]string{domainFile: domainWith("Be brief.")},
		answer: echo,
		fault: func(k int) (int, string) {
			if k == 7 {
				return http.StatusBadRequest, "stopped by the content filter"
			}
			return 0, ""
		},
		want: outcome{gate: "pass", some: true},
	},
	{
		name: "both sides of a case are asked at the same time", answer: echo,
		meets: func(prompt string) string {
			if strings.Contains(prompt, "Be new.") { // which the branch main has
				return ""
			}
			return prompt[strings.LastIndexByte(prompt, ' ')+1:]
		},
		base: shopOf(ids(48), map[string]string{
			"gavel.yaml": strings.Replace(usual(), "model: model,", "model: model, concurrency: 64,", 1), domainFile: domainWith("Be new."),
		}),
		release: map[string]string{domainFile: domainWith("Be kind.")}, head: map[string]string{domainFile: domainWith("Be brief.")},
		want:   outcome{gate: "pass", calls: map[string]int{"Be brief. | say c0": 1, "Be kind. | say c0": 1, "Be brief. | say c19": 1, "Be kind. | say c19": 1}},
		unlike: keyboard,
	},
	{
		name: "a refusal with one text", answer: func(prompt string, n int) string {
			if strings.Contains(prompt, "brief. | say c1") && n%2 == 1 {
				return "I cannot help with that."
			}
			return echo(prompt, n)
		},
		base: shopOf(ids(20), map[string]string{"gavel.yaml": usual("gate: {min_score: 0.9}\n")}),
		head: map[string]string{domainFile: domainWith("Be brief.")},
		want: outcome{gate: "fail", some: true},
	},
	{
		// 20 of 20 are 1: by t(0.99, 19)·√(.25·.75/20) the limit may be .246 below.
		name: "min_score that is proved", base: limited(20, "min_score: 0.75"), head: briefly, answer: allFour,
		want:   outcome{gate: "pass", calls: calls(1, 1)},
		unlike: unscored,
	},
	{
		name: "answers that take five times the tokens", answer: echo, tokens: map[string]int{"model": 1, "talker": 9},
		base:   shopOf(ids(6), map[string]string{"gavel.yaml": usual("gate: {max_tokens_rise: 50%}\n")}),
		head:   map[string]string{"gavel.yaml": strings.Replace(usual("gate: {max_tokens_rise: 50%}\n"), "model: model", "model: talker", 1)},
		want:   outcome{gate: "fail", reason: "tokens rose by 400 %, max_tokens_rise 50 %", some: true},
		differ: map[string]outcome{"watch": {rule: askedOfAll, gate: "pass", reason: "max_tokens_rise 50 % is not asked", some: true}},
	},
	{
		name: "two cases are too few to see a fall of both", answer: echo,
		base: shopOf("a b", map[string]string{"gavel.yaml": usual("gate: {min_power: {broken: 0.9, fall: 0.5}}\n")}), head: briefly,
		want:   outcome{gate: "undetermined", reason: "a fall of all cases by 0.10 would have been seen in", calls: map[string]int{"Be brief. | say a": 1}},
		differ: map[string]outcome{"watch": {rule: "a save waits for no simulation", gate: "pass", reason: "no case regressed"}},
	},
	{
		name: "answers that take a fifth more tokens", answer: echo, tokens: map[string]int{"model": 9, "talker": 11},
		base: shopOf(ids(6), map[string]string{"gavel.yaml": usual("gate: {max_tokens_rise: 50%}\n")}),
		head: map[string]string{"gavel.yaml": strings.Replace(usual("gate: {max_tokens_rise: 50%}\n"), "model: model", "model: talker", 1)},
		want: outcome{gate: "pass", reason: "no case regressed", some: true},
	},
	{
		// 20 may be .218 below, and 60 .103.
		name: "min_score that is proved when all are measured again", base: limited(20, "min_score: 0.83"), head: briefly, answer: allFour,
		want:   outcome{gate: "pass", reason: "; min_score 0.83 holds: 1.000 in 3 measurements of each case", calls: calls(1, 3)},
		unlike: unscored,
	},
	{
		// The mean of 16 cases is (1 + .75 + .75)/3 and of 4 .75, so .817; it may be .079 more.
		name: "min_score that is missed when all are measured again", base: limited(20, "min_score: 0.9"), head: briefly, answer: first,
		want:   outcome{gate: "fail", reason: "score 0.817 in 3 measurements of each case is below min_score 0.9", calls: calls(1, 3)},
		unlike: unscored,
	},
	{
		// 60 of 60 may be 2.12291·√(.05·.95/60) below.
		name: "min_score that is not proved", base: limited(20, "min_score: 0.95"), head: briefly, answer: allFour,
		want:   outcome{gate: "undetermined", reason: "score 1.000 may be below min_score 0.95 (± 0.060 in 3 measurements of each case)", calls: calls(1, 3)},
		unlike: unscored,
	},
	{
		name: "max_drop that is not proved, and passes", base: limited(20, "max_drop: 0.05, unsure: notice"), head: briefly, answer: allFour,
		want: outcome{
			gate: "pass", reason: "score may have fallen by more than max_drop 0.05: by 0.000 (± 0.060 in 3 measurements of each case)",
			notice: "score may have fallen by more than max_drop 0.05", calls: calls(3, 3),
		},
		unlike: unscored,
	},
	{
		// All of 40 fell by .25, and by t(0.99, 39)·√(.23/40) = .184 less.
		name: "max_drop that is exceeded", base: limited(40, "max_drop: 0.02"), head: briefly, answer: threeOfFour,
		want:   outcome{gate: "fail", reason: "score fell by 0.250, max_drop is 0.02", calls: calls(1, 1)},
		unlike: unscored,
	},
	{
		name: "max_drop that is kept", base: limited(20, "max_drop: 0.25"), head: briefly, answer: allFour,
		want:   outcome{gate: "pass", calls: calls(1, 1)},
		unlike: unscored,
	},
	{
		// A twentieth of the weight fell by .25: by .0125 in all.
		name: "max_drop of a group", base: withBank(limited(20, "max_drop: 0.02}\nstatuses: groups\nreuse: {mode: on")), head: briefly, answer: threeOfFour,
		want: outcome{
			gate: "pass", groups: map[string]string{"shop": "fail", "bank": "pass"}, calls: calls(3, 3),
		},
		unlike: unscored,
	},
}
