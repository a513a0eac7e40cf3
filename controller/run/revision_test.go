package run_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// TestRevision judges an agent only when it says that it runs the commit that
// is wanted, and waits for it as long as it may.
func TestRevision(t *testing.T) {
	missing := &target.Error{Target: "bot", Status: 404, Message: "no such preview"}
	for _, tt := range []struct {
		name     string
		revision string
		waitFor  time.Duration
		// before are the answers until the agent is there: a revision or an error.
		before []any
		want   string // part of the error; empty for a pass
		slept  time.Duration
	}{
		{"there at once", config.RevisionReply, 0, nil, "", 0},
		{"another", config.RevisionReply, 0, []any{"old"}, "agent is at old, wanted new", 0},
		{"an agent that says none", config.RevisionReply, 0, []any{""}, "agent is at an unknown revision, wanted new", 0},
		{"on its way", config.RevisionReply, time.Minute, []any{"old", "old"}, "", 10 * time.Second},
		{"too late", config.RevisionReply, 7 * time.Second, []any{"old", "old", "old"}, "agent is at old, wanted new", 10 * time.Second},
		{"a preview that comes up", config.RevisionTemplate, time.Minute, []any{missing, "old"}, "", 10 * time.Second},
		{"no preview", config.RevisionTemplate, 4 * time.Second, []any{missing, missing, missing}, "no such preview", 5 * time.Second},
		{"not found is no deploying", config.RevisionReply, time.Minute, []any{missing}, "no such preview", 0},
		{"nobody asks", config.RevisionNone, 0, []any{"old"}, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.clock = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			b.revision = "new"
			b.cfg = config.Target{Name: "bot", Provider: config.HTTP, Kind: config.Agent, Revision: tt.revision, WaitFor: tt.waitFor, Concurrency: 1}
			began := b.clock
			replied := 0
			s := &script{answer: func(n int, _ target.Request) (target.Reply, error) {
				reply := says("hello")
				reply.Revision = "new"
				replied++
				if n >= len(tt.before) {
					return reply, nil
				}
				if err, ok := tt.before[n].(error); ok {
					replied--
					return target.Reply{}, err
				}
				reply.Revision, _ = tt.before[n].(string)
				return reply, nil
			}}
			got := b.run(t.Context(), t, s, greeting("a"))[0]
			revisionHolds(t, got, tt.want)
			if got.Spent.Calls != replied {
				t.Errorf("%d calls are counted, and %d were answered", got.Spent.Calls, replied)
			}
			if slept := b.clock.Sub(began); slept != tt.slept {
				t.Errorf("waited %v, want %v", slept, tt.slept)
			}
			// The replies of another revision are not replayed.
			s.answer = func(int, target.Request) (target.Reply, error) {
				reply := says("hello")
				reply.Revision = "new"
				return reply, nil
			}
			revisionHolds(t, b.run(t.Context(), t, s, greeting("a"))[0], "")
		})
	}
}

func revisionHolds(t *testing.T, got run.Outcome, want string) {
	t.Helper()
	switch {
	case want == "" && got.Result.Verdict != verdict.Pass:
		t.Errorf("got %s: %s, want a pass", got.Result.Verdict, got.Result.Reason)
	case want != "" && (got.Result.Verdict != verdict.Error || !strings.Contains(got.Result.Reason, want)):
		t.Errorf("got %s: %s, want the error %q", got.Result.Verdict, got.Result.Reason, want)
	}
}
