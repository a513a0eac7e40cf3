package stats

import "math"

// A Count is how many of some measurements passed.
type Count struct{ Passed, Of int }

// Rate returns the share that passed, or NaN without measurements.
func (c Count) Rate() float64 { return float64(c.Passed) / float64(c.Of) }

// Add returns c with n further measurements, of which k passed.
func (c Count) Add(k, n int) Count { return Count{c.Passed + k, c.Of + n} }

// Fisher is the one-sided p-value of Fisher's exact test that head passes less
// often than base. Given how many passed in all, with s = base.Passed +
// head.Passed, it is the hypergeometric tail
//
//	Σ C(head.Of, x) · C(base.Of, s−x) / C(base.Of + head.Of, s)  over x ≤ head.Passed
//
// (R. A. Fisher, The Logic of Inductive Inference, Journal of the Royal
// Statistical Society 98, 1935). It is 1 where one of the sides has no
// measurement.
func Fisher(base, head Count) float64 {
	passed := base.Passed + head.Passed
	all := logChoose(base.Of+head.Of, passed)
	var tail float64
	for x := max(0, passed-base.Of); x <= head.Passed; x++ {
		tail += math.Exp(logChoose(head.Of, x) + logChoose(base.Of, passed-x) - all)
	}
	return min(1, tail)
}
