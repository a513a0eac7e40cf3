package run_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// told are the replies that a recording gets, one a line.
type told struct {
	mu    sync.Mutex
	lines []string
}

func (l *told) record(name, digest string, req target.Request, reply target.Reply) {
	text, _ := json.Marshal(reply)
	last := req.Messages[len(req.Messages)-1]
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf("%s %.8s %d %d %.8s %s %s: %s → %s", name, digest, req.Sample, req.Occurrence, req.Root, req.Case, last.Role, head(last.Content), text))
}

// head is the beginning of a text, without the marks for delimiters.
func head(text string) string {
	words := strings.Fields(strings.ReplaceAll(text, target.Mark, ""))
	return strings.Join(words[:min(len(words), 5)], " ")
}

// take gives the lines without those that are the same, sorted.
func (l *told) take() []string {
	out := slices.Compact(slices.Sorted(slices.Values(l.lines)))
	l.lines = nil
	return out
}

// TestRetell: the stored entries of a case give the lines that the live run gave,
// whatever its calls are, and nobody is called.
func TestRetell(t *testing.T) {
	compared := withAlternative(2)
	spec := evaluator.Semantic{Instruction: "Good?"}
	compared.Evaluators = []schema.Evaluator{{Name: "semantic", Weight: 1, Spec: spec, Rule: spec.Rule()}}
	compared.Alternative.Comparison = evaluator.Comparison(spec)
	for _, tt := range []struct {
		name string
		c    *schema.Case
	}{
		{"samples", several(3)},
		{"attempts", retried(2, nil)},
		{"attempts by another prompt", retried(2, &schema.Edit{Editor: schema.GeminiEditor})},
		{"two prompts", withAlternative(2)},
		{"two prompts and preferences", compared},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr, l := newAttemptsFixture(t), &told{}
			tr.record = l.record
			tr.prompts = []string{"new", "newer"}
			judge := tr.judge.answer
			tr.judge.answer = func(n int, req target.Request) (target.Reply, error) {
				switch {
				case tt.name != "two prompts and preferences":
					return judge(n, req)
				case strings.Contains(req.Messages[0].Content, "<<<FIRST OUTPUT"):
					return says(`{"analysis":"","better":"tie"}`), nil
				}
				return says(`{"analysis":"","grade":"Good","pass":true}`), nil
			}
			tr.marks = map[string][]int{"old": {3}, "new": {3}, "newer": {9}, "B": {9}}
			tr.hold(t, tt.c)
			live, calls := l.take(), tr.calls()
			if len(live) < 2 {
				t.Fatalf("the live run tells of %q", live)
			}
			cfg, job := tr.job(tt.c)
			unrecorded, err := run.RecordStored(t.Context(), cfg, []run.Job{job})
			if err != nil || len(unrecorded) > 0 {
				t.Fatalf("unrecorded %v, %v", unrecorded, err)
			}
			if diff := cmp.Diff(live, l.take()); diff != "" {
				t.Errorf("(-live +stored):\n%s", diff)
			}
			if tr.calls() != calls {
				t.Errorf("%s calls, %s before", tr.calls(), calls)
			}
		})
	}
}

// TestRetellWithoutCalls: a case with a lost reply is named, and another one is
// recorded.
func TestRetellWithoutCalls(t *testing.T) {
	tr, l := newAttemptsFixture(t), &told{}
	tr.marks = map[string][]int{"old": {9}}
	tr.record = l.record
	c := numeric()
	tr.hold(t, c)
	l.take()
	cfg, job := tr.job(c)
	key := ledger.CallKey{Digest: job.Digests.E}
	if err := tr.store.DropCalls(t.Context(), cfg.Trust, key, nil); err != nil {
		t.Fatal(err)
	}
	unrecorded, err := run.RecordStored(t.Context(), cfg, []run.Job{job})
	if err != nil || !slices.Equal(unrecorded, []string{c.Key}) || tr.calls() != "1 1 0" {
		t.Errorf("unrecorded %v, %v, calls %s", unrecorded, err, tr.calls())
	}
	if out := tr.hold(t, c); !out.Unrecorded || out.Spent.Calls != 0 {
		t.Errorf("a run that reuses it: %+v", out)
	}
}

// TestRerunTells: a run that judges earlier replies records their requests.
func TestRerunTells(t *testing.T) {
	tr, l := newAttemptsFixture(t), &told{}
	tr.marks = map[string][]int{"old": {9}}
	c := numeric()
	c.Policy.Iterations = 2
	tr.hold(t, c)
	tr.record = l.record
	out := tr.hold(t, c)
	if got := l.take(); len(got) != 4 || out.Spent.Calls != 0 {
		t.Errorf("%d calls, and %d lines:\n%s", out.Spent.Calls, len(got), strings.Join(got, "\n"))
	}
}
