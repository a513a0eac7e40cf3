package stats

import "math"

// Flaky reports whether measurements of the same thing contradict each other more than
// by accident: c of n have the rarer of two verdicts, and if that had a chance of
// 5 %, as many or more would be seen in at most one of twenty such series,
//
//	Pr( Binomial(n, 0.05) ≥ c ) ≤ 0.05
//
// which is to say that the lower limit of the 95 % one-sided interval of that
// chance is at least 0.05 (C. J. Clopper and E. S. Pearson, The Use of Confidence
// or Fiducial Limits Illustrated in the Case of the Binomial, Biometrika 26,
// 1934). The count includes the rarer verdict only, so c is at most n/2.
func Flaky(rarer, n int) bool {
	const rate, error = 0.05, 0.05
	if rarer < 1 || 2*rarer > n {
		return false
	}
	below := 0.0
	for i := range rarer {
		below += math.Exp(logChoose(n, i)) * math.Pow(rate, float64(i)) * math.Pow(1-rate, float64(n-i))
	}
	return 1-below <= error
}

// FlakeRate estimates how often the rarer of two verdicts comes, of c among n: the mean
// (c + ½)/(n + 1) of its distribution without prior knowledge (Jeffreys' prior; L. D.
// Brown, T. T. Cai and A. DasGupta, Interval Estimation for a Binomial Proportion,
// Statistical Science 16, 2001).
func FlakeRate(rarer, n int) float64 { return (float64(rarer) + 0.5) / (float64(n) + 1) }
