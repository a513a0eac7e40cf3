package report

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema"
)

// groups sums scores up along the labels of the cases.
func groups(pairs []pair) []Group { return sums(pairs, pathOf) }

// conversations sums up the scores of the cases that are turns of the same
// conversation. They are separate from the groups: a suite's score is the score of its
// cases, whichever of them belong together.
func conversations(pairs []pair) []Group {
	all := sums(pairs, func(c *schema.CaseInfo) groupPath {
		at := pathOf(c)
		if c.Labels.Conversation == "" {
			at.Names = nil
		} else {
			at.Names = append(slices.Clip(at.Names), c.Labels.Conversation)
		}
		return at
	})
	return slices.DeleteFunc(all, func(g Group) bool { return len(g.Path) < 2 }) // suites, and all of them
}

func sums(pairs []pair, place func(*schema.CaseInfo) groupPath) []Group {
	var t groupTree
	for _, p := range pairs {
		if c := p.plan.Head; c != nil {
			t.AddHead(place(c), score(p.head), p.weight())
			if p.isUnjudged() {
				t.AddUnjudged(place(c))
			}
		}
		if c := p.plan.Base; active(c) {
			t.AddBase(place(c), score(p.base), p.weight())
		}
		if was, is := score(p.base), score(p.head); was != nil && is != nil && p.plan.Head != nil {
			t.AddPair(place(p.plan.Head), p.difference())
		}
	}
	return t.Groups()
}

func pathOf(c *schema.CaseInfo) groupPath {
	at := groupPath{Dialect: c.Dialect, Names: c.Labels.Groups}
	if c.PerTarget {
		at.Target = c.Target
	}
	return at
}

// targets compares the targets by their rows of the same case.
func targets(order []string, rows []Row, pairs []pair) []TargetTally {
	var entries []tallyEntry
	for i := range rows {
		row := &rows[i]
		if row.PerTarget && row.Action != plan.Removed {
			entries = append(entries, tallyEntry{
				Key: row.Key, Target: row.Target, Verdict: row.Verdict, Failed: row.Error != nil, Cluster: pairs[i].cluster,
				Score: row.Score, Weight: row.Weight, Calls: row.Calls, Tokens: row.Tokens, CostUSD: row.CostUSD,
			})
		}
	}
	return compareTargets(order, entries)
}
