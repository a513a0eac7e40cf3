package domain_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/domain"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

const (
	oneFile    = "t/d/level_1/one.json"
	domainFile = "t/d/domain.json"
)

// changed loads the seed with changes, and returns the problems and the ids of the
// tests that became cases.
func changed(t *testing.T, settings schema.Settings, changes map[string]string) (problems, cases []string, res *domain.Result) {
	t.Helper()
	texts := seed()
	maps.Copy(texts, changes)
	res = load(t, texts, settings)
	for _, p := range schema.SortProblems(res.Problems) {
		problems = append(problems, p.String())
	}
	for _, d := range res.Definitions {
		for _, test := range d.Tests {
			if test.Case != nil {
				cases = append(cases, test.ID)
			}
		}
	}
	slices.Sort(cases)
	return problems, cases, res
}

func wants(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestUnknownToolIsOneError has a domain name an unknown tool: one error, and only a
// test that names or expects the tool is lost.
func TestUnknownToolIsOneError(t *testing.T) {
	problems, cases, _ := changed(t, schema.Settings{}, map[string]string{
		domainFile:               `{"id": "d", "name": "D", "evaluator_id": "keyword", "tool_ids": ["find", "search"]}`,
		"t/d/level_1/names.json": `{"id": "names", "name": "N", "prompt": "?", "tool_ids": ["search"], "expected": {"keywords": ["x"]}}`,
		"t/d/level_1/wants.json": `{"id": "wants", "name": "W", "prompt": "?", "evaluator_id": "tool_call", "expected": {"tools": ["search"]}}`,
		"t/d/level_1/other.json": `{"id": "other", "name": "O", "prompt": "?", "evaluator_id": "tool_call", "expected": {"tools": ["find"]}}`,
	})
	wants(t, "problems", problems,
		`t/d/domain.json:1:74: error: unknown tool "search"; add tools/search.json`,
		`t/d/level_1/names.json:1:58: error: unknown tool "search"; add tools/search.json`,
		"t/d/level_1/wants.json:1:74: error: the tool \"search\" is expected, and it cannot be offered; fix the error at the `tool_ids` that list it, or in its file",
	)
	wants(t, "cases", cases, "one", "other")
}

// TestDisplayFieldsNeverVoidADomain has mistakes in fields for people.
func TestDisplayFieldsNeverVoidADomain(t *testing.T) {
	for _, tt := range []struct{ name, text string }{
		{"misspelt name", `{"id": "d", "nmae": "D", "evaluator_id": "keyword"}`},
		{"a number", `{"id": "d", "name": 5, "evaluator_id": "keyword"}`},
		{"a list", `{"id": "d", "name": "D", "icon": ["chat"], "evaluator_id": "keyword"}`},
		{"misspelt", `{"id": "d", "name": "D", "colour": "red", "evaluator_id": "keyword"}`},
	} {
		problems, cases, _ := changed(t, schema.Settings{}, map[string]string{domainFile: tt.text})
		if len(problems) == 0 || len(cases) != 1 {
			t.Errorf("%s: the problems are %q and the cases %q, want a problem and the case", tt.name, problems, cases)
		}
	}
	_, cases, _ := changed(t, schema.Settings{}, map[string]string{domainFile: `{"id": "d", "name": "D", "evaluator_id": 5}`})
	wants(t, "cases of a domain with another mistake", cases)
}

// TestUnknownEvaluatorOfADomain leaves the tests that name their own.
func TestUnknownEvaluatorOfADomain(t *testing.T) {
	_, cases, _ := changed(t, schema.Settings{}, map[string]string{
		domainFile:             `{"id": "d", "name": "D", "evaluator_id": "keywords"}`,
		"t/d/level_1/own.json": `{"id": "own", "name": "O", "prompt": "?", "evaluator_id": "keyword", "expected": {"keywords": ["x"]}}`,
	})
	wants(t, "cases", cases, "own")
}

// TestSameToolsFolderTwice names one folder in several ways.
func TestSameToolsFolderTwice(t *testing.T) {
	settings := schema.Settings{Tools: []string{"other", "other/", "./other", "tools", "t/tools"}}
	problems, _, _ := changed(t, settings, map[string]string{"other/more.json": `{"id": "more", "function": {"name": "more"}}`})
	wants(t, "problems", problems)
}

// TestExportsLeaveFields ignores what exports leave, without a warning.
func TestExportsLeaveFields(t *testing.T) {
	for _, tools := range []string{"null", "[]"} {
		problems, cases, _ := changed(t, schema.Settings{}, map[string]string{
			domainFile:           `{"id": "d", "name": "D", "evaluator_id": "keyword", "path": "/srv/d", "tests": {"1": []}}`,
			oneFile:              with(`"path": "/srv/one", "icd_target": "A00", "tools": ` + tools + `, "expected": {"keywords": ["x"]}`),
			"t/tools/order.json": `{"id": "order", "path": "/srv/order", "function": {"name": "order"}}`,
		})
		wants(t, "problems", problems)
		wants(t, "cases", cases, "one")
	}
	problems, cases, _ := changed(t, schema.Settings{}, map[string]string{oneFile: with(`"tools": [{"name": "find"}], "expected": {"keywords": ["x"]}`)})
	wants(t, "problems", problems, "t/d/level_1/one.json:1:48: error: `tools` is filled, and tools inside a test are not read; define each in tools/ and name it in `tool_ids`")
	wants(t, "cases", cases)
}

// TestNoMock treats a tool with no_mock as one without a mock.
func TestNoMock(t *testing.T) {
	c := one(t, map[string]string{"t/tools/find.json": `{"id": "find", "function": {"name": "find"}, "mock_response": "found", "no_mock": true}`})
	if c.Tools[0].Mock != nil {
		t.Errorf("the mock is %+v, want none", c.Tools[0].Mock)
	}
}

// TestKeywordLists notes lists that look like alternatives, and refuses a word that
// is wanted and forbidden.
func TestKeywordLists(t *testing.T) {
	const five = `"keywords": ["hi", "hello", "hey", "good day", "welcome"]`
	note := "t/d/level_1/one.json:1:61: note: 5 short keywords are listed without `match`, so that 0.7 of them must be there; add \"match\": \"any\" if they are alternatives, or \"match\": \"all\""
	for _, tt := range []struct {
		expected string
		want     []string
	}{
		{five, []string{note}},
		{five + `, "match": "any"`, nil},
		{five + `, "match": 2`, nil},
		{`"keywords": ["hi", "hello", "hey", "good day"]`, nil},
		{`"keywords": ["hi", "hello", "hey", "good day", "what a wonderful morning it is"]`, nil},
		{`"keywords": ["hi", "sorry"], "forbidden": [" Sorry"]`, []string{
			`t/d/level_1/one.json:1:80: error: the keyword "sorry" is forbidden, too; remove it from one of the two lists`,
		}},
	} {
		problems, _, _ := changed(t, schema.Settings{}, map[string]string{oneFile: with(`"expected": {` + tt.expected + `}`)})
		wants(t, tt.expected, problems, tt.want...)
	}
	problems, _, _ := changed(t, schema.Settings{}, map[string]string{
		oneFile: with(`"expected": {` + five + `}`), "t/evaluators/keyword.json": `{"id": "keyword", "type": "predefined", "config": {"match": "any"}}`,
	})
	wants(t, "match of the evaluator", problems)
}

// TestExpectedWithoutAnObject says how an expected text, number or list is written as the
// object of its evaluator.
func TestExpectedWithoutAnObject(t *testing.T) {
	for _, tt := range []struct{ evaluator, expected, want string }{
		{"two_pass", `4`, `write {"answer": "4"}`},
		{"two_pass", `1.5`, `write {"answer": "1.5"}`},
		{"two_pass", `"a \"b\""`, `write {"answer": "a \"b\""}`},
		{"keyword", `"hello"`, `write {"keywords": ["hello"]}`},
		{"keyword", `["a", "b"]`, `write {"keywords": ["a", "b"]}`},
		{"tool_call", `"find"`, `write {"tools": ["find"]}`},
		{"sql_executor", `"SELECT"`, `write {"query_type": "SELECT"}`},
	} {
		problems, _, _ := changed(t, schema.Settings{}, map[string]string{
			oneFile: `{"id": "one", "name": "One", "prompt": "?", "evaluator_id": "` + tt.evaluator + `", "expected": ` + tt.expected + `}`,
		})
		if len(problems) != 1 || !strings.HasSuffix(problems[0], "; "+tt.want) {
			t.Errorf("%s with %s has the problems %q, want one with the hint %q", tt.evaluator, tt.expected, problems, tt.want)
		}
	}
}

// TestScaleOfAJudge notes a prompt that asks for a score above 1 without a maximum.
func TestScaleOfAJudge(t *testing.T) {
	for _, tt := range []struct{ prompt, best string }{
		{"Score {response} from 0 to 100.", "100"},
		{"Give a score (0-10) to {response}.", "10"},
		{"Beri nilai 1 sampai 5 untuk {response}.", "5"},
		{"Rate {response}, 0–100, as JSON.", "100"},
		{"Score: X/10. {response}", "10"},
		{"How good is {response}? Give points, max 20.", "20"},
		{"Score {response} from 0 to 1.", ""},
		{"Score {response} from 0.0 to 1.0.", ""},
		{"Is {response} polite, in 1 to 3 sentences?", ""},
		{"Judge {response}.", ""},
	} {
		for _, regex := range []string{"", `, "extraction_regex": "(\\d+)"`} {
			problems, _, _ := changed(t, schema.Settings{}, map[string]string{"t/evaluators/tone.json": `{"id": "tone", "eval_prompt": "` + tt.prompt + `"` + regex + `}`})
			switch {
			case tt.best == "" && len(problems) > 0:
				t.Errorf("%q has the problems %q, want none", tt.prompt, problems)
			case tt.best != "" && (len(problems) != 1 || !strings.Contains(problems[0], "note: eval_prompt seems to ask for a score up to "+tt.best+",")):
				t.Errorf("%q has the problems %q, want a note of %s", tt.prompt, problems, tt.best)
			}
		}
		problems, _, _ := changed(t, schema.Settings{}, map[string]string{"t/evaluators/tone.json": `{"id": "tone", "eval_prompt": "` + tt.prompt + `", "config": {"max_score": 100}}`})
		wants(t, tt.prompt+" with a maximum", problems)
	}
}

// TestExpectedObjectOfARegex compares the answer of an object.
func TestExpectedObjectOfARegex(t *testing.T) {
	for _, tt := range []struct{ expected, want string }{
		{`"B"`, `"B"`}, {`{"answer": "B"}`, `"B"`}, {`{"expected": 1999}`, `1999`}, {`{"value": true, "note": "x"}`, `true`}, {`{"other": "B"}`, `{"other":"B"}`},
	} {
		c := one(t, map[string]string{oneFile: with(`"evaluator_id": "year", "expected": ` + tt.expected)})
		if got := string(c.Evaluators[0].Spec.(evaluator.Regex).Expected); got != tt.want {
			t.Errorf("%s is compared as %s, want %s", tt.expected, got, tt.want)
		}
	}
	c := one(t, map[string]string{
		oneFile:                  with(`"evaluator_id": "year", "expected": {"answer": "b+"}`),
		"t/evaluators/year.json": `{"id": "year", "extraction_regex": "x", "config": {"use_expected_as_pattern": true}}`,
	})
	if got := c.Evaluators[0].Spec.(evaluator.Regex).Pattern; got != "b+" {
		t.Errorf("the pattern is %q, want b+", got)
	}
}

// TestAnswersThatNeverMatch are reported by validation.
func TestAnswersThatNeverMatch(t *testing.T) {
	for _, tt := range []struct{ expected, want string }{
		{`{"answer": "abc", "type": "numeric"}`, "is not a number"},
		{`{"answer": "maybe", "type": "boolean"}`, "is neither yes nor no"},
		{`{"answer": " ", "type": "contains"}`, "is empty"},
		{`{"answer": "C", "type": "choice", "choices": ["A. x", "B. y"]}`, "is not one of the choices"},
		{`{"answer": "Bali", "type": "choice", "choices": ["Java", "Borneo"]}`, "is not one of the choices"},
		{`{"answer": "B", "type": "choice", "choices": ["A. x", "B. y"]}`, ""},
		{`{"answer": "java", "type": "choice", "choices": ["Java", "Borneo"]}`, ""},
		{`{"answer": "105", "type": "numeric"}`, ""},
	} {
		problems, _, _ := changed(t, schema.Settings{}, map[string]string{oneFile: with(`"evaluator_id": "two_pass", "expected": ` + tt.expected)})
		if told := strings.Join(problems, "\n"); (tt.want == "") != (told == "") || !strings.Contains(told, tt.want) {
			t.Errorf("%s has the problems %q, want %q", tt.expected, told, tt.want)
		}
	}
	problems, _, _ := changed(t, schema.Settings{}, map[string]string{oneFile: with(`"evaluator_id": "sql_executor", "expected": {"query_type": "SELCT"}`)})
	if len(problems) != 1 || !strings.Contains(problems[0], "did you mean `SELECT`?") {
		t.Errorf("a misspelt query_type has the problems %q", problems)
	}
}

// TestWeightsOfALevel reports a level whose tests all weigh 0.
func TestWeightsOfALevel(t *testing.T) {
	weighs := func(id, fields string) string {
		return `{"id": "` + id + `", "name": "N", "prompt": "?", "expected": {"keywords": ["x"]}, ` + fields + `}`
	}
	for _, tt := range []struct {
		name string
		two  string
		want bool
	}{
		{"both", weighs("two", `"weight": 0`), true},
		{"one of two", weighs("two", `"weight": 0.1`), false},
		{"one is skipped", weighs("two", `"weight": 1, "enabled": false`), true},
	} {
		problems, _, _ := changed(t, schema.Settings{}, map[string]string{oneFile: weighs("one", `"weight": 0`), "t/d/level_1/two.json": tt.two})
		if told := strings.Join(problems, "\n"); strings.Contains(told, "t/d/level_1/one.json:1:1: error: the weights of the tests in t/d/level_1 sum to 0") != tt.want {
			t.Errorf("%s: the problems are %q, want one of the level: %v", tt.name, told, tt.want)
		}
	}
}
