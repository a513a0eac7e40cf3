package run_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// TestAStoppedCaseHasNoResultOfItsSamples has one sample of two be stored, which
// passed, and stops the run at the other.
func TestAStoppedCaseHasNoResultOfItsSamples(t *testing.T) {
	b := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &script{answer: func(n int, _ target.Request) (target.Reply, error) {
		if n == 0 {
			return says("hello"), nil
		}
		cancel()
		return target.Reply{}, context.Canceled
	}}
	b.run(ctx, t, s, greeting("a"))
	c := greeting("a")
	c.Policy.Iterations = 2
	out := b.run(ctx, t, s, c)[0]
	want := verdict.Result{Verdict: verdict.Error, Reason: "the run was stopped before the case was judged"}
	if diff := cmp.Diff(want, out.Result); diff != "" || !out.Stopped {
		t.Errorf("a case that was stopped at the second of two samples: stopped is %v, want true; its result (-want +got):\n%s", out.Stopped, diff)
	}
	if len(out.Transcripts) != 1 || len(s.asked) != 2 {
		t.Errorf("%d transcripts are listed after %d calls, want that of the first sample after 2", len(out.Transcripts), len(s.asked))
	}
}

// TestSamplesThatAreNotReadAreNotTakenAgain has a ledger whose samples cannot be
// read, while its judgements and calls can.
func TestSamplesThatAreNotReadAreNotTakenAgain(t *testing.T) {
	path := emptyLedger(t)
	b := fixtureOn(t, path)
	s := &script{answer: always("hello")}
	b.run(t.Context(), t, s, greeting("a"))
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // the test is over
	for _, text := range []string{"DELETE FROM calls", "ALTER TABLE transcripts RENAME TO lost"} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	operator, changed := ledger.Trust{Level: ledger.LevelOperator}, greeting("a")
	_, err = run.Run(t.Context(), run.Config{
		Ledger: b.store, Trust: operator, Targets: map[string]run.Target{"bot": {Target: s, Config: config.Target{Name: "bot"}}},
	}, []run.Job{{
		Case: changed, Target: "bot", Scope: ledger.Scope{Trust: operator}, Digests: plan.Digest(changed, &plan.Environment{DefaultTarget: "bot"}),
	}})
	if err == nil || len(s.asked) != 1 {
		t.Errorf("a run on a ledger whose samples cannot be read returned %v after %d calls, want an error and no call after the first", err, len(s.asked))
	}
}

// TestFirstRequests are to the simulator only where it opens the conversation.
func TestFirstRequests(t *testing.T) {
	hello := []schema.Message{{Role: schema.RoleUser, Content: "hello"}}
	bye := []schema.Message{{Role: schema.RoleUser, Content: "bye"}}
	for _, tt := range []struct {
		name  string
		drive schema.Drive
		want  [][]schema.Message // nil if the simulator is asked
	}{
		{"messages", schema.Drive{Messages: hello}, [][]schema.Message{hello}},
		{"a simulator", schema.Drive{Simulation: &schema.Simulation{}}, [][]schema.Message{nil}},
		{"a simulator after messages", schema.Drive{Messages: hello, Simulation: &schema.Simulation{}}, [][]schema.Message{hello}},
		{"a simulator after the target's words", schema.Drive{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: "hello"}}, Simulation: &schema.Simulation{}}, [][]schema.Message{nil}},
		{"a target that opens", schema.Drive{TargetOpens: true, Simulation: &schema.Simulation{}}, [][]schema.Message{nil}},
		{"several openings", schema.Drive{Openings: [][]schema.Message{hello, bye}}, [][]schema.Message{hello, bye}},
	} {
		var got [][]schema.Message
		for _, req := range run.OpeningRequests(&schema.Case{Drive: tt.drive}) {
			if req.Format != nil {
				req.Messages = nil
			}
			got = append(got, req.Messages)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: the messages of the first requests (-want +got):\n%s", tt.name, diff)
		}
	}
}
