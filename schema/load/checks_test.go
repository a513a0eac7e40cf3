package load

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// checkedFiles has a definition of every dialect with checks next to it.
func checkedFiles() map[string]string {
	return map[string]string{
		"test_definitions/suite.yaml":         "- {id: one, expected_outcome: x, input: i, rubrics: [Is kind]}\n- {id: two, expected_outcome: x, input: i, rubrics: [Is kind]}\n",
		"test_definitions/suite.checks.yaml":  "two:\n  - contains: refund\n  - contains: days\n  - latency_ms: 5000\n",
		"test_definitions/lines.jsonl":        `{"id": "three", "expected_outcome": "x", "input": "i", "rubrics": ["Is kind"]}` + "\n",
		"test_definitions/lines.yaml":         "name: Lines\n",
		"test_definitions/lines.checks.yaml":  "three: [{is_json: {type: object, required: [a]}}, {is_json: true}]\n",
		"test_definitions/prompt.json":        `{"test_type": "agent", "name": "planner", "user_input": "x", "testing_prompt": "y"}`,
		"test_definitions/prompt.checks.yaml": `".": [{not_contains: sorry}]` + "\n",
		"test_definitions/talk.json":          `{"name": "Talk"}`,
		"test_definitions/talk.checks.yaml":   `".": [{regex: "(?i)bye"}, {cost_usd: 0.5}]` + "\n",

		"test_definitions/math/domain.json":             `{"id": "math", "name": "Math"}`,
		"test_definitions/math/level_1/sum.json":        `{"id": "sum", "name": "Sum", "prompt": "1+1?", "expected": {"keywords": ["2"]}, "evaluator_id": "keyword"}`,
		"test_definitions/math/level_1/sum.checks.yaml": `".": [{equals: "2"}, {icontains: two}, {any_of: [a, b]}, {all_of: [c]}, {json_path: {path: "$.n", value: {b: 1, a: 2.0}}}]` + "\n",
	}
}

func checksOf(c *schema.Case) *schema.Evaluator {
	i := slices.IndexFunc(c.Evaluators, func(ev schema.Evaluator) bool { return ev.Spec.Kind() == "checks" })
	if i < 0 {
		return nil
	}
	return &c.Evaluators[i]
}

func TestChecksOfEveryDialect(t *testing.T) {
	res := loadBy(t, schema.Settings{Definitions: []string{"test_definitions"}}, checkedFiles())
	for _, p := range res.Problems {
		t.Error(p)
	}
	got := map[string]any{}
	for _, c := range res.Cases {
		ev := checksOf(c)
		at := slices.IndexFunc(c.Inputs, func(in schema.Input) bool { return in.Role == "checks" })
		if at < 0 || c.Inputs[at].File != strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(c.Origin.File, ".json"), ".yaml"), ".jsonl")+".checks.yaml" {
			t.Errorf("%s: the file of checks is not an input: %v", c.Key, c.Inputs)
		}
		if ev == nil {
			got[c.Key] = nil
			continue
		}
		if ev.Name != "checks" || ev.Weight != 0 || ev.File != c.Inputs[at].File || len(c.Evaluators) < 2 {
			t.Errorf("%s: %+v, want the checks of the suite's file, with weight 0, next to another evaluator", c.Key, ev)
		}
		got[c.Key] = []any{ev.Spec, ev.Rule}
	}
	spec := func(list ...evaluator.Check) evaluator.Checks { return evaluator.Checks{Checks: list} }
	want := map[string]any{
		"suite#one": nil,
		"suite#two": []any{
			spec(evaluator.Check{ID: "contains", Kind: "contains", Text: "refund"}, evaluator.Check{ID: "contains 2", Kind: "contains", Text: "days"}, evaluator.Check{ID: "latency_ms", Kind: "latency_ms"}),
			schema.Rule{Required: []string{"contains", "contains 2", "latency_ms"}, Most: map[string]float64{"latency_ms": 5000}},
		},
		"lines#three": []any{
			spec(evaluator.Check{ID: "is_json", Kind: "is_json", Form: []byte(`{"required":["a"],"type":"object"}`)}, evaluator.Check{ID: "is_json 2", Kind: "is_json"}),
			schema.Rule{Required: []string{"is_json", "is_json 2"}},
		},
		"prompt": []any{spec(evaluator.Check{ID: "not_contains", Kind: "not_contains", Text: "sorry"}), schema.Rule{Required: []string{"not_contains"}, Unanimous: true}},
		"talk": []any{
			spec(evaluator.Check{ID: "regex", Kind: "regex", Text: "(?i)bye"}, evaluator.Check{ID: "cost_usd", Kind: "cost_usd"}),
			schema.Rule{Required: []string{"regex", "cost_usd"}, Most: map[string]float64{"cost_usd": 0.5}},
		},
		"math/level_1/sum": []any{
			spec(evaluator.Check{ID: "equals", Kind: "equals", Text: "2"}, evaluator.Check{ID: "icontains", Kind: "icontains", Text: "two"},
				evaluator.Check{ID: "any_of", Kind: "any_of", Texts: []string{"a", "b"}}, evaluator.Check{ID: "all_of", Kind: "all_of", Texts: []string{"c"}},
				evaluator.Check{ID: "json_path", Kind: "json_path", Text: "$.n", Value: []byte(`{"a":2,"b":1}`)}),
			schema.Rule{Required: []string{"equals", "icontains", "any_of", "all_of", "json_path"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
}

// TestPassSharesOfChecks: next to checks or alone, in a file of its own or in the case. The
// share of the settings wins.
func TestPassSharesOfChecks(t *testing.T) {
	files := map[string]string{
		"test_definitions/suite.yaml": "- {id: one, expected_outcome: x, input: i, rubrics: [Is kind]}\n- {id: two, expected_outcome: x, input: i}\n" +
			"- {id: three, expected_outcome: x, input: i, checks: [{pass: 1}, {contains: y}]}\n- {id: four, expected_outcome: x, input: i}\n",
		"test_definitions/suite.checks.yaml": "one: [{pass: 0.5}]\ntwo: [{contains: x}, {pass: 8 of 10}]\n",
	}
	type share struct {
		Share            float64
		Samples, Checked int
	}
	for _, tt := range []struct {
		settings map[string]schema.PassShare
		want     map[string]share
	}{
		{nil, map[string]share{"suite#one": {0.5, 4, 0}, "suite#two": {0.8, 10, 1}, "suite#three": {1, 4, 1}, "suite#four": {0, 4, 0}}},
		{map[string]schema.PassShare{"suite#t*": {Share: 0.9, Samples: 20}}, map[string]share{"suite#one": {0.5, 4, 0}, "suite#two": {0.9, 20, 1}, "suite#three": {0.9, 20, 1}, "suite#four": {0, 4, 0}}},
	} {
		res := loadBy(t, schema.Settings{Definitions: []string{"test_definitions"}, Iterations: 4, PassShares: tt.settings}, files)
		got := map[string]share{}
		for _, c := range res.Cases {
			checked := 0
			if checksOf(c) != nil {
				checked = 1
			}
			got[c.Key] = share{c.Policy.PassShare, c.Samples(), checked}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("shares of %v (-want +got), problems %v:\n%s", tt.settings, res.Problems, diff)
		}
	}
}

// TestChecksThatCannotBeRead cost the cases of the definition, which would pass
// without them.
func TestChecksThatCannotBeRead(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"no map", "- contains: x\n", "1:1: error: checks are a map from the local id"},
		{"no YAML", "one: [", "1:"},
		{"unknown case", "on: [{contains: x}]\n", `1:1: error: suite.yaml has no case "on"; did you mean`},
		{"one check alone", "one: {contains: x}\n", `1:1: error: the checks of "one" are not a list`},
		{"no checks", "one: []\n", `the checks of "one" are an empty list`},
		{"unknown check", "one: [{contain: x}]\n", "1:8: error: unknown field `contain`; did you mean `contains`?"},
		{"another spelling", "one: [{is-json: true}]\n", "1:8: error: unknown field `is-json`; did you mean `is_json`?"},
		{"without its unit", "one: [{latency: 5}]\n", "1:8: error: unknown field `latency`; did you mean `latency_ms`?"},
		{"another's check", "one: [{starts_with: x}]\n", "unknown field `starts_with`"},
		{"two in one", "one: [{contains: x, equals: y}]\n", "1:7: error: a check has one field, and this one has 2"},
		{"none in one", "one: [{}]\n", "a check has one field, and this one has 0"},
		{"a number", "one: [{contains: 5}]\n", "`contains` must be a string"},
		{"a pattern", "one: [{regex: \"(\"}]\n", "the pattern does not compile: missing closing ): `(`; write"},
		{"a long pattern", "one: [{regex: \"" + strings.Repeat("x", 5000) + "\"}]\n", "the pattern has 5000 bytes; it may have 4096"},
		{"is_json: false", "one: [{is_json: false}]\n", "demands nothing"},
		{"a schema", "one: [{is_json: {$ref: x}}]\n", "$: $ref \"x\" is not part of the schema"},
		{"a type", "one: [{is_json: {type: strin}}]\n", "$: unknown type \"strin\"; did you mean `string`?"},
		{"a keyword", "one: [{is_json: {properties: {a: {minimun: 1}}}}]\n", "$.properties.a: unknown keyword \"minimun\"; did you mean `minimum`?"},
		{"a value", "one: [{is_json: {required: a}}]\n", "$.required: got string, want array; write a schema"},
		{"no time at all", "one: [{latency_ms: 0}]\n", "`latency_ms` is 0"},
		{"no texts", "one: [{any_of: []}]\n", "`any_of` has 0 items; it must have at least 1"},
		{"a text alone", "one: [{all_of: x}]\n", "`all_of` must be a list, not a string"},
		{"no value", "one: [{json_path: {path: a}}]\n", "the field `value` is missing"},
		{"no path", "one: [{json_path: {path: \"a..b\", value: 1}}]\n", "the path \"a..b\" cannot be read; write names and indexes, such as items[0].name"},
		{"the same twice", "one: [{contains: x}]\none: [{contains: y}]\n", "2:1: error: "},
		{"no share", "one: [{pass: 11 of 10}]\n", "1:8: error: \"11 of 10\" is not a share of samples; write 8 of 10, with at most 1000 samples, or 0.8"},
		{"two shares", "one: [{pass: 0.5}, {pass: 8 of 10}]\n", "1:21: error: `pass` is set twice"},
		{"less than no usd", "one: [{cost_usd: -1}]\n", "`cost_usd` is -1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := loadBy(t, schema.Settings{Definitions: []string{"test_definitions"}}, map[string]string{
				"test_definitions/suite.yaml":        "- {id: one, expected_outcome: x, input: i}\n",
				"test_definitions/suite.checks.yaml": tt.text,
			})
			var said []string
			for _, p := range res.Problems {
				said = append(said, strings.TrimPrefix(p.String(), "test_definitions/"))
			}
			found := slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "suite.checks.yaml") && strings.Contains(s, tt.want) })
			left := slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, "suite.yaml:1:1: error: ") })
			if !found || !left || len(res.Cases) > 0 {
				t.Errorf("%d cases, problems %q, want one with %q", len(res.Cases), said, tt.want)
			}
		})
	}
	res := loadBy(t, schema.Settings{Definitions: []string{"test_definitions"}}, map[string]string{
		"test_definitions/lonely.checks.yaml": "one: [{contains: x}]\n",
		"test_definitions/.gavelignore":       "",
	})
	if len(res.Problems) != 1 || res.Problems[0].Rule != "no-definition" || res.Problems[0].Severity != schema.Warning {
		t.Errorf("checks without a definition: %v", res.Problems)
	}
}

// TestChangedChecksAffectTheirDefinition when they come, change and go, and
// nothing else.
func TestChangedChecksAffectTheirDefinition(t *testing.T) {
	files := fstest.MapFS{}
	for name, text := range checkedFiles() {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	settings := schema.Settings{Definitions: []string{"test_definitions"}}
	before, err := Scan(t.Context(), files, Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ file, want string }{
		{"test_definitions/suite.checks.yaml", "test_definitions/suite.yaml"},
		{"test_definitions/lines.checks.yaml", "test_definitions/lines.jsonl"},
		{"test_definitions/math/level_1/sum.checks.yaml", "test_definitions/math/level_1/sum.json"},
		{"test_definitions/talk.json", ""},
	} {
		gone := fstest.MapFS{}
		for name, f := range files {
			if name != tt.file {
				gone[name] = f
			}
		}
		change, err := before.Update(t.Context(), gone, Options{Settings: settings}, []string{tt.file})
		if err != nil {
			t.Fatal(err)
		}
		loaded := []string{}
		for _, d := range change.Result.Definitions {
			if len(d.Cases) > 0 {
				loaded = append(loaded, d.File)
			}
			for _, c := range d.Cases {
				if checksOf(c) != nil {
					t.Errorf("%s: %s still has checks", tt.file, c.Key)
				}
			}
		}
		if diff := cmp.Diff(strings.Fields(tt.want), loaded); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.file, diff)
		}
		whole, err := Scan(t.Context(), gone, Options{Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		if !change.Snapshot().Equal(whole) {
			t.Errorf("%s: the state after the change differs from a new one", tt.file)
		}
	}
}

// TestProblemsOfChecksFollowTheChange has checks that are broken, and fixed,
// while other files change too.
func TestProblemsOfChecksFollowTheChange(t *testing.T) {
	settings := schema.Settings{Definitions: []string{"test_definitions"}}
	const suite, checks = "test_definitions/suite.yaml", "test_definitions/suite.checks.yaml"
	const good, bad = "one: [{contains: x}]\n", "one: [{contains: 5}]\n"
	write := func(files fstest.MapFS, name, text string) fstest.MapFS {
		out := fstest.MapFS{}
		for n, f := range files {
			out[n] = f
		}
		if out[name] = (&fstest.MapFile{Data: []byte(text)}); text == "" {
			delete(out, name)
		}
		return out
	}
	files := write(fstest.MapFS{}, suite, "- {id: one, expected_outcome: x, input: i}\n")
	files = write(files, "test_definitions/other.yaml", "- {id: one, expected_outcome: x, input: i}\n")
	state, err := Scan(t.Context(), files, Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	for step, c := range []struct{ file, text string }{
		{checks, bad}, {"test_definitions/other.yaml", "- {id: two, expected_outcome: x, input: i}\n"}, {suite, ""},
		{suite, "- {id: one, expected_outcome: y, input: i}\n"}, {checks, good}, {suite, ""}, {checks, ""},
	} {
		files = write(files, c.file, c.text)
		change, err := state.Update(t.Context(), files, Options{Settings: settings}, []string{c.file})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := Scan(t.Context(), files, Options{Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		state = change.Snapshot()
		if !state.Equal(whole) {
			t.Errorf("step %d: the state after the change differs from a new one", step)
		}
		if diff := cmp.Diff(whole.Problems(), change.Problems()); diff != "" {
			t.Errorf("step %d: problems (-new +changed):\n%s", step, diff)
		}
	}
}
