// Package stats decides whether a difference is significant. It is a leaf: numbers go
// in and numbers come out.
//
// Intervals: [Paired] and [Clustered], of a mean difference between two things that
// were measured on the same inputs. [Against] compares a mean with a limit.
//
// Tests: [Sequential] of one case that is measured until it is clear,
// [BenjaminiHochberg] over several such cases, [Stratified] over all cases at once. All
// of them are exact: they bound the chance of an error for any number of measurements,
// not for large ones alone.
//
// For one case over time: [Flaky] and [FlakeRate].
package stats

import "math"

// An Interval is a mean with the ends of its 95 % confidence interval.
type Interval struct{ Mean, Low, High float64 }

// Excludes reports whether a value is outside, by more than rounding
// leaves.
func (i Interval) Excludes(x float64) bool { return i.Low > x+1e-9 || i.High < x-1e-9 }

// Paired returns the interval of the mean d̄ of n ≥ 2 paired differences,
//
//	d̄ ± t(0.975, n−1) · √((s² + r²/6) / n)
//
// with s² = Σ(d − d̄)² / (n−1): Student's interval for paired samples ("Student", The
// Probable Error of a Mean, Biometrika 6, 1908; NIST/SEMATECH e-Handbook of Statistical
// Methods, 1.3.5.3 and 7.3.1.1). Judges give scores in steps of r. Rounding to steps
// adds r²/12 to a variance (Sheppard, Proceedings of the London Mathematical Society
// 29, 1898), and twice as much to the variance of a difference. Few scores often round
// alike, and then s² = 0 would make a difference of one step certain after two pairs.
//
// ok is false for fewer than two differences, or for one that is not a finite number:
// then the noise cannot be estimated.
func Paired(differences []float64, r float64) (interval Interval, ok bool) {
	n := float64(len(differences))
	if n < 2 {
		return Interval{}, false
	}
	mean := Mean(differences)
	var squares float64
	for _, d := range differences {
		squares += (d - mean) * (d - mean)
	}
	half := t975.at(len(differences)-1) * math.Sqrt((squares/(n-1)+r*r/6)/n)
	if math.IsNaN(half) || math.IsInf(half, 0) {
		return Interval{}, false
	}
	return Interval{mean, mean - half, mean + half}, true
}

// PairedShares returns the interval of the mean of differences of shares, each within −1
// and 1, of things that were measured under both of two conditions:
//
//	d̃ ± z(0.975) · √( (Σ d² + 2) / (n+2) − d̃² ) / √(n+2),   d̃ = Σ d / (n+2)
//
// which is Wald's interval with two more things, one of which differs by 1 and the other
// by −1 (D. G. Bonett and R. M. Price, Adjusted Wald Confidence Interval for a Difference
// of Binomial Proportions Based on Paired Data, Journal of Educational and Behavioral
// Statistics 37, 2012). It is meant for few things, and has a width if all of them differ
// alike. The mean is the unadjusted one. ok is false without a difference.
func PairedShares(differences []float64) (interval Interval, ok bool) {
	if len(differences) == 0 {
		return Interval{}, false
	}
	n := float64(len(differences)) + 2
	sum, squares := 0.0, 2.0
	for _, d := range differences {
		sum, squares = sum+d, squares+d*d
	}
	middle := sum / n
	half := t975.normal * math.Sqrt((squares/n-middle*middle)/n)
	return Interval{Mean(differences), max(-1, middle-half), min(1, middle+half)}, true
}

// A Pair is one of the things that were measured twice.
type Pair struct {
	Difference float64
	// Weight is its share in the mean, ≥ 0.
	Weight float64
	// Cluster names the common part of pairs, which makes them less informative than as
	// many independent ones.
	Cluster string
}

// fewest is how many effective clusters an interval needs at least: with fewer its
// width is a guess.
const fewest = 3

// Clustered returns the interval of the weighted mean difference d̄ = Σ w·d / Σ w of
// pairs in clusters,
//
//	d̄ ± t(0.975, E−1) · √( Σ c·u² ) / Σ w
//
// over the clusters, with u = Σ w·(d − d̄) within each: the linearised variance of a
// ratio of cluster totals (Liang and Zeger, Biometrika 73, 1986). With q = Σ w² within
// a cluster, w̃ its share of all weights and Q = Σ w² of all pairs,
//
//	c = q / ( q·(1 − 2·w̃) + w̃²·Q )
//
// makes the variance unbiased where the pairs vary alike, however unevenly they weigh
// (CR2: R. M. Bell and D. F. McCaffrey, Bias Reduction in Standard Errors for Linear
// Regression with Multi-Stage Samples, Survey Methodology 28, 2002; J. E. Pustejovsky
// and E. Tipton, Journal of Business and Economic Statistics 36, 2018). The effective
// number of clusters, of the weights W = Σ w of each, is
//
//	E = (Σ W²)² / Σ W⁴
//
// and degrees of freedom are rounded down. With equal weights and every pair a cluster
// of its own it is the interval of [Paired] for r = 0.
//
// ok is false if the noise cannot be estimated: fewer than three effective clusters,
// none that differs from another, or a weight or a difference that is not finite.
func Clustered(pairs []Pair) (interval Interval, ok bool) {
	l := linearise(pairs)
	if !(l.effective > fewest-1e-9) {
		return Interval{}, false
	}
	half := t975.at(int(l.effective-1+1e-9)) * math.Sqrt(l.variance) / l.weights
	if !(half > 1e-9) || math.IsInf(half, 0) {
		return Interval{}, false
	}
	return Interval{l.mean, l.mean - half, l.mean + half}, true
}

// A linearised is a weighted mean with the variance of its weighted sum, the sum of the
// weights, and the effective number of clusters.
type linearised struct{ mean, variance, weights, effective float64 }

// linearise estimates the weighted mean of pairs as [Clustered] does.
func linearise(pairs []Pair) linearised {
	var sum, weights, all float64
	for _, p := range pairs {
		sum += p.Weight * p.Difference
		weights += p.Weight
		all += p.Weight * p.Weight
	}
	mean := sum / weights
	var square, fourth, variance float64
	for _, c := range clustersOf(pairs, mean) {
		w := c.weight * c.weight
		square, fourth = square+w, fourth+w*w
		share := c.weight / weights
		variance += c.squares / (c.squares*(1-2*share) + share*share*all) * c.total * c.total
	}
	return linearised{mean, variance, weights, square * square / fourth}
}

// A cluster sums up pairs with a common part: their weights, the squares of these, and
// their weighted distances from the mean.
type cluster struct{ weight, squares, total float64 }

// clustersOf returns clusters in the order of the pairs, so that equal input gives
// equal output.
func clustersOf(pairs []Pair, mean float64) []cluster {
	var clusters []cluster
	place := map[string]int{}
	for _, p := range pairs {
		if p.Weight <= 0 {
			continue
		}
		i, known := place[p.Cluster]
		if !known {
			i = len(clusters)
			place[p.Cluster], clusters = i, append(clusters, cluster{})
		}
		clusters[i].weight += p.Weight
		clusters[i].squares += p.Weight * p.Weight
		clusters[i].total += p.Weight * (p.Difference - mean)
	}
	return clusters
}

// Mean returns the arithmetic mean, or NaN for no values.
func Mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// A quantile is one of Student's t distribution: the normal one, and those with 1 to 10
// degrees of freedom.
type quantile struct {
	normal float64
	table  [10]float64
}

var (
	t975 = quantile{1.959963984540054, [10]float64{12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139}}
	t98  = quantile{2.053748910631823, [10]float64{15.894545, 4.848732, 3.481909, 2.998528, 2.756509, 2.612242, 2.516752, 2.448985, 2.398441, 2.359315}}
	t99  = quantile{2.326347874040841, [10]float64{31.820516, 6.964557, 4.540703, 3.746947, 3.364930, 3.142668, 2.997952, 2.896459, 2.821438, 2.763769}}
)

// at returns the quantile with df ≥ 1 degrees of freedom. Up to 10 it is from the usual
// table; above, the expansion of Abramowitz and Stegun, Handbook of Mathematical
// Functions, 26.7.5, is exact to five digits.
func (q quantile) at(df int) float64 {
	if df <= len(q.table) {
		return q.table[df-1]
	}
	z := q.normal
	n, z2 := float64(df), z*z
	g1 := z * (z2 + 1) / 4
	g2 := z * ((5*z2+16)*z2 + 3) / 96
	g3 := z * (((3*z2+19)*z2+17)*z2 - 15) / 384
	g4 := z * ((((79*z2+776)*z2+1482)*z2-1920)*z2 - 945) / 92160
	return z + g1/n + g2/(n*n) + g3/(n*n*n) + g4/(n*n*n*n)
}

// SignTest is the probability that of a+b fair coins the sides come out at least as
// unevenly as a to b,
//
//	min(1, 2 · Σ C(n,i) / 2ⁿ)  over i ≤ min(a, b), with n = a + b
//
// which is the exact two-sided sign test; ties are left out before (Dixon and Mood, The
// Statistical Sign Test, Journal of the American Statistical Association 41, 1946). It
// is 1 if there is nothing to compare.
func SignTest(a, b int) float64 {
	n, k := a+b, min(a, b)
	var tail float64
	for i := range k + 1 {
		tail += math.Exp(logChoose(n, i) - float64(n)*math.Ln2)
	}
	return min(1, 2*tail)
}

// choose returns the binomial coefficient, exact below 2⁵³.
func choose(n, k int) float64 {
	c := 1.0
	for i := 1; i <= min(k, n-k); i++ {
		c = c * float64(n-min(k, n-k)+i) / float64(i)
	}
	return c
}

// logChoose returns the logarithm of the binomial coefficient.
func logChoose(n, k int) float64 {
	lgamma := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return lgamma(n) - lgamma(k) - lgamma(n-k)
}
