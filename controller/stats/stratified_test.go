package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gavel-evals/gavel/controller/stats"
)

// ones are measurements, this many of which passed.
func ones(passed, n int) []int {
	values := make([]int, n)
	for i := range passed {
		values[i] = 1
	}
	return values
}

func repeat(s stats.Stratum, n int) []stats.Stratum {
	strata := make([]stats.Stratum, n)
	for i := range strata {
		strata[i] = s
	}
	return strata
}

func TestStratified(t *testing.T) {
	worse, better := stats.Stratum{Base: ones(1, 1), Head: ones(0, 1)}, stats.Stratum{Base: ones(0, 1), Head: ones(1, 1)}
	for _, tt := range []struct {
		name   string
		strata []stats.Stratum
		want   float64
	}{
		{"sign test, 10 worse and 2 better", append(repeat(worse, 10), repeat(better, 2)...), 79. / 4096},
		{"head passes with .8, .8, .5, once", []stats.Stratum{
			{Base: ones(4, 4), Head: ones(0, 1)}, {Base: ones(4, 4), Head: ones(0, 1)}, {Base: ones(0, 1), Head: ones(1, 1)},
		}, .2},
		{"20 of 21 passed, twice, never head", repeat(stats.Stratum{Base: ones(20, 20), Head: ones(0, 1)}, 2), 1. / 441},
		{"2 v 2, totals 2 and 3, head once", []stats.Stratum{
			{Base: ones(2, 2), Head: ones(0, 2)}, {Base: ones(2, 2), Head: ones(1, 2)},
		}, 1. / 12},
		{"one table is Fisher's", []stats.Stratum{{Base: ones(5, 5), Head: ones(0, 5)}}, 1. / 252},
		{"nothing", nil, 1},
		{"all alike", repeat(stats.Stratum{Base: []int{3, 3}, Head: []int{3}}, 4), 1},
		{"nothing to compare with", []stats.Stratum{{Head: ones(0, 1)}, {Base: ones(1, 1)}}, 1},
		{"better", repeat(better, 3), 1},
		{"totals, all flipped down", []stats.Stratum{{Base: []int{60}, Head: []int{20}}, {Base: []int{30}, Head: []int{0}}}, .25},
		// With the four choices of signs of 40 and 30, the sums are ±10 and ±70.
		{"totals, one flipped up", []stats.Stratum{{Base: []int{60}, Head: []int{20}}, {Base: []int{0}, Head: []int{30}}}, .5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := stats.Stratified(tt.strata); !near(got, tt.want, 1e-12) {
				t.Errorf("p = %.9f, want %.9f", got, tt.want)
			}
		})
	}
}

// TestStratifiedIsExact goes through all choices of head's values: p is the share of
// them with a sum as small, and so is at most α in at most a share α of them.
func TestStratifiedIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		var pools [][]int
		var heads []int
		for range 1 + r.IntN(4) {
			pool := make([]int, 2+r.IntN(3))
			for i := range pool {
				pool[i] = r.IntN(4) - 1
			}
			pools, heads = append(pools, pool), append(heads, 1+r.IntN(len(pool)-1))
		}
		sums, ps := []int{}, []float64{}
		choices(pools, heads, func(strata []stats.Stratum) {
			sum := 0
			for _, s := range strata {
				for _, v := range s.Head {
					sum += v
				}
			}
			sums, ps = append(sums, sum), append(ps, stats.Stratified(strata))
		})
		for i, p := range ps {
			as, within := 0, 0
			for k := range sums {
				if sums[k] <= sums[i] {
					as++
				}
				if ps[k] <= p+1e-12 {
					within++
				}
			}
			if want := float64(as) / float64(len(sums)); !near(p, want, 1e-12) {
				t.Fatalf("%v, %v of them: p = %v, want %v", pools, heads, p, want)
			}
			if float64(within)/float64(len(ps)) > p+1e-12 {
				t.Fatalf("%v: %d of %d choices have p ≤ %v", pools, within, len(ps), p)
			}
		}
	}
}

// choices calls see for each way to give so many of each pool to head.
func choices(pools [][]int, heads []int, see func([]stats.Stratum)) {
	strata := make([]stats.Stratum, len(pools))
	var stratum func(i int)
	stratum = func(i int) {
		if i == len(pools) {
			see(strata)
			return
		}
		for mask := range 1 << len(pools[i]) {
			var s stats.Stratum
			for k, v := range pools[i] {
				if mask>>k&1 == 1 {
					s.Head = append(s.Head, v)
				} else {
					s.Base = append(s.Base, v)
				}
			}
			if len(s.Head) == heads[i] {
				strata[i] = s
				stratum(i + 1)
			}
		}
	}
	stratum(0)
}

// FuzzStratified: p is a probability, p of the two directions sum to at least 1, since
// both count the observed sum, and a pass more at head never lowers p.
func FuzzStratified(f *testing.F) {
	f.Add([]byte{1, 0, 1, 1, 0, 3, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		var strata, swapped, more []stats.Stratum
		for ; len(data) >= 3 && len(strata) < 40; data = data[3:] {
			s := stats.Stratum{Base: []int{int(data[0] % 5)}, Head: []int{int(data[1] % 5)}}
			if data[2]%2 == 1 {
				s.Base = append(s.Base, int(data[2]/2%5))
			}
			strata = append(strata, s)
			swapped = append(swapped, stats.Stratum{Base: s.Head, Head: s.Base})
		}
		p, q := stats.Stratified(strata), stats.Stratified(swapped)
		if !(p > 0 && p <= 1) || p+q < 1-1e-9 {
			t.Fatalf("%v: p = %v, exchanged %v", strata, p, q)
		}
		for i := range strata {
			if strata[i].Head[0] == 0 && len(strata[i].Base) == 1 && strata[i].Base[0] == 1 {
				more = append([]stats.Stratum{}, strata...)
				more[i] = stats.Stratum{Base: []int{0}, Head: []int{1}}
				if stats.Stratified(more) < p-1e-9 {
					t.Fatalf("%v: a pass more lowers p", strata)
				}
				break
			}
		}
	})
}

func TestFlaky(t *testing.T) {
	// The fewest of n that are contradictory.
	for _, tt := range []struct{ n, want int }{{4, 2}, {7, 2}, {8, 3}, {15, 3}, {20, 4}, {30, 5}, {50, 6}} {
		if stats.Flaky(tt.want-1, tt.n) || !stats.Flaky(tt.want, tt.n) {
			t.Errorf("of %d, %d are flaky: %v, %d: %v", tt.n, tt.want-1, stats.Flaky(tt.want-1, tt.n), tt.want, stats.Flaky(tt.want, tt.n))
		}
	}
	for _, tt := range [][2]int{{0, 0}, {0, 9}, {1, 1}, {1, 2}, {1, 3}, {2, 3}, {9, 10}} {
		if stats.Flaky(tt[0], tt[1]) {
			t.Errorf("%d of %d are flaky", tt[0], tt[1])
		}
	}
	if got := stats.FlakeRate(2, 7); got != 2.5/8 {
		t.Errorf("rate %v", got)
	}
}

// TestFlakyRarelyErrs: of what fails in 5 of 100 measurements at most 5 % are
// flaky.
func TestFlakyRarelyErrs(t *testing.T) {
	for n := range 60 {
		var chance, c float64 = 0, math.Pow(.95, float64(n))
		for k := range n + 1 {
			if stats.Flaky(k, n) {
				chance += c
			}
			c *= float64(n-k) / float64(k+1) * .05 / .95
		}
		if chance > .05 {
			t.Errorf("%.3f of those with %d measurements are flaky", chance, n)
		}
	}
}

// BenchmarkStratified is the mean of 2,000 cases with 20 measurements at base.
func BenchmarkStratified(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	var strata []stats.Stratum
	for range 2000 {
		strata = append(strata, stats.Stratum{Base: ones(r.IntN(21), 20), Head: ones(r.IntN(2), 1)})
	}
	for b.Loop() {
		stats.Stratified(strata)
	}
}
