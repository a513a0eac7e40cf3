package load

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/golden"
)

// A mistake is one that people make in every dialect, in this one's form: a file, and
// the files next to it.
type mistake struct {
	file, text string
	beside     map[string]string
}

const (
	lacksReferences = "no field of the dialect names a file"
	lacksTargets    = "no field of the dialect names a target"
	lacksTools      = "the tools are those of the agent, and are not known"
	lacksEvaluators = "no field of the dialect names an evaluator"
)

// mistakes are the rows of the table in their order.
var mistakes = []string{
	"misspelt field", "wrong type", "missing required", "out of range", "wrong enum", "duplicate id",
	"missing referenced file", "path escaping the repository", "unknown target", "unknown tool", "unknown evaluator",
	"YAML tab", "empty file", "two documents", "duplicate key", "alias bomb", "invalid UTF-8", "wrong dialect's field",
}

// A mistakeTable has the mistakes of one dialect. none says why there is no such one.
type mistakeTable struct {
	fields string // of a valid definition, as YAML
	rows   map[string]mistake
	none   map[string]string
}

// common adds the mistakes that are the same everywhere.
func (m mistakeTable) common(file string) map[string]mistake {
	out := map[string]mistake{
		"YAML tab":      {file: file, text: m.fields + "extra:\n\t- x\n"},
		"empty file":    {file: file, text: "\n"},
		"two documents": {file: file, text: m.fields + "---\n" + m.fields},
		"duplicate key": {file: file, text: m.fields + "name: again\nname: and again\n"},
		"alias bomb": {file: file, text: m.fields + "metadata:\n  a: &a [x,x,x,x,x,x,x,x,x,x]\n" +
			strings.Join([]string{"  b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]", "  c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]",
				"  d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]", "  e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]", "  f: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]"}, "\n") + "\n"},
		"invalid UTF-8": {file: file, text: m.fields + "description: caf\xe9\n"},
	}
	for name, row := range m.rows {
		row.file = file
		out[name] = row
	}
	return out
}

func mistakeTables() map[string]mistakeTable {
	const d = "test_definitions/"
	test := "id: t\nname: T\nprompt: 2?\n"
	return map[string]mistakeTable{
		schema.DialectTestcase: {
			fields: "name: Refund\nmax_turns: 3\n",
			rows: map[string]mistake{
				"misspelt field":        {text: "name: Refund\nmax_turn: 3\n"},
				"wrong type":            {text: "name: Refund\nmax_turns: three\n"},
				"missing required":      {text: "max_turns: 3\npersona: {type: a, description: b, instructions: c}\n"},
				"out of range":          {text: "name: Refund\nmax_turns: 0\n"},
				"wrong enum":            {text: "name: Refund\nstatus: activ\n"},
				"duplicate id":          {text: "- {name: A, id: 0b9f6a34-58a5-4b8a-9a6e-0f0c6d1b2a3c}\n- {name: B, id: 0b9f6a34-58a5-4b8a-9a6e-0f0c6d1b2a3c}\n"},
				"wrong dialect's field": {text: "name: Refund\nmax_turns: 3\nexpected_outcome: refunded\n"},
			},
			none: map[string]string{
				"missing referenced file": lacksReferences, "path escaping the repository": lacksReferences,
				"unknown target": lacksTargets, "unknown tool": lacksTools, "unknown evaluator": lacksEvaluators,
			},
		},
		schema.DialectPromptval: {
			fields: "test_type: agent\nname: bot\nuser_input: Hi\ntesting_prompt: Be kind\n",
			rows: map[string]mistake{
				"misspelt field":        {text: "test_type: agent\nname: bot\nuser_inputs: Hi\ntesting_prompt: Be kind\n"},
				"wrong type":            {text: "test_type: agent\nname: bot\nuser_input: 5\ntesting_prompt: Be kind\n"},
				"missing required":      {text: "test_type: agent\nname: bot\ntesting_prompt: Be kind\n"},
				"out of range":          {text: "test_type: agent\nname: bot\nuser_input: Hi\ntesting_prompt: Be kind\nevaluation_type: numeric\nrubric: {criteria: [{name: a, weight: 1}]}\nthreshold: 11\n"},
				"wrong enum":            {text: "test_type: agnt\nname: bot\nuser_input: Hi\ntesting_prompt: Be kind\n"},
				"duplicate id":          {text: "test_type: agent\nname: bot\nuser_input: Hi\ntesting_prompt: Be kind\n", beside: map[string]string{d + "x.json": `{"test_type": "agent", "name": "bot", "user_input": "Hi", "testing_prompt": "Be kind"}`}},
				"unknown target":        {text: "test_type: agent\nname: bott\nuser_input: Hi\ntesting_prompt: Be kind\n"},
				"wrong dialect's field": {text: "test_type: agent\nname: bot\nuser_input: Hi\ntesting_prompt: Be kind\nexpected_outcomes: {kind: true}\n"},
			},
			none: map[string]string{
				"missing referenced file": lacksReferences, "path escaping the repository": lacksReferences,
				"unknown tool": lacksTools, "unknown evaluator": lacksEvaluators,
			},
		},
		schema.DialectDomain: {
			fields: "id: t\nprompt: 2?\nexpected: {answer: 2}\nevaluator_id: two_pass\n",
			rows: map[string]mistake{
				"misspelt field":               {text: test + "expcted: {answer: 2}\nevaluator_id: two_pass\n"},
				"wrong type":                   {text: test + "expected: {answer: 2}\nevaluator_id: two_pass\nweight: heavy\n"},
				"missing required":             {text: "id: t\nname: T\nexpected: {answer: 2}\nevaluator_id: two_pass\n"},
				"out of range":                 {text: test + "expected: {answer: 2}\nevaluator_id: two_pass\nweight: -1\n"},
				"wrong enum":                   {text: test + "expected: {answer: 2}\nevaluator_id: two_pass\nsystem_prompt_mode: apend\n"},
				"duplicate id":                 {text: test + "expected: {answer: 2}\nevaluator_id: two_pass\n", beside: map[string]string{d + "math/level_1/a.yaml": test + "expected: {answer: 2}\nevaluator_id: two_pass\n"}},
				"missing referenced file":      {text: test + "expected: {min_rows: 1}\nevaluator_id: sql_executor\n", beside: map[string]string{d + "evaluators/sql_executor.json": `{"id": "sql_executor", "type": "predefined", "config": {"database": "shop.sql"}}`, d + "evaluators/shop2.sql": "x"}},
				"path escaping the repository": {text: test + "expected: {min_rows: 1}\nevaluator_id: sql_executor\n", beside: map[string]string{d + "evaluators/sql_executor.json": `{"id": "sql_executor", "type": "predefined", "config": {"database": "../../../etc/shop.sql"}}`}},
				"unknown tool":                 {text: test + "expected: {answer: 2}\nevaluator_id: two_pass\ntool_ids: [get_wether]\n", beside: map[string]string{d + "tools/get_weather.json": `{"id": "get_weather", "function": {"name": "get_weather"}}`}},
				"unknown evaluator":            {text: test + "expected: {answer: 2}\nevaluator_id: two_pas\n"},
				"wrong dialect's field":        {text: test + "expected: {answer: 2}\nevaluator_id: two_pass\nuser_input: Hi\n"},
			},
			none: map[string]string{"unknown target": lacksTargets},
		},
		schema.DialectEvalcase: {
			fields: "name: S\nevalcases:\n- {id: a, input: Hi, expected_outcome: Greets}\n",
			rows: map[string]mistake{
				"misspelt field":               {text: "evalcases:\n- {id: a, inputt: Hi, expected_outcome: Greets}\n"},
				"wrong type":                   {text: "evalcases:\n- {id: a, input: 5, expected_outcome: Greets}\n"},
				"missing required":             {text: "evalcases:\n- {id: a, input: Hi}\n"},
				"out of range":                 {text: "evalcases:\n- {id: a, input: Hi, expected_outcome: Greets, rubrics: [{id: r, expected_outcome: Kind, weight: -1}]}\n"},
				"wrong enum":                   {text: "evalcases:\n- {id: a, input_messages: [{role: usr, content: Hi}], expected_outcome: Greets}\n"},
				"duplicate id":                 {text: "evalcases:\n- {id: a, input: Hi, expected_outcome: Greets}\n- {id: a, input: Ho, expected_outcome: Greets}\n"},
				"missing referenced file":      {text: "evalcases:\n- {id: a, input: [{role: user, content: [{type: file, value: orders.md}]}], expected_outcome: Greets}\n", beside: map[string]string{d + "order.md": "x"}},
				"path escaping the repository": {text: "evalcases:\n- {id: a, input: [{role: user, content: [{type: file, value: ../../etc/passwd}]}], expected_outcome: Greets}\n"},
				"unknown target":               {text: "evalcases:\n- {id: a, input: Hi, expected_outcome: Greets, execution: {target: bott}}\n"},
				"unknown evaluator":            {text: "evalcases:\n- {id: a, input: Hi, expected_outcome: Greets, evaluators: [{type: llm_juge}]}\n"},
				"wrong dialect's field":        {text: "evalcases:\n- {id: a, input: Hi, expected_outcome: Greets, persona: {type: x}}\n"},
			},
			none: map[string]string{"unknown tool": lacksTools},
		},
	}
}

// TestMistakes holds the messages about each common mistake in each dialect against
// testdata/mistakes: the place, and the repair.
func TestMistakes(t *testing.T) {
	with := settings
	with.DefaultTarget = "bot"
	with.Targets = map[string]schema.TargetSettings{"bot": {Kind: "agent", Agent: true}}
	for dialect, m := range mistakeTables() {
		t.Run(dialect, func(t *testing.T) {
			file := "test_definitions/x.yaml"
			if dialect == schema.DialectDomain {
				file = "test_definitions/math/level_1/x.yaml"
			}
			rows := m.common(file)
			var got strings.Builder
			for _, name := range mistakes {
				row, ok := rows[name]
				if reason := m.none[name]; (reason == "") != ok {
					t.Errorf("%s is not in the table, or is and cannot be", name)
				} else if !ok {
					fmt.Fprintf(&got, "%s\n  - %s\n", name, reason)
					continue
				}
				fmt.Fprintln(&got, name)
				for _, p := range problemsOf(t, with, row) {
					fmt.Fprintf(&got, "  %s\n", p)
				}
			}
			golden.Compare(t, "testdata/mistakes/"+dialect+".txt", got.String())
		})
	}
}

// problemsOf returns the problems of a repository that has the mistake and nothing
// else.
func problemsOf(t *testing.T, with schema.Settings, row mistake) []string {
	t.Helper()
	texts := map[string]string{"test_definitions/math/domain.json": `{"id": "math", "name": "Math"}`}
	maps.Copy(texts, row.beside)
	texts[row.file] = row.text
	var out []string
	places := 0
	for _, p := range loadBy(t, with, texts).Problems {
		out = append(out, p.String())
		if p.File == row.file && p.Line > 0 && p.Column > 0 && p.Severity == schema.Error && p.Hint != "" {
			places++
		}
	}
	if places == 0 {
		t.Errorf("%s: no error with line, column and hint: %v", row.file, out)
	}
	return out
}

// TestMistakesInEveryType holds that a mistake is reported alike in every type of file:
// only the places differ, and there is one.
func TestMistakesInEveryType(t *testing.T) {
	with := settings
	with.DefaultTarget = "bot"
	with.Targets = map[string]schema.TargetSettings{"bot": {Kind: "agent", Agent: true}}
	told := func(t *testing.T, row mistake) []string {
		t.Helper()
		var out []string
		for _, p := range problemsOf(t, with, row) {
			_, said, _ := strings.Cut(p, ": ") // behind the place
			out = append(out, positions.ReplaceAllString(strings.ReplaceAll(said, "x"+path.Ext(row.file), "x.yaml"), ""))
		}
		return out
	}
	for dialect, m := range mistakeTables() {
		file := "test_definitions/x"
		if dialect == schema.DialectDomain {
			file = "test_definitions/math/level_1/x"
		}
		for name, row := range m.rows {
			row.file = file + ".yaml"
			doc, problems := document.Parse(row.file, []byte(row.text))
			if doc == nil {
				t.Fatal(problems)
			}
			want := told(t, row)
			for _, ext := range []string{".json", ".yml", ".cue"} {
				row.file, row.text = file+ext, string(doc.JSON())
				if row.beside[file+".json"] != "" {
					continue // of two that clash the second is wrong
				}
				if diff := cmp.Diff(want, told(t, row), cmpopts.SortSlices(strings.Compare)); diff != "" {
					t.Errorf("%s: %s in %s (-in .yaml +there):\n%s", dialect, name, ext, diff)
				}
			}
		}
	}
}

// positions are those in messages and hints.
var positions = regexp.MustCompile(`:\d+:\d+|line \d+`)
