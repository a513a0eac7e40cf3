package power_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/power"
	"github.com/gavel-evals/gavel/controller/verdict"
)

func outcome(r *rand.Rand, p float64) confirm.Outcome {
	if r.Float64() < p {
		return confirm.Outcome{Verdict: verdict.Pass}
	}
	return confirm.Outcome{Verdict: verdict.Fail}
}

// suiteOf has cases with these probabilities of passing, and stored results of each; none
// means that base was measured next to head.
func suiteOf(r *rand.Rand, rates []float64, history int) []confirm.Case {
	cases := make([]confirm.Case, len(rates))
	for i, p := range rates {
		c := confirm.Case{Weight: 1, Fresh: history == 0, Head: outcome(r, p)}
		for range max(1, history) {
			c.Base = append(c.Base, outcome(r, p))
		}
		cases[i] = c
	}
	return cases
}

// truth is how often something is called over these cases with their stored results, where
// head passes at other rates.
func truth(r *rand.Rand, cases []confirm.Case, base, head []float64, pulls int) float64 {
	called := 0
	for range pulls {
		some := append([]confirm.Case{}, cases...)
		for i := range some {
			if some[i].Fresh {
				some[i].Base = []confirm.Outcome{outcome(r, base[i])}
			}
			some[i].Head = outcome(r, head[i])
		}
		p := confirm.New(some, confirm.Options{Budget: -1})
		for batch := range p.Batches() {
			for _, request := range batch {
				p.Record(request, outcome(r, [][]float64{base, head}[request.Side][request.Case]))
			}
		}
		if p.Result().Called() {
			called++
		}
	}
	return float64(called) / float64(pulls)
}

// drawn draws the probabilities of a suite: a share always passes, the others from 50 to 100
// times of 100.
func drawn(r *rand.Rand, n int, steady float64) []float64 {
	rates := make([]float64, n)
	for i := range rates {
		if rates[i] = 1; r.Float64() >= steady {
			rates[i] = .5 + .5*r.Float64()
		}
	}
	return rates
}

// TestStatedAndTrue: from five stored results of each case the stated chances are the true
// ones, which only the test knows: nearer than 0.05 in the mean, and nearer than 0.10 in nine
// of ten suites. Both are simulated, so that 0.03 of it is luck.
func TestStatedAndTrue(t *testing.T) {
	const suites, pulls = 24, 250
	names := []string{"broken", "halved", "fall", "slip"}
	apart := make(map[string][]float64)
	for k := range suites {
		r := rand.New(rand.NewPCG(11, uint64(k)))
		n := []int{15, 40, 80}[k%3]
		base := drawn(r, n, []float64{.6, .8, .95}[k/3%3])
		cases := suiteOf(r, base, 5)
		stated := power.Study(t.Context(), cases, confirm.Options{}, power.Lever{})
		for i, is := range []float64{stated.Broken, stated.Halved, stated.Fall, stated.Slip} {
			head := append([]float64{}, base...)
			truly := 0.0
			switch i {
			case 0, 1: // one of the cases that usually pass, each as likely
				const parts = 5
				for range parts {
					copy(head, base)
					for _, c := range r.Perm(n) {
						if base[c] >= .9 {
							head[c] *= []float64{0, .5}[i]
							break
						}
					}
					truly += truth(r, cases, base, head, pulls/parts) / parts
				}
			default:
				for c := range head {
					head[c] = max(0, head[c]-[]float64{.1, .05}[i-2])
				}
				truly = truth(r, cases, base, head, pulls)
			}
			apart[names[i]] = append(apart[names[i]], is-truly)
		}
	}
	far := 0
	for _, name := range names {
		sum := 0.0
		for _, d := range apart[name] {
			if sum += d; math.Abs(d) >= .1 {
				far++
			}
		}
		slices.Sort(apart[name])
		t.Logf("%s: %.3f in the mean, %.2f", name, sum/suites, apart[name])
		if math.Abs(sum/suites) >= .05 {
			t.Errorf("%s: the mean error is %.3f", name, sum/suites)
		}
	}
	if all := suites * len(names); far > all/10 {
		t.Errorf("%d of %d statements are beyond 0.10", far, all)
	}
}

// TestEstimate: by the table of the simulation one broken case of a steady suite is
// always found; six units prove nothing about the mean, since 2⁻⁶ > 0.01.
func TestEstimate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	steady := func(n int) []confirm.Case { return suiteOf(r, drawn(r, n, 1), 5) }
	got := power.Study(t.Context(), steady(40), confirm.Options{}, power.Lever{})
	if got.Cases != 40 || got.Broken < .95 || got.Alarm > .05 || !got.Tests() || got.Needed != 7 {
		t.Errorf("40 steady cases: %+v", got)
	}
	if got := power.Study(t.Context(), steady(6), confirm.Options{}, power.Lever{}); got.Tests() || got.Units != 6 {
		t.Errorf("six cases: %+v", got)
	}
	talk := steady(40)
	for i := range talk {
		talk[i].Conversation = fmt.Sprint("talk", i/8)
	}
	if got := power.Study(t.Context(), talk, confirm.Options{}, power.Lever{}); got.Units != 5 || got.Tests() {
		t.Errorf("five conversations: %+v", got)
	}
	mixed := steady(10)
	mixed[0].Certain, mixed[1].Base = true, nil
	if got := power.Study(t.Context(), mixed, confirm.Options{}, power.Lever{}); got.Cases != 8 {
		t.Errorf("a certain and a new case count: %+v", got)
	}
	if got := power.Study(t.Context(), nil, confirm.Options{}, power.Lever{}); got.Cases != 0 || got.Broken != 0 {
		t.Errorf("nothing: %+v", got)
	}
	once := steady(5)
	unknown := confirm.Case{Weight: 1, Fresh: true, Base: []confirm.Outcome{{Verdict: verdict.Error}}}
	if got := power.Study(t.Context(), append(once, unknown), confirm.Options{}, power.Lever{Copies: 3, History: 20}); got.Cases != 18 || got.Units != 18 || got.Broken < .9 {
		t.Errorf("three times six cases: %+v", got)
	}
	if a, b := power.Estimate(t.Context(), talk, confirm.Options{}), power.Estimate(t.Context(), talk, confirm.Options{}); *a != *b {
		t.Errorf("the same cases have two statements:\n%+v\n%+v", a, b)
	}
}

// TestAnEstimateIsRemembered: the second call computes nothing, since a call whose context has
// ended computes nothing and returns nil. A score or a time changes nothing; a verdict, an
// option, and what counts as one do.
func TestAnEstimateIsRemembered(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	suite := func() []confirm.Case { return suiteOf(r, drawn(r, 9, 1), 5) }
	ended, end := context.WithCancel(t.Context())
	end()
	cases := suite()
	if got := power.Estimate(ended, cases, confirm.Options{Looks: 11}); got != nil {
		t.Fatalf("an estimate that was not computed: %+v", got)
	}
	first := power.Estimate(t.Context(), cases, confirm.Options{Looks: 11})
	score := .5
	cases[0].Base[0].Score, cases[1].Base[0].At, cases[2].Head.Verdict = &score, time.Unix(1, 0), verdict.Fail
	if again := power.Estimate(ended, cases, confirm.Options{Looks: 11}); again == nil || *again != *first {
		t.Errorf("the second call gives %+v, want %+v", again, first)
	}
	for name, change := range map[string]func([]confirm.Case, *confirm.Options){
		"a verdict":      func(c []confirm.Case, _ *confirm.Options) { c[0].Base[0].Verdict = verdict.Fail },
		"one result":     func(c []confirm.Case, _ *confirm.Options) { c[0].Base = c[0].Base[1:] },
		"a fresh base":   func(c []confirm.Case, _ *confirm.Options) { c[0].Fresh = true },
		"a weight":       func(c []confirm.Case, _ *confirm.Options) { c[0].Weight = 2 },
		"a conversation": func(c []confirm.Case, _ *confirm.Options) { c[0].Conversation, c[1].Conversation = "x", "x" },
		"alpha":          func(_ []confirm.Case, o *confirm.Options) { o.Alpha = .01 },
		"a push":         func(_ []confirm.Case, o *confirm.Options) { o.Push = 3 },
		"samples":        func(_ []confirm.Case, o *confirm.Options) { o.Looks = 12 },
	} {
		other, options := suite(), confirm.Options{Looks: 11}
		change(other, &options)
		if got := power.Estimate(ended, other, options); got != nil {
			t.Errorf("%s: the estimate of other cases is used: %+v", name, got)
		}
	}
	for i := range 256 { // the oldest makes room
		power.Estimate(t.Context(), nil, confirm.Options{Looks: 100 + i})
	}
	if got := power.Estimate(ended, cases, confirm.Options{Looks: 11}); got != nil {
		t.Errorf("an estimate is remembered for too long: %+v", got)
	}
}

// TestCurve: the larger the fall, the likelier it is seen, up to certainty; the point of 0.10
// is Fall.
func TestCurve(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	got := power.Estimate(t.Context(), suiteOf(r, drawn(r, 60, .8), 5), confirm.Options{})
	for i, chance := range got.Curve[1:] {
		if chance < got.Curve[i]-.05 { // half of the pull requests leave that much to luck
			t.Errorf("the curve falls: %v", got.Curve)
		}
	}
	if got.Curve[1] != got.Fall || got.Curve[0] > .5 || got.Curve[3] < .95 {
		t.Errorf("%+v", got)
	}
}

func BenchmarkEstimate(b *testing.B) {
	for _, n := range []int{20, 200, 2000} {
		for _, history := range []int{0, 5} {
			b.Run(fmt.Sprintf("cases=%d/history=%d", n, history), func(b *testing.B) {
				r := rand.New(rand.NewPCG(3, uint64(n)))
				cases := suiteOf(r, drawn(r, n, .8), history)
				for b.Loop() {
					cases[0].Weight++ // so that it is not remembered
					power.Estimate(b.Context(), cases, confirm.Options{})
				}
			})
		}
	}
}
