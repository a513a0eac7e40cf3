package stats

import "slices"

// A Stratum has the measurements of one thing on both sides: a value for each. Values
// are whole numbers, so that sums are exact: 0 and 1 for fail and pass, or a total of
// several.
type Stratum struct{ Base, Head []int }

// Stratified is the one-sided p-value of the exact test that head is lower than
// base in the sum over all strata. Without a difference, which of the values of
// a stratum are head's is chance, all choices alike and each stratum for itself:
//
//	p = Pr( Σ of head's values ≤ what was seen )
//
// by convolution of the strata's distributions. With values of 0 and 1 it is the
// exact test for several 2×2 tables (M. W. Birch, The Detection of Partial
// Association, I: The 2 × 2 Case, Journal of the Royal Statistical Society B 26,
// 1964; M. Zelen, The Analysis of Several 2 × 2 Contingency Tables, Biometrika
// 58, 1971). Where head has one measurement a stratum, the sum is a
// Poisson-binomial one, and where base has one as well, the test is the sign
// test (Q. McNemar, Note on the Sampling Error of the Difference Between
// Correlated Proportions or Percentages, Psychometrika 12, 1947). With other
// values it is the permutation test of E. J. G. Pitman (Significance Tests Which
// May Be Applied to Samples From Any Populations, Supplement to the Journal of
// the Royal Statistical Society 4, 1937).
//
// A stratum without a measurement on one of the sides tells nothing and is left
// out. The test that head is higher is the one with the sides exchanged.
func Stratified(strata []Stratum) float64 {
	var parts []lottery
	step, seen := 0, 0
	for _, s := range strata {
		if len(s.Base) == 0 || len(s.Head) == 0 {
			continue
		}
		l := draw(slices.Concat(s.Base, s.Head), len(s.Head))
		if len(l.chances) < 2 {
			continue // all values are alike
		}
		for _, v := range s.Head {
			seen += v
		}
		seen -= l.least
		step = divisor(step, l.step())
		parts = append(parts, l)
	}
	if step == 0 {
		return 1
	}
	sum := []float64{1} // of head's excess over the least, in steps, up to the observed one
	for _, l := range parts {
		next := make([]float64, min(len(sum)+(len(l.chances)-1)/step, seen/step+1))
		for i := 0; i < len(l.chances); i += step {
			c := l.chances[i]
			if c == 0 || i/step >= len(next) {
				continue
			}
			shifted := next[i/step:]
			for k, v := range sum[:min(len(sum), len(shifted))] {
				shifted[k] += v * c
			}
		}
		sum = next
	}
	var p float64
	for _, v := range sum {
		p += v
	}
	return min(1, p)
}

// A lottery is the sum of some of several values, all choices alike.
type lottery struct {
	// least is the smallest sum; chances[i] is the chance of i more.
	least   int
	chances []float64
}

// draw returns the sum of n of the values.
func draw(values []int, n int) lottery {
	low, all := slices.Min(values), 0
	step := 0
	for _, v := range values {
		all += v
		step = divisor(step, v-low)
	}
	if step == 0 {
		return lottery{least: n * low, chances: []float64{1}}
	}
	few := min(n, len(values)-n) // a choice also chooses the rest
	ways := ways(values, few, low, step)
	count := choose(len(values), n)
	l := lottery{chances: make([]float64, (len(ways)-1)*step+1)}
	for i, w := range ways {
		if few == n {
			l.chances[i*step] = w / count
		} else {
			l.chances[(len(ways)-1-i)*step] = w / count
		}
	}
	if l.least = few * low; few < n {
		l.least = all - few*low - (len(ways)-1)*step
	}
	first := slices.IndexFunc(l.chances, func(c float64) bool { return c > 0 })
	return lottery{least: l.least + first, chances: l.chances[first:]}
}

// ways counts the choices of n values by their sum: entry t counts those of
// n·low + t·step.
func ways(values []int, n, low, step int) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	width := 0
	for _, v := range sorted[len(sorted)-n:] {
		width += (v - low) / step
	}
	counts := make([][]float64, n+1)
	for k := range counts {
		counts[k] = make([]float64, width+1)
	}
	counts[0][0] = 1
	for _, v := range sorted {
		more := (v - low) / step
		for k := n; k > 0; k-- {
			for t := width; t >= more; t-- {
				counts[k][t] += counts[k-1][t-more]
			}
		}
	}
	return counts[n]
}

// step returns the greatest common divisor of the distances between the sums.
func (l lottery) step() int {
	step := 0
	for i, c := range l.chances {
		if c > 0 {
			step = divisor(step, i)
		}
	}
	return step
}

// divisor returns the greatest common divisor of two numbers ≥ 0; every number divides
// 0.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
