package oracle

import (
	_ "embed" // for the answers
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// AgentVVersion is the version of AgentV that judged the suites.
const AgentVVersion = "4.42.4"

// A Suite is one of AgentV, whose target answers the same to every test.
type Suite struct {
	Answer string
	Tests  []map[string]any
	// Printed means that the target is a program that prints the answer.
	Printed bool
}

// Suites returns all suites of AgentV.
func Suites() []Suite {
	var all []Suite
	for _, output := range outputs {
		all = append(all, Suite{Answer: output, Tests: textTests()})
	}
	for _, answer := range []string{`{"a": 1, "b": "x", "c": {"d": [1, 2]}, "day": "2026-01-31", "n": null}`, `{"a": "1", "b": "X ", "c": {}}`, `[1]`, "none", "```json\n{\"a\": 1}\n```"} {
		all = append(all, Suite{Answer: answer, Tests: fieldTests()})
	}
	for _, tests := range [][]map[string]any{weightedTests(), compositeTests(), turnTests(), graderTests(), trialTests()} {
		all = append(all, Suite{Answer: "hello", Tests: tests})
	}
	for _, trace := range traces() {
		all = append(all, Suite{Answer: trace, Tests: trajectoryTests(), Printed: true})
	}
	return all
}

// Files returns the repository of suites: a file for each, and their targets.
func Files(suites []Suite) (map[string]string, error) {
	files, targets := map[string]string{}, list{}
	for i, suite := range suites {
		target := fmt.Sprintf("t%d", i)
		raw, err := json.Marshal(object{"execution": object{"target": target}, "tests": suite.Tests})
		if err != nil {
			return nil, err
		}
		files[SuiteFile(i)] = string(raw)
		if suite.Printed {
			said := fmt.Sprintf("said%d.txt", i)
			files[said], files["test_definitions/"+said] = suite.Answer, suite.Answer // wherever the program starts
			targets = append(targets, object{"name": target, "provider": "cli", "command": "cp " + said + " {OUTPUT_FILE}"})
			continue
		}
		targets = append(targets, object{"name": target, "provider": "mock", "response": suite.Answer})
	}
	raw, err := json.Marshal(object{"targets": targets})
	files[".agentv/targets.yaml"] = string(raw)
	return files, err
}

// SuiteFile returns the path of a suite's file.
func SuiteFile(i int) string { return fmt.Sprintf("test_definitions/s%d.eval.yaml", i) }

// tested gives each list of assertions a test, with fields of its own.
func tested(asserts []list, more ...object) []map[string]any {
	var tests []map[string]any
	for i, of := range asserts {
		test := object{"criteria": "x", "input": "hi", "assertions": of}
		if i < len(more) {
			maps.Copy(test, more[i])
		}
		test["id"] = fmt.Sprintf("r%d", i)
		tests = append(tests, test)
	}
	return tests
}

// textTests are tests of one assertion about a text, plain and negated.
func textTests() []map[string]any {
	var asserts []list
	both := func(a object) {
		asserts = append(asserts, list{a}, list{with(a, object{"negate": true})})
	}
	for _, kind := range []string{"contains", "icontains", "starts-with", "ends-with", "equals"} {
		for _, value := range []string{"hello", "HELLO", "h", "42", "ß", "日本", " ", "{\"a\":1}", "hello world", "hallo"} {
			both(object{"type": kind, "value": value})
		}
	}
	for _, kind := range []string{"contains-any", "contains-all", "icontains-any", "icontains-all"} {
		for _, value := range []list{{"hello"}, {"hello", "world"}, {"HELLO", "zzz"}, {"zzz"}} {
			both(object{"type": kind, "value": value})
		}
	}
	for _, pattern := range []object{
		{"value": "hello"}, {"value": "^hello$"}, {"value": "HELLO", "flags": "i"}, {"value": "^[a-z]+$"}, {"value": "\\d+"}, {"value": "\\s"}, {"value": "h(?=e)"}, {"value": "(?<=h)e"}, {"value": "\\p{L}+", "flags": "u"}, {"value": "\\u00e9"}, {"value": "^.{2}$"}, {"value": "^.*$", "flags": "s"}, {"value": "^two", "flags": "m"}, {"value": "[^\\x00-\\x7f]"}, {"value": "a|b"},
	} {
		both(with(object{"type": "regex"}, pattern))
	}
	both(object{"type": "is-json"})
	return tested(asserts)
}

// fieldTests compare fields of the answer.
func fieldTests() []map[string]any {
	expected := object{"a": 1, "b": "x", "c": object{"d": list{1, 2}}, "day": "31/01/2026", "n": nil}
	var asserts []list
	var more []object
	for _, fields := range []list{
		{object{"path": "a", "match": "exact"}}, {object{"path": "a"}}, {object{"path": "b", "match": "exact"}}, {object{"path": "c.d", "match": "exact"}}, {object{"path": "c.d[0]", "match": "exact"}}, {object{"path": "a", "match": "numeric_tolerance", "tolerance": 0.5}}, {object{"path": "day", "match": "date", "formats": list{"DD/MM/YYYY", "YYYY-MM-DD"}}},
		{object{"path": "a"}, object{"path": "b", "weight": 3}}, {object{"path": "a"}, object{"path": "zz", "required": false}}, {object{"path": "a"}, object{"path": "c.zz", "required": true}}, {object{"path": "a", "weight": 0}},
	} {
		for _, way := range []any{nil, "all_or_nothing", "weighted_average"} {
			asserts = append(asserts, list{with(object{"type": "field-accuracy", "fields": fields}, object{"aggregation": way})})
			more = append(more, object{"expected_output": list{object{"role": "assistant", "content": expected}}})
		}
	}
	return tested(asserts, more...)
}

// weightedTests have two assertions with weights and demands.
func weightedTests() []map[string]any {
	var asserts []list
	var more []object
	for _, of := range product(list{"hello", "zzz"}, list{"hell", "yyy"}, list{nil, 0, 0.5, 3}, list{nil, 0, 2}, list{nil, true}, list{nil, 0.2, 0.9}) {
		first := with(object{"type": "contains", "value": of[0]}, object{"weight": of[2], "required": of[4]})
		second := with(object{"type": "contains", "value": of[1]}, object{"weight": of[3]})
		asserts = append(asserts, list{first, second})
		own := object{}
		if of[5] != nil {
			own["execution"] = object{"threshold": of[5]}
		}
		more = append(more, own)
	}
	return tested(asserts, more...)
}

// compositeTests combine assertions.
func compositeTests() []map[string]any {
	var asserts []list
	for _, of := range product(list{"hello", "zzz"}, list{"hell", "yyy"}, list{nil, 0, 3}, list{
		object{"type": "weighted_average"}, object{"type": "weighted_average", "weights": object{"one": 3, "two": 1}}, object{"type": "threshold", "threshold": 0.5}, object{"type": "threshold", "threshold": 1},
	}, list{nil, true}) {
		first := with(object{"name": "one", "type": "contains", "value": of[0]}, object{"weight": of[2]})
		second := with(object{"name": "two", "type": "contains", "value": of[1]}, object{"required": of[4]})
		asserts = append(asserts, list{object{"name": "all", "type": "composite", "assertions": list{first, second}, "aggregator": of[3]}})
	}
	return tested(asserts)
}

// turnTests are conversations of two turns.
func turnTests() []map[string]any {
	var tests []map[string]any
	for i, of := range product(list{"hello", "zzz"}, list{"hell", "yyy"}, list{nil, "mean", "min", "max"}, list{nil, "continue", "stop"}) {
		turns := list{
			object{"input": "a", "assertions": list{object{"type": "contains", "value": of[0]}}},
			object{"input": "b", "assertions": list{object{"type": "contains", "value": of[1]}, object{"type": "contains", "value": "h"}}},
		}
		tests = append(tests, with(object{"id": fmt.Sprintf("r%d", i), "mode": "conversation", "criteria": "x", "input": "hi", "turns": turns}, object{"aggregation": of[2], "on_turn_failure": of[3]}))
	}
	return tests
}

// graderTests have programs that judge: what they print, their exit status, and what they
// say on stderr.
func graderTests() []map[string]any {
	var asserts []list
	for _, printed := range []string{
		"", "ok", "it has 5 pages", "true", "false", "1", "0.5", "null", "[]", "[1]", "{", "{}", `"x"`, " {\"score\": 1} \n", `{"score": 0}`, `{"score": 0.5}`, `{"score": 0.79}`, `{"score": 0.8}`, `{"score": 1}`, `{"score": 2}`, `{"score": -1}`, `{"score": "1"}`, `{"score": null}`, `{"score": true}`,
		`{"pass": true}`, `{"passed": true}`, `{"hits": ["a"], "misses": []}`, `{"score": 1, "assertions": [{"text": "a", "passed": false}]}`, `{"assertions": [{"text": "a", "passed": true}, {"text": "b", "passed": false}]}`, `{"assertions": [{"text": "a", "passed": true}]}`, `{"assertions": []}`, `{"assertions": [{"passed": true}]}`, `{"assertions": "x"}`, `{"assertions": [{"text": "a", "passed": "yes"}]}`, `{"score": 1, "details": {"a": 1}}`, `{"score": 1, "details": 7}`, `{"score": 1} trailing`, "log\n{\"score\": 0}",
	} {
		for _, ends := range []string{"", "; exit 1", "; exit 3", "; echo warn >&2", "; echo no >&2; exit 1"} {
			asserts = append(asserts, list{object{"type": "code-grader", "command": list{"sh", "-c", "cat >/dev/null; printf '%s' '" + printed + "'" + ends}}})
		}
	}
	return tested(asserts)
}

// trialTests try a test several times, which comes to the same each time.
func trialTests() []map[string]any {
	var asserts []list
	var more []object
	for _, of := range product(list{"hello", "zzz"}, list{"hell", "yyy"}, list{"pass_at_k", "mean", "confidence_interval"}, list{2, 3}, list{nil, 0.4}) {
		asserts = append(asserts, list{object{"type": "contains", "value": of[0]}, object{"type": "contains", "value": of[1]}})
		more = append(more, object{"execution": with(object{"trials": object{"count": of[3], "strategy": of[2]}}, object{"threshold": of[4]})})
	}
	return tested(asserts, more...)
}

// traces are outputs of a program with tool calls.
func traces() []string {
	var all []string
	called := func(tool string, input any) object { return object{"tool": tool, "input": input} }
	for _, calls := range []list{
		{}, {called("search", object{"q": "a"})}, {called("search", object{"q": "a", "n": 1})}, {called("search", object{"q": "a"}), called("fetch", object{"id": 7})}, {called("fetch", object{"id": 7}), called("search", object{"q": "a"})},
		{called("search", object{"q": "a"}), called("search", object{"q": "b"}), called("fetch", object{"id": 8})}, {with(called("search", object{"q": "a"}), object{"duration_ms": 30}), with(called("fetch", object{"id": 7}), object{"duration_ms": 300})}, {called("other", nil)},
	} {
		said := object{"role": "assistant", "content": "hello"}
		if len(calls) > 0 {
			said["tool_calls"] = calls
		}
		raw, err := json.Marshal(object{"output": list{said}, "token_usage": object{"input": 100, "output": 20}, "cost_usd": 0.003, "duration_ms": 1500})
		if err != nil {
			panic(err) // it is a literal
		}
		all = append(all, string(raw))
	}
	return all
}

// trajectoryTests compare calls, and what a conversation took.
func trajectoryTests() []map[string]any {
	var asserts []list
	add := func(fields ...object) {
		a := object{"type": "tool-trajectory"}
		for _, more := range fields {
			a = with(a, more)
		}
		asserts = append(asserts, list{a})
	}
	step := func(tool string, args object) object {
		if args == nil {
			return object{"tool": tool}
		}
		return object{"tool": tool, "args": args}
	}
	search, fetch := step("search", object{"q": "a"}), step("fetch", object{"id": 7})
	for _, of := range product(list{"in_order", "exact", "superset", "subset"}, list{nil, "ignore", "subset", "superset", list{"q"}}, list{
		list{step("search", nil)}, list{search}, list{step("search", object{"q": "a", "n": 1})}, list{search, fetch}, list{step("search", nil), step("fetch", nil)}, list{fetch, search}, list{search, search, fetch},
	}) {
		add(object{"mode": of[0], "args_match": of[1], "expected": of[2]})
	}
	for _, least := range []object{{"search": 1}, {"search": 2}, {"search": 1, "fetch": 1}, {"fetch": 1, "zzz": 1}} {
		add(object{"mode": "any_order", "minimums": least})
	}
	add(object{"mode": "any_order", "minimums": object{"search": 1}, "expected": list{step("fetch", nil)}})
	for _, mode := range []string{"in_order", "exact"} {
		for _, most := range []int{10, 50, 500} {
			add(object{"mode": mode, "args_match": "ignore", "expected": list{object{"tool": "search", "max_duration_ms": most}, object{"tool": "fetch", "max_duration_ms": 100}}})
		}
	}
	for _, bound := range []object{
		{"max_tool_calls": 0}, {"max_tool_calls": 1}, {"max_tool_calls": 2}, {"max_tokens": 119}, {"max_tokens": 120}, {"max_cost_usd": 0.002}, {"max_cost_usd": 0.003}, {"max_duration_ms": 1499}, {"max_duration_ms": 1500}, {"max_llm_calls": 0}, {"max_llm_calls": 1},
		{"max_tool_calls": 1, "max_tokens": 1}, {"max_tokens": 1000, "max_cost_usd": 1, "max_tool_calls": 0}, {"target_exploration_ratio": 0.5}, {"target_exploration_ratio": 1}, {"target_exploration_ratio": 0.6, "exploration_tolerance": 0.1},
	} {
		asserts = append(asserts, list{with(object{"type": "execution-metrics"}, bound)})
	}
	for _, of := range product(list{"latency", "cost", "token-usage"}, list{0.001, 0.003, 10, 2000}) {
		name := map[string]string{"latency": "threshold", "cost": "budget", "token-usage": "max_total"}[of[0].(string)]
		asserts = append(asserts, list{object{"type": of[0], name: of[1]}})
	}
	return tested(asserts)
}

//go:embed answers/agentv.jsonl
var judged string

// RecordedSuites returns AgentV's answers to the tests of each suite, by their ids. The
// error says that the suites are other ones than AgentV judged.
func RecordedSuites(suites []Suite) ([]map[string]string, error) {
	return decoded[map[string]string](judged, SuitesHead(suites), len(suites))
}

// SuitesHead returns the first line of the answers to suites.
func SuitesHead(suites []Suite) string {
	files, err := Files(suites)
	if err != nil {
		return err.Error()
	}
	var asked strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&asked, "%s\n%s\n", name, files[name])
	}
	return head("agentv "+AgentVVersion, asked.String())
}
