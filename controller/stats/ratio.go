package stats

import "math"

// A Part is one of the things whose two sums are compared: what it takes now, and what it
// took before.
type Part struct {
	Now, Before float64
	// Cluster names the common part of things, which makes them less informative than as
	// many independent ones.
	Cluster string
}

// Ratio returns the ratio of two sums over the same things, r = Σ now / Σ before, with its
// 95 % confidence interval. The ratio is the mean of now / before, weighted by before, and
// [Clustered] with these weights gives its interval: the linearised variance of a ratio
// estimator (W. G. Cochran, Sampling Techniques, 1977, 6.4), whose residual of a thing is
// now − r·before. If all things rose by the same factor, it is that factor alone.
//
// The ratio is not a finite number if nothing was taken before. ok is false if the interval
// cannot be estimated: if something took nothing before, or in the cases of [Clustered].
func Ratio(parts []Part) (interval Interval, ok bool) {
	var now, before float64
	pairs := make([]Pair, len(parts))
	ok = true
	for i, p := range parts {
		now, before = now+p.Now, before+p.Before
		pairs[i] = Pair{Difference: p.Now / p.Before, Weight: p.Before, Cluster: p.Cluster}
		ok = ok && p.Before > 0
	}
	r := now / before
	interval = Interval{r, r, r}
	if l := linearise(pairs); !ok || !(l.effective > fewest-1e-9) {
		return interval, false
	} else if math.Sqrt(l.variance)/l.weights <= 1e-9*r {
		return interval, true
	}
	return Clustered(pairs)
}
