package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gavel-evals/gavel/controller/stats"
)

// measured are things of equal weight with their values.
func measured(values ...[]float64) []stats.Repeated {
	things := make([]stats.Repeated, len(values))
	for i, v := range values {
		things[i] = stats.Repeated{Weight: 1, Values: v}
	}
	return things
}

// times repeats a list of values.
func times(n int, values ...float64) [][]float64 {
	all := make([][]float64, n)
	for i := range all {
		all[i] = values
	}
	return all
}

// TestAgainst: the margins are worked out by hand, with t(0.99) and t(0.98) from a table.
func TestAgainst(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		name   string
		things []stats.Repeated
		limit  float64
		want   stats.Standing
	}{
		// All of 20 pass: t(0.99, 19)·√(.25·.75/20) with t = 2.539483, and Wilson's limit is
		// 1 − t²/(20 + t²) = .7562.
		{"all pass, once", measured(times(20, 0)...), -.25, stats.Standing{Margin: .24588, Reached: true}},
		{"all pass, once, nearer", measured(times(20, 0)...), -.2, stats.Standing{Margin: .22714}},
		// 2 of 20 fail: V = (2·.81 + 18·.01)/19/20 = .0047368; the limit is .05 below:
		// V + .05·(1 − .1 − .15)/20 = .0066118, times t² and the root.
		{"some fail, once", measured(append(times(18, 0), times(2, -1)...)...), -.15, stats.Standing{Mean: -.1, Margin: .20649}},
		// Above the mean V alone counts, 2.539483·√.0047368.
		{"some fail, once, limit above", measured(append(times(18, 0), times(2, -1)...)...), -.05, stats.Standing{Mean: -.1, Margin: .17478}},
		// 60 of 60 pass: t(0.98, 40) = 2.12291, N = 60.
		{"all pass, three times", measured(times(20, 0, 0, 0)...), -.07, stats.Standing{Margin: .06993, Reached: true}},
		// One of three fails in 4 of 20: s² = 1/3 each, V = 4/3/3/400 = .0011111, and
		// (.1 − .066667)·(1 − .166667)/60 = .000462963 more.
		{"some vary, three times", measured(append(times(16, 0, 0, 0), times(4, 0, -1, 0)...)...), -.1, stats.Standing{Mean: -.0666667, Margin: .08423}},
		// Three always fail: nothing varies, so √((.15 − .1)/60)·t for a limit above.
		{"always fail, three times", measured(append(times(17, 0, 0, 0), times(3, -1, -1, -1)...)...), -.1, stats.Standing{Mean: -.15, Margin: .06128}},
		{"always fail, three times, far", measured(append(times(17, 0, 0, 0), times(3, -1, -1, -1)...)...), -.05, stats.Standing{Mean: -.15, Margin: .08667, Missed: true}},
		// The second counts twice: own = 4·(1/3)/3, pooled over 4 degrees is
		// (2/3)/4·(1/3 + 4/3) = .277778, so own .444444 counts; of 9. Effective
		// 9/5 things give int(1.8·4/2) = 3 degrees, t = 3.481909.
		{"weights", []stats.Repeated{{Weight: 1, Values: []float64{0, 0, 0}}, {Weight: 2, Values: []float64{0, -1, 0}}}, 0, stats.Standing{Mean: -.2222222, Margin: .77376}},
		// N = 4²/(3/2 + 1/3) = 8.727273, and .25·.75/N is more than .25·(1 − .75)/N; t with
		// 5 degrees is 2.756509.
		{"failed measurements", measured([]float64{0, nan, 0}, []float64{0, 0, nan}, []float64{-1, -1, nan}, []float64{0, 0, 0}), -.5, stats.Standing{Mean: -.25, Margin: .40404}},
		{"one thing", measured([]float64{-1}), 0, stats.Standing{Mean: -1, Margin: math.Inf(1)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := stats.Against(tt.things, tt.limit)
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, 1e-5)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A truth draws how likely a thing passes.
type truth func(r *rand.Rand) float64

var truths = map[string]truth{
	"half":       func(*rand.Rand) float64 { return .5 },
	"nine of 10": func(*rand.Rand) float64 { return .9 },
	"p = .97":    func(*rand.Rand) float64 { return .97 },
	"p = .99":    func(*rand.Rand) float64 { return .99 },
	"real": func(r *rand.Rand) float64 {
		switch u := r.Float64(); {
		case u < .70:
			return 1
		case u < .94:
			return .5 + .45*r.Float64()
		case u < .97:
			return 0
		}
		return .5 * r.Float64()
	},
	"one of two always fails": func(r *rand.Rand) float64 { return .85 * float64(r.IntN(2)) },
}

// falls are what head may do to such a thing.
var falls = map[string]func(i, n int, p float64) float64{
	"nothing changed":   func(_, _ int, p float64) float64 { return p },
	"one broke":         func(i, _ int, p float64) float64 { return p * float64(min(i, 1)) },
	"all fell by .05":   func(_, _ int, p float64) float64 { return max(0, p-.05) },
	"a tenth is halved": func(i, n int, p float64) float64 { return p / float64(1+(n/10+n-1-i)/(n-1)) },
}

// TestAgainstDecides: of limits that are some distance from the truth, most are decided,
// on either side.
func TestAgainstDecides(t *testing.T) {
	const pulls = 400
	for _, tt := range []struct {
		n, percent int
		distance   float64
	}{{200, 95, .06}, {20, 80, .17}} {
		r := rand.New(rand.NewPCG(3, uint64(tt.n)))
		toss := func(p float64) float64 { return float64(min(1, int(p+r.Float64()))) }
		for _, paired := range []bool{false, true} {
			above, below := 0, 0
			for range pulls {
				var truth float64
				things := make([]stats.Repeated, tt.n)
				for i := range things {
					p := truths["real"](r)
					values := []float64{toss(p) - 1, toss(p) - 1, toss(p) - 1}
					if paired {
						values = []float64{toss(p) - toss(p), toss(p) - toss(p), toss(p) - toss(p)}
					} else {
						truth += (p - 1) / float64(tt.n)
					}
					things[i] = stats.Repeated{Weight: 1, Values: values}
				}
				if stats.Against(things, truth-tt.distance).Reached {
					above++
				}
				if stats.Against(things, truth+tt.distance).Missed {
					below++
				}
			}
			if least := pulls * tt.percent / 100; above < least || below < least {
				t.Errorf("%d things, paired %v: %d and %d of %d limits are decided, want %d", tt.n, paired, above, below, pulls, least)
			}
		}
	}
}

// TestAgainstIsSeldomWrong: of things whose true mean is the limit, at most one in twenty
// is taken for better, and at most one for worse, after one measurement or three.
func TestAgainstIsSeldomWrong(t *testing.T) {
	const pulls, most = 1000, 50
	for name, draw := range truths {
		for _, n := range []int{2, 6, 20, 100} {
			var r *rand.Rand // begins again for each cell
			toss := func(p float64) float64 { return float64(min(1, int(p+r.Float64()))) }
			count := func(what string, measure func(i int, p float64) (truth float64, next func() float64)) {
				r = rand.New(rand.NewPCG(7, uint64(n)))
				better, worse := 0, 0
				for range pulls {
					var sum float64
					things, more := make([]stats.Repeated, n), make([]func() float64, n)
					for i := range things {
						var mean float64
						mean, more[i] = measure(i, draw(r))
						sum += mean
						things[i] = stats.Repeated{Weight: 1, Values: []float64{more[i]()}}
					}
					s := stats.Against(things, sum/float64(n))
					if !s.Reached && !s.Missed {
						for i := range things {
							things[i].Values = append(things[i].Values, more[i](), more[i]())
						}
						s = stats.Against(things, sum/float64(n))
					}
					if s.Reached {
						better++
					}
					if s.Missed {
						worse++
					}
				}
				if better > most || worse > most {
					t.Errorf("%d of %s, %s: %d are taken for better and %d for worse, of %d", n, name, what, better, worse, pulls)
				}
			}
			count("scores", func(_ int, p float64) (float64, func() float64) {
				return p - 1, func() float64 { return toss(p) - 1 }
			})
			count("judged with noise", func(_ int, p float64) (float64, func() float64) {
				q := .1 + .8*p
				return q - 1, func() float64 { return q - 1 + .2*(r.Float64()-.5) }
			})
			for fall, of := range falls {
				count(fall, func(i int, p float64) (float64, func() float64) {
					q := of(i, n, p)
					return q - p, func() float64 { return toss(q) - toss(p) }
				})
			}
		}
	}
}
