package stats

import (
	"cmp"
	"slices"
)

// BenjaminiHochberg returns which of some p-values are rejected so that at most a
// share α of all rejections is expected to be false: with p sorted, the R
// smallest, for the largest R with
//
//	p(R) ≤ α · R / K
//
// (Y. Benjamini and Y. Hochberg, Controlling the False Discovery Rate, Journal
// of the Royal Statistical Society B 57, 1995). Where nothing is true the chance
// of any rejection is at most α. Both need independent p-values, or such as rise
// and fall together.
//
// With weights, p/w takes the place of p, and the weights are scaled to a mean
// of 1 (C. R. Genovese, K. Roeder and L. Wasserman, False discovery control with
// p-value weighting, Biometrika 93, 2006). They must not depend on what the
// p-values are made from. No weights are equal weights.
func BenjaminiHochberg(p, weights []float64, alpha float64) []bool {
	scaled := slices.Clone(p)
	if weights != nil {
		mean := Mean(weights)
		for i, w := range weights {
			scaled[i] *= mean / w
		}
	}
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scaled[a], scaled[b]) })
	rejected := make([]bool, len(p))
	for r := len(order); r > 0; r-- {
		if scaled[order[r-1]] <= alpha*float64(r)/float64(len(p)) {
			for _, i := range order[:r] {
				rejected[i] = true
			}
			break
		}
	}
	return rejected
}
