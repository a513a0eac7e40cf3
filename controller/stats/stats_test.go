package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gavel-evals/gavel/controller/stats"
)

func near(a, b, within float64) bool { return math.Abs(a-b) <= within }

// TestPaired compares with intervals that were computed by hand.
func TestPaired(t *testing.T) {
	for _, tt := range []struct {
		name        string
		differences []float64
		step        float64
		want        stats.Interval
	}{
		// s = 1, so that half is t(0.975, ν)/√n.
		{"two", []float64{0, math.Sqrt2}, 0, stats.Interval{Mean: math.Sqrt2 / 2, Low: math.Sqrt2/2 - 12.706205/math.Sqrt2, High: math.Sqrt2/2 + 12.706205/math.Sqrt2}},
		{"three", []float64{-1, 0, 1}, 0, stats.Interval{Low: -2.484138, High: 2.484138}},
		{"of the hand book", []float64{1, 2, 3, 4, 5}, 0, stats.Interval{Mean: 3, Low: 3 - 1.963243, High: 3 + 1.963243}},
		{"all the same", []float64{2, 2, 2}, 0, stats.Interval{Mean: 2, Low: 2, High: 2}},
		// r²/6 = 1 stands in for the variance.
		{"in steps", []float64{2, 2, 2, 2}, math.Sqrt(6), stats.Interval{Mean: 2, Low: 2 - 1.591223, High: 2 + 1.591223}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := stats.Paired(tt.differences, tt.step)
			if !ok || !near(got.Mean, tt.want.Mean, 1e-6) || !near(got.Low, tt.want.Low, 1e-5) || !near(got.High, tt.want.High, 1e-5) {
				t.Errorf("%+v %v, want %+v", got, ok, tt.want)
			}
		})
	}
}

// TestClustered compares with intervals that were computed by hand.
func TestClustered(t *testing.T) {
	alone := func(differences ...float64) []stats.Pair {
		var pairs []stats.Pair
		for i, d := range differences {
			pairs = append(pairs, stats.Pair{Difference: d, Weight: 2, Cluster: string(rune('a' + i))})
		}
		return pairs
	}
	for _, tt := range []struct {
		name  string
		pairs []stats.Pair
		want  stats.Interval
		ok    bool
	}{
		{"each alone, as if paired", alone(1, 2, 3, 4, 5), stats.Interval{Mean: 3, Low: 3 - 1.963243, High: 3 + 1.963243}, true},
		// u = ±2 and 0, c = 3/2, so that √(3/2 · 8) / 6 = √3 / 3.
		{"three clusters of two", []stats.Pair{{1, 1, "a"}, {1, 1, "a"}, {-1, 1, "b"}, {-1, 1, "b"}, {0, 1, "c"}, {0, 1, "c"}}, stats.Interval{Low: -4.302653 * 0.577350, High: 4.302653 * 0.577350}, true},
		// The variance of each u was added up from the coefficients of all differences: √ Σ c·u² / Σ w
		// = 0.29884523607, E = 4.4545, so that t has 3 degrees of freedom.
		{
			"uneven weights", []stats.Pair{{1, 3, "a"}, {0, 2, "b"}, {-1, 2, "c"}, {2, 1, "c"}, {.5, 2, "d"}, {-.5, 3, "e"}},
			stats.Interval{Mean: 2.5 / 13, Low: 2.5/13 - 3.182446*0.29884523607, High: 2.5/13 + 3.182446*0.29884523607}, true,
		},
		{"one weighs twice as much as two others", []stats.Pair{{-1, 2, "a"}, {1, 1, "b"}, {1, 1, "c"}}, stats.Interval{}, false},
		{"one weighs ten times as much", append(alone(1, 2, 3, 4, 5), stats.Pair{Difference: 3, Weight: 20, Cluster: "z"}), stats.Interval{}, false},
		{"two clusters", alone(1, -1), stats.Interval{}, false},
		{"no weight, no voice", append(alone(1, 2, 3, 4, 5), stats.Pair{Difference: 9, Cluster: "z"}), stats.Interval{Mean: 3, Low: 3 - 1.963243, High: 3 + 1.963243}, true},
		{"nothing", nil, stats.Interval{}, false},
		{"one cluster", []stats.Pair{{1, 1, "a"}, {2, 1, "a"}}, stats.Interval{}, false},
		{"all the same", alone(1, 1, 1), stats.Interval{}, false},
		{"no weights", []stats.Pair{{1, 0, "a"}, {2, 0, "b"}}, stats.Interval{}, false},
		{"no number", alone(1, math.NaN(), 2), stats.Interval{}, false},
		{"no end", alone(1, math.Inf(1), 2), stats.Interval{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := stats.Clustered(tt.pairs)
			if ok != tt.ok || !near(got.Mean, tt.want.Mean, 1e-9) || !near(got.Low, tt.want.Low, 1e-5) || !near(got.High, tt.want.High, 1e-5) {
				t.Errorf("%+v %v, want %+v %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

// TestCoverage draws differences around 0 whose weights are uneven. An interval that
// is shown contains 0 in about 95 % of the draws.
func TestCoverage(t *testing.T) {
	even := func(*rand.Rand) float64 { return 1 }
	uneven := func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) }
	for _, tt := range []struct {
		name      string
		n, heavy  int
		weight    func(*rand.Rand) float64
		mostShown float64
	}{
		{"even, 10", 10, 0, even, 1},
		{"uneven, 5", 5, 0, uneven, 1},
		{"uneven, 10", 10, 0, uneven, 1},
		{"uneven, 20", 20, 0, uneven, 1},
		{"one of weight 10 among 5", 5, 1, even, 0},
		{"one of weight 10 among 20", 20, 1, even, 0},
		{"four of weight 10 among 20", 20, 4, even, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, uint64(tt.n)))
			const draws = 4000
			shown, covered := 0., 0.
			for range draws {
				pairs := make([]stats.Pair, tt.n)
				for i := range pairs {
					pairs[i] = stats.Pair{Difference: r.NormFloat64(), Weight: tt.weight(r), Cluster: string(rune('a' + i))}
					if i < tt.heavy {
						pairs[i].Weight = 10
					}
				}
				if interval, ok := stats.Clustered(pairs); ok {
					shown++
					if !interval.Excludes(0) {
						covered++
					}
				}
			}
			if shown > tt.mostShown*draws || tt.mostShown > 0 && shown < draws/8 {
				t.Fatalf("%v of %v intervals are shown", shown, draws)
			}
			if shown > 0 && covered < .94*shown {
				t.Errorf("%.1f %% contain 0", 100*covered/shown)
			}
		})
	}
}

func TestPairedHasNothingToGoBy(t *testing.T) {
	for _, differences := range [][]float64{nil, {1}, {1, math.NaN()}, {1, math.Inf(1)}} {
		if got, ok := stats.Paired(differences, 0); ok {
			t.Errorf("%v gives %+v", differences, got)
		}
	}
}

// TestQuantiles takes t off intervals of differences with s = 1: a half of −1
// and +1 each has s² = n/(n−1).
func TestQuantiles(t *testing.T) {
	for _, tt := range []struct {
		n    int
		want float64
	}{ // published tables: ν = n − 1
		{2, 12.7062}, {4, 3.18245}, {10, 2.26216}, {12, 2.20099}, {16, 2.13145}, {22, 2.07961}, {32, 2.03951}, {62, 1.99962}, {122, 1.97976}, {1002, 1.96234},
	} {
		differences := make([]float64, tt.n)
		for i := range differences {
			differences[i] = float64(1 - 2*(i%2))
		}
		got, _ := stats.Paired(differences, 0)
		if q := got.High * math.Sqrt(float64(tt.n-1)); !near(q, tt.want, 6e-5) {
			t.Errorf("t(0.975, %d) is %.5f, want %.5f", tt.n-1, q, tt.want)
		}
	}
}

func TestExcludes(t *testing.T) {
	i := stats.Interval{Mean: 2, Low: 1, High: 3}
	for _, tt := range []struct {
		x    float64
		want bool
	}{{0, true}, {1, false}, {1 - 1e-12, false}, {2, false}, {3, false}, {3.01, true}} {
		if i.Excludes(tt.x) != tt.want {
			t.Errorf("excludes %v: %v", tt.x, !tt.want)
		}
	}
}

func TestSignTest(t *testing.T) {
	for _, tt := range []struct {
		a, b int
		want float64
	}{
		{0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 5, 0.0625}, {6, 0, 0.03125}, {0, 6, 0.03125}, {9, 1, 22. / 1024}, {5, 5, 1},
		{8, 2, 112. / 1024}, {600, 400, 2.7e-10},
	} {
		if got := stats.SignTest(tt.a, tt.b); !near(got, tt.want, 1e-9) {
			t.Errorf("%d to %d: %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

// TestPairedShares: values of the formula by hand. 6 of 10 things pass only under the
// first condition: (6+1)/12 and (0+1)/12, whose difference is 1/2 ± 1.959964·√((8/12 −
// 1/4)/12).
func TestPairedShares(t *testing.T) {
	for _, tt := range []struct {
		differences     []float64
		mean, low, high float64
	}{
		{[]float64{1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, 0.6, 0.134782, 0.865218},
		{[]float64{0}, 0, -0.923936, 0.923936},
		{[]float64{1, 1, 1}, 1, -0.101218, 1},
		{[]float64{-1, -1, -1}, -1, -1, 0.101218},
		{[]float64{0.5, -0.5}, 0, -0.774744, 0.774744},
	} {
		got, ok := stats.PairedShares(tt.differences)
		if !ok || math.Abs(got.Mean-tt.mean)+math.Abs(got.Low-tt.low)+math.Abs(got.High-tt.high) > 3e-6 {
			t.Errorf("%v: %+v, want %v, %v … %v", tt.differences, got, tt.mean, tt.low, tt.high)
		}
	}
	if _, ok := stats.PairedShares(nil); ok {
		t.Error("nothing has an interval")
	}
}
