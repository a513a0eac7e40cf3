package stats

import (
	"math"
	"slices"
	"sort"
	"sync"
)

// A Sequential is an exact test that may be looked at after every measurement.
// It compares a base that comes with some measurements (its history) with a head
// that has none. A step measures head once, and base once where head would
// otherwise have more; a look follows each step, and there are at most so many.
//
// Fisher's p-value orders the states, and the p-value of a state is the chance
// that any look of the whole sequence is at least as extreme:
//
//	P(state) = sup over q of Pr_q( min over all looks of Fisher ≤ Fisher(state) )
//
// where both sides pass with the same unknown probability q. Fisher's p-value as
// an ordering, with the supremum over the nuisance parameter, is the test of
// R. D. Boschloo (Raised conditional level of significance for the 2×2-table
// when testing the equality of two probabilities, Statistica Neerlandica 24,
// 1970); the minimum over the looks makes it sequential. All looks are paid for,
// therefore one may stop at any of them for any reason.
//
// A Sequential is safe for concurrent use.
type Sequential struct {
	history, looks int
	// values are the different values that Fisher takes, from the smallest.
	values []float64
	// places[n][base passes][head passes] is where the value of a state at look
	// n is in values.
	places [][][]int32

	mu sync.Mutex
	// levels[i] is the p-value of values[i], or NaN if nobody has needed it yet.
	levels []float64 // guarded by mu
	// critical is the result of [Sequential.reach] for a limit.
	critical map[float64]int // guarded by mu
}

var sequentials struct {
	sync.Mutex
	made map[[2]int]*Sequential
}

// NewSequential is the test against a base that starts with so many
// measurements, looked at so many times at most. Both are kept for the life of
// the process, since their tables depend on nothing else. It panics for a
// negative history and for fewer than one look: both are mistakes of the program.
func NewSequential(history, looks int) *Sequential {
	if history < 0 || looks < 1 {
		panic("stats: a sequential test needs a history of at least 0 and at least one look")
	}
	sequentials.Lock()
	defer sequentials.Unlock()
	key := [2]int{history, looks}
	if s, ok := sequentials.made[key]; ok {
		return s
	}
	if sequentials.made == nil {
		sequentials.made = map[[2]int]*Sequential{}
	}
	s := &Sequential{history: history, looks: looks, critical: map[float64]int{}}
	s.order()
	sequentials.made[key] = s
	return s
}

// Looks returns how many looks there are at most.
func (s *Sequential) Looks() int { return s.looks }

// base returns how many measurements base has at look n.
func (s *Sequential) base(n int) int { return max(s.history, n) }

// order sorts the states by Fisher's p-value. Values that differ by rounding
// alone are one.
func (s *Sequential) order() {
	var all []float64
	for n := 1; n <= s.looks; n++ {
		for b := range s.base(n) + 1 {
			for h := range n + 1 {
				all = append(all, Fisher(Count{b, s.base(n)}, Count{h, n}))
			}
		}
	}
	sorted := slices.Sorted(slices.Values(all))
	s.values = slices.CompactFunc(sorted, func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*a })
	s.places = make([][][]int32, s.looks+1)
	i := 0
	for n := 1; n <= s.looks; n++ {
		s.places[n] = make([][]int32, s.base(n)+1)
		for b := range s.places[n] {
			s.places[n][b] = make([]int32, n+1)
			for h := range s.places[n][b] {
				above := sort.Search(len(s.values), func(k int) bool { return s.values[k] > all[i]*(1+1e-12) })
				s.places[n][b][h] = int32(above - 1)
				i++
			}
		}
	}
	s.levels = make([]float64, len(s.values))
	for i := range s.levels {
		s.levels[i] = math.NaN()
	}
}

// P is the p-value of what a look shows: how likely without a difference some
// look is at least as extreme. Before the first look it is 1. The smallest P of
// the looks so far is a p-value as well, and no larger one is.
//
// The counts have to be those of a look: head at most as many as there are
// looks, base as many as head or as the history has, whichever is more.
func (s *Sequential) P(base, head Count) float64 {
	if head.Of == 0 {
		return 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level(int(s.places[head.Of][base.Passed][head.Passed]))
}

// level returns the p-value of values[i]. The caller holds mu.
func (s *Sequential) level(i int) float64 {
	if math.IsNaN(s.levels[i]) {
		s.levels[i] = min(1, supremum(s.bernstein(i)))
	}
	return s.levels[i]
}

// bernstein returns the probability that some look is at least as extreme as values[i],
// as a polynomial in q by its coefficients in the Bernstein basis of as many
// measurements as there are in all. Coefficient t is itself the probability of such a
// look given that t of all measurements pass. It is counted, sequence by sequence, so
// its only error comes from rounding.
func (s *Sequential) bernstein(level int) []float64 {
	// alive[b][h] counts the sequences with these passes of which no look was
	// that extreme; extreme[t] those of which one was, by their passes so far.
	alive := make([][]float64, s.base(s.looks)+1)
	for b := range alive {
		alive[b] = make([]float64, s.looks+1)
	}
	for b := range s.history + 1 {
		alive[b][0] = choose(s.history, b)
	}
	extreme := make([]float64, s.history+1)
	for n := 1; n <= s.looks; n++ {
		if s.base(n) > s.base(n-1) {
			for b := s.base(n); b > 0; b-- {
				addTo(alive[b], alive[b-1])
			}
			extreme = longer(extreme)
		}
		extreme = longer(extreme)
		for b := range s.base(n) + 1 {
			for h := n; h > 0; h-- {
				alive[b][h] += alive[b][h-1]
			}
			absorb(alive[b][:n+1], s.places[n][b], level, extreme[b:])
		}
	}
	for t := range extreme {
		extreme[t] /= choose(len(extreme)-1, t)
	}
	return extreme
}

// addTo adds a row to another of the same length.
func addTo(row, other []float64) {
	for h, c := range other {
		row[h] += c
	}
}

// absorb moves the values of a row at places up to a level to a sum.
func absorb(row []float64, places []int32, level int, sum []float64) {
	for h := range row {
		if int(places[h]) <= level {
			sum[h] += row[h]
			row[h] = 0
		}
	}
}

// longer counts sequences with one further measurement, which passes or not.
func longer(counts []float64) []float64 {
	next := make([]float64, len(counts)+1)
	for t, c := range counts {
		next[t] += c
		next[t+1] += c
	}
	return next
}

// supremum is the largest value in [0,1] of a polynomial that is given by its
// coefficients in the Bernstein basis, at most a ten millionth too large and
// never too small: on an interval the polynomial is nowhere above its largest
// coefficient, and halves are looked into as long as that could matter
// (J. M. Lane and R. F. Riesenfeld, Bounds on a polynomial, BIT 21, 1981; de
// Casteljau's algorithm halves).
func supremum(coefficients []float64) float64 {
	const excess = 1 + 1e-7
	last := len(coefficients) - 1
	found := max(coefficients[0], coefficients[last])
	bound := found
	open := [][]float64{coefficients}
	for len(open) > 0 {
		c := open[len(open)-1]
		open = open[:len(open)-1]
		top := slices.Max(c)
		if top <= found*excess {
			bound = max(bound, top)
			continue
		}
		left, right := make([]float64, last+1), slices.Clone(c)
		for i := range left {
			left[i] = right[0]
			for k := range last - i {
				right[k] = (right[k] + right[k+1]) / 2
			}
		}
		found = max(found, right[0])
		open = append(open, left, right)
	}
	return bound
}

// An Assumption is how often either side passes from here on.
type Assumption struct{ Base, Head float64 }

// Power is the conditional power: the chance that this look or a later one has a
// P of at most the limit, under an assumption about what is still to be measured
// (J. M. Lachin, A review of methods for futility stopping based on conditional
// power, Statistics in Medicine 24, 2005). The counts are as in [Sequential.P].
func (s *Sequential) Power(base, head Count, assumed Assumption, limit float64) float64 {
	level := s.reach(limit)
	if head.Of > 0 && int(s.places[head.Of][base.Passed][head.Passed]) <= level {
		return 1
	}
	left := s.looks - head.Of
	chance := make([][]float64, left+1) // of b and h further passes, and no such look
	for b := range chance {
		chance[b] = make([]float64, left+1)
	}
	chance[0][0] = 1
	reached := make([]float64, left+1)
	for n := head.Of + 1; n <= s.looks; n++ {
		if s.base(n) > s.base(n-1) {
			measureBase(chance[:n-head.Of+1], assumed.Base)
		}
		for b := range s.base(n) - base.Of + 1 {
			row := chance[b][:n-head.Of+1]
			for h := len(row) - 1; h > 0; h-- {
				row[h] += assumed.Head * (row[h-1] - row[h])
			}
			row[0] *= 1 - assumed.Head
			absorb(row, s.places[n][base.Passed+b][head.Passed:], level, reached)
		}
	}
	var sum float64
	for _, c := range reached {
		sum += c
	}
	return sum
}

// measureBase changes chances, by the passes of base and of head, to those after
// a measurement of base that passes with the probability p.
func measureBase(chance [][]float64, p float64) {
	for b := len(chance) - 1; b > 0; b-- {
		for h := range chance {
			chance[b][h] += p * (chance[b-1][h] - chance[b][h])
		}
	}
	for h := range chance {
		chance[0][h] *= 1 - p
	}
}

// reach returns the place of the largest value whose level is within the limit, or −1.
// The levels rise with the values.
func (s *Sequential) reach(limit float64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	place, known := s.critical[limit]
	if !known {
		place = sort.Search(len(s.values), func(i int) bool { return s.level(i) > limit }) - 1
		s.critical[limit] = place
	}
	return place
}
