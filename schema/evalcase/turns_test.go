package evalcase_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// talk is a conversation of AgentV 4 with each form of a turn.
const talk = `input_files: [p.md]
input: [{role: system, content: Be brief}]
assertions: [Stays polite]
tests:
- id: x
  criteria: Helps
  mode: conversation
  aggregation: min
  on_turn_failure: stop
  window_size: 2
  execution: {threshold: 0.5}
  turns:
  - {input: Hi, assertions: [Greets, {type: contains, value: Hello, weight: 2, required: true}]}
  - {input: {order: 7}, expected_output: Shipped}
  - {input: [{role: user, content: Thanks}]}
`

// TestTurns: what the user says is in the case, and one evaluator has the turns and the whole
// conversation as members.
func TestTurns(t *testing.T) {
	cases, problems := loadIn(t, fstest.MapFS{"suites/a.yaml": {Data: []byte(talk)}, "suites/p.md": {Data: []byte("A paper")}}, "a.yaml", schema.Settings{})
	if len(cases) != 1 || len(problems) > 0 {
		t.Fatalf("%d cases and problems %q, want one", len(cases), problems)
	}
	c := cases[0]
	var said []string
	for _, turn := range append([][]schema.Message{c.Drive.Messages}, c.Drive.Turns()...) {
		for _, m := range turn {
			said = append(said, m.Role+": "+m.Content)
		}
	}
	if diff := cmp.Diff([]string{"user: A paper\n\nHi", `user: {"order":7}`, "user: Thanks"}, said); diff != "" || c.System != "Be brief" || c.Drive.Window() != 2 {
		t.Errorf("the system prompt %q and a window of %d; said (-want +got):\n%s", c.System, c.Drive.Window(), diff)
	}
	spec, ok := c.Evaluators[0].Spec.(evaluator.Composite)
	if !ok || len(c.Evaluators) != 1 || spec.Stop != 0.5 || c.Evaluators[0].Rule.Aggregate != schema.Minimum {
		t.Fatalf("the evaluators are %+v, want one of turns that takes the lowest score and stops below 0.5", c.Evaluators)
	}
	var members []string
	for _, m := range spec.Members {
		raw, err := json.Marshal(m.Spec)
		if err != nil {
			t.Fatal(err)
		}
		if !m.Rule.Contained || m.Rule.Threshold != 0.5 {
			t.Errorf("%s has the rule %+v, want what is required contained, and the threshold of the test", m.ID, m.Rule)
		}
		members = append(members, m.ID+" "+string(raw))
	}
	want := []string{
		`turn-1 {"members":[{"id":"rubrics","kind":"rubric","version":3,"spec":{"criteria":[{"id":"rubric-1","outcome":"Greets"}],"expected_outcome":"Helps"}},{"id":"contains","kind":"assertion","version":1,"spec":{"type":"contains","value":"Hello"}}],"view":{"turn":1}}`,
		`turn-2 {"members":[{"id":"llm-grader","kind":"llm_judge","version":3,"spec":{"expected_outcome":"Helps","reference_answer":"Shipped"}}],"view":{"turn":2}}`,
		`turn-3 {"members":[{"id":"unasserted","kind":"tool_counts","version":1,"spec":{"counts":null}}],"view":{"turn":3}}`,
		`conversation {"members":[{"id":"rubrics","kind":"rubric","version":3,"spec":{"criteria":[{"id":"rubric-1","outcome":"Stays polite"}],"expected_outcome":"Helps"}}],"view":{"turn":0}}`,
	}
	if diff := cmp.Diff(want, members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if w := spec.Members[0].Rule.Weights["contains"]; w != 2 {
		t.Errorf("contains weighs %v within its turn, want 2", w)
	}
}

// TestTurnsOfAgentV5: variables are filled in, and a prompt that is nothing but the input which
// the test lacks is not sent.
func TestTurnsOfAgentV5(t *testing.T) {
	c := one(t, `prompts: ['{{ input }}']
tests:
- id: x
  vars: {who: Bob, answer: {a: 1}}
  turns:
  - {input: 'I am {{ who }}', assert: ['Greets {{ vars.who }}', {type: contains, value: '{{ who }}'}]}
  - {input: 'Who am I?', expected_output: '{{ answer }}'}
  assert: [{type: llm-rubric, value: 'Knows {{ who }}'}]
`)
	raw, err := json.Marshal(c.Evaluators[0].Spec)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Drive.Messages[0].Content; got != "I am Bob" || len(c.Drive.Messages) != 1 || c.Drive.Turns()[0][0].Content != "Who am I?" {
		t.Errorf("said %+v and then %+v", c.Drive.Messages, c.Drive.Turns())
	}
	for _, text := range []string{`"outcome":"Greets Bob"`, `"type":"contains","value":"Bob"`, `"reference_answer":"{\"a\":1}"`, `"expected_outcome":"Knows Bob"`} {
		if !strings.Contains(string(raw), text) {
			t.Errorf("the evaluators are %s, want %s", raw, text)
		}
	}
	c = one(t, "prompts: [{role: system, content: 'Call me {{ who }}'}]\ntests: [{id: x, vars: {who: Bob}, turns: [{input: Hi, assert: [polite]}]}]\n")
	if c.System != "Call me Bob" || len(c.Drive.Messages) != 1 || len(c.Drive.Turns()) != 0 {
		t.Errorf("the system prompt %q, messages %+v, turns %+v", c.System, c.Drive.Messages, c.Drive.Turns())
	}
}

// TestMistakesInTurns have the place and the repair.
func TestMistakesInTurns(t *testing.T) {
	for _, tt := range []struct{ test, want string }{
		{"mode: conversation", "a.yaml:1:20: error: `mode` means nothing without turns; add \"turns\": [{\"input\": …}]"},
		{"window_size: 2, input: z", "a.yaml:1:20: warning: `window_size` means nothing without turns"},
		{"turns: []", "a.yaml:1:27: error: `turns` has 0 items"},
		{"criteria: b, turns: [{input: a}]", "a.yaml:1:33: warning: nothing is asserted of the conversation, so that it passes whatever"},
		{"turns: [" + strings.Repeat("{input: a}, ", 201) + "]", "a.yaml:1:20: error: the conversation has 201 turns; it may have 200"},
		{"turns: [{assertions: [x]}]", "a.yaml:1:28: error: the field `input` is missing"},
		{"turns: [{input: a, asertions: [x]}]", "a.yaml:1:39: error: unknown field `asertions`; did you mean `assertions`?"},
		{"turns: [{input: [{role: system, content: a}]}]", "a.yaml:1:29: error: a turn has no system prompt"},
		{"turns: [{input: a, assertions: [{type: contains, value: b, weight: 0}]}]", "a.yaml:1:20: warning: the weights of the assertions of turn-1 sum to 0, so that the score is 0"},
	} {
		_, problems := load(t, "tests: [{id: talk, "+tt.test+"}]\n")
		if !slices.ContainsFunc(problems, func(p string) bool { return strings.HasPrefix(p, tt.want) }) {
			t.Errorf("%s has the problems %q, want %s", tt.test, problems, tt.want)
		}
	}
}

// TestAbuseManyTurns: a window has no more turns than a conversation.
func TestAbuseManyTurns(t *testing.T) {
	c := one(t, "tests: [{id: x, window_size: 1000000000000, turns: [{input: a, assertions: [b]}]}]\n")
	if c.Drive.Window() != 200 {
		t.Errorf("the window has %d turns, want the most that a conversation has", c.Drive.Window())
	}
}
