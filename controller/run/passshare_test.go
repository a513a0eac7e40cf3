package run_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// greets answers by the letters in turn: P passes, F fails, and E is an error. More calls
// than letters fail the test.
func greets(t *testing.T, letters string) *script {
	return &script{answer: func(n int, _ target.Request) (target.Reply, error) {
		if n >= len(letters) {
			t.Errorf("call %d is one too many", n+1)
			return says("go away"), nil
		}
		switch letters[n] {
		case 'E':
			return target.Reply{}, &target.Error{Target: "bot", Message: "no answer"}
		case 'P':
			return says("hello"), nil
		}
		return says("go away"), nil
	}}
}

// TestAPassShareStopsEarly: the calls are the letters of the table, none more, and a second
// run makes none.
func TestAPassShareStopsEarly(t *testing.T) {
	for _, tt := range []struct {
		name    string
		share   schema.PassShare
		calls   string
		verdict verdict.Verdict
		reason  string
		again   int // calls of a second run
	}{
		{"met", schema.PassShare{Share: .8, Samples: 10}, "PPPPPPPP", verdict.Pass, "(8 passed and 0 failed; 8 of 10 samples must pass)", 0},
		{"met late", schema.PassShare{Share: .8, Samples: 10}, "FPPFPPPPPP", verdict.Pass, "(8 passed and 2 failed; 8 of 10 samples must pass)", 0},
		{"missed", schema.PassShare{Share: .8, Samples: 10}, "FFF", verdict.Fail, "(0 passed and 3 failed; 8 of 10 samples must pass)", 0},
		{"of the iterations", schema.PassShare{Share: .5}, "FPP", verdict.Pass, "(2 passed and 1 failed; 2 of 4 samples must pass)", 0},
		{"errors are made up for", schema.PassShare{Share: .5}, "EPEP", verdict.Pass, "(2 passed and 0 failed; 2 of 4 samples must pass) (2 of 4 samples ended in an error)", 0},
		{"errors are made up for within a bound", schema.PassShare{Share: .5}, "EEEEEE", verdict.Error, "target bot: no answer", 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, c := newFixture(t), greeting("hi")
			c.Policy.Iterations = 4
			c.Policy.Demand(tt.share)
			bot := greets(t, tt.calls)
			got := b.run(t.Context(), t, bot, c)[0]
			if _, reason, _ := cutReason(got.Result.Reason); got.Result.Verdict != tt.verdict || reason != tt.reason {
				t.Errorf("%s, %q; want %s, %q", got.Result.Verdict, got.Result.Reason, tt.verdict, tt.reason)
			}
			if len(bot.asked) != len(tt.calls) {
				t.Errorf("%d calls, want %d", len(bot.asked), len(tt.calls))
			}
			second := &script{answer: func(int, target.Request) (target.Reply, error) {
				return target.Reply{}, &target.Error{Target: "bot", Message: "no answer"}
			}}
			if again := b.run(t.Context(), t, second, c)[0]; len(second.asked) != tt.again || again.Result.Verdict != tt.verdict {
				t.Errorf("a second run makes %d calls and says %s; want %d and %s", len(second.asked), again.Result.Verdict, tt.again, tt.verdict)
			}
		})
	}
}

// cutReason splits what explains a sample from the counts.
func cutReason(reason string) (before, counts string, found bool) {
	for i, r := range reason {
		if r == '(' && i+1 < len(reason) && reason[i+1] >= '0' && reason[i+1] <= '9' {
			return reason[:i], reason[i:], true
		}
	}
	return "", reason, false
}

// TestAPassShareUsesAllStoredSamples: a share over samples that are stored needs no call, and
// rests on all of them.
func TestAPassShareUsesAllStoredSamples(t *testing.T) {
	b, c := newFixture(t), greeting("hi")
	c.Policy.Iterations = 5
	b.run(t.Context(), t, greets(t, "PPPFP"), c)
	c.Policy.Demand(schema.PassShare{Share: .6, Samples: 5})
	got := b.run(t.Context(), t, greets(t, ""), c)[0].Result
	if got.Verdict != verdict.Pass || got.Samples != 5 || got.PassShare.Passes != 4 {
		t.Errorf("%+v, %+v", got, got.PassShare)
	}
}

// TestAnAttemptIsPartOfASample: only the samples that failed are tried again, and a sample
// passes by any of its attempts.
func TestAnAttemptIsPartOfASample(t *testing.T) {
	for _, tt := range []struct {
		name          string
		most          int
		marks         []int
		verdict       verdict.Verdict
		calls, reason string
		passes        int
	}{
		{"enough pass at once", 2, []int{8, 8, 8}, verdict.Pass, "3 3 0", "sum 8 (3 passed and 0 failed; 3 of 4 samples must pass)", 3},
		{"two are tried again", 1, []int{8, 3, 8, 3, 9}, verdict.Pass, "5 5 0", "passed on attempt 2: sum 8 (3 passed and 1 failed; 3 of 4 samples must pass)", 3},
		{"a third attempt", 2, []int{8, 3, 8, 3, 3, 3, 9}, verdict.Pass, "7 7 0", "passed on attempt 3: sum 8 (3 passed and 1 failed; 3 of 4 samples must pass)", 3},
		{"too many fail for good", 1, []int{8, 3, 8, 3, 3, 3}, verdict.Fail, "6 6 0", "failed in 2 attempts; the last: sum 3 (2 passed and 2 failed; 3 of 4 samples must pass)", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := newAttemptsFixture(t)
			tr.marks["old"] = tt.marks
			c := retried(tt.most, nil)
			c.Policy.Demand(schema.PassShare{Share: .75, Samples: 4})
			out := tr.hold(t, c)
			if out.Result.Verdict != tt.verdict || out.Result.Reason != tt.reason || out.Result.PassShare.Passes != tt.passes {
				t.Errorf("%s, %q, %+v", out.Result.Verdict, out.Result.Reason, out.Result.PassShare)
			}
			if tr.calls() != tt.calls {
				t.Errorf("calls %s, want %s", tr.calls(), tt.calls)
			}
			again := tr.hold(t, c)
			if diff := cmp.Diff(out.Result, again.Result); diff != "" || tr.calls() != tt.calls {
				t.Errorf("a second run makes the calls %s and differs (-first +second):\n%s", tr.calls(), diff)
			}
		})
	}
}

// TestAComparedPromptTakesAllSamples: pairs are compared, whatever the share says of one side.
func TestAComparedPromptTakesAllSamples(t *testing.T) {
	b, c := newFixture(t), greeting("hi")
	c.Alternative = &schema.Alternative{System: "Be brief."}
	c.Policy.Demand(schema.PassShare{Share: .5, Samples: 4})
	bot := &script{answer: always("hello")}
	got := b.run(t.Context(), t, bot, c)[0].Result
	if len(bot.asked) != 8 || got.Comparison == nil || got.Comparison.Pairs != 4 || got.PassShare.Passes != 4 {
		t.Errorf("%d calls, %s", len(bot.asked), fmt.Sprintf("%+v %+v", got.Comparison, got.PassShare))
	}
}

// TestAJudgesErrorIsMadeUpFor: the verdict is stored although a sample was not judged, and a
// lower share is decided over the judged samples, without judging that sample.
func TestAJudgesErrorIsMadeUpFor(t *testing.T) {
	tr := newAttemptsFixture(t)
	judge := tr.judge.answer
	tr.marks["old"] = []int{8}
	tr.judge.answer = func(n int, req target.Request) (target.Reply, error) {
		if n == 0 {
			return target.Reply{}, &target.Error{Target: "judge", Message: "gone"}
		}
		return judge(n, req)
	}
	c := numeric()
	c.Policy.Demand(schema.PassShare{Share: .75, Samples: 4})
	out := tr.hold(t, c)
	if out.Result.Verdict != verdict.Pass || tr.calls() != "4 4 0" || !tr.decided(t, c) {
		t.Errorf("%+v after the calls %s; stored: %t", out.Result, tr.calls(), tr.decided(t, c))
	}
	lower := numeric()
	lower.Policy.Demand(schema.PassShare{Share: .5, Samples: 4})
	if again := tr.hold(t, lower); again.Result.Verdict != verdict.Pass || again.Result.PassShare.Passes != 3 || tr.calls() != "4 4 0" {
		t.Errorf("%+v after the calls %s", again.Result, tr.calls())
	}
}
