package suggest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestNearestOfMany compares random names with what the distances of all candidates say, each
// counted in full.
func TestNearestOfMany(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func(letters string, most int) string {
		var out strings.Builder
		for range random.IntN(most) + 1 {
			out.WriteByte(letters[random.IntN(len(letters))])
		}
		return out.String()
	}
	found := 0
	for range 20_000 {
		letters := []string{"ab", "abcd", "ab_- A"}[random.IntN(3)]
		name, candidates := word(letters, 9), make([]string, random.IntN(12))
		for i := range candidates {
			candidates[i] = word(letters, 11)
		}
		type rank struct {
			distance, edits int
			name            string
		}
		var ranks []rank
		folded := foldName(name)
		for _, c := range candidates {
			edits := fullDistance([]rune(folded), []rune(foldName(c)))
			if d := min(edits, nearness(folded, foldName(c))); c != name && d <= max(1, len(folded)/3) {
				ranks = append(ranks, rank{d, edits, c})
			}
		}
		slices.SortFunc(ranks, func(a, b rank) int {
			return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.edits, b.edits), cmp.Compare(a.name, b.name))
		})
		want := ""
		if len(ranks) > 0 {
			want, found = ranks[0].name, found+1
		}
		if got := Nearest(name, candidates); got != want {
			t.Fatalf("%q of %q: %q, want %q", name, candidates, got, want)
		}
	}
	if found < 5000 {
		t.Errorf("%d names have a candidate, so that little is tested", found)
	}
}

// fullDistance is the distance by its recursive definition.
func fullDistance(a, b []rune) int {
	known := map[[2]int]int{}
	var at func(i, j int) int
	at = func(i, j int) int {
		if i == 0 || j == 0 {
			return i + j
		}
		if d, ok := known[[2]int{i, j}]; ok {
			return d
		}
		cost := 1
		if a[i-1] == b[j-1] {
			cost = 0
		}
		d := min(at(i-1, j)+1, at(i, j-1)+1, at(i-1, j-1)+cost)
		if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
			d = min(d, at(i-2, j-2)+1)
		}
		known[[2]int{i, j}] = d
		return d
	}
	return at(len(a), len(b))
}

// BenchmarkNearest looks for a name among many that differ in their last digits.
func BenchmarkNearest(b *testing.B) {
	known := make([]string, 2000)
	for i := range known {
		known[i] = fmt.Sprint("openai:gpt-", i)
	}
	for b.Loop() {
		Nearest("openai:gpt-98765", known)
	}
}
