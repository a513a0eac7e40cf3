package stats_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/gavel-evals/gavel/controller/stats"
)

// partsOf makes parts, each a cluster of its own.
func partsOf(now, before []float64) []stats.Part {
	parts := make([]stats.Part, len(now))
	for i := range now {
		parts[i] = stats.Part{Now: now[i], Before: before[i], Cluster: strconv.Itoa(i)}
	}
	return parts
}

// TestRatio: with things of one size the ratio is their mean, with the interval of
// Student's t; of unequal ones it is the ratio of the sums.
func TestRatio(t *testing.T) {
	// Mean 1.25 and s² = 0.035/3 of four things: 1.25 ± 3.182446·√(0.0116667/4).
	got, ok := stats.Ratio(partsOf([]float64{1.2, 1.4, 1.1, 1.3}, []float64{1, 1, 1, 1}))
	if half := 3.182446 * math.Sqrt((.0025+.0225+.0225+.0025)/3/4); !ok || math.Abs(got.Mean-1.25) > 1e-12 || math.Abs(got.Low-1.25+half) > 1e-6 || math.Abs(got.High-1.25-half) > 1e-6 {
		t.Errorf("%+v, %t; want 1.25 ± %v", got, ok, half)
	}
	got, ok = stats.Ratio(partsOf([]float64{12, 15, 9, 22, 14, 11}, []float64{10, 11, 8, 15, 12, 7}))
	if !ok || math.Abs(got.Mean-83./63) > 1e-12 || got.Low >= got.Mean || got.High <= got.Mean {
		t.Fatalf("the ratio is %+v, %t", got, ok)
	}
}

func TestRatioWithoutInterval(t *testing.T) {
	for name, parts := range map[string][]stats.Part{
		"two":            partsOf([]float64{1, 2}, []float64{1, 1}),
		"none before":    partsOf([]float64{1, 2, 3, 4}, []float64{0, 0, 0, 0}),
		"one had none":   partsOf([]float64{1, 2, 3, 4}, []float64{1, 1, 0, 1}),
		"one cluster":    {{Now: 1, Before: 1, Cluster: "a"}, {Now: 2, Before: 1, Cluster: "a"}, {Now: 2, Before: 3, Cluster: "a"}},
		"not a number":   partsOf([]float64{1, 2, math.NaN()}, []float64{1, 1, 1}),
		"without end":    partsOf([]float64{1, 2, math.Inf(1)}, []float64{1, 1, 1}),
		"nothing at all": nil,
	} {
		if got, ok := stats.Ratio(parts); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// A rise of all alike leaves nothing to chance.
	if got, ok := stats.Ratio(partsOf([]float64{2, 4, 4, 4, 4}, []float64{1, 2, 2, 2, 2})); !ok || math.Abs(got.Low-2) > 1e-9 || math.Abs(got.High-2) > 1e-9 {
		t.Errorf("twice of everything is %+v, %t", got, ok)
	}
}

// TestRatioCovers: of skewed costs that rise by 40 % on the whole, with noise of each case,
// the interval holds the truth in about 95 %.
func TestRatioCovers(t *testing.T) {
	const rise, worlds = 1.4, 4000
	for _, n := range []int{5, 20, 100} {
		r := rand.New(rand.NewPCG(7, uint64(n)))
		held, found := 0, 0
		for range worlds {
			parts := make([]stats.Part, n)
			for i := range parts {
				usual := math.Exp(.7 * r.NormFloat64())
				noise := func() float64 { return math.Exp(.3*r.NormFloat64() - .045) } // of mean 1
				parts[i] = stats.Part{Before: usual * noise(), Now: rise * usual * noise(), Cluster: strconv.Itoa(i)}
			}
			got, ok := stats.Ratio(parts)
			if !ok {
				continue
			}
			found++
			if got.Low <= rise && rise <= got.High {
				held++
			}
		}
		share := float64(held) / float64(found)
		// Half a point is about one and a half standard errors of 4,000 worlds. Most of five cases
		// and some of twenty have too few effective ones for an interval.
		if share < .93 || share > .985 || found < 1000 || n > 5 && found < worlds*9/10 {
			t.Errorf("%d cases: the interval holds the truth in %.3f of %d", n, share, found)
		}
	}
}
