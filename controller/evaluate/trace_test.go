package evaluate

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// made is a transcript with calls, each a name and its arguments.
func made(calls ...string) *verdict.Transcript {
	m := schema.Message{Role: schema.RoleAssistant}
	for _, c := range calls {
		name, args, ok := strings.Cut(c, " ")
		if !ok {
			args = "{}"
		}
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{Function: schema.FunctionCall{Name: name, Arguments: args}})
	}
	tools := []schema.Tool{{Name: "search", Parameters: []byte(`{"type": "object", "required": ["q"]}`)}, {Name: "open"}}
	return &verdict.Transcript{Messages: []schema.Message{m}, Tools: tools, Traced: true}
}

func named(patterns ...string) []evaluator.CallName {
	var out []evaluator.CallName
	for _, p := range patterns {
		out = append(out, evaluator.CallName{Pattern: p, Least: 1})
	}
	return out
}

// TestTraceCalls has calls that fit each rule, calls that do not, and the messages
// about them.
func TestTraceCalls(t *testing.T) {
	two := 2
	for _, tt := range []struct {
		spec         evaluator.Calls
		holds, fails []string
		note         string
	}{
		{evaluator.Calls{Type: evaluator.CallsUsed, Tools: named("SEARCH*")}, []string{"search_web"}, []string{"open"}, "SEARCH* is never called; called: open"},
		{evaluator.Calls{Type: evaluator.CallsUsed, Not: true, Tools: named("delete")}, []string{"open"}, []string{"delete"}, "trajectory:tool-used holds, and must not"},
		{evaluator.Calls{Type: evaluator.CallsCounted, Tools: []evaluator.CallName{{Pattern: "*", Most: &two}}}, []string{"a", "b"}, []string{"a", "b", "c"}, "* is called 3 times, and may be 2 times"},
		{evaluator.Calls{Type: evaluator.CallsInSequence, Tools: named("a", "b")}, []string{"a", "x", "b"}, []string{"b", "a"}, "the sequence ends before b"},
		{evaluator.Calls{Type: evaluator.CallsInSequence, Exact: true, Tools: named("a", "b")}, []string{"a", "b"}, []string{"a", "x", "b"}, "the call of x is not in the sequence"},
		{evaluator.Calls{Type: evaluator.CallsWithArgs, Tools: named("a"), Args: []byte(`{"x": 1}`)}, []string{`a {"x": 1.0, "y": 2}`}, []string{`a {"x": 2}`, `b {"x": 1}`}, `no call of a has the arguments {"x": 1}`},
		{evaluator.Calls{Type: evaluator.CallsWithArgs, Exact: true, Tools: named("a"), Args: []byte(`{"x": 1}`), Ignore: []string{"id"}, Defaults: []byte(`{"n": 5}`)}, []string{`a {"x": 1, "id": 9, "n": 5}`}, []string{`a {"x": 1, "y": 2}`}, "no call of a"},
		{evaluator.Calls{Type: evaluator.CallsOfSkills, Tools: named("review")}, []string{`Skill {"skill": "review"}`}, []string{`review {}`}, "review is never used"},
		{evaluator.Calls{Type: evaluator.CallsAreValid}, []string{`search {"q": "x"}`, "open"}, []string{"search {}"}, "the arguments of search do not fit"},
		{evaluator.Calls{Type: evaluator.CallsAreValid}, []string{"open"}, []string{"close"}, "close is not a tool that was offered"},
		{evaluator.Calls{Type: evaluator.CallsAreValid}, []string{"open"}, nil, "no tool is called"},
	} {
		for _, side := range []struct {
			calls []string
			want  float64
		}{{tt.holds, 1}, {tt.fails, 0}} {
			c, err := traceCalls(tt.spec, made(side.calls...))
			if err != nil || c.Score != side.want {
				t.Errorf("%+v with %q: %+v, %v, want the score %v", tt.spec, side.calls, c, err, side.want)
			}
			if side.want == 0 && !strings.HasPrefix(c.Note, tt.note) {
				t.Errorf("%+v with %q: note %q, want %q", tt.spec, side.calls, c.Note, tt.note)
			}
		}
	}
}

// TestContrastOfTraces: a rule that does not hold shows the calls that it asks for next to
// the calls that were made.
func TestContrastOfTraces(t *testing.T) {
	two := 2
	for _, tt := range []struct {
		spec             evaluator.Calls
		calls            []string
		expected, actual string
	}{
		{evaluator.Calls{Type: evaluator.CallsUsed, Tools: named("search", "open")}, []string{"open", "close"}, "search, at least once\nopen, at least once", "open\nclose"},
		{evaluator.Calls{Type: evaluator.CallsUsed, Tools: named("open")}, []string{"open"}, "", ""},
		{evaluator.Calls{Type: evaluator.CallsUsed, Tools: named("open"), Not: true}, []string{"open"}, "", ""},
		{evaluator.Calls{Type: evaluator.CallsCounted, Tools: []evaluator.CallName{{Pattern: "a*", Least: 1, Most: &two}}}, nil, "a*, 1 to 2 times", ""},
		{evaluator.Calls{Type: evaluator.CallsCounted, Tools: []evaluator.CallName{{Pattern: "a", Least: 2, Most: &two}}}, []string{"a"}, "a, 2 times", "a"},
		{evaluator.Calls{Type: evaluator.CallsCounted, Tools: []evaluator.CallName{{Pattern: "a", Most: &two}}}, []string{"a", "a", "a"}, "a, at most 2 times", "a\na\na"},
		{evaluator.Calls{Type: evaluator.CallsCounted, Tools: []evaluator.CallName{{Pattern: "a", Most: new(int)}}}, []string{"a"}, "a, never", "a"},
		{evaluator.Calls{Type: evaluator.CallsInSequence, Tools: named("a", "b")}, []string{"b", "a"}, "a\nb", "b\na"},
		{evaluator.Calls{Type: evaluator.CallsWithArgs, Tools: named("a"), Args: []byte(`{"x":1}`)}, []string{`a {"x":2}`, "b"}, `a({"x":1})`, `a({"x":2})`},
		{evaluator.Calls{Type: evaluator.CallsWithArgs, Tools: named("a"), Args: []byte(`{"x":1}`)}, []string{"b"}, `a({"x":1})`, `b({})`},
		{evaluator.Calls{Type: evaluator.CallsOfSkills, Tools: named("review")}, []string{`skill {"skill":"lint"}`, "open"}, "review, at least once", "lint"},
		{evaluator.Calls{Type: evaluator.CallsAreValid}, []string{"close"}, "", ""},
	} {
		c, err := traceCalls(tt.spec, made(tt.calls...))
		if err != nil || c.Expected != tt.expected || c.Actual != tt.actual {
			t.Errorf("%+v with %q: expected %q and actual %q, %v, want %q and %q", tt.spec, tt.calls, c.Expected, c.Actual, err, tt.expected, tt.actual)
		}
	}
}

// TestUnknownCalls: a target that reports no calls cannot be measured, and does not score 0.
func TestUnknownCalls(t *testing.T) {
	if c, err := traceCalls(evaluator.Calls{Type: evaluator.CallsUsed, Tools: named("a")}, &verdict.Transcript{}); err == nil {
		t.Errorf("%+v, want an error", c)
	}
}

// TestTrapA10: a call of exec_command is found by its name, where AgentV counts it as a
// command and not as a tool.
func TestTrapA10(t *testing.T) {
	for _, name := range []string{"exec_command", "local_shell", "shell"} {
		if c, err := traceCalls(evaluator.Calls{Type: evaluator.CallsUsed, Tools: named(name)}, made(name)); err != nil || c.Score != 1 {
			t.Errorf("%s is called: %+v (%v), want the score 1", name, c, err)
		}
	}
}
