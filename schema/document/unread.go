package document

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// RuleUnread and HintUnread are the rule and the hint of the problem whose message is [Unread].
const (
	RuleUnread = "rows-not-run"
	HintUnread = "gavel explain CASE names the need of each"
)

// maxNeeds is how many needs are named.
const maxNeeds = 5

// Unread returns a sentence about a file with cases that are not run because of an
// unsupported need. The map counts these cases by their need; the most frequent comes
// first. The sentence is empty without any.
func Unread(cases map[string]int, all int) string {
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
	if len(needs) > maxNeeds {
		needs = append(needs[:maxNeeds], "…")
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
