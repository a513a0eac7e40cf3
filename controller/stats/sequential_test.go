package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gavel-evals/gavel/controller/stats"
)

func of(passed, n int) stats.Count { return stats.Count{Passed: passed, Of: n} }

func TestFisher(t *testing.T) {
	for _, tt := range []struct {
		base, head stats.Count
		want       float64
	}{
		{of(4, 4), of(0, 4), 1. / 70},
		{of(5, 5), of(0, 5), 1. / 252},
		{of(6, 6), of(1, 6), 7. / 924},
		{of(12, 12), of(6, 12), .0068650},
		{of(19, 19), of(0, 2), 1. / 210},
		{of(19, 19), of(0, 3), 1. / 1540},
		{of(0, 5), of(5, 5), 1},
	} {
		if got := stats.Fisher(tt.base, tt.head); !near(got, tt.want, 5e-8) {
			t.Errorf("%v against %v: %.9f, want %.9f", tt.base, tt.head, got, tt.want)
		}
	}
	for _, nothing := range [][2]stats.Count{{of(0, 0), of(0, 3)}, {of(2, 3), of(0, 0)}, {}} {
		if got := stats.Fisher(nothing[0], nothing[1]); got != 1 {
			t.Errorf("%v: %v, want 1", nothing, got)
		}
	}
}

// TestFisherIsSymmetric exchanges the sides and passes for fails at once.
func TestFisherIsSymmetric(t *testing.T) {
	for b := range 8 {
		for h := range 6 {
			one, other := stats.Fisher(of(b, 7), of(h, 5)), stats.Fisher(of(5-h, 5), of(7-b, 7))
			if !near(one, other, 1e-12) {
				t.Errorf("%d of 7 against %d of 5: %v and %v", b, h, one, other)
			}
		}
	}
}

// TestSequential compares with p-values of a dynamic program over the states
// that took the supremum on a grid of 109 points. Where the supremum is between
// two of them, the exact one is larger in the fourth or fifth digit: within gap.
func TestSequential(t *testing.T) {
	const gap = 4e-4
	for _, tt := range []struct {
		history, looks int
		base, head     stats.Count
		want           float64
	}{
		{0, 12, of(3, 3), of(0, 3), .0615344},
		{0, 12, of(4, 4), of(0, 4), .0145868},
		{0, 12, of(5, 5), of(0, 5), .0036881},
		{0, 12, of(6, 6), of(0, 6), .0008153},
		{0, 12, of(7, 7), of(0, 7), .0001678},
		{0, 12, of(6, 6), of(1, 6), .0075313},
		{19, 12, of(19, 19), of(0, 1), .0636906},
		{19, 12, of(19, 19), of(0, 2), .0047893},
		{19, 12, of(19, 19), of(0, 3), .0006867},
		{19, 12, of(19, 19), of(1, 4), .0026398},
		{0, 16, of(3, 3), of(0, 3), .0714484},
		{0, 16, of(4, 4), of(0, 4), .0196341},
		{0, 16, of(5, 5), of(0, 5), .0052597},
		{0, 16, of(6, 6), of(0, 6), .0012651},
		{0, 16, of(7, 7), of(0, 7), .0002871},
		{0, 16, of(6, 6), of(1, 6), .0099069},
		{0, 16, of(8, 8), of(1, 8), .0008474},
		{4, 12, of(4, 4), of(0, 2), .0747349},
		{4, 12, of(4, 4), of(0, 3), .0321514},
		{4, 12, of(4, 4), of(0, 4), .0145868},
	} {
		got := stats.NewSequential(tt.history, tt.looks).P(tt.base, tt.head)
		if got < tt.want-5e-8 || got > tt.want*(1+gap)+5e-8 {
			t.Errorf("P_{%d,%d} of %v against %v is %.7f, want %.7f", tt.history, tt.looks, tt.base, tt.head, got, tt.want)
		}
	}
	if got := stats.NewSequential(3, 5).P(of(3, 3), of(0, 0)); got != 1 {
		t.Errorf("P before the first look is %v", got)
	}
}

// TestSequentialIsBoschloos with one look: the test of a single 2×2 table.
func TestSequentialIsBoschloos(t *testing.T) {
	for _, tt := range []struct {
		history    int
		base, head stats.Count
		want       float64
	}{
		// A step a look: with one look at one pair, the most extreme state is
		// 1 against 0, with q·(1−q) ≤ 1/4.
		{0, of(1, 1), of(0, 1), .25},
		// All passed of 3 and then a fail: q³·(1−q), at q = 3/4.
		{3, of(3, 3), of(0, 1), 27. / 256},
	} {
		if got := stats.NewSequential(tt.history, 1).P(tt.base, tt.head); !near(got, tt.want, 1e-7) {
			t.Errorf("%v against %v: %.9f, want %.9f", tt.base, tt.head, got, tt.want)
		}
	}
}

// walk calls look for each state of each sequence of measurements with its
// probability, until look returns false.
func walk(history, looks int, q float64, look func(base, head stats.Count, chance float64) bool) {
	var step func(base, head stats.Count, chance float64)
	step = func(base, head stats.Count, chance float64) {
		if head.Of > 0 && !look(base, head, chance) || head.Of == looks {
			return
		}
		pass := func(k int) float64 { return []float64{1 - q, q}[k] }
		for h := range 2 {
			if head.Of < base.Of {
				step(base, head.Add(h, 1), chance*pass(h))
				continue
			}
			for b := range 2 {
				step(base.Add(b, 1), head.Add(h, 1), chance*pass(h)*pass(b))
			}
		}
	}
	for past := range 1 << history {
		base, chance := of(0, 0), 1.0
		for i := range history {
			k := past >> i & 1
			base = base.Add(k, 1)
			chance *= []float64{1 - q, q}[k]
		}
		step(base, of(0, 0), chance)
	}
}

// TestSequentialIsValid goes through all sequences of measurements: without a
// difference, the chance that P is ever at most a level is at most that level, and
// the bound is reached.
func TestSequentialIsValid(t *testing.T) {
	for _, size := range [][2]int{{0, 1}, {0, 3}, {0, 5}, {1, 4}, {4, 3}, {6, 2}} {
		s := stats.NewSequential(size[0], size[1])
		levels := map[float64]float64{} // the largest chance of P ≤ level
		walk(size[0], size[1], .5, func(base, head stats.Count, _ float64) bool {
			levels[s.P(base, head)] = 0
			return true
		})
		for i := 1; i < 50; i++ {
			q := float64(i) / 50
			for level := range levels {
				var chance float64
				walk(size[0], size[1], q, func(base, head stats.Count, c float64) bool {
					if s.P(base, head) <= level {
						chance += c
						return false
					}
					return true
				})
				levels[level] = max(levels[level], chance)
			}
		}
		for level, chance := range levels {
			if chance > level*(1+1e-9) || chance < .98*level {
				t.Errorf("history %d, %d looks: P ≤ %.6f has a chance of %.6f", size[0], size[1], level, chance)
			}
		}
	}
}

// TestSequentialIsMonotone: a pass more at head or a fail more at base never
// lowers P, and with fresh pairs the sides can be exchanged with the outcomes.
func TestSequentialIsMonotone(t *testing.T) {
	for _, size := range [][2]int{{0, 12}, {0, 16}, {4, 12}, {19, 12}} {
		s := stats.NewSequential(size[0], size[1])
		for n := 1; n <= size[1]; n++ {
			m := max(n, size[0])
			for b := range m + 1 {
				for h := range n + 1 {
					p := s.P(of(b, m), of(h, n))
					if h < n && s.P(of(b, m), of(h+1, n)) < p*(1-1e-6) {
						t.Errorf("%v: a pass more than %d of %d lowers P", size, h, n)
					}
					if b < m && s.P(of(b+1, m), of(h, n)) > p*(1+1e-6) {
						t.Errorf("%v: a pass of base more than %d of %d raises P", size, b, m)
					}
					if size[0] == 0 && !near(p, s.P(of(n-h, n), of(n-b, n)), 1e-9) {
						t.Errorf("%v: %d against %d of %d is not symmetric", size, b, h, n)
					}
				}
			}
		}
	}
}

// TestPower compares with all sequences of measurements, one by one.
func TestPower(t *testing.T) {
	s := stats.NewSequential(2, 5)
	const limit = .09
	assumed := stats.Assumption{Base: .9, Head: .3}
	var power func(base, head stats.Count) float64
	power = func(base, head stats.Count) float64 {
		if s.P(base, head) <= limit {
			return 1
		}
		if head.Of == 5 {
			return 0
		}
		var sum float64
		for h, q := range []float64{1 - assumed.Head, assumed.Head} {
			if head.Of < base.Of {
				sum += q * power(base, head.Add(h, 1))
				continue
			}
			for b, p := range []float64{1 - assumed.Base, assumed.Base} {
				sum += p * q * power(base.Add(b, 1), head.Add(h, 1))
			}
		}
		return sum
	}
	walk(2, 5, .5, func(base, head stats.Count, _ float64) bool {
		if got, want := s.Power(base, head, assumed, limit), power(base, head); !near(got, want, 1e-12) {
			t.Errorf("after %v against %v: %v, want %v", base, head, got, want)
		}
		return true
	})
	if got, want := s.Power(of(2, 2), of(0, 0), assumed, limit), power(of(2, 2), of(0, 0)); !near(got, want, 1e-12) || got <= 0 || got >= 1 {
		t.Errorf("before the first look: %v, want %v", got, want)
	}
	if got := s.Power(of(2, 2), of(0, 0), assumed, 0); got != 0 {
		t.Errorf("no P is 0, and the power is %v", got)
	}
}

func TestNewSequentialRefuses(t *testing.T) {
	for _, size := range [][2]int{{-1, 3}, {0, 0}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("history %d with %d looks is accepted", size[0], size[1])
				}
			}()
			stats.NewSequential(size[0], size[1])
		}()
	}
	if once, again := stats.NewSequential(0, 12), stats.NewSequential(0, 12); once != again {
		t.Error("a table is made twice")
	}
}

func TestBenjaminiHochberg(t *testing.T) {
	for _, tt := range []struct {
		name       string
		p, weights []float64
		want       []bool
	}{
		{"three of four", []float64{.001, .02, .03, .5}, nil, []bool{true, true, true, false}},
		{"in any order", []float64{.5, .03, .001, .02}, nil, []bool{false, true, true, true}},
		{"nothing", nil, nil, []bool{}},
		{"at the limit", []float64{.02, 1}, nil, []bool{true, false}},
		{"above it", []float64{.021, 1}, nil, []bool{false, false}},
		{"weights of any scale", []float64{.05, .05}, []float64{3, 1}, []bool{false, false}},
		{"a heavy one", []float64{.03, 1}, []float64{3, 1}, []bool{true, false}},
		{"a light one", []float64{.02, 1}, []float64{1, 3}, []bool{false, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := stats.BenjaminiHochberg(tt.p, tt.weights, .04)
			for i := range tt.want {
				if got[i] != tt.want[i] {
					t.Fatalf("rejects %v, want %v", got, tt.want)
				}
			}
		})
	}
}

// TestBenjaminiHochbergIsMonotone: a smaller p-value never takes a rejection
// away.
func TestBenjaminiHochbergIsMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		p, w := make([]float64, 1+r.IntN(8)), []float64{}
		for i := range p {
			p[i] = math.Pow(r.Float64(), 3)
			w = append(w, []float64{.3, 1}[r.IntN(2)])
		}
		before := stats.BenjaminiHochberg(p, w, .1)
		p[r.IntN(len(p))] *= r.Float64()
		after := stats.BenjaminiHochberg(p, w, .1)
		for i := range before {
			if before[i] && !after[i] {
				t.Fatalf("%v with weights %v loses a rejection", p, w)
			}
		}
	}
}

// BenchmarkSequential makes all p-values of the tests that a comparison needs
// with the default number of looks.
func BenchmarkSequential(b *testing.B) {
	for b.Loop() {
		for _, size := range [][2]int{{0, 12}, {0, 16}, {4, 12}, {19, 12}} {
			stats.NewSequentialUncached(size[0], size[1]).All()
		}
	}
}

// BenchmarkLongest makes the tables of the longest test that settings allow.
func BenchmarkLongest(b *testing.B) {
	for b.Loop() {
		stats.NewSequentialUncached(19, 32).All()
	}
}

func BenchmarkPower(b *testing.B) {
	s := stats.NewSequential(0, 16)
	for b.Loop() {
		s.Power(of(1, 1), of(0, 1), stats.Assumption{Base: .97, Head: .5}, .001)
	}
}
