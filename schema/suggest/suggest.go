// Package suggest finds the name that a misspelt one most likely means.
package suggest

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Nearest returns the candidate that a misspelt name most likely means, or ""
// when none is near. A difference in case or between -, _ and space weighs
// nothing; otherwise about one typing error in three letters is forgiven, and
// words that were left out. The one with fewer typing errors wins among equally
// near candidates, then the first in alphabetical order.
func Nearest(name string, candidates []string) string {
	folded := foldName(name)
	length := utf8.RuneCountInString(folded)
	if length == 0 || length > maxLength {
		return ""
	}
	best, bestDistance, bestEdits := "", max(1, length/3)+1, 0
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if c == name {
			continue
		}
		edits := editDistance([]rune(folded), []rune(foldName(c)))
		d := min(edits, nearness(folded, foldName(c)))
		if d < bestDistance || best != "" && d == bestDistance && edits < bestEdits {
			best, bestDistance, bestEdits = c, d, edits
		}
	}
	return best
}

// DidYouMean renders a suggestion as the end of a message, "did you mean
// `expected`?", or "" when no candidate is near.
func DidYouMean(name string, candidates []string) string {
	if s := Nearest(name, candidates); s != "" {
		return Question(s)
	}
	return ""
}

// Question asks whether a name is meant.
func Question(name string) string { return "did you mean `" + name + "`?" }

// Longer names are not typing errors, and the comparison is quadratic.
const maxLength = 64

func foldName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return '_'
		}
		return r
	}, strings.ToLower(s))
}

// nearness counts as one error that a name is the beginning of the other
// (keyword for keywords), or its last words (params for expected_params). Names
// that are related in no such way are far.
func nearness(a, b string) int {
	short, long := a, b
	if len(short) > len(long) {
		short, long = long, short
	}
	if len(short) >= 4 && (strings.HasPrefix(long, short) || strings.HasSuffix(long, "_"+short)) {
		return min(1, len(long)-len(short))
	}
	return maxLength
}

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours that turn a into b (optimal string alignment).
func editDistance(a, b []rune) int {
	if len(b) > 2*maxLength {
		return len(b)
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// IsQuestion reports whether a hint asks whether a name is meant.
func IsQuestion(hint string) bool { return strings.HasPrefix(hint, "did you mean `") }
