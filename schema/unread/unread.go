// Package unread says how many cases of a file are not run, since they need what
// is not read.
//
// Most callers want [Sentence].
package unread

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Rule is that of the problem with the sentence, and Hint what to do.
const (
	Rule = "rows-not-run"
	Hint = "gavel explain CASE names the need of each"
)

// most is how many needs are named.
const most = 5

// Sentence returns how many of all cases are run, and what the others need. The map
// counts cases by what they need; what most of them need comes first. It is empty where
// there are none.
func Sentence(cases map[string]int, all int) string {
	if len(cases) == 0 {
		return ""
	}
	n := 0
	var needs []string
	byCount := func(a, b string) int { return cmp.Or(cmp.Compare(cases[b], cases[a]), cmp.Compare(a, b)) }
	for _, what := range slices.SortedFunc(maps.Keys(cases), byCount) {
		n += cases[what]
		needs = append(needs, fmt.Sprintf("%s: %d", what, cases[what]))
	}
	if len(needs) > most {
		needs = append(needs[:most], "…")
	}
	verb := "need"
	switch {
	case all == 1:
		return fmt.Sprintf("the only case is not run; it needs what is not read (%s)", strings.Join(needs, ", "))
	case n == 1:
		verb = "needs"
	}
	return fmt.Sprintf("%d of %d cases are run; %d %s what is not read (%s)", all-n, all, n, verb, strings.Join(needs, ", "))
}
