package main

import (
	"fmt"
	"maps"
	"strings"
	"time"
)

// usual is a gavel.yaml whose target is the model, with further lines.
func usual(more ...string) string {
	return "version: 1\ndefault_target: bot\ntargets:\n  bot: {provider: openai, model: model, base_url: MODELS/v1, api_key_env: MODEL_KEY}\n" + strings.Join(more, "")
}

// threeOfFourPass is the line of usual that asks each case for three passes of four samples.
const threeOfFourPass = "pass: {\"shop/**\": 3 of 4}\n"

// judging are the lines of usual that make the model the judge, too.
const judging = "  judge: {provider: openai, model: judge, base_url: MODELS/v1, api_key_env: MODEL_KEY}\nroles: {judge: judge, simulator: judge, editors: {gemini: judge}}\n"

// shopOf is a domain whose cases ask for the last word of their prompts, one for each id.
func shopOf(ids string, more map[string]string) map[string]string {
	files := map[string]string{"gavel.yaml": usual(), domainFile: domainWith("Be kind.")}
	for _, id := range strings.Fields(ids) {
		files[at(id)] = asks(id, "say "+id, id+"!")
	}
	maps.Copy(files, more)
	return files
}

const domainFile = "test_definitions/shop/domain.json"

// domainWith is the shop with a system prompt.
func domainWith(prompt string) string {
	return fmt.Sprintf(`{"id": "shop", "name": "Shop", "evaluator_id": "keyword", "system_prompt": %q}`, prompt)
}

// fourWords is a shop of eight cases that ask for four words each and pass with three.
func fourWords(more map[string]string) map[string]string {
	files := shopOf("", nil)
	for i := range 8 {
		id := fmt.Sprintf("c%d", i)
		files[at(id)] = strings.Replace(asks(id, "say "+id, "red"), `["red"]`, `["red", "green", "blue", "white"]`, 1)
	}
	maps.Copy(files, more)
	return files
}

// limited is a shop of n cases like these, under a gate, and briefly is its change.
func limited(n int, gate string) map[string]string {
	files := fourWords(map[string]string{"gavel.yaml": usual("gate: {" + gate + "}\n")})
	for i := range n {
		id := fmt.Sprintf("c%d", i)
		files[at(id)] = strings.ReplaceAll(files[at("c0")], "c0", id)
	}
	return files
}

var briefly = map[string]string{domainFile: domainWith("Be brief.")}

// allFour answers with all words.
func allFour(string, int) string { return "red green blue white" }

// first answers with all words, but where the prompt is to be brief only the first time,
// and then to most.
func first(prompt string, n int) string {
	_, id, _ := strings.Cut(prompt, "brief. | say c")
	if id != "" && (n > 1 || strings.Contains("1 2 3 4", id)) {
		return "red green blue"
	}
	return "red green blue white"
}

// calls are how often the first case is measured at base and at head.
func calls(kind, brief int) map[string]int {
	return map[string]int{"Be kind. | say c0": kind, "Be brief. | say c0": brief}
}

// threeOfFour leaves a word out where the prompt is to be brief.
func threeOfFour(prompt string, _ int) string {
	if strings.Contains(prompt, "brief") {
		return "red green blue"
	}
	return "red green blue white"
}

// at is the file of a case of the shop, and key its key.
func at(id string) string  { return "test_definitions/" + key(id) + ".json" }
func key(id string) string { return "shop/level_1/" + id }

// acceptances are remarks of a writer who accepts the result of each case.
func acceptances(ids string) (remarks []remark) {
	for id := range strings.FieldsSeq(ids) {
		remarks = append(remarks, remark{"mona", "/gavel accept " + key(id) + " the new model may say so"})
	}
	return remarks
}

// asks is a case that sends a prompt and wants a word in the answer.
func asks(id, prompt, word string) string {
	return fmt.Sprintf(`{"id": %q, "name": %[1]q, "prompt": %q, "expected": {"keywords": [%q]}}`, id, prompt, word)
}

// echo answers a prompt with its last word and an exclamation mark.
func echo(prompt string, _ int) string {
	prompt, _, _ = strings.Cut(prompt, " | by ")
	return prompt[strings.LastIndexByte(prompt, ' ')+1:] + "!"
}

// unhurried answers as echo does, after the milliseconds that any provider takes: without them
// the calls of one side may all come before the other's, by the scheduler's will.
func unhurried(prompt string, n int) string {
	time.Sleep(10 * time.Millisecond)
	return echo(prompt, n)
}

// wrongly answers prompts that contain one of some texts wrongly, and others as echo does.
func wrongly(texts ...string) func(string, int) string {
	return func(prompt string, n int) string {
		for _, text := range texts {
			if strings.Contains(prompt, text) {
				return "no"
			}
		}
		return echo(prompt, n)
	}
}

// ids are the names of n cases.
func ids(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("c%d", i))
	}
	return strings.Join(out, " ")
}

// menu is a file of the matrix format with one test.
func menu(variable, threshold string) string {
	return fmt.Sprintf(`prompts: ["say {{x}}"]
providers: [bot]
tests:
  - description: one
    vars: {x: %s}
    threshold: %s
    assert: [{type: contains, value: "a!"}, {type: contains, value: zzz}]
`, variable, threshold)
}

// menuOf is a repository with one test of the matrix format, which has some assertions.
func menuOf(assertions string) map[string]string {
	return map[string]string{"gavel.yaml": usual(), "test_definitions/promptfooconfig.yaml": fmt.Sprintf(`prompts: ["say {{x}}"]
providers: [bot]
tests: [{description: one, vars: {x: a}, assert: %s}]
`, assertions)}
}

// storing has a test whose prompt is the answer to another one, whose variable is given.
func storing(first string) map[string]string {
	return map[string]string{"gavel.yaml": usual(), "test_definitions/promptfooconfig.yaml": fmt.Sprintf(`prompts: ["say {{x}}"]
providers: [bot]
tests:
- {description: one, vars: {x: %s}, options: {storeOutputAs: got}, assert: [{type: contains, value: "!"}]}
- {description: two, vars: {x: "so {{got}}"}, assert: [{type: contains, value: "a!!"}]}
- {description: three, vars: {x: c}, assert: [{type: contains, value: "c!"}]}
`, first)}
}

// scoring has a test on which a function decides that passes by this expression.
func scoring(passes string) map[string]string {
	files := menuOf("[{type: contains, value: sorry, metric: kind}, {type: contains, value: a}]")
	files["test_definitions/promptfooconfig.yaml"] = strings.Replace(files["test_definitions/promptfooconfig.yaml"], "description: one", "description: one, assertScoringFunction: file://score.js", 1)
	files["test_definitions/score.js"] = "module.exports = (scores) => ({pass: " + passes + ", score: 0.5, reason: 'by kind'});\n"
	return files
}

// generated is a repository whose tests a function makes from a list of words, the second
// of which is given.
func generated(second string) map[string]string {
	return map[string]string{
		"gavel.yaml":                            usual(),
		"test_definitions/promptfooconfig.yaml": "prompts: [\"say {{x}}\"]\nproviders: [bot]\ntests: {path: file://tests.js, config: {words: file://words.yaml}}\n",
		"test_definitions/words.yaml":           "one: a\ntwo: " + second + "\n",
		"test_definitions/tests.js":             "const wanted = {one: 'a!', two: 'b!'};\nmodule.exports = ({words}) => Object.entries(words).map(([name, word]) => ({description: name, vars: {x: word}, assert: [{type: 'contains', value: wanted[name]}]}));\n",
	}
}

// byFunction is a repository with a test whose variable a function makes, which is the
// word.
func byFunction(word string) map[string]string {
	return map[string]string{
		"gavel.yaml":                            usual(),
		"test_definitions/promptfooconfig.yaml": "prompts: [\"say {{x}}\"]\nproviders: [bot]\ntests:\n  - {description: one, vars: {x: file://word.js}, assert: [{type: contains, value: \"a!\"}]}\n  - {description: two, vars: {x: c}, assert: [{type: contains, value: \"c!\"}]}\n",
		"test_definitions/word.js":              "module.exports = () => ({output: '" + word + "'});\n",
	}
}

// judgedMenu is a menu with a judge.
func judgedMenu(assertions string) map[string]string {
	files := menuOf(assertions)
	files["gavel.yaml"] = usual(judging)
	return files
}

// matching is a file of the matrix format whose first test has a pattern.
func matching(pattern string) map[string]string {
	return map[string]string{"gavel.yaml": usual(), "test_definitions/promptfooconfig.yaml": fmt.Sprintf(`prompts: ["say {{x}}"]
providers: [bot]
tests:
  - {description: one, vars: {x: a}, assert: [{type: regex, value: %q}]}
  - {description: two, vars: {x: b}, assert: [{type: contains, value: "b!"}]}
`, pattern)}
}

// persona is a conversation with a user whom the model plays.
func persona(prompt string) map[string]string {
	return map[string]string{
		"gavel.yaml":     strings.Replace(usual(judging), "model: model,", "model: model, system_prompt: {file: prompts/bot.md},", 1),
		"prompts/bot.md": prompt,
		"test_definitions/talk.json": `{"name": "talk", "persona": {"type": "guest", "description": "curious", "instructions": "Ask on."}, "initial_message": "say hello",
			"max_turns": 3, "expected_outcomes": {"greeted": true}}`,
	}
}

// rated is a file of the promptval format with further fields.
func rated(input, more string) map[string]string {
	return map[string]string{
		"gavel.yaml":                  strings.Replace(usual(judging), "model: model,", "model: model, system_prompt: Be kind.,", 1),
		"test_definitions/rated.json": fmt.Sprintf(`{"test_type": "agent", "name": "bot", "user_input": %q, "testing_prompt": "Is it polite?"%s}`, input, more),
	}
}

// withAgent is a repository whose agent is reached over HTTP, with a prompt.
func withAgent(target, prompt string) map[string]string {
	return map[string]string{
		"gavel.yaml":        "version: 1\ntargets:\n  agent: {provider: http, " + target + ", inputs: [\"prompts/**\"]}\n",
		"prompts/system.md": prompt,
		domainFile:          domainWith(""),
		at("window"):        asks("window", "How long can I return a helmet?", "30 days"),
	}
}

// matrixOf is a file of the matrix format that has its provider, and targetsOf a suite whose target
// is in .agentv/targets.yaml, with the model and the address of each.
func matrixOf(model, address string) map[string]string {
	return map[string]string{"gavel.yaml": "version: 1\n", "promptfooconfig.yaml": fmt.Sprintf(`prompts: ["say {{x}}"]
providers: [{id: "openai:chat:%s", label: bot, config: {apiBaseUrl: %s, apiKeyEnvar: MODEL_KEY}}]
tests: [{description: one, vars: {x: a}, assert: [{type: contains, value: "a!"}]}]
`, model, address)}
}

func targetsOf(model, address string) map[string]string {
	return map[string]string{
		"gavel.yaml":                   "version: 1\n",
		"test_definitions/s.eval.yaml": "tests: [{id: a, criteria: It says a, input: say a, assertions: [{type: contains, value: a!}]}]\nexecution: {target: bot}\n",
		".agentv/targets.yaml":         fmt.Sprintf("targets: [{name: bot, provider: openai, model: %s, base_url: %s, api_key: '${{ MODEL_KEY }}'}]\n", model, address),
	}
}

// ratedBy is a case that a model judges, which may be the one under test.
func ratedBy(bot, judge, role string) map[string]string {
	return map[string]string{
		"gavel.yaml": fmt.Sprintf("version: 1\ndefault_target: bot\ntargets:\n"+
			"  bot: {provider: openai, model: %s, base_url: MODELS/v1, api_key_env: MODEL_KEY, system_prompt: Be kind.}\n"+
			"  judge: {provider: openai, model: %s, base_url: MODELS/v1, api_key_env: MODEL_KEY}\nroles: {judge: %s}\n", bot, judge, role),
		"test_definitions/rated.json": `{"test_type": "agent", "name": "bot", "user_input": "say a", "testing_prompt": "Is it polite?"}`,
	}
}

// toOther is usual with a new target that cases are run against, which has an address.
func toOther(address string) map[string]string {
	return map[string]string{"gavel.yaml": strings.Replace(usual(), "default_target: bot\ntargets:\n",
		"default_target: next\ntargets:\n  next: {provider: openai, model: new, base_url: "+address+", api_key_env: MODEL_KEY}\n", 1)}
}

// built is usual with the files that the target is built from.
func built(globs string) map[string]string {
	return map[string]string{"gavel.yaml": strings.Replace(usual(), "model: model,", "model: model, inputs: ["+globs+"],", 1)}
}

// days is an agent that says 60 days at head.
func days(_ string, head bool) string {
	if head {
		return "60 days"
	}
	return "30 days"
}

// firstWrong is an agent whose first answer is of no use.
func firstWrong(n int) string {
	if n == 1 {
		return "I do not know."
	}
	return ""
}

// codeJudge is a suite whose judge loads a module.
func codeJudge(module string) map[string]string {
	return map[string]string{
		"gavel.yaml": usual(),
		"test_definitions/sums.yaml": `evalcases:
  - id: sum
    expected_outcome: It is right.
    input: say six
    execution:
      evaluators: [{name: sum, type: code_judge, script: [sh, checks/judge.sh]}]
`,
		"test_definitions/checks/judge.sh":     "cat >/dev/null; . ./checks/lib/rules.sh; echo \"{\\\"score\\\": $score}\"\n",
		"test_definitions/checks/lib/rules.sh": module,
	}
}

// madeByProgram is a repository with a program that makes a test from the word of a module.
func madeByProgram(word string) map[string]string {
	return map[string]string{
		"gavel.yaml":                            usual(),
		"test_definitions/prompt.txt":           "say {{x}}",
		"test_definitions/promptfooconfig.yaml": "prompts: file://prompt.txt\nproviders: [bot]\ntests: [{path: file://gen/gen.js, config: {name: one}}]\n",
		"test_definitions/gen/word.js":          "module.exports = '" + word + "'\n",
		"test_definitions/gen/gen.js":           "module.exports = ({name}) => [{description: name, vars: {x: require('./word')}, assert: [{type: 'contains', value: 'a!'}]}]\n",
	}
}

// saysWord is a repository with a program that says, and scores, the word of a file
// below it, or the word of lib/fresh.txt if that file exists.
func saysWord(folder, definition, text string) map[string]string {
	folder = "test_definitions/" + folder
	return map[string]string{
		"gavel.yaml":                     usual("  agent: {provider: command, argv: [sh, test_definitions/agent/word.sh], inputs: [README.md]}\n"),
		"test_definitions/" + definition: text,
		folder + "/lib/word.txt":         "a\n",
		folder + "/word.sh": `at=$(dirname "$0")/lib; word=$(cat $at/fresh.txt 2>/dev/null || cat $at/word.txt 2>/dev/null || echo gone)
case $0 in *assertions*) cat >/dev/null; [ $word = a ] && echo '{"score": 1}' || echo '{"score": 0}' ;; *) echo "say $word" ;; esac
`,
	}
}

// withoutProgram are two cases with a prompt, of which one asks a program that is nowhere.
func withoutProgram(prompt string) map[string]string {
	return map[string]string{
		"gavel.yaml": usual("  away: {provider: command, argv: [shh], inputs: [README.md]}\n"),
		"test_definitions/talk.yaml": "evalcases:\n  - {id: one, input: " + prompt + " a, checks: [{contains: a!}]}\n" +
			"  - {id: two, input: " + prompt + " b, execution: {target: away}, checks: [{contains: b!}]}\n",
	}
}

// withHook is a case in a workspace, whose hook makes of it what a file of the template
// says.
func withHook(kind string) map[string]string {
	return map[string]string{
		"gavel.yaml": "version: 1\ndefault_target: bot\ntargets:\n  bot: {provider: command, argv: [sh, agent.sh], inputs: [agent.sh]}\n",
		"agent.sh":   "cat >/dev/null; echo word\n",
		"tpl/kind":   kind,
		"hook.sh": "cat >/dev/null; cd \"$1\"; case \"$(cat kind)\" in\ndeep) mkdir -p " + strings.Repeat("a/", 150) + " ;;\n" +
			"sparse) for i in $(seq 20); do truncate -s 63M s$i; done ;;\nesac\n",
		"test_definitions/shop.eval.yaml": `workspace:
  template: ../tpl
  hooks: {before_all: {command: [sh, ../hook.sh, "{{workspace_path}}"]}}
tests:
  - {id: open, criteria: It opens., input: Open., assertions: [{type: contains, value: word}]}
`,
	}
}

// withBank adds a domain of ten cases that weigh 19 times as much as 20 others.
func withBank(files map[string]string) map[string]string {
	files["test_definitions/bank/domain.json"] = strings.ReplaceAll(domainWith("Be kind."), "shop", "bank")
	for i := range 10 {
		id := fmt.Sprintf("b%d", i)
		files["test_definitions/bank/level_1/"+id+".json"] = strings.Replace(asks(id, "say "+id, "red"), "{", `{"weight": 38, `, 1)
	}
	return files
}

// skillText is a SKILL.md whose body says a word.
func skillText(name, word string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: Opens files.\n---\nSay %s.\n", name, word)
}

// withLift are the skills of withSkills, which are also left out. The agent then says
// only that it is ready, which fails the second eval of csv.
func withLift() map[string]string {
	files := withSkills("word", "It opens.")
	files["gavel.yaml"] = strings.Replace(files["gavel.yaml"], "skills: {", "skills: {lift: true, ", 1)
	files["agent/run.sh"] = "cat >/dev/null; cat .agents/skills/*/SKILL.md 2>/dev/null; echo ready\n"
	files["skills/csv/evals/evals.json"] = `{"evals": [{"id": 1, "prompt": "Open {{it}}.", "expected_output": "It opens."}, {"id": 2, "prompt": "Close.", "assertions": [{"type": "contains", "value": "word"}]}]}`
	return files
}

// withSkills are two skills, with one eval and with two, and an agent that says what the
// skills in its folder say.
func withSkills(word, expected string) map[string]string {
	return map[string]string{
		"gavel.yaml":                          usual("  coder: {provider: command, argv: [sh, agent/run.sh]}\n" + judging + "skills: {target: coder}\n"),
		"agent/run.sh":                        "cat >/dev/null; cat .agents/skills/*/SKILL.md; ls -R . | grep evals; true\n",
		".claude/skills/pdf/SKILL.md":         skillText("pdf", word),
		".claude/skills/pdf/evals/evals.json": `{"skill_name": "pdf", "evals": [{"id": 1, "prompt": "Open.", "files": [], "assertions": [{"name": "said", "type": "contains", "value": "word"}, {"name": "answers", "type": "not_contains", "value": "evals"}]}]}`,
		"skills/csv/SKILL.md":                 skillText("csv", word),
		"skills/csv/references/words.md":      word + "\n",
		"skills/csv/evals/evals.json":         fmt.Sprintf(`{"evals": [{"id": 1, "prompt": "Open {{it}}.", "expected_output": "It opens."}, {"id": 2, "prompt": "Close.", "assertions": [%q]}]}`, expected),
	}
}

// askedOfBranch is how a regression of a skill's eval ends where the branch is judged, too, in
// which the judge is asked once about another eval.
var askedOfBranch = outcome{
	rule: ownBranches, gate: "fail", reason: "1 case regressed", cases: map[string]string{"skills/csv#2": "fail regression"}, calls: map[string]int{toJudge: 11},
}

// withServer is a shop whose agent Gavel starts: it says the number of days in a file of
// prompts, in the words of a module.
func withServer(days string) map[string]string {
	files := withAgent(`url: "http://127.0.0.1:{port}/ask", start: {argv: [python3, agent/server.py, "{port}"], ready: "http://127.0.0.1:{port}/health"}`, days)
	files["agent/words.py"] = "def said(days): return days + ' days'\n"
	files["agent/server.py"] = `import http.server, json, sys
from words import said

class Agent(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.reply({})
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.reply({"messages": [{"role": "assistant", "content": said(open("prompts/system.md").read().strip())}]})
    def reply(self, value):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Agent).serve_forever()
`
	return files
}

// withCodingAgent is a skill, and a coding agent that tries its eval.
func withCodingAgent(word string) map[string]string {
	return map[string]string{
		"gavel.yaml":                  usual("  coder: {provider: claude-code, model: model, base_url: MODELS, api_key_env: MODEL_KEY}\nskills: {target: coder}\n"),
		"skills/csv/SKILL.md":         skillText("csv", word),
		"skills/csv/evals/evals.json": `{"evals": [{"id": 1, "prompt": "Open.", "assertions": [{"name": "said", "type": "contains", "value": "word!"}]}]}`,
	}
}

// readingClaude asks its model for what the skill of its folder says. It has no key.
const readingClaude = `#!/usr/bin/env python3
import json, os, sys, urllib.request
prompt = sys.stdin.read() + " " + open(".claude/skills/csv/SKILL.md").read().split("---")[2].strip(".\n")
key = os.environ["ANTHROPIC_API_KEY"]
assert not key.startswith("a-key-of"), "the key itself"
body = {"model": "model", "max_tokens": 100, "messages": [{"role": "user", "content": prompt}]}
req = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", data=json.dumps(body).encode(), headers={"x-api-key": key})
said = json.load(urllib.request.urlopen(req))["choices"][0]["message"]["content"]
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": said, "total_cost_usd": 0.01, "usage": {"input_tokens": 1, "output_tokens": 1}}))
`

// ownVersion is the version of an agent that names one of its own.
func ownVersion(head bool) string {
	if head {
		return "1.4.2"
	}
	return "1.4.1"
}
