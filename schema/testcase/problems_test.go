package testcase_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/testcase"
)

// agent is a repository whose target runs its own tools.
var agent = schema.Settings{
	Targets: map[string]schema.TargetSettings{"support": {Agent: true}}, DefaultTarget: "support",
}

const known = "known are name, description, difficulty, tags, status, persona, persona_context, initial_message, first_message, first_turn, user_context, max_turns, " +
	"expected_outcomes, expected_tool_calls, checks, evaluation_criteria_override, id, created_at, updated_at, agent_id, source_call_id"

// TestProblems has all messages about a file: place, message and repair; and how many
// of its cases still load.
func TestProblems(t *testing.T) {
	const id = "0b9f6a34-58a5-4b8a-9a6e-0f0c6d1b2a3c"
	for _, tt := range []struct {
		name       string
		file, text string
		cases      int
		want       []string
	}{
		{"misspelt field", "a.json", `{"name": "N", "inital_message": "Hi"}`, 0, []string{
			"1:15: error: unknown field `inital_message`; did you mean `initial_message`?",
		}},
		{"unknown field", "a.json", `{"name": "N", "zzz": 1}`, 0, []string{"1:15: error: unknown field `zzz`; " + known}},
		{"field of promptval", "a.yaml", "name: N\nrubric:\n  a: {weight: 1}\n", 0, []string{
			"2:1: error: `rubric` does not belong here: it is a field of the promptval format; write `evaluation_criteria_override`",
		}},
		{"field of evalcase", "a.json", `{"name": "N", "expected_outcome": "refunded"}`, 0, []string{
			"1:15: error: unknown field `expected_outcome`; did you mean `expected_outcomes`?",
		}},
		{"field of domain", "a.json", `{"name": "N", "tool_ids": ["x"]}`, 0, []string{"1:15: error: unknown field `tool_ids`; " + known}},
		{"the agent's prompt", "a.json", "{\"name\": \"N\",\n \"agent_system_prompt\": \"Be brief.\"}", 0, []string{
			"2:2: error: `agent_system_prompt` does not belong here: the agent's system prompt is captured on the run, so that the same case fits every version of the agent; remove it; the agent under test brings its own",
		}},
		{"the agent's tools", "a.json", "{\"name\": \"N\",\n \"agent_tools\": []}", 0, []string{
			"2:2: error: `agent_tools` does not belong here: the agent's tools are captured on the run, so that the same case fits every version of the agent; remove them; calls that are wanted go into expected_tool_calls, their answers into its mock_responses",
		}},
		{"names of later versions", "a.yaml", "name: N\npersona_context: x\nfirst_message: Hi\n", 1, nil},
		{"both forms", "a.yaml", "name: N\npersona_context: x\npersona: {type: a, description: b, instructions: c}\nfirst_message: Hi\ninitial_message: Hi\n", 0, []string{
			"2:1: error: `persona` and `persona_context` are two forms of the same; remove one of them",
			"4:1: error: `initial_message` and `first_message` are two forms of the same; remove one of them",
		}},
		{"the agent opens with the user's message", "a.yaml", "name: N\ninitial_message: Hi\nfirst_turn: agent\n", 0, []string{
			"2:1: error: `initial_message` is the first message of the user, and `first_turn` is agent; write `first_message`, or remove `first_turn`",
		}},
		{"statements that say nothing", "a.yaml", "name: N\nexpected_outcomes: [\"a\", \" \",\n  a]\n", 0, []string{
			"2:26: error: a statement of `expected_outcomes` is empty; write what must be true at the end, or remove it",
			"3:3: error: `expected_outcomes` has a statement twice; the first is in line 2; remove one",
		}},
		{"both forms of a mock", "a.yaml", "name: N\nexpected_tool_calls:\n- {tool: t, mock_response: 1, mock_responses: [{response: 2}]}\n", 0, []string{
			"3:13: error: `mock_responses` and `mock_response` are two forms of the same; remove one of them",
		}},
		{"a mock of an agent", "a.yaml", "name: N\nexpected_tool_calls:\n- {tool: t, mock_response: 1}\n", 1, []string{
			"3:13: warning: the target support runs its tools itself: these answers never reach it; remove them, or name another target",
		}},
		{"the export envelope", "a.json", `{"exported_at": "2026-05-01T00:00:00Z", "count": 1, "test_cases": [{"name": "A", "agent_id": "x", "source_call_id": null}]}`, 1, nil},
		{"one field of a still later version", "a.json", `[{"name": "A"}, {"name": "B", "voice": "alto"}]`, 1, []string{"1:31: error: unknown field `voice`; " + known}},
		{"wrong type", "a.json", `{"name": "N", "tags": "red-team"}`, 0, []string{
			"1:23: error: `tags` must be a list, not a string; write [\"red-team\"]",
		}},
		{"missing required", "a.json", `{"persona": {"type": "t", "description": "d"}}`, 0, []string{
			"1:1: error: the field `name` is missing; add \"name\": …",
			"1:2: error: the field `instructions` is missing; add \"instructions\": …",
		}},
		{"name too long", "a.json", `{"name": "` + strings.Repeat("é", 256) + `"}`, 0, []string{
			"1:10: error: `name` has 256 characters; it must have at most 255",
		}},
		{"out of range", "a.yaml", "name: N\nmax_turns: 0\n", 0, []string{"2:12: error: `max_turns` is 0; it must be at least 1, or null"}},
		{"beyond numbers", "a.json", `{"name": "N", "max_turns": 99999999999999999999}`, 0, []string{"1:28: error: `max_turns` is more than can be counted; write a number that can be meant, or null"}},
		{"wrong value", "a.json", `{"name": "N", "difficulty": "hrad"}`, 0, []string{"1:29: error: `difficulty` is \"hrad\"; did you mean `hard`? write one of normal, hard"}},
		{"nested unknown", "a.json", `{"name": "N", "expected_tool_calls": [{"tool": "x", "params": {}, "mock_responses": [{"response": 1, "sleep": 2}]}]}`, 0, []string{
			"1:53: error: unknown field `params`; did you mean `expected_params`?",
			"1:102: error: unknown field `sleep`; known are expected_params, response",
		}},
		{"same uuid", "a.json", "[{\"name\": \"A\", \"id\": \"" + id + "\"},\n {\"id\": \"" + strings.ToUpper(id) + "\", \"name\": \"B\"}]", 1, []string{
			"2:3: error: two cases of the file are called \"" + id + "\"; the other is in line 1; give one of them another name, or a uuid as its id",
		}},
		{"same name", "a.jsonl", "{\"name\": \"Refund!\"}\n{\"name\": \"B\"}\n{\"tags\": [], \"name\": \"refund\"}\n", 2, []string{
			"3:14: error: two cases of the file are called \"refund\"; the other is in line 1; give one of them another name, or a uuid as its id",
		}},
		{"same name to the eye", "a.json", "[{\"name\": \"Caf\u00e9\"},\n {\"name\": \"cafe\u0301\"}]", 1, []string{
			"2:3: error: two cases of the file are called \"caf\u00e9\"; the other is in line 1; give one of them another name, or a uuid as its id",
		}},
		{"no name in a list", "a.json", `[{"name": "?!"}, {"name": "B"}]`, 1, []string{
			"1:3: error: the name has no letter or digit by which the case can be found; add some, or a uuid as the id",
		}},
		{"empty name of a file", "a.json", `{"name": ""}`, 0, []string{"1:10: error: `name` has 0 characters; it must have at least 1"}},
		{"id that is not a uuid", "a.json", `[{"name": "N", "id": "case-7"}]`, 1, []string{
			"1:16: warning: `id` is not a UUID and is ignored; remove it; a case is found by its file and name",
		}},
		{"one bad case of a list", "a.yaml", "- name: A\n- nam: B\n- name: C\n", 2, []string{
			"2:3: error: unknown field `nam`; did you mean `name`?",
		}},
		{"one bad line", "a.jsonl", "{\"name\": \"A\"}\n\n{\"name\": 5}\n", 1, []string{
			"3:10: error: `name` must be a string, not a number; write \"5\"",
		}},
		{"no list of cases", "a.json", `["A", {"name": "B"}]`, 1, []string{
			`1:2: error: an item of the list is not a test case; write an object with a "name"`,
		}},
		{"empty list", "a.yaml", "[]\n", 0, []string{"1:1: error: the list has no test case; add one or remove the file"}},
		{"empty envelope", "a.json", `{"test_cases": []}`, 0, []string{"1:16: error: `test_cases` has 0 items; it must have at least 1 item"}},
		{"envelope of another kind", "a.json", `{"test_cases": {"name": "A"}}`, 0, []string{
			"1:16: error: `test_cases` must be a list, not an object; write a list",
		}},
		{"envelope with more", "a.yaml", "version: 1\ntest_cases:\n- name: A\n- B\n- name: C\n", 2, []string{
			"1:1: error: unknown field `version`; known are test_cases, exported_at, count",
			"4:3: error: an item of test_cases must be an object, not a string; write an object",
		}},
		{"no object", "a.yaml", "just text\n", 0, []string{"1:1: error: the file must be an object, not a string; write an object"}},
		{"CUE", "a.cue", "name: \"N\"\nstatus: \"Active\"\n", 0, []string{
			"2:9: error: `status` is \"Active\"; did you mean `active`? write one of draft, active, archived",
		}},
		{"blank texts", "a.json", `{"name": "N", "initial_message": " ", "evaluation_criteria_override": ""}`, 1, []string{
			"1:15: warning: `initial_message` is blank: the simulator writes the first message; write null or leave it out",
			"1:39: warning: `evaluation_criteria_override` is blank: the default criteria apply; write null or leave it out",
		}},
		{"mocks of an agent", "a.yaml", "name: N\nexpected_tool_calls:\n- tool: x\n- tool: y\n  mock_responses:\n  - response: 1\n", 1, []string{
			"5:3: warning: the target support runs its tools itself: these answers never reach it; remove them, or name another target",
		}},
		{"no mocks of an agent", "a.json", `{"name": "N", "expected_tool_calls": [{"tool": "x", "mock_responses": []}]}`, 1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cases, problems := load(t, agent, tt.file, tt.text)
			checkProblems(t, tt.file, problems, tt.want)
			if len(cases) != tt.cases {
				t.Errorf("%d cases load, want %d", len(cases), tt.cases)
			}
		})
	}
}

func checkProblems(t *testing.T, file string, problems []schema.Problem, want []string) {
	t.Helper()
	var got []string
	for _, p := range problems {
		got = append(got, strings.TrimPrefix(p.String(), "defs/"+file+":"))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// TestContradictions says which calls cannot be wanted and forbidden at once.
func TestContradictions(t *testing.T) {
	for _, tt := range []struct {
		wanted, forbidden string // params of calls of the same tool
		warns             bool
	}{
		{`null`, `null`, true},
		{`{"a": 1}`, `null`, true},
		{`{"a": 1}`, `{}`, true},
		{`{"a": 1, "b": {"c": 2, "d": 3}}`, `{"b": {"c": 2.0}}`, true},
		{`null`, `{"a": 1}`, false},
		{`{"a": 1}`, `{"a": 2}`, false},
		{`{"a": 1}`, `{"a": 1, "b": 2}`, false},
		{`{"a": {"b": 1}}`, `{"a": {"b": 1, "c": 1}}`, false},
		{`{"a": 9007199254740993}`, `{"a": 9007199254740992}`, false},
		{`{"a": [1, 2]}`, `{"a": [1]}`, false},
		{`{"a": null}`, `{"b": null}`, false},
	} {
		text := fmt.Sprintf(`{"name": "N", "expected_tool_calls": [
			{"tool": "x", "expected_params": %s}, {"tool": "other"},
			{"tool": "x", "expected_params": %s, "should_call": false}]}`, tt.wanted, tt.forbidden)
		_, problems := load(t, schema.Settings{}, "a.json", text)
		if len(problems) == 1 != tt.warns || tt.warns && problems[0].Rule != "contradiction" {
			t.Errorf("%s wanted and %s forbidden: %v", tt.wanted, tt.forbidden, problems)
		}
	}
	cases, problems := load(t, schema.Settings{}, "a.yaml", "name: N\nexpected_tool_calls:\n- tool: x\n- tool: x\n  should_call: false\n- tool: y\n  should_call: false\n")
	checkProblems(t, "a.yaml", problems, []string{
		"5:3: warning: the calls of x that are forbidden here are wanted in line 3; narrow its expected_params, or remove one of the two",
	})
	if len(cases) != 1 {
		t.Errorf("%d cases load", len(cases))
	}
}

// FuzzLoad holds that nothing panics, that every problem has a place in the
// file, and that every case is whole and has a key of its own.
func FuzzLoad(f *testing.F) {
	for _, seed := range []struct{ ext, text string }{
		{"json", `{"name": "x"}`},
		{"json", `{"test_cases": [{"name": "x"}, {"name": "X"}, 5, null]}`},
		{"json", `{"test_cases": {"name": 1}, "name": "x"}`},
		{"json", `[{"name": "a", "id": "0b9f6a34-58a5-4b8a-9a6e-0f0c6d1b2a3c"}, [[]], {"name": "\u00ad"}]`},
		{"json", `{"name": "../../etc/passwd", "user_context": {"path": "/proc/self/environ", "": null, ".git/config": ".GIT/config"}}`},
		{"json", `{"name": "x", "expected_tool_calls": [{"tool": "x", "should_call": false, "expected_params": {"a": {"b": [1e400, -0.0]}}}, {"tool": "x", "expected_params": {"a": {}}}]}`},
		{"json", `{"name": "x", "max_turns": 1e999}`}, {"json", `{"name": "x", "max_turns": 9223372036854775808}`},
		{"json", `{"name": "x", "expected_outcomes": {"A": 1, "a": 2, "": {}}}`}, {"json", `{"name": "x", "name": "y"}`}, {"json", `"\ud800"`},
		{"json", `{"name": "x", "user_context": ` + strings.Repeat(`{"a":`, 63) + "1" + strings.Repeat("}", 64)},
		{"yaml", "name: &a x\ntags: [*a, *a]\npersona: &p {type: *a, description: *a, instructions: *a}\n"},
		{"yaml", "name: x\nuser_context: &a {<<: *a}\n"}, {"yaml", "- &a {name: x}\n- *a\n"}, {"yaml", "name: x\nexpected_tool_calls: [{tool: x, mock_responses: [{response: .nan}]}]\n"},
		{"yaml", "name: 2026-02-30\nuser_context: {n: 0o777, m: 190:20:30, k: 1__0}\n"}, {"yaml", "name: !!binary aGFsbG8=\n"}, {"yml", "%YAML 1.2\n---\n- - - -\n"},
		{"jsonl", "{\"name\": \"x\"}\n\n{\"name\": \"x\"}\nnull\n"}, {"jsonl", "{\"test_cases\": [{\"name\": \"x\"}]}\n"},
	} {
		f.Add(seed.ext, seed.text)
	}
	f.Fuzz(func(t *testing.T, ext, text string) {
		if ext != "json" && ext != "yaml" && ext != "yml" && ext != "jsonl" {
			t.Skip() // files of CUE are evaluated in a process of their own
		}
		doc, _ := document.Parse("defs/a."+ext, []byte(text))
		if doc == nil {
			return
		}
		cases, problems := testcase.Load(document.Source{Root: "defs", KeyRoot: "defs", Settings: agent}, doc)
		lines := 1 + strings.Count(text, "\n")
		for _, p := range problems {
			if p.File != "defs/a."+ext || p.Line < 1 || p.Line > lines || p.Column < 1 || p.Message == "" || p.Rule == "" {
				t.Errorf("a problem without a place: %+v", p)
			}
		}
		if len(cases) == 0 && !schema.HasErrors(problems) {
			t.Error("no case, and nothing is wrong")
		}
		keys := map[string]bool{}
		for _, c := range cases {
			if keys[c.Key] || len(c.Evaluators) != 1 || c.Drive.Simulation == nil || c.Policy.MaxTurns+c.Policy.TurnCap < 0 {
				t.Errorf("a case that is not whole: %+v", c)
			}
			keys[c.Key] = true
		}
	})
}

// BenchmarkLoad reads files as long as they may be and shorter ones.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1, 100, 1_000} {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, `{"name": "Case %d", "tags": ["generated"], "initial_message": "Where is order %d?", `+
				`"persona": {"type": "polite", "description": "a customer", "instructions": "be brief"}, "user_context": {"order": %d}, `+
				`"expected_outcomes": {"told": true}, "expected_tool_calls": [{"tool": "get_order", "expected_params": {"order": %d}}]}`+"\n", i, i, i, i)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				cases, problems := load(b, schema.Settings{}, "a.jsonl", text.String())
				if len(cases) != n {
					b.Fatal(len(cases), problems)
				}
			}
		})
	}
}
