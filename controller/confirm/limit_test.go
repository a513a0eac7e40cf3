package confirm_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// passing is an outcome that passes with a score.
func passing(score float64) confirm.Outcome {
	return confirm.Outcome{Verdict: verdict.Pass, Score: &score}
}

// pairs are n cases with these first scores at base and head; the first few have less at
// head.
func pairs(n, fewer int, base, head, less float64) []confirm.Case {
	cases := make([]confirm.Case, n)
	for i := range cases {
		cases[i] = confirm.Case{Base: []confirm.Outcome{passing(base)}, Fresh: true, Head: passing(head), Weight: 1}
		if i < fewer {
			cases[i].Head = passing(less)
		}
	}
	return cases
}

// all are the places of the cases.
func all(cases []confirm.Case) []int {
	places := make([]int, len(cases))
	for i := range places {
		places[i] = i
	}
	return places
}

// TestJudge: what is not left to chance has no margin.
func TestJudge(t *testing.T) {
	once := func(values ...float64) (list []confirm.Measured) {
		for i, v := range values {
			list = append(list, confirm.Measured{Weight: 1, Cluster: string(rune('a' + i)), Values: []float64{v}})
		}
		return list
	}
	together := once(1, 1, 1, 0, 0, 0)
	for i := range together {
		together[i].Cluster = together[i/3*3].Cluster
	}
	unknown := math.Inf(1)
	for _, tt := range []struct {
		name  string
		limit confirm.Limit
		cases []confirm.Measured
		want  confirm.LimitResult
	}{
		{"certain, at the limit", confirm.Limit{Least: .9, Sum: 9, Weight: 10}, nil, confirm.LimitResult{State: confirm.LimitHeld, Mean: .9, Rounds: 1}},
		{"certain, below", confirm.Limit{Least: .9, Sum: 8.99, Weight: 10}, nil, confirm.LimitResult{State: confirm.LimitBroken, Mean: .899, Rounds: 1}},
		{"certain, a fall as allowed", confirm.Limit{Least: -.1, Paired: true, Sum: -1, Weight: 10}, nil, confirm.LimitResult{State: confirm.LimitHeld, Mean: -.1, Rounds: 1}},
		{"one case cannot move the mean below", confirm.Limit{Least: .7, Sum: 3, Weight: 3}, once(0), confirm.LimitResult{State: confirm.LimitHeld, Mean: .75, Rounds: 1}},
		{"one case cannot move the mean above", confirm.Limit{Least: .8, Sum: 2, Weight: 3}, once(1), confirm.LimitResult{State: confirm.LimitBroken, Mean: .75, Rounds: 1}},
		{"one case cannot make such a fall", confirm.Limit{Least: -.3, Paired: true, Weight: 3}, once(-1), confirm.LimitResult{State: confirm.LimitHeld, Mean: -.25, Rounds: 1}},
		{"one case may make such a fall", confirm.Limit{Least: -.2, Paired: true, Weight: 3}, once(-1), confirm.LimitResult{State: confirm.LimitOpen, Mean: -.25, Margin: unknown, Rounds: 1}},
		// Two clusters, s² = ½ between them: t(0.99, 1) = 31.820516, times √¼.
		{"turns of two conversations", confirm.Limit{Least: .5}, together, confirm.LimitResult{State: confirm.LimitOpen, Mean: .5, Margin: 15.91026, Rounds: 1}},
	} {
		got := tt.limit.Judge(tt.cases)
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, 1e-5)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestLimits goes through the procedure. Margins are worked out by hand.
func TestLimits(t *testing.T) {
	gone := pairs(20, 4, 1, 1, 0)
	gone[0].Gone = true
	stored := pairs(20, 10, 1, 1, 0)
	for i := range stored {
		stored[i].Fresh, stored[i].Base = false, []confirm.Outcome{passing(1), passing(1)}
	}
	errors := pairs(20, 0, 1, 1, 0)
	errors[3].Head = confirm.Outcome{Verdict: verdict.Error}
	for _, tt := range []struct {
		name  string
		cases []confirm.Case
		limit confirm.Limit
		// again are the scores at base and head when measured again.
		again [2]float64
		want  confirm.LimitState
		// asked counts the measurements at base and head.
		asked [2]int
	}{
		// 20 of 20: margin 2.539483·√(.25·.75/20) = .246 at a limit of .75.
		{"all pass", pairs(20, 0, 1, 1, 0), confirm.Limit{Least: .75}, [2]float64{1, 1}, confirm.LimitHeld, [2]int{}},
		{"all pass, nearer", pairs(20, 0, 1, 1, 0), confirm.Limit{Least: .83}, [2]float64{1, 1}, confirm.LimitHeld, [2]int{0, 40}},
		// 60 of 60: 2.12291·√(.05·.95/60) = .0597.
		{"all pass, too near", pairs(20, 0, 1, 1, 0), confirm.Limit{Least: .95}, [2]float64{1, 1}, confirm.LimitOpen, [2]int{0, 40}},
		// 10 of 20: 2.539483·√max(.25/19, .4/20) = .359.
		{"half fail", pairs(20, 10, 1, 1, 0), confirm.Limit{Least: .9}, [2]float64{1, 0}, confirm.LimitBroken, [2]int{}},
		{"half fell", pairs(20, 10, 1, 1, 0), confirm.Limit{Least: -.1, Paired: true}, [2]float64{1, 0}, confirm.LimitBroken, [2]int{}},
		// 4 of 20, then all: the mean is −.733 with s² = 1/3 in 16 and 0 in 4.
		{"some fell, then all", pairs(20, 4, 1, 1, 0), confirm.Limit{Least: -.1, Paired: true}, [2]float64{1, 0}, confirm.LimitBroken, [2]int{40, 40}},
		{"some fell, then none", pairs(20, 4, 1, 1, 0), confirm.Limit{Least: -.2, Paired: true}, [2]float64{1, 1}, confirm.LimitHeld, [2]int{40, 40}},
		{"nothing fell", pairs(20, 0, 1, 1, 0), confirm.Limit{Least: -.25, Paired: true}, [2]float64{1, 0}, confirm.LimitHeld, [2]int{}},
		{"nothing may fall", pairs(20, 0, 1, 1, 0), confirm.Limit{Least: 0, Paired: true}, [2]float64{1, 1}, confirm.LimitOpen, [2]int{40, 40}},
		{"most are not affected", pairs(2, 0, 1, 1, 0), confirm.Limit{Least: -.02, Paired: true, Weight: 198}, [2]float64{1, 0}, confirm.LimitHeld, [2]int{}},
		{"base cannot be measured again", gone, confirm.Limit{Least: -.1, Paired: true}, [2]float64{1, 0}, confirm.LimitOpen, [2]int{}},
		{"an error", errors, confirm.Limit{Least: .5}, [2]float64{1, 1}, confirm.LimitOpen, [2]int{}},
		// Stored results of base may show that nothing fell, and never that something did.
		// The test of the mean takes these rounds as well.
		{"half fell against stored results, and do no more", stored, confirm.Limit{Least: -.3, Paired: true}, [2]float64{1, 1}, confirm.LimitHeld, [2]int{40, 40}},
		{"half fell against stored results, and all do", stored, confirm.Limit{Least: -.3, Paired: true}, [2]float64{1, 0}, confirm.LimitBroken, [2]int{40, 40}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.limit.Cases = all(tt.cases)
			var asked [2]int
			got, _ := play(tt.cases, confirm.Options{Budget: -1, Limits: []confirm.Limit{tt.limit}}, func(r confirm.Request) confirm.Outcome {
				asked[r.Side]++
				return passing(tt.again[r.Side])
			})
			most := 0
			for _, c := range tt.cases {
				most += confirm.Bound(c, confirm.Options{Limits: []confirm.Limit{{Paired: tt.limit.Paired}}})
			}
			if n := asked[confirm.Base] + asked[confirm.Head]; n > most {
				t.Errorf("%d measurements, the bound is %d", n, most)
			}
			if got.Limits[0].State != tt.want || asked != tt.asked || !got.Complete {
				t.Errorf("the limit is %+v after %v, want %s after %v; complete: %v", got.Limits[0], asked, tt.want, tt.asked, got.Complete)
			}
		})
	}
}

// TestLimitSpared: a regression among its cases spares the rounds of a limit, if
// regressions fail, and others do not.
func TestLimitSpared(t *testing.T) {
	cases := pairs(20, 4, 1, 1, .5)
	fell := 0.
	cases[19].Head, cases[19].Certain = confirm.Outcome{Verdict: verdict.Fail, Score: &fell}, true
	for _, tt := range []struct {
		spare bool
		cases []int
		want  int
	}{
		{true, all(cases), 0}, {true, all(cases)[:19], 76}, {false, all(cases), 80},
	} {
		limit := confirm.Limit{Least: -.1, Paired: true, Cases: tt.cases}
		got, _ := play(cases, confirm.Options{Budget: -1, Spare: tt.spare, Limits: []confirm.Limit{limit}}, func(r confirm.Request) confirm.Outcome {
			return passing(1 - .2*float64(r.Side))
		})
		if got.Measurements != tt.want {
			t.Errorf("spare %v, %d cases: %d measurements, want %d", tt.spare, len(tt.cases), got.Measurements, tt.want)
		}
	}
}

// TestJudgeWithoutFurtherMeasurements: a limit stays open if the first value of a case may
// not prove a fall and both further measurements failed; its numbers are known.
func TestJudgeWithoutFurtherMeasurements(t *testing.T) {
	var cases []confirm.Measured
	for i := range 10 {
		cases = append(cases, confirm.Measured{Weight: 1, Cluster: string(rune('a' + i)), Values: []float64{float64(-(i % 2)), -1, -1}, Stale: true})
	}
	cases[3].Values[1], cases[3].Values[2] = math.NaN(), math.NaN()
	got := confirm.Limit{Least: -.1, Paired: true}.Judge(cases)
	if got.State != confirm.LimitOpen || got.Rounds != 1 || math.Abs(got.Mean+.5) > 1e-9 || math.IsNaN(got.Margin) {
		t.Errorf("the limit is %+v, want an open one with the mean of the first measurements", got)
	}
}

// TestAStaleDifference: an outcome of base that was not measured next to head's may show that
// nothing is wrong, and proves no fall. Without chance it does.
func TestAStaleDifference(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first float64
		stale bool
		want  confirm.LimitState
	}{
		{"a fall", -.5, false, confirm.LimitBroken}, {"a stale fall", -.5, true, confirm.LimitOpen}, {"a stale rise", .4, true, confirm.LimitHeld},
		{"a fall of all that there is", -1, true, confirm.LimitOpen},
	} {
		var cases []confirm.Measured
		for i := range 20 {
			cases = append(cases, confirm.Measured{Weight: 1, Cluster: string(rune('a' + i)), Values: []float64{tt.first + .01*float64(i%2)}, Stale: tt.stale})
		}
		if got := (confirm.Limit{Least: -.1, Paired: true}).Judge(cases); got.State != tt.want {
			t.Errorf("%s is %+v, want %s", tt.name, got, tt.want)
		}
	}
}
