package oracle

import (
	_ "embed" // for the answers
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Structure is a promptfooconfig.json in which parts of the file act on each other. The
// descriptions of its tests are unique, and a test may become several rows.
type Structure struct {
	Name   string
	Config map[string]any
	// Files are next to it.
	Files map[string]string `json:",omitempty"`
}

// object is short for the objects of a config.
type object = map[string]any

// list is short for its lists.
type list = []any

// Structures returns all structures.
func Structures() []Structure {
	return slices.Concat([]Structure{sets(), variables(), transforms(), choices(), templated()}, defaults(), scenarios(), []Structure{scored(), keeping(), keepingMore()})
}

// config returns a file whose provider repeats the prompt.
func config(tests list, more object) map[string]any {
	all := object{"prompts": list{"{{o}}"}, "providers": list{"echo"}, "tests": tests}
	for key, value := range more {
		all[key] = value
	}
	return all
}

// named gives tests their descriptions.
func named(tests list) list {
	for i, test := range tests {
		if t, isTest := test.(object); isTest {
			t["description"] = fmt.Sprintf("r%dx", i)
		}
	}
	return tests
}

func contains(value string) object { return object{"type": "contains", "value": value} }

// with returns an object with more fields; nil is none.
func with(base object, more object) object {
	out := object{}
	for _, fields := range []object{base, more} {
		for key, value := range fields {
			if value != nil {
				out[key] = value
			}
		}
	}
	return out
}

// product returns all choices of one item from each list; the last list changes fastest.
func product(lists ...list) []list {
	all := []list{{}}
	for _, items := range lists {
		var more []list
		for _, chosen := range all {
			for _, item := range items {
				more = append(more, append(slices.Clone(chosen), item))
			}
		}
		all = more
	}
	return all
}

// sets are sets of assertions with thresholds and weights, next to another assertion.
func sets() Structure {
	var tests list
	for _, of := range product(list{nil, 0, 0.25, 0.5, 0.75, 1}, list{nil, 0, 3}, list{contains("hello"), contains("zzz")}, list{contains("hell"), contains("yyy")}, list{nil, contains("hello"), contains("xxx")}, list{nil, 0.5}) {
		least, weight, whole := of[0], of[1], of[5]
		first, _ := of[2].(object)
		asserts := list{with(object{"type": "assert-set", "assert": list{with(first, object{"weight": weight}), of[3]}}, object{"threshold": least})}
		if other, ok := of[4].(object); ok {
			asserts = append(asserts, with(other, object{"weight": weight}))
		}
		tests = append(tests, with(object{"vars": object{"o": "hello"}, "assert": asserts}, object{"threshold": whole}))
	}
	return Structure{Name: "sets", Config: config(named(tests), nil)}
}

// defaults are files with a defaultTest, each with tests that have parts of their own.
func defaults() []Structure {
	var all []Structure
	for i, shared := range []any{
		object{"assert": list{contains("hello")}},
		object{"assert": list{contains("zzz")}},
		object{"assert": list{contains("hello"), contains("zzz")}, "threshold": 0.5},
		object{"vars": object{"o": "hello", "p": "shared"}},
		object{"vars": object{"o": list{"hello", "zzz"}}},
		object{"options": object{"prefix": "zzz ", "suffix": " yyy"}},
		object{"options": object{"transform": "output.toUpperCase()"}},
		object{"threshold": 0.5},
		object{"threshold": 0, "assert": list{contains("zzz")}},
		object{"metadata": object{"team": "a"}, "assert": list{object{"type": "assert-set", "threshold": 0.5, "assert": list{contains("hello"), contains("zzz")}}}},
		object{"assert": list{with(contains("zzz"), object{"weight": 0})}},
		object{"assert": list{with(contains("{{p}}"), nil)}, "vars": object{"p": "hell"}},
	} {
		var tests list
		for _, of := range product(list{object{"o": "hello"}, object{"o": "hello", "p": "own"}, object{"o": list{"hello", "own"}}},
			list{nil, list{contains("hell")}, list{contains("nope")}, list{contains("hell"), contains("nope")}},
			list{object{}, object{"threshold": 0.4}, object{"options": object{"suffix": " hello"}}, object{"options": object{"disableDefaultAsserts": true}}, object{"metadata": object{"a": 1}}}) {
			more, _ := of[2].(object)
			tests = append(tests, with(object{"vars": of[0], "assert": of[1]}, more))
		}
		all = append(all, Structure{Name: fmt.Sprintf("defaults-%d", i), Config: config(named(tests), object{"defaultTest": shared})})
	}
	return all
}

// scenarios are files with scenarios, whose configs multiply their tests.
func scenarios() []Structure {
	var all []Structure
	for i, shared := range []any{nil, object{"assert": list{contains("h")}}, object{"vars": object{"q": "shared"}, "options": object{"prefix": "P "}}} {
		for j, configs := range []list{
			{object{"vars": object{"o": "hello"}}},
			{object{"vars": object{"o": "hello", "q": "c"}}, object{"vars": object{"o": "world"}}},
			{object{"vars": object{"o": list{"hello", "other"}}}, object{"vars": object{"o": "hello"}, "assert": list{contains("ell")}}},
			{object{"vars": object{"o": "hello"}, "options": object{"suffix": " S"}, "threshold": 0.5}},
		} {
			tests := list{
				object{"assert": list{contains("hello")}},
				object{"vars": object{"q": "t"}, "assert": list{contains("{{q}}")}},
				object{"vars": object{"o": "own"}, "assert": list{contains("own")}},
				object{"assert": list{contains("hello"), contains("zzz")}, "threshold": 0.5},
				object{"options": object{"prefix": "T "}, "assert": list{contains("T ")}},
				object{"metadata": object{"a": 1}},
			}
			config := object{"prompts": list{"{{o}} {{q}}"}, "providers": list{"echo"}, "scenarios": list{object{"config": configs, "tests": named(tests)}}}
			if shared != nil {
				config["defaultTest"] = shared
			}
			all = append(all, Structure{Name: fmt.Sprintf("scenarios-%d-%d", i, j), Config: config})
		}
	}
	return all
}

// variables are values of each kind, in lists that multiply their test or do not, and in
// one another.
func variables() Structure {
	var tests list
	for _, vars := range []object{
		{"o": "hello"}, {"o": list{"hello", "world"}}, {"o": list{"hello", "world"}, "p": list{"1", "2"}}, {"o": list{1, 2}}, {"o": list{"a", 1}}, {"o": list{object{"k": "hello"}}}, {"o": list{}}, {"o": list{list{"hello"}}}, {"o": list{"hello"}},
		{"o": "{{p}}", "p": "hello"}, {"o": "{{p}} {{q}}", "p": "hello", "q": "{{r}}", "r": "deep"}, {"o": "{{o}}"}, {"o": "{{p}}", "p": "{{o}}"}, {"o": "{{p | upper}}", "p": "hello"}, {"o": "{{nope}} hello"}, {"o": "a {{p}}", "p": list{"hello", "b"}},
		{"o": 3}, {"o": 2.50}, {"o": true}, {"o": nil}, {"o": object{"k": "hello"}}, {"o": object{"k": "{{p}}"}, "p": "hello"}, {"o": ""}, {"o": " hello "}, {"o": "hello\n"}, {"o": "{% if p %}hello{% endif %}", "p": true}, {"o": "{# c #}hello"}, {"o": "{% raw %}{{p}}{% endraw %}"}, {"o": "$& hello $1"}, {"o": "{{p}}", "p": "$& hello $1"}, {"o": "hello", "unused": list{"a", "b", "c"}},
	} {
		for _, assert := range []object{contains("hello"), object{"type": "equals", "value": "hello"}, contains("{{p}}"), object{"type": "equals", "value": "{{o}}"}, object{"type": "equals", "value": "{{o.k}}"}} {
			for _, options := range []any{nil, object{"disableVarExpansion": true}} {
				tests = append(tests, with(object{"vars": vars, "assert": list{assert}}, object{"options": options}))
			}
		}
	}
	return Structure{Name: "variables", Config: config(named(tests), nil)}
}

// transforms change the answer before all assertions, or before one.
func transforms() Structure {
	code := list{nil, "output.toUpperCase()", "output + '!'", "return output.slice(1)", "output.length", "({k: output})", "JSON.stringify({o: output})", "output.split('')"}
	var tests list
	for _, of := range product(code, code, list{contains("hello"), contains("HELLO"), object{"type": "equals", "value": "hello!"}, object{"type": "is-json"}, object{"type": "javascript", "value": "output.length > 4"}}) {
		assert, _ := of[2].(object)
		test := object{"vars": object{"o": "hello"}, "assert": list{with(assert, object{"transform": of[1]})}}
		if of[0] != nil {
			test["options"] = object{"transform": of[0]}
		}
		tests = append(tests, test)
	}
	return Structure{Name: "transforms", Config: config(named(tests), nil)}
}

// choices are several prompts and providers, of which tests name some.
func choices() Structure {
	var tests list
	for _, more := range []object{
		{}, {"prompts": list{"first"}}, {"prompts": list{"second"}}, {"prompts": list{"first", "second"}}, {"providers": list{"echo"}}, {"prompts": list{"f*"}}, {"options": object{"prefix": "P "}}, {"options": object{"repeat": 2}},
	} {
		for _, assert := range []object{contains("hello"), contains("two"), contains("P "), object{"type": "equals", "value": "hello"}} {
			tests = append(tests, with(object{"vars": object{"o": "hello"}, "assert": list{assert}}, more))
		}
	}
	return Structure{Name: "choices", Config: config(named(tests), object{"prompts": list{object{"raw": "{{o}}", "label": "first"}, object{"raw": "{{o}} two", "label": "second"}, "three {{o}}"}})}
}

// templated are assertions from templates of the file.
func templated() Structure {
	ref := func(name string) object { return object{"$ref": "#/assertionTemplates/" + name} }
	tests := list{
		object{"vars": object{"o": "hello"}, "assert": list{ref("good")}},
		object{"vars": object{"o": "hello"}, "assert": list{ref("bad")}},
		object{"vars": object{"o": "hello"}, "assert": list{ref("good"), ref("bad")}, "threshold": 0.5},
		object{"vars": object{"o": "hello", "p": "ell"}, "assert": list{ref("filled")}},
		object{"vars": object{"o": "hello", "p": "nope"}, "assert": list{ref("filled")}},
		object{"vars": object{"o": "hello"}, "assert": list{object{"type": "assert-set", "threshold": 0.5, "assert": list{ref("good"), ref("bad")}}}},
	}
	return Structure{Name: "templates", Config: config(named(tests), object{"assertionTemplates": object{"good": contains("hello"), "bad": contains("zzz"), "filled": contains("{{p}}")}})}
}

// scored are tests whose results a function of a file makes.
func scored() Structure {
	const js = `const mean = (xs) => xs.length ? xs.reduce((a, b) => a + b, 0) / xs.length : 0;
module.exports = {
  func: (scores, context) => ({pass: true, score: mean(Object.values(scores)), reason: "mean"}),
  a: (scores) => ({pass: scores.a >= 0.5, score: scores.a === undefined ? 0.125 : scores.a, reason: "a"}),
  names: (scores) => ({pass: Object.keys(scores).length > 1, score: Object.keys(scores).sort().join().length / 32, reason: "names"}),
  parts: (scores, context) => ({pass: context.componentResults.every((c) => c.pass), score: mean(context.componentResults.map((c) => c.score)), reason: "parts"}),
  count: (scores, context) => ({pass: context.componentResults.length > 2, score: context.componentResults.length / 16, reason: "count"}),
  told: (scores, context) => ({pass: context.componentResults[0].assertion !== undefined && context.componentResults[0].assertion.type === "contains", score: context.componentResults.filter((c) => c.assertion && c.assertion.metric).length / 8, reason: "told"}),
  least: (scores, context) => ({pass: context.threshold === undefined || context.threshold < 0.5, score: context.threshold === undefined ? 0.25 : context.threshold, reason: "least"}),
  set: (scores, context) => ({pass: context.parentAssertionSet === undefined, score: 0.5, reason: "set"}),
  fails: () => ({pass: false, score: 1, reason: "fails"}),
  much: () => ({pass: true, score: 3, reason: "much"}),
  throws: () => { throw new Error("no"); },
  number: () => 0.5,
  bare: () => ({pass: true, score: 0.5}),
  yes: () => ({pass: "yes", score: 0.5, reason: "yes"}),
};
`
	const py = `def func(scores, context):
    return {"pass": len(scores) > 0, "score": min([1, *scores.values()]), "reason": "min"}

def parts(scores, context):
    return {"pass": all(c["pass"] for c in context["componentResults"]), "score": context.get("threshold") or 0, "reason": "parts"}
`
	metric := func(assert object, name string, weight any) object {
		return with(assert, object{"metric": name, "weight": weight})
	}
	var tests list
	for _, of := range product(
		list{"js", "js:a", "js:names", "js:parts", "js:count", "js:told", "js:least", "js:set", "js:fails", "js:much", "js:throws", "js:number", "js:bare", "js:yes", "py", "py:parts"},
		list{
			list{metric(contains("hello"), "a", nil)}, list{contains("zzz")}, list{metric(contains("hello"), "a", nil), metric(contains("zzz"), "a", 3)}, list{metric(contains("zzz"), "{{m}}", nil), metric(contains("hell"), "b", nil)},
			list{object{"type": "assert-set", "metric": "b", "threshold": 0.5, "assert": list{metric(contains("hello"), "a", nil), metric(contains("zzz"), "c", 3)}}, metric(contains("zzz"), "a", 0)}, list{metric(object{"type": "javascript", "value": "({pass: false, score: 0.75, reason: 'r'})"}, "a", nil)}, nil,
		},
		list{nil, 0, 0.75},
	) {
		name, function, _ := strings.Cut(of[0].(string), ":")
		file := "file://score." + name
		if function != "" {
			file += ":" + function
		}
		tests = append(tests, with(object{"vars": object{"o": "hello", "m": "a"}, "assertScoringFunction": file}, object{"assert": of[1], "threshold": of[2]}))
	}
	return Structure{Name: "scored", Config: config(named(tests), nil), Files: map[string]string{"score.js": js, "score.py": py}}
}

// keeping are tests whose answers later ones have, in their variables, prompts and
// assertions.
func keeping() Structure {
	keeps := func(name string) object { return object{"storeOutputAs": name} }
	tests := list{
		object{"vars": object{"o": "early {{first}}"}, "assert": list{object{"type": "equals", "value": "early {{first}}"}}},
		object{"vars": object{"o": "hello"}, "options": keeps("first"), "assert": list{contains("hello")}},
		object{"vars": object{"o": "then {{first}}"}, "assert": list{object{"type": "equals", "value": "then hello"}}},
		object{"vars": object{"o": "then {{first}}"}, "options": keeps("second"), "assert": list{object{"type": "equals", "value": "then {{first}}"}, contains("{{first}}"), object{"type": "javascript", "value": "output === 'then ' + context.vars.first"}}},
		object{"vars": object{"o": "last {{second}} and {{first}}"}, "assert": list{object{"type": "equals", "value": "last then hello and hello"}, object{"type": "starts-with", "value": "last {{second}}"}, object{"type": "levenshtein", "value": "last {{second}}", "threshold": 10}}},
		object{"vars": object{"o": "own {{first}}", "first": "mine"}, "assert": list{object{"type": "equals", "value": "own hello"}}},
		object{"vars": object{"o": "own {{first}}", "first": "mine"}, "assert": list{object{"type": "equals", "value": "own mine"}}},
		object{"vars": object{"o": "a \"quoted\"\nline $& $1"}, "options": keeps("odd"), "assert": list{contains("quoted")}},
		object{"vars": object{"o": "{{odd}}"}, "assert": list{object{"type": "equals", "value": "a \"quoted\"\nline $& $1"}, contains("{{odd}}"), object{"type": "javascript", "value": "output === context.vars.odd"}}},
		object{"vars": object{"o": "loud"}, "options": object{"storeOutputAs": "loud", "transform": "output.toUpperCase()"}, "assert": list{object{"type": "equals", "value": "LOUD"}}},
		object{"vars": object{"o": "so {{loud}}"}, "assert": list{object{"type": "equals", "value": "so LOUD"}}},
		object{"vars": object{"o": "{{odd}}"}, "options": object{"prefix": "P {{loud}} ", "suffix": " S"}, "assert": list{contains("P LOUD a"), contains("zzz")}, "threshold": 0.5},
		object{"vars": object{"o": "again"}, "options": keeps("first"), "assert": list{object{"type": "equals", "value": "zzz"}}},
		object{"vars": object{"o": "now {{first}}"}, "assert": list{object{"type": "equals", "value": "now again"}}},
		object{"vars": object{"o": list{"one", "two {{each}}", "three {{each}}"}}, "options": keeps("each"), "assert": list{object{"type": "javascript", "value": "output.length > 3"}}},
		object{"vars": object{"o": "{{each}}"}, "assert": list{object{"type": "equals", "value": "three two one"}}},
		object{"vars": object{"o": "metric {{first}}"}, "assertScoringFunction": "file://score.js", "assert": list{with(contains("metric {{first}}"), object{"metric": "a"})}},
		object{"vars": object{"o": "set {{first}}"}, "assert": list{object{"type": "assert-set", "threshold": 0.5, "assert": list{contains("set {{first}}"), contains("zzz {{first}}")}}}},
		object{"vars": object{"o": "nothing of it"}, "assert": list{object{"type": "equals", "value": "nothing of it"}}},
	}
	return Structure{Name: "keeping", Config: config(named(tests), nil), Files: map[string]string{"score.js": "module.exports = (scores) => ({pass: scores.a === 1, score: scores.a, reason: 'a'});\n"}}
}

// keepingMore has answers to several prompts, some of which are chats.
func keepingMore() Structure {
	tests := list{
		object{"vars": object{"o": "hello"}, "prompts": list{"first"}, "options": object{"storeOutputAs": "got"}, "assert": list{contains("hello")}},
		object{"vars": object{"o": "then {{got}}"}, "assert": list{contains("then")}},
		object{"vars": object{"o": "say \"{{got}}\""}, "prompts": list{"second"}, "assert": list{contains("hello")}},
		object{"vars": object{"o": "plain"}, "prompts": list{"third"}, "assert": list{contains("plain hello")}},
	}
	return Structure{Name: "keeping-more", Config: config(named(tests), object{"prompts": list{object{"raw": "{{o}}", "label": "first"}, object{"raw": "{{o}} two", "label": "second"}, object{"raw": "{{o}} {{got}}", "label": "third"}}})}
}

// Tests returns the tests of the file as JSON, by their descriptions.
func (s Structure) Tests() map[string]string {
	tests, _ := s.Config["tests"].(list)
	if scenarios, has := s.Config["scenarios"].(list); has {
		scenario, _ := scenarios[0].(object)
		tests, _ = scenario["tests"].(list)
	}
	all := map[string]string{}
	for i, test := range tests {
		raw, _ := json.Marshal(test) // JSON values
		all[fmt.Sprintf("r%dx", i)] = string(raw)
	}
	return all
}

//go:embed answers/structures.jsonl
var structured string

// RecordedStructures returns promptfoo's answers to the rows of each structure: by the
// description of their test, sorted. The error says that the structures are other ones
// than promptfoo judged.
func RecordedStructures(structures []Structure) ([]map[string][]string, error) {
	return decoded[map[string][]string](structured, StructuresHead(structures), len(structures))
}

// StructuresHead returns the first line of the answers to structures.
func StructuresHead(structures []Structure) string {
	raw, err := json.Marshal(structures)
	if err != nil {
		return err.Error()
	}
	return Head(raw)
}
