package schema

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// A PassShare is how many of a case's samples must pass.
type PassShare struct {
	// Share is in (0,1].
	Share float64 `json:"share"`
	// Samples is how many samples are taken; 0 leaves that to the case.
	Samples int `json:"samples,omitempty"`
}

// MaxIterations is the largest number of iterations that a setting may ask for.
const MaxIterations = 1000

// ParsePassShare reads a share such as "8 of 10" or "0.8". It reports false for any other
// text.
func ParsePassShare(text string) (PassShare, bool) {
	if passes, of, ok := strings.Cut(text, " of "); ok {
		n, err := strconv.Atoi(strings.TrimSpace(passes))
		m, err2 := strconv.Atoi(strings.TrimSpace(of))
		if cmp.Or(err, err2) != nil || n < 1 || n > m || m > MaxIterations {
			return PassShare{}, false
		}
		return PassShare{Share: float64(n) / float64(m), Samples: m}, true
	}
	share, err := strconv.ParseFloat(text, 64)
	if err != nil || !(share > 0 && share <= 1) {
		return PassShare{}, false
	}
	return PassShare{Share: share}, true
}

// String returns the share as it is written.
func (p PassShare) String() string {
	if p.Samples == 0 {
		return strconv.FormatFloat(p.Share, 'g', -1, 64)
	}
	return strconv.Itoa(NeededPasses(p.Share, p.Samples)) + " of " + strconv.Itoa(p.Samples)
}

// NeededPasses returns the least number of passes whose share of the samples is not below a
// share, compared after rounding to 1e-9.
func NeededPasses(share float64, samples int) int {
	return int(math.Ceil(math.Round(share*float64(samples)*1e9) / 1e9))
}

// Demand makes the policy ask for a share of the samples.
func (p *Policy) Demand(share PassShare) {
	p.PassShare = share.Share
	p.Iterations = cmp.Or(share.Samples, p.Iterations)
}
