package evaluate_test

import (
	"math"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// calls makes a transcript from "name" or "name {json arguments}".
func calls(list ...string) *verdict.Transcript {
	tr := &verdict.Transcript{Traced: true}
	for _, c := range list {
		name, args, _ := strings.Cut(c, " ")
		call := schema.ToolCall{Type: "function", Function: schema.FunctionCall{Name: name, Arguments: args}}
		tr.Messages = append(tr.Messages,
			schema.Message{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{call}},
			schema.Message{Role: schema.RoleTool, Name: name, Content: "get_weather"},
		)
	}
	return tr
}

func expect(list ...string) []evaluator.ExpectedCall {
	var out []evaluator.ExpectedCall
	for _, c := range list {
		name, args, _ := strings.Cut(c, " ")
		out = append(out, evaluator.ExpectedCall{Tool: name, Args: raw(args)})
	}
	return out
}

func measureCalls(t *testing.T, spec evaluator.ToolCalls, tr *verdict.Transcript) verdict.Measurement {
	t.Helper()
	return measured(t.Context(), t, schema.Evaluator{Name: "main", Spec: spec}, evaluate.Input{Case: &schema.Case{}, Transcript: tr})
}

func TestToolCalls(t *testing.T) {
	for _, tt := range []struct {
		name     string
		expected []evaluator.ExpectedCall
		chain    bool
		calls    *verdict.Transcript
		want     float64
	}{
		{"made", expect("a"), false, calls("a"), 1},
		{"not made", expect("a"), false, calls(), 0},
		{"another", expect("a"), false, calls("b"), 0},
		{"names are exact", expect("a"), false, calls("A"), 0},
		{"any order", expect("a", "b"), false, calls("b", "x", "a"), 1},
		{"one of two", expect("a", "b"), false, calls("b"), 0.5},
		{"each needs its own", expect("a", "a"), false, calls("a"), 0.5},
		{"chain", expect("a", "b"), true, calls("a", "x", "b"), 1},
		{"chain out of order", expect("a", "b"), true, calls("b", "a"), 0.5},
		{"longest ordered match", expect("a", "b", "c"), true, calls("c", "a", "b"), 2. / 3},
		{"chain with repetition", expect("a", "b", "a"), true, calls("a", "a", "b", "a"), 1},
		{"listed arguments only", expect(`a {"x":1}`), false, calls(`a {"y":2,"x":1.0}`), 1},
		{"argument differs", expect(`a {"x":1}`), false, calls(`a {"x":2}`), 0},
		{"argument missing", expect(`a {"x":null}`), false, calls(`a {}`), 0},
		{"type differs", expect(`a {"x":1}`), false, calls(`a {"x":"1"}`), 0},
		{"deep", expect(`a {"x":{"y":[1,{"z":true}]}}`), false, calls(`a {"x":{"y":[1,{"z":true,"w":0}],"v":0}}`), 1},
		{"list of another length", expect(`a {"x":[1]}`), false, calls(`a {"x":[1,2]}`), 0},
		{"object for a value", expect(`a {"x":1}`), false, calls(`a {"x":{}}`), 0},
		{"list for a value", expect(`a {"x":"1"}`), false, calls(`a {"x":["1"]}`), 0},
		{"value for an object", expect(`a {"x":{}}`), false, calls(`a {"x":1}`), 0},
		{"null means any", expect(`a null`), false, calls(`a {"x":1}`), 1},
		{"arguments that are not JSON", expect(`a {"x":1}`), false, calls(`a {"x":1`), 0},
		{"no JSON, none asked for", expect(`a`), false, calls(`a {"x":1`), 1},
		{"no arguments at all", expect(`a {"x":1}`), false, calls(`a`), 0},
		{"the general call gives way to the special one", expect(`a`, `a {"x":1}`), false, calls(`a {"x":1}`, `a {"x":2}`), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := evaluator.ToolCalls{Expected: tt.expected, Chain: tt.chain}
			m := measureCalls(t, spec, tt.calls)
			if m.Error != "" {
				t.Fatal(m.Error)
			}
			if got := score(t, spec, m); math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("score %v (%s), want %v", got, m.Reason, tt.want)
			}
		})
	}
}

func TestToolCallReasons(t *testing.T) {
	for _, tt := range []struct {
		spec  evaluator.ToolCalls
		calls *verdict.Transcript
		want  string
	}{
		{evaluator.ToolCalls{Expected: expect("a", "b"), Chain: true}, calls("a", "b"), "2 of 2 expected tool calls were made in order"},
		{evaluator.ToolCalls{Expected: expect("a", "b"), Chain: true}, calls("b", "a"), "called out of order"},
		{evaluator.ToolCalls{Expected: expect("a")}, calls(), "a (not called); called: none"},
		{evaluator.ToolCalls{Expected: expect("a", "a")}, calls("a"), "a (called too few times)"},
		{evaluator.ToolCalls{Expected: expect(`a {"x":1}`)}, calls(`a {"x":2}`), `called with other arguments: {"x":2}`},
	} {
		if got := measureCalls(t, tt.spec, tt.calls).Reason; !strings.Contains(got, tt.want) {
			t.Errorf("reason %q, want %q", got, tt.want)
		}
	}
}

func TestToolCallErrors(t *testing.T) {
	untraced := calls("a")
	untraced.Traced = false
	fails(t, measureCalls(t, evaluator.ToolCalls{Expected: expect("a")}, untraced), "does not report")
	fails(t, measureCalls(t, evaluator.ToolCalls{Expected: expect(`a {"x"`)}, calls("a")), "expected arguments of a")
	fails(t, measureCalls(t, evaluator.ToolCalls{}, calls("a")), "no tool call is expected")
	fails(t, measureCalls(t, evaluator.ToolCalls{Expected: make([]evaluator.ExpectedCall, 1001)}, calls("a")), "at most 1000")
}

// Only so many calls of an agent that calls without end are looked at.
func TestToolCallsOfChattyAgent(t *testing.T) {
	many := make([]string, 20_000)
	for i := range many {
		many[i] = "a {\"x\":1}"
	}
	many = append(many, "b")
	for _, chain := range []bool{false, true} {
		spec := evaluator.ToolCalls{Expected: expect(append(many[:999:999], "b")...), Chain: chain}
		if got := score(t, spec, measureCalls(t, spec, calls(many...))); got != 0.999 {
			t.Errorf("chain %v: score %v, want 0.999", chain, got)
		}
	}
}
