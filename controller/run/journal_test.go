package run_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/target/httpagent"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestTheFirstCallThatDiffersDropsTheRest resumes a conversation whose journal has a
// wrong request in the middle: the calls before it are read, and those after it are
// neither read nor kept.
func TestTheFirstCallThatDiffersDropsTheRest(t *testing.T) {
	operator := ledger.Trust{Level: ledger.LevelOperator}
	for _, tt := range []struct {
		name   string
		differ func(*ledger.Call)
	}{
		{"another request", func(c *ledger.Call) { c.RequestDigest = "another" }},
		{"another role", func(c *ledger.Call) { c.Key.Role = "judge" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newConversationFixture(t, nil)
			turns, lines := 3, 9 // before the agent fails, and before the user is done
			s.agent.answer = func(_ int, req target.Request) (target.Reply, error) {
				if req.Turn == turns {
					return target.Reply{}, &target.Error{Target: "bot", Message: "gone"}
				}
				return says(fmt.Sprint("turn ", req.Turn)), nil
			}
			s.user.answer = func(_ int, req target.Request) (target.Reply, error) {
				return says(line("More", len(req.Messages) > 2*lines)), nil
			}
			c := simulated("Hi")
			scope, e := ledger.Scope{Trust: operator}, plan.Digest(c, s.environment()).E
			journal := func(want int) []ledger.Call {
				t.Helper()
				calls, err := s.store.Calls(t.Context(), scope, e, 0)
				if err != nil || len(calls) != want {
					t.Fatalf("%d calls are stored, want %d (%v)", len(calls), want, err)
				}
				return calls
			}
			s.hold(t, c)
			call := journal(6)[1]
			tt.differ(&call)
			if err := s.store.SaveCall(t.Context(), operator, call); err != nil {
				t.Fatal(err)
			}
			turns, lines = 9, 2
			out := s.hold(t, c)
			if want := "user: Hi\nassistant: turn 0\nuser: More\nassistant: turn 1\nuser: More"; spoken(out) != want || out.Spent.Calls != 3 || out.Made.Calls != 4 {
				t.Errorf("%d calls of %d: %s", out.Spent.Calls, out.Made.Calls, spoken(out))
			}
			if now := journal(4)[1]; now.RequestDigest == "another" || now.Key.Role != string(schema.Simulator) {
				t.Errorf("what differed is still there: %+v", now.Key)
			}
		})
	}
}

// TestASessionIsThatOfAConversation: all turns of a conversation have one session, a
// resumed run goes on with it, and every other sample has another one.
func TestASessionIsThatOfAConversation(t *testing.T) {
	s := newConversationFixture(t, nil)
	// The samples are taken at once, so that what the user says depends on the
	// conversation alone.
	s.user.answer = func(_ int, req target.Request) (target.Reply, error) {
		heard := 0
		for _, m := range req.Messages {
			heard += strings.Count(m.Content, "Well.")
		}
		return says(line("More", heard > 1)), nil
	}
	s.cfg.HTTP.Headers = []httpagent.Header{{Name: "X-Session", Value: "{{session}}"}}
	fails := true
	s.agent.answer = func(_ int, req target.Request) (target.Reply, error) {
		if req.Turn == 1 && fails {
			return target.Reply{}, &target.Error{Target: "bot", Message: "gone"}
		}
		return says("Well."), nil
	}
	c := simulated("Hi")
	c.Policy.Iterations = 2
	c.Evaluators[0].Rule = schema.Rule{}
	s.hold(t, c)
	fails = false
	s.hold(t, c)
	turns := map[string][]int{}
	for _, req := range s.agent.asked {
		turns[req.Session] = append(turns[req.Session], req.Turn)
	}
	if len(turns) != 2 || turns[""] != nil {
		t.Errorf("the turns of each session are %v, want two sessions", turns)
	}
	again := false
	for session, of := range turns {
		if !slices.Contains(of, 1) || slices.Contains(of[1:], 0) {
			t.Errorf("the turns of session %s are %v, want one conversation", session, of)
		}
		again = again || slices.Equal(of, []int{0, 1, 1})
	}
	if !again {
		t.Errorf("the turns of each session are %v, want the one that failed again in its session", turns)
	}

	// Without the hole a target takes no session.
	s.cfg.HTTP.Headers, s.agent.asked = nil, nil
	c.Key = "other"
	c.Drive.Messages[0].Content = "Hello"
	s.hold(t, c)
	for _, req := range s.agent.asked {
		if req.Session != "" {
			t.Errorf("a target without the hole gets the session %s", req.Session)
		}
	}
}

// TestDelimitersCannotBeGuessed has each call of a judge have its own, which
// follows from the call and from the ledger's secret alone.
func TestDelimitersCannotBeGuessed(t *testing.T) {
	c := greeting("a")
	c.Policy.Iterations = 2
	c.Evaluators = []schema.Evaluator{{Name: "judge", Weight: 1, Spec: evaluator.LLMJudge{}}}
	down := true
	said := func() []string {
		s := newConversationFixture(t, []target.Reply{says("A"), says("A")})
		s.store = fixtureOn(t, filepath.Join(t.TempDir(), "ledger.db")).store // with a secret of its own
		s.roles[schema.Judge] = "player"
		s.user.answer = func(n int, _ target.Request) (target.Reply, error) {
			switch {
			case down:
				return target.Reply{}, &target.Error{Target: "player", Message: "gone"}
			case n < 4:
				return says("mumble"), nil // and asked again
			}
			return says(`{"score": 1}`), nil
		}
		down = true
		s.hold(t, c)
		before := delimiters(s.user.asked)
		s.user.asked, down = nil, false
		s.hold(t, c)
		after := delimiters(s.user.asked)
		slices.Sort(after)
		if after[0] == "" || len(after) < 4 || len(slices.Compact(slices.Clone(after))) != len(after) {
			t.Fatalf("the delimiters are %q", after)
		}
		for _, one := range before {
			if !slices.Contains(after, one) {
				t.Errorf("the call that did not get through had %s, and now %q", one, after)
			}
		}
		return after
	}
	one, other := said(), said()
	for _, d := range one {
		if slices.Contains(other, d) {
			t.Errorf("two ledgers have the delimiter %s", d)
		}
	}
}

var marked = regexp.MustCompile(`\b[0-9a-f]{24}\b`)

// delimiters are the first of every request.
func delimiters(asked []target.Request) []string {
	var out []string
	for _, req := range asked {
		var text strings.Builder
		for _, m := range req.Messages {
			text.WriteString(m.Content)
		}
		out = append(out, marked.FindString(text.String()))
	}
	return out
}
