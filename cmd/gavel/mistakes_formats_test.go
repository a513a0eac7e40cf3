package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// A slip is a typing error in a definition whose case fails: the text at base, and its
// replacement at head.
type slip struct {
	name string
	// more are the files next to every slip's.
	more       map[string]string
	file       string
	base, head string
	// says is the output of validate; for a valid one only a note.
	says    string
	never   string // is not part of it
	isValid bool
}

// A target that echoes, and one case that passes.
const slipConfig = `version: 1
targets:
  model: {provider: mock, system_prompt: Be kind., replies: [{match: callit, reply: done, tool_calls: [{name: search, arguments: {q: a}}]}, {echo: true}]}
  judge: {provider: mock, replies: [{reply: '{"metrics": {"overall": {"score": 1, "justification": "no"}}, "outcomes": [], "summary": "no", "pass": false, "score": 0, "reason": "no"}'}]}
default_target: model
roles: {judge: judge}
`

func (s slip) files() map[string]string {
	files := map[string]string{
		"gavel.yaml":                     slipConfig,
		"test_definitions/ok.yaml":       "evalcases:\n  - {id: ok, input: hello, checks: [{contains: hello}]}\n",
		"test_definitions/s/domain.json": `{"id": "s", "name": "S", "evaluator_id": "keyword"}`,
	}
	maps.Copy(files, s.more)
	files[s.file] = s.base
	return files
}

// inDomain is a test of the domain format with what it expects.
func inDomain(more string) string {
	return `{"id": "one", "name": "One", "prompt": "hello", ` + more + `}`
}

// ofV4 and ofV5 are suites of AgentV with one assertion.
func ofV4(assertion string) string {
	return "tests:\n- {id: one, input: callit, criteria: x, assertions: [" + assertion + "]}\n"
}

func ofV5(test string) string {
	return "prompts: ['{{ input }}']\nproviders: [model]\ntests:\n- {id: one, vars: {input: callit}, " + test + "}\n"
}

// andJSON is a suite of the seed whose answer is compared by fields.
func andJSON(match, expected string) string {
	return `evalcases: [{id: one, input: '{"total": "12", "name": "x"}', expected_outcome: x, expected_output: ` + expected +
		`, execution: {evaluators: [{name: f, type: field_accuracy, fields: [{path: total, match: ` + match + `, required: true}]}]}}]` + "\n"
}

const (
	slipTest = "test_definitions/s/level_1/one.json"
	slipFile = "test_definitions/one.yaml"
	slipJSON = "test_definitions/one.json"
)

// mine is an evaluator of a team.
func mine(fields string) map[string]string {
	return map[string]string{slipTest: inDomain(`"evaluator_id": "mine", "expected": "x"`), "test_definitions/evaluators/mine.json": `{"id": "mine", ` + fields + `}`}
}

const slipEvaluator = "test_definitions/evaluators/mine.json"

var slips = []slip{
	// testcase
	{name: "testcase: a check", file: slipJSON, base: `{"name": "one", "initial_message": "hello", "max_turns": 1, "evaluation_criteria_override": "x", "checks": [{"contains": "zzz"}]}`,
		head: `{"name": "one", "initial_message": "hello", "max_turns": 1, "evaluation_criteria_override": "x", "checks": [{"contians": "zzz"}]}`, says: "did you mean `contains`?"},
	{name: "testcase: a pattern", file: slipJSON, base: `{"name": "one", "initial_message": "hello", "max_turns": 1, "evaluation_criteria_override": "x", "checks": [{"regex": "^zzz"}]}`,
		head: `{"name": "one", "initial_message": "hello", "max_turns": 1, "evaluation_criteria_override": "x", "checks": [{"regex": "^(zzz"}]}`, says: "the pattern does not compile"},
	{name: "testcase: the status", file: slipJSON, base: `{"name": "one", "initial_message": "hello", "max_turns": 1, "status": "active", "evaluation_criteria_override": "x"}`,
		head: `{"name": "one", "initial_message": "hello", "max_turns": 1, "status": "activ", "evaluation_criteria_override": "x"}`, says: "did you mean `active`?"},
	{name: "testcase: the name", file: slipJSON, base: `{"name": "one", "initial_message": "hello", "max_turns": 1, "evaluation_criteria_override": "x"}`,
		head: `{"nmae": "one", "initial_message": "hello", "max_turns": 1, "evaluation_criteria_override": "x"}`, says: "did you mean `name`"},
	{name: "testcase: a file that is emptied", file: slipJSON, base: `{"name": "one", "initial_message": "hello", "max_turns": 1, "evaluation_criteria_override": "x"}`, head: `{}`, isValid: true, says: "is not a definition"},
	// promptval
	{name: "promptval: a check", file: slipJSON, base: `{"test_type": "agent", "name": "model", "user_input": "hello", "testing_prompt": "x", "analysis": false, "checks": [{"equals": "zzz"}]}`,
		head: `{"test_type": "agent", "name": "model", "user_input": "hello", "testing_prompt": "x", "analysis": false, "checks": [{"equal": "zzz"}]}`, says: "did you mean `equals`?"},
	{name: "promptval: a count", file: slipJSON, base: `{"test_type": "agent", "name": "model", "user_input": "callit", "testing_prompt": "x", "analysis": false, "expected_tools": [{"name": "search", "eq": 0}]}`,
		head: `{"test_type": "agent", "name": "model", "user_input": "callit", "testing_prompt": "x", "analysis": false, "expected_tools": [{"name": "search", "eqq": 0}]}`, says: "did you mean `eq`?"},
	{name: "promptval: the kind", file: slipJSON, base: `{"test_type": "agent", "name": "model", "user_input": "callit", "testing_prompt": "x", "analysis": false, "expected_tools": [{"name": "search", "eq": 0}]}`,
		head: `{"test_type": "agnet", "name": "model", "user_input": "callit", "testing_prompt": "x", "analysis": false, "expected_tools": [{"name": "search", "eq": 0}]}`, says: "did you mean `agent`?"},
	{name: "promptval: a list in place of the file", file: slipJSON, base: `{"test_type": "agent", "name": "model", "user_input": "hello", "testing_prompt": "x", "analysis": false, "checks": [{"equals": "zzz"}]}`,
		head: `[]`, isValid: true, says: "is not a definition"},
	// domain
	{name: "domain: keywords", file: slipTest, base: inDomain(`"expected": {"keywords": ["zzz"]}`), head: inDomain(`"expected": {"keyword": ["zzz"]}`), says: "did you mean `keywords`?"},
	{name: "domain: a list without tests", file: slipTest, base: inDomain(`"expected": {"keywords": ["zzz"]}`), head: `[]`, says: "the list has no test"},
	{name: "domain: the id of an evaluator", file: slipTest, base: inDomain(`"evaluator_id": "two_pass", "expected": {"answer": "hi"}`), head: inDomain(`"evaluator_id": "two-pas", "expected": {"answer": "hi"}`), says: "did you mean `two_pass`?"},
	{name: "domain: an evaluator without a pattern", more: mine(""), file: slipEvaluator, base: `{"id": "mine", "type": "regex", "extraction_regex": "(h.*)"}`, head: `{"id": "mine", "type": "regex", "extraction_regex": ""}`, says: "neither an eval_prompt nor an extraction_regex"},
	{name: "domain: an evaluator with a broken pattern", more: mine(""), file: slipEvaluator, base: `{"id": "mine", "type": "regex", "extraction_regex": "(h.*)"}`, head: `{"id": "mine", "type": "regex", "extraction_regex": "(h.*"}`, says: "the pattern does not compile"},
	{name: "domain: an option of an evaluator", more: map[string]string{slipTest: inDomain(`"expected": {"keywords": ["hell"]}`)}, file: slipEvaluator,
		base: `{"id": "keyword", "type": "predefined", "config": {"whole_words": true}}`, head: `{"id": "keyword", "type": "predefined", "config": {"whole_word": true}}`, says: "did you mean `whole_words`?"},
	{name: "domain: the id of a built-in", more: map[string]string{slipTest: inDomain(`"expected": {"keywords": ["hell"]}`)}, file: slipEvaluator,
		base: `{"id": "keyword", "type": "predefined", "config": {"whole_words": true}}`, head: `{"id": "keywrd", "type": "predefined", "config": {"whole_words": true}}`, says: "did you mean `keyword`?"},
	{name: "domain: no expected pattern", more: map[string]string{slipEvaluator: `{"id": "mine", "extraction_regex": ".", "config": {"use_expected_as_pattern": true}}`}, file: slipTest,
		base: inDomain(`"evaluator_id": "mine", "expected": "b.e"`), head: inDomain(`"evaluator_id": "mine", "expected": null`), says: "`expected` must be a pattern"},
	{name: "domain: keywords next to what is expected", file: slipTest, base: inDomain(`"expected": {"keywords": ["hell"], "forbidden": ["hello"]}`), head: inDomain(`"expected": {"keywords": ["hell"]}, "forbidden": ["hello"]`), says: "error: `forbidden` is a field of `expected` and is not read here [misplaced-field]"},
	// evalcase
	{name: "evalcase: the list", file: slipFile, base: "evalcases: [{id: one, input: hello, checks: [{contains: zzz}]}]\n", head: "evalcase: [{id: one, input: hello, checks: [{contains: zzz}]}]\n", says: "did you mean `evalcases`"},
	{name: "evalcase: a field of the expected answer", file: slipFile, base: andJSON("exact", `{total: "13"}`), head: andJSON("exact", `{totl: "13"}`), says: "did you mean `totl`?"},
	{name: "evalcase: an empty pattern", file: slipFile, base: andJSON("regex", `{total: ^13}`), head: andJSON("regex", `{total: ""}`), says: "is empty, and every answer has that"},
	{name: "evalcase: no pattern", file: slipFile, base: andJSON("regex", `{total: ^13}`), head: andJSON("regex", `{total: null}`), says: "must be a string for regex"},
	{name: "evalcase: an expected answer that is no JSON", file: slipFile, base: andJSON("exact", `'{"total": "13"}'`), head: andJSON("exact", `'{"total": "13"'`), says: "begins as JSON and is none"},
	{name: "evalcase: checks next to the cases", file: slipFile, base: "evalcases: [{id: one, input: hello, expected_outcome: x, checks: [{contains: zzz}]}]\n",
		head: "evalcases: [{id: one, input: hello, expected_outcome: x}]\nchecks: [{contains: zzz}]\n", says: "2:1: error: `checks` is a field of a case and is not read here [misplaced-field]"},
	{name: "evalcase: checks under execution", file: slipFile, base: "evalcases: [{id: one, input: hello, expected_outcome: x, checks: [{contains: zzz}]}]\n",
		head: "evalcases:\n- {id: one, input: hello, expected_outcome: x, execution: {checks: [{contains: zzz}]}}\n", says: "error: `checks` is a field of a case and is not read here [misplaced-field]"},
	{name: "evalcase: checks under the execution of the file", file: slipFile, base: "evalcases: [{id: one, input: hello, expected_outcome: x, checks: [{contains: zzz}]}]\n",
		head: "execution: {checks: [{contains: zzz}]}\nevalcases:\n- {id: one, input: hello, expected_outcome: x}\n", says: "1:13: error: `checks` is a field of a case and is not read here [misplaced-field]"},
	// AgentV 4
	{name: "AgentV 4: rubrics next to the tests", file: slipFile, base: ofV4("{type: contains, value: zzz}"),
		head: ofV4("{type: contains, value: done}") + "rubrics: [says zzz]\n", says: "3:1: error: `rubrics` is a field of a test and is not read here [misplaced-field]"},
	{name: "AgentV 4: a threshold next to a test", file: slipFile, base: "tests:\n- {id: one, input: callit, execution: {threshold: 1}, assertions: [{type: contains, value: zzz}, {type: contains, value: done, weight: 9}]}\n",
		head: "tests:\n- {id: one, input: callit, threshold: 1, assertions: [{type: contains, value: zzz}, {type: contains, value: done, weight: 9}]}\n", says: "error: `threshold` is a field of `execution` and is not read here [misplaced-field]"},
	{name: "AgentV 4: the list", file: slipFile, base: ofV4("{type: contains, value: zzz}"), head: strings.Replace(ofV4("{type: contains, value: zzz}"), "tests", "testss", 1), says: "did you mean `tests`?"},
	{name: "AgentV 4: an assertion that nobody has", file: slipFile, base: ofV4("{type: contains, value: zzz}"), head: ofV4("{type: has-text, value: zzz}"), says: `there is no assertion "has-text"`},
	{name: "AgentV 4: a list in a list", file: slipFile, base: ofV4("{type: contains-any, value: [zzz, yyy]}"), head: ofV4("{type: contains-any, value: [[zzz, yyy]]}"), says: "is not a text"},
	{name: "AgentV 4: a number in a list", file: slipFile, base: ofV4("{type: contains-any, value: ['5', yyy]}"), head: ofV4("{type: contains-any, value: [5, yyy]}"), says: "is not a text"},
	{name: "AgentV 4: an empty text in a list", file: slipFile, base: ofV4("{type: icontains-any, value: [zzz, yyy]}"), head: ofV4("{type: icontains-any, value: [zzz, '']}"), says: "every answer contains that"},
	{name: "AgentV 4: a pattern", file: slipFile, base: ofV4("{type: regex, value: ^zzz}"), head: ofV4("{type: regex, value: ^(zzz}"), says: "the pattern ^(zzz of regex cannot be read"},
	{name: "AgentV 4: a flag", file: slipFile, base: ofV4("{type: regex, value: ^zzz, flags: i}"), head: ofV4("{type: regex, value: ^zzz, flags: x}"), says: "the flag 'x' is not one of JavaScript"},
	{name: "AgentV 4: an aggregator", file: slipFile, base: ofV4("{type: composite, assertions: [{type: contains, value: zzz}], aggregator: {type: threshold}}"),
		head: ofV4("{type: composite, assertions: [{type: contains, value: zzz}], aggregator: {type: treshold}}"), says: `there is no aggregator "treshold"`},
	{name: "AgentV 4: a weight that is a text", file: slipFile, base: ofV4("{type: composite, assertions: [{type: contains, value: zzz, name: a}, {type: contains, value: done, name: b}], aggregator: {type: weighted_average, weights: {a: 5}}}"),
		head: ofV4("{type: composite, assertions: [{type: contains, value: zzz, name: a}, {type: contains, value: done, name: b}], aggregator: {type: weighted_average, weights: {a: '5'}}}"), says: "is not a number from 0"},
	{name: "AgentV 4: the arguments of a step", file: slipFile, base: ofV4("{type: tool-trajectory, mode: any_order, expected: [{tool: search, args: {q: z}}]}"),
		head: ofV4("{type: tool-trajectory, mode: any_order, expected: [{tool: search, arg: {q: z}}]}"), says: "did you mean `args`?"},
	{name: "AgentV 4: arguments of a step that are a text", file: slipFile, base: ofV4("{type: tool-trajectory, mode: any_order, expected: [{tool: search, args: {q: z}}]}"),
		head: ofV4("{type: tool-trajectory, mode: any_order, expected: [{tool: search, args: q}]}"), says: "`args` of a step must be an object, or any"},
	// AgentV 5
	{name: "AgentV 5: an assertion about calls", file: slipFile, base: ofV5("assert: [{type: 'trajectory:tool-used', value: book}]"), head: ofV5("assert: [{type: 'trajectory:toolused', value: book}]"), says: "did you mean `trajectory:tool-used`?"},
	{name: "AgentV 5: the arguments of a call", file: slipFile, base: ofV5("assert: [{type: 'trajectory:tool-args-match', value: {name: search, args: {q: z}}}]"),
		head: ofV5("assert: [{type: 'trajectory:tool-args-match', value: {name: search, arg: {q: z}}}]"), says: "did you mean `args`?"},
	{name: "AgentV 5: the mode of a sequence", file: slipFile, base: ofV5("assert: [{type: 'trajectory:tool-sequence', value: {mode: exact, steps: [search, search]}}]"),
		head: ofV5("assert: [{type: 'trajectory:tool-sequence', value: {mode: exat, steps: [search]}}]"), says: "write in_order or exact"},
	{name: "AgentV 5: a number below 0", file: slipFile, base: ofV5("assert: [{type: 'trajectory:tool-used', value: {name: book, min: 1}}]"), head: ofV5("assert: [{type: 'trajectory:tool-used', value: {name: book, min: -1}}]"), says: "below 0"},
	{name: "AgentV 5: what all tests share", file: slipFile, base: "default_test: {assert: [{type: contains, value: zzz}]}\n" + ofV5("assert: [{type: contains, value: done}]"),
		head: "default_test: {asert: [{type: contains, value: zzz}]}\n" + ofV5("assert: [{type: contains, value: done}]"), says: "did you mean `assert`?"},
	{name: "AgentV 5: an assertion in place of a list", file: slipFile, base: "default_test: {assert: [{type: contains, value: zzz}]}\n" + ofV5("assert: [{type: contains, value: done}]"),
		head: "default_test: {assert: {type: contains, value: zzz}}\n" + ofV5("assert: [{type: contains, value: done}]"), says: "`assert` must be a list"},
	{name: "AgentV 5: the assertion of a turn", file: slipFile, base: ofV5("turns: [{input: hello, assert: [{type: contains, value: zzz}]}]"), head: ofV5("turns: [{input: hello, assert: {type: contains, value: zzz}}]"), says: "`assert` must be a list"},
	{name: "AgentV 5: the tests of a scenario", file: slipFile, base: "prompts: ['{{ input }}']\nproviders: [model]\nscenarios: [{config: [{vars: {input: hello}}], tests: [{id: one, assert: [{type: contains, value: zzz}]}]}]\n",
		head: "prompts: ['{{ input }}']\nproviders: [model]\nscenarios: [{config: [{vars: {input: hello}}], testss: [{id: one, assert: [{type: contains, value: zzz}]}]}]\n", says: "did you mean `tests`?"},
	{name: "AgentV 5: the criteria next to the tests", file: slipFile, base: ofV5("assert: [{type: contains, value: zzz}]"),
		head: ofV5("assert: [{type: contains, value: done}]") + "criteria: says zzz\n", says: "5:1: error: `criteria` is a field of a test and is not read here [misplaced-field]"},
	// promptfoo
	{name: "promptfoo: variables next to the tests", file: "promptfooconfig.yaml", base: "prompts: ['{{x}}']\nproviders: [model]\ntests: [{description: one, vars: {x: a}, assert: [{type: contains, value: zzz}]}]\n",
		head: "prompts: ['hello']\nproviders: [model]\nvars: {x: a}\ntests: [{description: one, assert: [{type: contains, value: hello}]}]\n", says: "3:1: error: `vars` is a field of a test and is not read here [misplaced-field]"},
	{name: "promptfoo: an assertion without its list", file: "promptfooconfig.yaml", base: "prompts: ['{{x}}']\nproviders: [model]\ntests: [{description: one, vars: {x: a}, assert: [{type: contains, value: zzz}]}]\n",
		head: "prompts: ['{{x}}']\nproviders: [model]\ntests: [{description: one, vars: {x: a}, type: contains, value: zzz}]\n", says: "error: `type` is a field of an assertion and is not read here [misplaced-field]"},
	{name: "promptfoo: the vendor of a provider", file: "promptfooconfig.yaml", base: "prompts: ['{{x}}']\nproviders: [model]\ntests: [{description: one, vars: {x: a}, assert: [{type: contains, value: zzz}]}]\n",
		head: "prompts: ['{{x}}']\nproviders: [model, 'opnai:chat:gpt-5']\ntests: [{description: one, vars: {x: a}, assert: [{type: contains, value: a}]}]\n", says: "did you mean `openai:chat:gpt-5`?"},
	{name: "evalcase: a list with checks", file: slipFile, base: "evalcases: [{id: one, input: hello, checks: [{contains: zzz}]}]\n", head: "- {id: one, input: hello, checks: [{contain: zzz}]}\n", says: "did you mean `contains`?"},
	{name: "AgentV 4: a list without its key", file: slipFile, base: ofV4("{type: contains, value: zzz}"), head: "- {id: one, input: callit, assertions: [{type: contains, value: zzz}]}\n", says: "write `tests:` above the list"},
	{name: "promptfoo: an assertion that is an object", file: "promptfooconfig.yaml", base: "prompts: ['{{x}}']\nproviders: [model]\ntests: [{description: one, vars: {x: a}, assert: [{type: contains, value: zzz}]}]\n",
		head: "prompts: ['{{x}}']\nproviders: [model]\ntests: [{description: one, vars: {x: a}, assert: {type: contains, value: zzz}}, {description: two, vars: {x: b}, assert: [{type: contains, value: b}]}]\n", says: "`assert` must be a list", never: "is empty"},
	{name: "evalcase: no checks", file: slipFile, base: "evalcases: [{id: one, input: hello, checks: [{contains: zzz}]}]\n", head: "evalcases: [{id: one, input: hello, checks: []}]\n", says: "it must have at least 1 item", never: "empty list"},
	{name: "promptfoo: an assertion in words", file: "promptfooconfig.yaml", base: "prompts: ['{{x}}']\nproviders: [model]\ntests: [{description: one, vars: {x: a}, assert: [{type: contains, value: zzz}]}]\n",
		head: "prompts: ['{{x}}']\nproviders: [model]\ntests: [{description: one, vars: {x: a}, assert: ['contains: zzz']}]\n", says: "an assertion in words is one of AgentV"},
	{name: "promptfoo: the bound of a number of words", file: "promptfooconfig.yaml", base: "prompts: ['{{x}}']\nproviders: [model]\ntests: [{description: one, vars: {x: a}, assert: [{type: word-count, value: {min: 3, max: 9}}]}]\n",
		head: "prompts: ['{{x}}']\nproviders: [model]\ntests: [{description: one, vars: {x: a}, assert: [{type: word-count, value: {minn: 3, max: 9}}]}]\n", says: "did you mean `min`?"},
	{name: "promptfoo: the name of a variable of env", file: "promptfooconfig.yaml", base: "prompts: ['{{x}}']\nproviders: [model]\nenv: {WORD: zzz}\ntests: [{description: one, vars: {x: a}, assert: [{type: contains, value: '{{ env.WORD }}'}]}]\n",
		head: "prompts: ['{{x}}']\nproviders: [model]\nenv: {WORD: zzz}\ntests: [{description: one, vars: {x: a}, assert: [{type: contains, value: '{{ env.WROD }}'}]}]\n", says: "did you mean `WORD`?"},
	{name: "promptfoo: the tests of a scenario", file: "promptfooconfig.yaml", base: "prompts: ['{{x}}']\nproviders: [model]\nscenarios: [{config: [{vars: {x: a}}], tests: [{description: one, assert: [{type: contains, value: zzz}]}]}]\n",
		head: "prompts: ['{{x}}']\nproviders: [model]\nscenarios: [{config: [{vars: {x: a}}], test: [{description: one, assert: [{type: contains, value: zzz}]}]}]\n", says: "did you mean `tests`?"},
	{name: "promptfoo: a chat that is no JSON", file: "p.txt", more: map[string]string{"promptfooconfig.yaml": "prompts: [file://p.txt]\nproviders: [model]\ntests: [{description: one, vars: {x: hello}, assert: [{type: not-contains, value: hello}]}]\n"},
		base: `[{"role": "user", "content": "{{x}}"}]`, head: `[{"role": "user", "content": "{{x}}"}`, says: "the prompt looks like JSON, and is none"},
}

// TestNoTypingErrorTurnsGreen writes a typing error into a definition of each format
// whose case fails: validate names the mistake, and no door calls it green, or calls
// nothing affected.
func TestNoTypingErrorTurnsGreen(t *testing.T) {
	t.Parallel()
	for _, s := range slips {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			gittest.Init(t, dir, "main")
			gittest.Commit(t, dir, s.files())
			if stdout, stderr, code := gavel(t, dir, "run"); code != exitGate {
				t.Fatalf("base ends with %d, want %d: a case fails\n%s%s", code, exitGate, stdout, stderr)
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(s.file)), []byte(s.head), 0o600); err != nil {
				t.Fatal(err)
			}
			wanted := exitUsage
			if s.isValid {
				wanted = exitPass
			}
			stdout, stderr, code := gavel(t, dir, "validate")
			if code != wanted || !strings.Contains(unwrapped(stdout+stderr), s.says) {
				t.Errorf("validate ends with %d, want %d and %q\n%s%s", code, wanted, s.says, stdout, stderr)
			}
			if s.never != "" && strings.Contains(stdout+stderr, s.never) {
				t.Errorf("validate says %q\n%s%s", s.never, stdout, stderr)
			}
			stdout, stderr, code = gavel(t, dir, "run", "--base", "HEAD")
			s.held(t, stdout+stderr, code)
		})
	}
}

// held reports what a door says of the head.
func (s slip) held(t *testing.T, said string, code int) {
	t.Helper()
	if code == exitPass || strings.Contains(said, "gate pass") || strings.Contains(said, "o affected cases") {
		t.Errorf("it ends with %d and is green\n%s", code, said)
	}
}

// unwrapped is a text without the breaks of its lines.
func unwrapped(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestNoTypingErrorOfAPullRequestTurnsGreen has one typing error of each format go through
// gavel pr, where base has a stored verdict.
func TestNoTypingErrorOfAPullRequestTurnsGreen(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"testcase: a check", "testcase: a file that is emptied", "promptval: a count", "domain: an evaluator without a pattern", "domain: a list without tests", "AgentV 4: the list", "AgentV 5: what all tests share"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range slips {
				if s.name != name {
					continue
				}
				j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
				j.replace(t, s.files(), map[string]string{s.file: s.head})
				stdout, stderr, code := j.run(t)
				s.held(t, stdout+stderr, code)
				if got := j.states()["gavel/verdict"]; strings.HasPrefix(got, "success") {
					t.Errorf("the status is %q", got)
				}
			}
		})
	}
}
