package run_test

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

func withAlternative(iterations int) *schema.Case {
	c := numeric()
	c.Policy.Iterations = iterations
	c.Alternative = &schema.Alternative{System: "B"}
	return c
}

// TestContests has the marks under both prompts, the last of which repeats. The verdict
// is A's, even if B wins.
func TestContests(t *testing.T) {
	for _, tt := range []struct {
		name    string
		a, b    []int
		delta   float64
		winner  string
		verdict verdict.Verdict
	}{
		{"B is better", []int{3}, []int{9}, 0.6, "B", verdict.Fail},
		{"A is better", []int{9}, []int{3}, -0.6, "A", verdict.Pass},
		{"the same", []int{8}, []int{8}, 0, "", verdict.Pass},
		{"better by what varies", []int{7, 3, 9, 5}, []int{5, 9, 8, 6}, 0.1, "", verdict.Fail},
		{"better by a step", []int{7}, []int{8}, 0.1, "B", verdict.Pass},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := newAttemptsFixture(t)
			tr.cfg.Concurrency = 1
			tr.marks = map[string][]int{"old": tt.a, "B": tt.b}
			out := tr.hold(t, withAlternative(4))
			c := out.Result.Comparison
			if c == nil || c.Pairs != 4 || c.Winner != tt.winner || math.Abs(c.Score.Delta-tt.delta) > 1e-9 || out.Result.Verdict != tt.verdict {
				t.Fatalf("%s, comparison %+v", out.Result.Verdict, c)
			}
			if c.SystemA != "old" || c.SystemB != "B" || len(c.Criteria) != 1 || c.Criteria[0].ID != "A" || c.Criteria[0].Low == nil {
				t.Errorf("the comparison is %+v, want old against B by criterion A with its bounds", c)
			}
			if math.Abs(c.Criteria[0].B-c.Criteria[0].A-tt.delta) > 1e-9 {
				t.Errorf("criterion %+v", c.Criteria[0])
			}
			if again := tr.hold(t, withAlternative(4)); tr.calls() != "8 8 0" || again.Result.Comparison.Winner != tt.winner || again.Made != out.Made {
				t.Errorf("a second run makes the calls %s", tr.calls())
			}
		})
	}
}

func TestOnePairHasNoInterval(t *testing.T) {
	tr := newAttemptsFixture(t)
	tr.marks = map[string][]int{"old": {1}, "B": {9}}
	c := tr.hold(t, withAlternative(1)).Result.Comparison
	if c.Winner != "" || c.Score.Low != nil || c.Pairs != 1 {
		t.Errorf("the comparison is %+v, want no winner and no bounds of 1 pair", c)
	}
}

// TestTheAlternativeFails has B's target in error: A is judged, the comparison is
// short of a pair, and the next run makes the calls that are missing.
func TestTheAlternativeFails(t *testing.T) {
	tr := newAttemptsFixture(t)
	tr.marks = map[string][]int{"old": {8}, "B": {9}}
	answer := tr.agent.answer
	tr.agent.answer = func(n int, req target.Request) (target.Reply, error) {
		if req.System == "B" {
			return target.Reply{}, &target.Error{Target: "bot", Message: "gone"}
		}
		return answer(n, req)
	}
	out := tr.hold(t, withAlternative(2))
	if c := out.Result.Comparison; out.Result.Verdict != verdict.Pass || c.Errors != 2 || c.Pairs != 0 || c.Score != nil || !strings.Contains(c.Error, "gone") {
		t.Errorf("the result is %+v with %+v, want a pass and 2 errors of the comparison", out.Result, out.Result.Comparison)
	}
	tr.agent.answer, tr.agent.asked, tr.judge.asked = answer, nil, nil
	if out := tr.hold(t, withAlternative(2)); out.Result.Comparison.Pairs != 2 || tr.calls() != "2 2 0" {
		t.Errorf("calls %s, %+v", tr.calls(), out.Result.Comparison)
	}
}

// TestTheAlternativeIsRunInTheFirstAttemptOnly has A retried.
func TestTheAlternativeIsRunInTheFirstAttemptOnly(t *testing.T) {
	tr := newAttemptsFixture(t)
	tr.marks = map[string][]int{"old": {1, 8}, "B": {9}}
	c := retried(2, nil)
	c.Alternative = &schema.Alternative{System: "B"}
	out := tr.hold(t, c)
	if out.Result.Verdict != verdict.Pass || tr.calls() != "3 3 0" || out.Result.Comparison == nil || out.Result.Comparison.Score.A != 0.1 {
		t.Errorf("calls %s, %+v", tr.calls(), out.Result)
	}
}

// TestSemanticContest has a judge who sees both outputs: it is asked for every pair in
// both orders, and prefers the given one, or a place.
func TestSemanticContest(t *testing.T) {
	for _, tt := range []struct {
		name       string
		prefer     string // the output of this prompt, or a place
		a, b, ties int
		winner     string
	}{
		{"B", "B", 0, 6, 0, "B"},
		{"A", "old", 6, 0, 0, "A"},
		{"the first", "first", 0, 0, 6, ""},
		{"neither", "tie", 0, 0, 6, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := newAttemptsFixture(t)
			firstOutput := regexp.MustCompile(`<<<FIRST OUTPUT \w+\noutput<(\w+)\|`)
			tr.judge.answer = func(_ int, req target.Request) (target.Reply, error) {
				match := firstOutput.FindStringSubmatch(req.Messages[0].Content)
				if match == nil {
					return says(`{"analysis":"","grade":"Good","pass":true}`), nil
				}
				better := tt.prefer
				switch {
				case better == match[1]:
					better = "first"
				case better == "B" || better == "old":
					better = "second"
				}
				return says(fmt.Sprintf(`{"analysis":"","better":%q}`, better)), nil
			}
			spec := evaluator.Semantic{Instruction: "Good?"}
			c := withAlternative(6)
			c.Evaluators = []schema.Evaluator{{Name: "semantic", Weight: 1, Spec: spec, Rule: spec.Rule()}}
			c.Alternative.Comparison = evaluator.Comparison(spec)
			out := tr.hold(t, c)
			got := out.Result.Comparison
			if p := got.Preferences; p.A != tt.a || p.B != tt.b || p.Ties != tt.ties || got.Winner != tt.winner || got.Pairs != 6 {
				t.Errorf("the comparison is %+v with %+v, want the counts and the winner of the table in 6 pairs", got, p)
			}
			// 6 outputs of each, each judged by itself, and 6 pairs in two orders.
			if tr.calls() != "12 24 0" || out.Made.Calls != 36 {
				t.Errorf("calls %s, made %d", tr.calls(), out.Made.Calls)
			}
			if tr.hold(t, c); tr.calls() != "12 24 0" {
				t.Errorf("a second run makes the calls %s", tr.calls())
			}
		})
	}
}

// TestAnUnreadablePreference is an error of the pair and not of the case, and
// is asked for again by the next run.
func TestAnUnreadablePreference(t *testing.T) {
	tr := newAttemptsFixture(t)
	mumbles := true
	tr.judge.answer = func(_ int, req target.Request) (target.Reply, error) {
		switch {
		case !strings.Contains(req.Messages[0].Content, "<<<FIRST OUTPUT"):
			return says(`{"analysis":"","grade":"Good","pass":true}`), nil
		case mumbles:
			return says("B, I think"), nil
		}
		return says(`{"analysis":"","better":"tie"}`), nil
	}
	spec := evaluator.Semantic{Instruction: "Good?"}
	c := withAlternative(1)
	c.Evaluators = []schema.Evaluator{{Name: "semantic", Weight: 1, Spec: spec, Rule: spec.Rule()}}
	c.Alternative.Comparison = evaluator.Comparison(spec)
	out := tr.hold(t, c)
	if got := out.Result.Comparison; out.Result.Verdict != verdict.Pass || got.Errors != 1 || !strings.Contains(got.Error, "3 attempts") {
		t.Errorf("the result is %+v with %+v, want a pass and an error after 3 attempts", out.Result, got)
	}
	if tr.decided(t, c) {
		t.Error("a comparison that is not complete is remembered")
	}
	mumbles = false
	out = tr.hold(t, c)
	if got := out.Result.Comparison; got.Errors != 0 || got.Preferences.Ties != 1 || len(tr.agent.asked) != 2 || out.Spent.Calls != 2 {
		t.Errorf("%+v, spent %+v", got, out.Spent)
	}
	if !tr.decided(t, c) {
		t.Error("a comparison that is complete is not remembered")
	}
}
