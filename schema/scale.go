package schema

import (
	"math"
	"strconv"
)

// ShownScale is the factor by which scores of [0,1] are shown to people: 10 in the
// dialect whose authors write them from 0 to 10, else 1.
func ShownScale(dialect string) float64 {
	if dialect == DialectPromptval {
		return 10
	}
	return 1
}

// NativeScore writes a score or threshold of [0,1] as the dialect's authors do:
// 7.5 or 0.75.
func NativeScore(dialect string, x float64) string {
	// Multiplying adds last digits that no author wrote.
	shown := math.Round(x*ShownScale(dialect)*1e9) / 1e9
	return strconv.FormatFloat(shown, 'g', -1, 64)
}
