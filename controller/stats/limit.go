package stats

import (
	"math"
	"strconv"
)

// A Repeated is one of the things whose mean has a limit, with its measurements.
type Repeated struct {
	// Weight is its share in the mean, ≥ 0.
	Weight float64
	// Values are its measurements, within −1 and 1; NaN for one that failed. The first
	// never is.
	Values []float64
}

// A Standing is the result of comparing a mean with a limit. If it neither reached nor
// missed the limit, the true mean may be on either side.
type Standing struct {
	// Mean is over all measurements. Margin is how far from it a limit has to be for a
	// decision; infinite if the noise cannot be estimated.
	Mean, Margin float64
	// Reached says that the true mean is at the limit or above, and Missed that it is below.
	Reached, Missed bool
}

// Against compares the weighted mean of things with a limit l, over repeated measurement
// of these very things. A limit that the true mean has is taken for reached, or for
// missed, in about 1 % each by one measurement of each thing, and in 2 % by several.
//
// The mean m̄ reaches the limit if it is above by more than
//
//	t(p, df) · √max( V + δ·(1 + m̄ + l) / N, V, δ·(1 − δ) / N ),  with δ = m̄ − l
//
// and misses it if it is below by more than
//
//	t(p, df) · √max( V, δ / N ),  with δ = l − m̄
//
// with N effective measurements and the variance V of the mean. With one measurement of
// each thing p is 0.99, and V is the variance between the things, of [Clustered]. It contains the one
// within them and is only too large: for shares Σ p(1−p) ≤ n·p̄(1−p̄). With several p is
// 0.98, and V is the variance within the things, pooled or by each, whichever is more.
//
// The other terms are the variance that the mean would have if the limit were true: that
// nothing varied does not prove that nothing does. The score intervals of one
// share (E. B. Wilson, Journal of the American Statistical Association 22, 1927) and of
// a difference of paired shares (T. Tango, Statistics in Medicine 17, 1998) have them
// too. So values count from 0, the best that is usual: a score minus 1, or head − base.
func Against(things []Repeated, l float64) Standing {
	e, t := once(things), t99
	if rounds := roundsOf(things); rounds > 1 {
		e, t = several(things, rounds), t98
	}
	s := Standing{Mean: e.mean, Margin: math.Inf(1)}
	if e.df < 1 {
		return s
	}
	distance := e.mean - l
	variance := max(e.variance, -distance/e.measurements)
	if distance > 0 {
		more := max(0, distance*(1+e.mean+l)) / e.measurements
		variance = max(e.variance+more, distance*(1-distance)/e.measurements)
	}
	s.Margin = t.at(e.df) * math.Sqrt(variance)
	s.Reached = distance > s.Margin+1e-9
	s.Missed = distance < -s.Margin-1e-9
	return s
}

// An estimate is a mean with its variance.
type estimate struct {
	mean, variance float64
	// measurements is their effective number.
	measurements float64
	// df are the degrees of freedom of the variance; less than 1 if it is unknown.
	df int
}

// roundsOf returns how many measurements each of the things has at least.
func roundsOf(things []Repeated) int {
	rounds := math.MaxInt
	for _, t := range things {
		rounds = min(rounds, len(t.Values))
	}
	return rounds
}

// once estimates the mean from the first measurement of each thing.
func once(things []Repeated) estimate {
	pairs := make([]Pair, len(things))
	for i, t := range things {
		pairs[i] = Pair{Difference: t.Values[0], Weight: t.Weight, Cluster: strconv.Itoa(i)}
	}
	l := linearise(pairs)
	e := estimate{mean: l.mean, measurements: l.effective, df: int(l.effective - 1 + 1e-9)}
	if e.df > 0 {
		e.variance = l.variance / (l.weights * l.weights)
	}
	return e
}

// several estimates the mean from a number of measurements of each thing.
func several(things []Repeated, rounds int) estimate {
	var weights, squares, sum, each float64
	// own is the variance by each thing, and pooled is Σ (k−1)·s² over df.
	var own, pooled, df float64
	for _, t := range things {
		mean, s2, k := moments(t.Values[:rounds])
		w2 := t.Weight * t.Weight
		weights, squares = weights+t.Weight, squares+w2
		sum, each = sum+t.Weight*mean, each+w2/k
		own, pooled, df = own+w2*s2/k, pooled+(k-1)*s2, df+k-1
	}
	effective := weights * weights / squares
	e := estimate{mean: sum / weights, measurements: effective * squares / each}
	if e.df = int(effective*df/float64(len(things)) + 1e-9); e.df > 0 {
		e.variance = max(own, pooled/df*each) / (weights * weights)
	}
	return e
}

// moments returns the mean and the variance of values, and their number, without those
// that failed.
func moments(values []float64) (mean, variance, n float64) {
	var squares float64
	for _, v := range values {
		if !math.IsNaN(v) {
			n++
			squares += (v - mean) * (v - mean) * (n - 1) / n
			mean += (v - mean) / n
		}
	}
	return mean, squares / max(1, n-1), n
}
