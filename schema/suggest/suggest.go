// Package suggest finds the name that a misspelt one most likely means.
package suggest

import (
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
	letters := []rune(folded)
	for _, c := range candidates {
		if c == name {
			continue
		}
		other := foldName(c)
		near := nearness(folded, other)
		most := len(folded) + len(other)
		if near > bestDistance {
			most = bestDistance // what is farther changes nothing
		}
		edits := editDistance(letters, []rune(other), most)
		d := min(edits, near)
		if d < bestDistance || best != "" && d == bestDistance && (edits < bestEdits || edits == bestEdits && c < best) {
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
// neighbours that turn a into b (optimal string alignment). A distance beyond most
// is any number beyond it.
func editDistance(a, b []rune, most int) int {
	if len(b) > 2*maxLength {
		return len(b)
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if apart := max(len(a)-len(b), len(b)-len(a)); apart > most {
		return apart
	}
	var rows [3][2*maxLength + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	lastLeast := 0
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if min(lastLeast, least) > most { // a swap goes back by two rows
			return most + 1
		}
		lastLeast = least
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// IsQuestion reports whether a hint asks whether a name is meant.
func IsQuestion(hint string) bool { return strings.HasPrefix(hint, "did you mean `") }
