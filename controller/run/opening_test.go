package run_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// TestTheAgentOpens with words from the case, for which it is not called, or with words
// of its own. Either is one of its replies, and the simulated user only knows these.
func TestTheAgentOpens(t *testing.T) {
	for _, tt := range []struct {
		name     string
		first    string
		maxTurns int
		agent    []target.Reply
		user     []string
		want     string
		end      verdict.End
	}{
		{"with the case's words", "Welcome", 2, []target.Reply{says("Sure")}, []string{line("A hat", false)}, "assistant: Welcome\nuser: A hat\nassistant: Sure", verdict.EndedByLimit},
		{"with nothing to follow", "Welcome", 1, nil, nil, "assistant: Welcome", verdict.EndedByLimit},
		{"and the user leaves", "Welcome", 0, nil, []string{line("Bye", true)}, "assistant: Welcome\nuser: Bye", verdict.EndedByUser},
		{"with words of its own", "", 2, []target.Reply{says("Good day"), says("Sure")}, []string{line("A hat", false)}, "assistant: Good day\nuser: A hat\nassistant: Sure", verdict.EndedByLimit},
		{"and says all that it can", "", 1, []target.Reply{says("Good day")}, nil, "assistant: Good day", verdict.EndedByLimit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newConversationFixture(t, tt.agent, tt.user...)
			c := simulated("")
			if c.Policy.MaxTurns = tt.maxTurns; tt.first == "" {
				c.Drive.TargetOpens = true
			} else {
				c.Drive.Messages = []schema.Message{{Role: schema.RoleAssistant, Content: tt.first}}
			}
			out := s.hold(t, c)
			if diff := cmp.Diff(tt.want, spoken(out)); diff != "" {
				t.Fatalf("%+v (-want +got):\n%s", out.Result, diff)
			}
			if got := out.Transcripts[0].Ended; got != tt.end {
				t.Errorf("ended by %q, want %q", got, tt.end)
			}
			if len(s.agent.asked) != len(tt.agent) {
				t.Errorf("the agent was asked %d times, want %d", len(s.agent.asked), len(tt.agent))
			}
			if tt.first == "" && len(s.agent.asked[0].Messages) > 0 {
				t.Errorf("the agent that opens is sent %v, want no message", s.agent.asked[0].Messages)
			}
			for _, req := range s.user.asked {
				if first := req.Messages[0]; first.Role != schema.RoleUser || strings.Contains(first.Content, "You speak first") {
					t.Errorf("the simulator is told first %+v, want the agent's words", first)
				}
			}
		})
	}
}

// TestNoNaturalEnd is an error of a conversation that its timeout ends: neither side
// failed. One that has a bound, and one that never began, timed out and no more.
func TestNoNaturalEnd(t *testing.T) {
	for _, tt := range []struct {
		name              string
		replies, maxTurns int
		natural           bool
	}{
		{"in the third turn", 2, 0, true},
		{"in the third of five turns", 2, 5, false},
		{"before the agent said anything", 0, 0, false},
	} {
		s := newConversationFixture(t, nil)
		s.clock = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
		s.agent.answer = func(n int, _ target.Request) (target.Reply, error) {
			if n == tt.replies {
				s.clock = s.clock.Add(2 * time.Minute)
				return target.Reply{}, &target.Error{Target: "bot", Message: "busy", Retry: true}
			}
			return says("Yes?"), nil
		}
		s.user.answer = func(int, target.Request) (target.Reply, error) { return says(line("And then?", false)), nil }
		c := simulated("Hi")
		c.Policy.MaxTurns = tt.maxTurns
		out := s.hold(t, c)
		reason := out.Result.Reason
		if out.Result.Verdict != verdict.Error || !strings.Contains(reason, "target bot: no answer within 1m0s: busy") ||
			strings.Contains(reason, "no natural end: neither side ended the conversation after 2 replies") != tt.natural {
			t.Errorf("%s: the result is %+v, want the error that it timed out, and has no natural end: %v", tt.name, out.Result, tt.natural)
		}
	}
}
