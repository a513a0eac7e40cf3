package load

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
)

// TestDetect puts one file next to the seed's and checks its format and the messages
// about it.
func TestDetect(t *testing.T) {
	for _, tt := range []struct {
		name       string
		file, text string
		dialect    string
		problems   string // the messages about the file, without its path
	}{
		{"a suite", "a.yaml", "evalcases: []\n", "evalcase", ""},
		{"a suite as JSON", "a.json", `{"evalcases": []}`, "evalcase", ""},
		{"a list of evalcases", "a.yaml", "- {id: x, expected_outcome: y, input: z}\n", "evalcase", ""},
		{"a list with the alias", "a.yaml", "- {id: x, outcome: y, input: z}\n", "evalcase", ""},
		{"lines with the alias", "a.jsonl", `{"id": "x", "outcome": "y", "input_messages": [{"role": "user", "content": "z"}]}`, "evalcase", ""},
		{"ids with an outcome", "a.yaml", "- {id: x, outcome: won}\n", "evalcase", "1:3: error: the case has no input"},
		{"a suite of nothing", "a.yaml", "evalcases:\n", "evalcase", "1:1: error: `evalcases` must be a list, not null"},
		{"promptfoo with an assert that it ignores", "table.yaml", "prompts: ['{{x}}']\nproviders: [m]\nassert: [{type: equals, value: x}]\ntests: [{vars: {x: a}}]\n", "matrix", "3:1: error: `assert` is not read here, and its assertions are not asked; move it under defaultTest: as assert:"},
		{"AgentV 5 with an assert", "table.yaml", "prompts: ['{{x}}']\nproviders: [m]\nassert: [{type: equals, value: x}]\ntests: [{id: i, vars: {x: a}}]\n", "evalcase", ""},
		{"an envelope", "a.yaml", "test_cases:\n- name: x\n", "testcase", ""},
		{"an envelope of nothing", "a.yaml", "test_cases:\n", "testcase", ""},
		{"an empty envelope", "a.json", `{"test_cases": []}`, "testcase", ""},
		{"an envelope of no list", "a.json", `{"test_cases": {"a": {"name": "x"}}}`, "testcase", ""},
		{"an envelope, misspelt", "a.yaml", "test_cases:\n- nam: x\n", "testcase", ""},
		{"an envelope, nameless", "a.yaml", "test_cases:\n- max_turns: 3\n", "testcase", ""},
		{"an envelope of others", "a.yaml", "test_cases:\n- {question: x, answer: y}\n", "", "1:1: error: the file has `test_cases` like a definition of the testcase format, and matches no format; give each of the `test_cases` a `name`, or name the file in .gavelignore"},
		{"a test in no level", "stray/t.json", `{"id": "t", "name": "T", "prompt": "2?", "evaluator_id": "keyword"}`, "", "1:42: error: the file has `evaluator_id` like a test of the domain format, but is not in a level of a domain; move it into <domain>/level_1, next to a domain.json, or name the file in .gavelignore"},
		{"an evaluator elsewhere", "stray/evaluators/e.json", `{"id": "e", "eval_prompt": "Good?"}`, "", "1:13: error: the file has `eval_prompt` like an evaluator of the domain format, but is in another folder; move it into test_definitions/evaluators, or name the file in .gavelignore"},
		{"a tool elsewhere", "stray/tools/t.json", `{"id": "t", "function": {"name": "t"}, "mock_response": "x"}`, "", "1:40: error: the file has `mock_response` like a tool of the domain format, but is in another folder; move it into test_definitions/tools, or name the file in .gavelignore"},
		{"checks of another type", "suite.checks.yml", "x: [{contains: y}]\n", "", "1:1: error: checks are read from suite.checks.yaml alone; rename the file"},
		{"checks as JSON", "suite.checks.json", `{"x": [{"contains": "y"}]}`, "", "1:1: error: checks are read from suite.checks.yaml alone; rename the file"},
		{"lines of evalcases", "a.jsonl", `{"id": "x", "expected_outcome": "y"}`, "evalcase", ""},
		{"a single evalcase", "a.yaml", "id: x\nexpected_outcome: y\n", "", "2:1: error: the file has `expected_outcome` like a definition of the evalcase format, and matches no format; put it into a list of cases"},
		{"promptval", "a.json", `{"test_type": "agent", "testing_prompt": "x"}`, "promptval", ""},
		{"half a promptval", "a.json", `{"test_type": "agent"}`, "", "1:2: error: the file has `test_type` like a definition of the promptval format, and matches no format; add `testing_prompt`, or name the file in .gavelignore"},
		{"a misspelt test_type", "a.yaml", "test_typ: agent\nname: x\nuser_input: Hi\ntesting_prompt: y\n", "", "1:1: error: unknown field `test_typ`; did you mean `test_type`?"},
		{"all of it misspelt", "a.yaml", "- test_typ: agent\n  name: x\n  user_input: Hi\n  testing_promt: y\n  iterations: 0\n", "", "1:3: error: unknown field `test_typ`; did you mean `test_type`? / 4:3: error: unknown field `testing_promt`; did you mean `testing_prompt`? / 5:15: error: `iterations` is 0; it must be at least 1"},
		{"test_type alone misspelt", "a.yaml", "test_typ: agent\nname: x\n", "", "1:1: error: unknown field `test_typ`; did you mean `test_type` of the promptval format? If not, name the file in .gavelignore"},
		{"a misspelt name", "a.yaml", "nam: x\npersona: {type: t, description: d}\n", "", "1:1: error: unknown field `nam`; did you mean `name`? / 2:1: error: the field `instructions` is missing; add \"instructions\": …"},
		{"a misspelt persona", "a.yaml", "name: x\ntags: [a]\npersna: {}\n", "", "3:1: error: unknown field `persna`; did you mean `persona` of the testcase format? If not, name the file in .gavelignore"},
		{"a person of other data", "a.yaml", "name: x\nperson: y\nage: 3\n", "", "note"},
		{"misspelt evalcases", "a.yaml", "name: x\nevalcase: []\n", "", "2:1: error: unknown field `evalcase`; did you mean `evalcases` of the evalcase format? If not, name the file in .gavelignore"},
		{"a misspelt outcome", "a.yaml", "- id: x\n  input: y\n  expected_outcom: z\n", "", "3:3: error: unknown field `expected_outcom`; did you mean `expected_outcome` of the evalcase format?"},
		{"an outcome and rubrics", "a.yaml", "- id: x\n  rubrics: 5\n  expected_outcom: z\n", "", "2:12: error: `rubrics` must be a list, not a number; write [5] / 3:3: error: unknown field `expected_outcom`; did you mean `expected_outcome`?"},
		{"a misspelt id", "a.yaml", "- ID: x\n  input: y\n  expected_outcome: z\n", "", "1:3: error: unknown field `ID`; did you mean `id`?"},
		{"a later promptval", "a.json", `{"type": "agent", "id": "x", "testing_prompt": "x"}`, "promptval", ""},
		{"type alone", "a.json", `{"type": "agent", "id": "x"}`, "", "note"},
		{"a later suite", "a.yaml", "tests: []\n", "", "1:1: error: `tests` is the name that a later version of the evalcase format uses; write `evalcases`"},
		{"a renamed suite", "a.yaml", "eval_cases: [{id: x, criteria: y, input: z}]\n", "evalcase", ""},
		{"another renamed suite", "a.yaml", "cases: [{id: x, outcome: y, input: z}]\n", "evalcase", ""},
		{"a list with criteria", "a.yaml", "- {id: x, criteria: y, input: z}\n", "evalcase", ""},
		{"a later testcase", "a.json", `{"persona_context": {}, "title": "x"}`, "", "1:2: error: the file has `persona_context` like a definition of the testcase format, and matches no format; add `name`, or name the file in .gavelignore"},
		{"a testcase without name", "a.json", `{"max_turns": 3}`, "", "1:2: error: the file has `max_turns` like a definition of the testcase format, and matches no format; add `name`, or name the file in .gavelignore"},
		{"the agent's tools", "a.json", `{"name": "x", "agent_tools": []}`, "testcase", ""},
		{"the agent's prompt", "a.json", `{"agent_system_prompt": "x"}`, "", "1:2: error: the file has `agent_system_prompt` like a definition of the testcase format, and matches no format; add `name`"},
		{"broken", "a.json", `{"x": `, "", "1:1: error: not valid JSON"},
		{"nothing of ours", "a.json", `{"colour": "red"}`, "", "note"},
		{"a number", "a.json", `5`, "", "note"},
		{"a list of numbers", "a.yaml", "[1, 2]\n", "", "note"},
		{"a hidden file", ".a.json", `{"x": `, "-", ""},
		{"a package", "package.json", `{"x": `, "-", ""},
		{"a compiler's settings", "tsconfig.base.json", `{"x": `, "-", ""},
		{"an output", "a_output.json", `{"x": `, "-", ""},
		{"a candidate", "a.candidate.jsonl", `{"x": `, "-", ""},
		{"a module of node", "node_modules/a/x.json", `{"x": `, "-", ""},
		{"in a hidden folder", ".drafts/x.json", `{"x": `, "-", ""},
		{"a baseline", "a.baseline.jsonl", `{"x": `, "-", ""},
		{"checks", "a.checks.yaml", `{"x": `, "-", ""},
		{"the team's constraints", "schema/team.cue", `#x: `, "-", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			texts := seed()
			file := "test_definitions/" + tt.file
			texts[file] = tt.text
			res := loadAll(t, texts)
			dialect := "-"
			for _, d := range res.Definitions {
				if d.File == file {
					dialect = d.Dialect
				}
			}
			if dialect != tt.dialect {
				t.Errorf("taken for %q, want %q", dialect, tt.dialect)
			}
			var all []string
			for _, p := range res.Problems {
				if p.Severity == schema.Note {
					all = append(all, "note")
				} else if p.File == file && p.Severity == schema.Error {
					all = append(all, strings.TrimPrefix(p.String(), file+":"))
				}
			}
			said := strings.Join(all, " / ")
			if tt.dialect == "" && (!strings.HasPrefix(said, tt.problems) || said == "") {
				t.Errorf("said is %q, want %q", said, tt.problems)
			}
		})
	}
}

// TestCapitals holds that a file whose extension only differs in capitals from a
// readable one gets a message, however it is found.
func TestCapitals(t *testing.T) {
	const file = "test_definitions/a.YAML"
	files := fsOf(map[string]string{file: "name: x\n", "test_definitions/notes.TXT": "x", "test_definitions/b.json": `{"name": "x"}`,
		"test_definitions/.hidden.JSON": "x", "test_definitions/node_modules/c.JSON": "x", "test_definitions/node_modules/d.checks.yaml": "x"})
	want := []string{file + ":1:1: warning: the file is not read, since its extension is in capitals; rename it to a.yaml, or name it in .gavelignore"}
	for _, given := range [][]string{nil, {file, "test_definitions/.hidden.JSON", "test_definitions/node_modules/c.JSON", "test_definitions/node_modules/d.checks.yaml"}} {
		res, err := Load(t.Context(), files, Options{Settings: schema.Settings{Definitions: []string{"test_definitions"}}, Files: given})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range res.Problems {
			got = append(got, p.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", given, diff)
		}
	}
}

// TestDraftsAreNamed: a draft that was left may be the only file with its test.
func TestDraftsAreNamed(t *testing.T) {
	const file = "test_definitions/.t.json-ABC.gavel-draft"
	res := loadBy(t, schema.Settings{Definitions: []string{"test_definitions"}}, map[string]string{file: `{"name": "x"}`})
	if len(res.Problems) != 1 || res.Problems[0].File != file || !strings.Contains(res.Problems[0].Message, "draft") {
		t.Errorf("the problems are %v, want one that names %s", res.Problems, file)
	}
}

// TestTheRepositoryAsDefinitions holds that the configuration is not a definition.
func TestTheRepositoryAsDefinitions(t *testing.T) {
	files := map[string]string{"gavel.yaml": "version: 1\n", "talk.yaml": "name: x\n", "sub/gavel.yaml": "name: y\n"}
	res := loadBy(t, schema.Settings{Definitions: []string{"."}}, files)
	if len(res.Problems) > 0 || len(res.Cases) != 2 {
		t.Errorf("%d cases, %v", len(res.Cases), res.Problems)
	}
}

func TestNotesAreOne(t *testing.T) {
	texts := seed()
	texts["test_definitions/a.json"] = `{"colour": "red"}`
	texts["test_definitions/b.yaml"] = "size: 3\n"
	var notes []string
	for _, p := range loadAll(t, texts).Problems {
		notes = append(notes, p.String())
	}
	want := []string{
		"test_definitions/a.json:1:1: note: 2 files are not definitions; the first is test_definitions/a.json; " +
			"name them in .gavelignore, or their dialect under dialects: in gavel.yaml",
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Error(diff)
	}
}

// TestPins holds that gavel.yaml has the last word on what a file is, the
// longest glob first.
func TestPins(t *testing.T) {
	pins := map[string]string{"test_definitions/**": "evalcase", "test_definitions/math/**": "domain", "**": "testcase"}
	for _, tt := range []struct{ file, want string }{
		{"test_definitions/a.json", "evalcase"}, {"test_definitions/math/a.json", "domain"}, {"other/a.json", "testcase"},
	} {
		if got := pinned(pins, tt.file); got != tt.want {
			t.Errorf("%s is pinned to %q, want %q", tt.file, got, tt.want)
		}
	}
	if pinned(nil, "a.json") != "" {
		t.Error("pinned without pins")
	}
	texts := seed()
	texts["test_definitions/x.json"] = `{"colour": "red"}`
	res, err := Load(t.Context(), fsOf(texts), Options{Settings: schema.Settings{
		Definitions: []string{"test_definitions"}, Dialects: map[string]string{"**/x.json": "promptval"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range res.Definitions {
		if d.File == "test_definitions/x.json" && d.Dialect != "promptval" {
			t.Errorf("a pinned file is taken for %q", d.Dialect)
		}
	}
}

// TestFilesThatLookLikeDefinitions holds that they are named, each up to ten, and
// are not part of the note about the rest. Files that a definition refers to are
// not reported, and a change of files leads to the same.
func TestFilesThatLookLikeDefinitions(t *testing.T) {
	texts := seed()
	for i := range 13 {
		texts[fmt.Sprintf("test_definitions/data/%02d.yaml", i)] = "name: bot\nrubric: {criteria: []}\n"
	}
	texts["test_definitions/data/colours.yaml"] = "colour: red\n"
	texts["test_definitions/suite.yaml"] = "evalcases:\n- id: x\n  expected_outcome: y\n  input: [{role: user, content: [{type: file, value: data/00.yaml}]}]\n"
	res := loadAll(t, texts)
	for _, tt := range []struct {
		name     string
		problems []schema.Problem
	}{{"loaded", res.Problems}, {"remembered", res.Snapshot().Problems()}} {
		var named, more, notes int
		for _, p := range tt.problems {
			switch {
			case p.Rule == schema.RuleLooksLike && strings.HasPrefix(p.Message, "2 more files look like definitions"):
				more++
			case p.Rule == schema.RuleLooksLike && p.Severity == schema.Warning:
				named++
			case p.Severity == schema.Note && strings.HasPrefix(p.Message, "1 file is not a definition"):
				notes++
			default:
				t.Errorf("%s: the problem %v is not expected", tt.name, p)
			}
		}
		if named != 10 || more != 1 || notes != 1 {
			t.Errorf("%s: %d are named, %d counted, %d notes", tt.name, named, more, notes)
		}
	}
}
