package remeasure

import (
	"context"
	"slices"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
)

// window is the number of a side's further measurements that are looked up at once. If
// a whole window is missing, so is the rest.
const window = 8

// Stored returns the digests of the ledger's further measurements of two checkouts'
// cases, by the cases' IDs. A comparison of the checkouts reads them again, together
// with the adjacent ones, which may be unfinished.
func Stored(ctx context.Context, store *ledger.Ledger, head, base map[string]plan.Digests) ([]plan.Digests, error) {
	type side struct{ own, other plan.Digests }
	var sides []side
	for id, h := range head {
		if b, ok := base[id]; ok {
			sides = append(sides, side{h, b}, side{b, h})
		}
	}
	var all []plan.Digests
	for from := 0; len(sides) > 0; from += window {
		further := make([]plan.Digests, 0, len(sides)*window)
		decisions := make([]string, 0, len(sides)*window)
		for _, s := range sides {
			kept := plan.Kept(s.own.E == s.other.E && s.own.D != s.other.D)
			for n := range window {
				d := s.own.Remeasured(s.other.D, from+n, kept)
				further, decisions = append(further, d), append(decisions, d.D)
			}
		}
		found, err := store.Decided(ctx, ledger.Scope{}, decisions)
		if err != nil {
			return nil, err
		}
		var again []side
		for i, s := range sides {
			block := further[i*window : (i+1)*window]
			if slices.ContainsFunc(block, func(d plan.Digests) bool { return found[d.D] != nil }) {
				all, again = append(all, block...), append(again, s)
			}
		}
		sides = again
	}
	return all, nil
}
