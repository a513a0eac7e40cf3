package run_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// turned is a conversation of three turns; the target gets as many before the current
// one as window says.
func turned(window int) *schema.Case {
	user := func(text string) []schema.Message { return []schema.Message{{Role: schema.RoleUser, Content: text}} }
	c := simulated("One")
	c.Drive = schema.Drive{Messages: user("One"), Script: &schema.Script{Turns: [][]schema.Message{user("Two"), user("Three")}, Window: window}}
	part := func(turn int, word string) evaluator.Member {
		return evaluator.Member{ID: word, Rule: schema.Rule{Contained: true}, Spec: evaluator.Composite{
			View:    &evaluator.View{Turn: turn},
			Members: []evaluator.Member{{ID: "contains", Spec: evaluator.Assertion{Type: "contains", Value: []byte(`"` + word + `"`)}}},
		}}
	}
	c.Evaluators[0].Spec = evaluator.Composite{Members: []evaluator.Member{part(1, "a"), part(2, "b"), part(3, "nothing"), part(0, "user: Two")}}
	return c
}

// TestTurns: the case says what the user does, the target replies to each, and what it is sent
// has the turns in the window. Each reply is measured by itself, and stored with its place.
func TestTurns(t *testing.T) {
	replies := []target.Reply{says("a"), says("", calls("get", "{}")), says("b"), says("c")}
	const said = "user: One\nassistant: a\nuser: Two\nassistant: get()\ntool: {\"error\":\"there is no tool get\"}\nassistant: b\nuser: Three\nassistant: c"
	for _, tt := range []struct {
		window int
		sent   string // the messages of each request
	}{
		{0, "One / One a Two / One a Two  {\"error\":\"there is no tool get\"} / One a Two  {\"error\":\"there is no tool get\"} b Three"},
		{1, "One / One a Two / One a Two  {\"error\":\"there is no tool get\"} / Two  {\"error\":\"there is no tool get\"} b Three"},
	} {
		s := newConversationFixture(t, replies)
		out := s.hold(t, turned(tt.window))
		if diff := cmp.Diff(said, spoken(out)); diff != "" || out.Result.Score == nil {
			t.Fatalf("%+v (-want +got):\n%s", out.Result, diff)
		}
		var sent []string
		for _, req := range s.agent.asked {
			var words []string
			for _, m := range req.Messages {
				words = append(words, m.Content)
			}
			sent = append(sent, strings.Join(words, " "))
		}
		if diff := cmp.Diff(tt.sent, strings.Join(sent, " / ")); diff != "" {
			t.Errorf("with a window of %d the target is sent (-want +got):\n%s", tt.window, diff)
		}
		if *out.Result.Score != 0.75 {
			t.Errorf("the score is %v, want that of three turns and the whole: %+v", *out.Result.Score, out.Result)
		}
		turns := out.Transcripts[0].Turns
		for i := range turns {
			turns[i].Latency = 0
		}
		usage := func(n int) verdict.Usage {
			return verdict.Usage{Calls: n, InputTokens: int64(n) * 1_000_000, Unpriced: n}
		}
		want := []verdict.Turn{{From: 1, To: 2, Usage: usage(1)}, {From: 3, To: 6, Usage: usage(2)}, {From: 7, To: 8, Usage: usage(1)}}
		if diff := cmp.Diff(want, turns); diff != "" {
			t.Errorf("the replies (-want +got):\n%s", diff)
		}
		if got := out.Transcripts[0].Usage; got.Calls != 4 {
			t.Errorf("the conversation took %+v, want four calls", got)
		}
	}
}

// TestOneTurn is a conversation, too.
func TestOneTurn(t *testing.T) {
	s := newConversationFixture(t, []target.Reply{says("a")})
	c := turned(0)
	c.Drive.Script.Turns = nil
	composite := c.Evaluators[0].Spec.(evaluator.Composite)
	composite.Members = composite.Members[:1]
	c.Evaluators[0].Spec = composite
	if out := s.hold(t, c); out.Result.Score == nil || *out.Result.Score != 1 || len(out.Transcripts[0].Turns) != 1 {
		t.Errorf("%+v, want the score of the one turn", out.Result)
	}
}

// TestTurnsAreResumed: earlier calls are answered from the journal, and judged again
// without a call.
func TestTurnsAreResumed(t *testing.T) {
	s := newConversationFixture(t, []target.Reply{says("a"), says("b")})
	s.clock = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	if out := s.hold(t, turned(0)); out.Result.Verdict != verdict.Error {
		t.Fatalf("%+v, want the error of the third turn", out.Result)
	}
	asked := len(s.agent.asked)
	s.agent.answer = func(int, target.Request) (target.Reply, error) { return says("c"), nil }
	if out := s.hold(t, turned(0)); out.Result.Score == nil || len(s.agent.asked) != asked+1 {
		t.Fatalf("%+v after %d further calls, want one for the third turn", out.Result, len(s.agent.asked)-asked)
	}
	changed := turned(0)
	composite := changed.Evaluators[0].Spec.(evaluator.Composite)
	composite.Members = composite.Members[:2]
	changed.Evaluators[0].Spec = composite
	if out := s.hold(t, changed); out.Result.Score == nil || *out.Result.Score != 1 || len(s.agent.asked) != asked+1 {
		t.Errorf("%+v after %d further calls, want the score of two turns without another", out.Result, len(s.agent.asked)-asked)
	}
}
