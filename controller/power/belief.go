package power

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// cells is how many probabilities of passing are told apart: 0, 0.05 … 1.
const cells = 21

// A belief is how likely each probability is for a case, as sums up to it.
type belief [cells]float64

// draw draws a probability.
func (b *belief) draw(r *rand.Rand) float64 {
	u := r.Float64() * b[cells-1]
	for k, sum := range b {
		if u < sum {
			return rate(k)
		}
	}
	return 1
}

func rate(k int) float64 { return float64(k) / (cells - 1) }

// usual is how suites of agent tests usually are: of 100 cases 70 always pass, 24 from 50 to
// 95 times of 100, 3 seldomer and 3 never. It counts like ten cases of the suite.
var usual = func() (shares [cells]float64) {
	for k := range shares {
		switch p := rate(k); {
		case k == cells-1:
			shares[k] = .7
		case k == 0:
			shares[k] = .03
		case p >= .5:
			shares[k] = .24 / 10
		default:
			shares[k] = .03 / 9
		}
	}
	return shares
}()

const usualWeight, rounds = 10, 60

// beliefsOf returns what the outcomes at base say about each case. One case has few of them,
// so that the suite says what cases are like: its distribution of probabilities is the one
// that makes the outcomes of all cases likeliest (H. Robbins, An Empirical Bayes Approach to
// Statistics, 1956; J. Kiefer and J. Wolfowitz, Annals of Mathematical Statistics 27, 1956),
// found by the EM algorithm on a grid, with usual as a prior.
func beliefsOf(cases []confirm.Case) []belief {
	type count struct{ passed, of int }
	counts := make([]count, len(cases))
	likely := map[count][cells]float64{}
	for i, c := range cases {
		n := &counts[i]
		outcomes := c.Base
		if c.Fresh {
			outcomes = append(outcomes[:len(outcomes):len(outcomes)], c.Head) // both were measured now
		}
		for _, o := range outcomes {
			if o.Verdict.Rank() < 0 {
				continue
			}
			if n.of++; o.Verdict == verdict.Pass {
				n.passed++
			}
		}
		if _, known := likely[*n]; !known {
			var l [cells]float64
			for k := range l {
				l[k] = math.Pow(rate(k), float64(n.passed)) * math.Pow(1-rate(k), float64(n.of-n.passed))
			}
			likely[*n] = l
		}
	}
	groups := map[count]int{}
	for _, n := range counts {
		groups[n]++
	}
	// In the order of the counts, so that equal input gives equal output.
	order := slices.SortedFunc(maps.Keys(groups), func(a, b count) int {
		return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.passed, b.passed))
	})
	shares := usual
	posterior := func(n count) (out [cells]float64) {
		sum := 0.0
		for k, l := range likely[n] {
			out[k] = shares[k] * l
			sum += out[k]
		}
		for k := range out {
			out[k] /= sum
		}
		return out
	}
	for range rounds {
		var next [cells]float64
		for k := range next {
			next[k] = usualWeight * usual[k]
		}
		for _, n := range order {
			for k, p := range posterior(n) {
				next[k] += float64(groups[n]) * p
			}
		}
		for k := range next {
			next[k] /= usualWeight + float64(len(cases))
		}
		shares = next
	}
	out := make([]belief, len(cases))
	for i, n := range counts {
		sum := 0.0
		for k, p := range posterior(n) {
			sum += p
			out[i][k] = sum
		}
	}
	return out
}
