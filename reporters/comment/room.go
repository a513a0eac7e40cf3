package comment

import (
	"math"
	"sort"

	"github.com/gavel-evals/gavel/controller/report"
)

// A room is how much of a report is told: how many folds of what happened in a case,
// how many rows of each table that blocks nothing, and how many of all others.
type room struct{ folds, also, rows int }

// leastAlso is how many rows that block nothing are kept as long as there is a row to
// drop.
const leastAlso = 10

// fitting renders as much as limit bytes hold. The events of cases are dropped first,
// the worst case last; then rows are dropped from the end of each table, those that
// block nothing first. longest is the length of the longest table. The smallest
// rendering has no row, and may be longer than limit.
func fitting(limit, longest int, render func(room) string) string {
	// most is the greatest number up to longest with which the comment fits.
	most := func(with func(int) room) (string, bool) {
		n := sort.Search(longest, func(n int) bool { return len(render(with(n+1))) > limit })
		text := render(with(n))
		return text, len(text) <= limit
	}
	if all := render(room{math.MaxInt, math.MaxInt, math.MaxInt}); len(all) <= limit {
		return all
	}
	if text, ok := most(func(n int) room { return room{n, math.MaxInt, math.MaxInt} }); ok {
		return text
	}
	if text, ok := most(func(n int) room { return room{0, leastAlso + n, math.MaxInt} }); ok {
		return text
	}
	text, _ := most(func(n int) room { return room{0, min(n, leastAlso), n} })
	return text
}

// longest is a number of rows that no table of the report exceeds.
func longest(r *report.Report) int {
	return len(r.Cases) + len(r.Problems) + len(r.Notices) + len(r.Groups) + len(r.Conversations)
}
