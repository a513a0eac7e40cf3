package run_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// TestAProposal is the editor's prompt after the last attempt failed, also without
// retries. It is not run, and no second run asks for it again.
func TestAProposal(t *testing.T) {
	for _, tt := range []struct {
		name    string
		retries int
		marks   map[string][]int
		prompts []string
		verdict verdict.Verdict
		calls   string
		want    []verdict.Attempt // by their prompts
		reason  string
	}{
		{"without a retry",
			0, map[string][]int{"old": {1}}, []string{"new"}, verdict.Fail, "1 1 1", []verdict.Attempt{{System: "old", Proposal: "new"}}, "sum 1",
		},
		{"after the last",
			1, map[string][]int{"old": {1}, "new": {2}}, []string{"new", "newer"}, verdict.Fail, "2 2 2",
			[]verdict.Attempt{{System: "old"}, {System: "new", Proposal: "newer"}}, "failed in 2 attempts; the last: sum 2",
		},
		{"not of a case that passes",
			1, map[string][]int{"old": {1}, "new": {9}}, []string{"new", "newer"}, verdict.Pass, "2 2 1",
			[]verdict.Attempt{{System: "old"}, {System: "new"}}, "passed on attempt 2: sum 9",
		},
		{"not of a first that passes", 0, map[string][]int{"old": {9}}, []string{"new"}, verdict.Pass, "1 1 0", nil, "sum 9"},
		{"an editor without one",
			0, map[string][]int{"old": {1}}, nil, verdict.Fail, "1 1 1", nil, "sum 1; no prompt is proposed: target editor: no idea",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := newAttemptsFixture(t)
			tr.marks, tr.prompts = tt.marks, tt.prompts
			c := retried(tt.retries, &schema.Edit{Editor: schema.GeminiEditor})
			out := tr.hold(t, c)
			if out.Result.Verdict != tt.verdict || out.Result.Reason != tt.reason || tr.calls() != tt.calls {
				t.Errorf("calls %s, %+v, want calls %s, %s: %s", tr.calls(), out.Result, tt.calls, tt.verdict, tt.reason)
			}
			var got []verdict.Attempt
			for _, a := range out.Result.Attempts {
				got = append(got, verdict.Attempt{System: a.System, Proposal: a.Proposal})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the prompts (-want +got):\n%s", diff)
			}
			if again := tr.hold(t, c); tt.prompts != nil && (tr.calls() != tt.calls || again.Made != out.Made) {
				t.Errorf("a second run makes the calls %s, want none more than %s", tr.calls(), tt.calls)
			}
		})
	}
}

// TestARunInErrorIsNoFailure has one of two runs fail and the other end in an error:
// the attempt is an error, which is neither run again nor shown to an editor.
func TestARunInErrorIsNoFailure(t *testing.T) {
	tr := newAttemptsFixture(t)
	tr.marks = map[string][]int{"old": {1, 1}, "new": {9, 9}}
	tr.prompts = []string{"new"}
	answer := tr.agent.answer
	tr.agent.answer = func(n int, req target.Request) (target.Reply, error) {
		if n == 1 {
			return target.Reply{}, &target.Error{Target: "bot", Message: "gone"}
		}
		return answer(n, req)
	}
	c := retried(1, &schema.Edit{Editor: schema.GeminiEditor})
	c.Policy.Iterations, c.Policy.Whole = 2, true
	out := tr.hold(t, c)
	if out.Result.Verdict != verdict.Error || !strings.Contains(out.Result.Reason, "gone") || len(tr.editor.asked) > 0 {
		t.Errorf("calls %s, %+v, want an error of the first attempt without an editor", tr.calls(), out.Result)
	}
	out = tr.hold(t, c)
	if out.Result.Verdict != verdict.Pass || len(out.Result.Attempts) != 2 || len(tr.editor.asked) != 1 {
		t.Errorf("the next run: calls %s, %+v, want a pass on attempt 2", tr.calls(), out.Result)
	}
}
