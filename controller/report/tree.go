package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A Group is an aggregate of a dialect.
type Group struct {
	Dialect string `json:"dialect"`
	// Target is set where the cases are run against several targets.
	Target string `json:"target,omitempty"`
	// Path is domain and level, domain, or empty for the whole dialect.
	Path []string `json:"path"`
	// Cases counts those at head, judged or not.
	Cases int `json:"cases"`
	// Score and BaseScore are those of a side over all that was judged there. They
	// need not speak of the same cases: one may be new, removed, in error on one
	// side. Delta is therefore not their difference.
	Score     *float64 `json:"score"`
	BaseScore *float64 `json:"base_score"`
	// Pairs counts the cases that were judged on both sides, in the group that
	// they have at head. Delta is summed up over these alone, and null where
	// there are none.
	Pairs int      `json:"pairs"`
	Delta *float64 `json:"delta"`
}

// Flat gives groups the one name that their whole path makes.
func Flat(groups []Group) []Group {
	out := slices.Clone(groups)
	for i, g := range out {
		out[i].Path = []string{strings.Join(g.Path, ": ")}
	}
	return out
}

// A groupPath is where a case counts: its dialect, the labels of its groups, and
// its target where every case has several.
type groupPath struct {
	Dialect, Target string
	Path            []string
}

// A tree sums scores up along the labels of the cases: the innermost group is
// Σ w·s / Σ w over its judged cases, every group above it the plain mean of
// the groups in it, the empty path the mean of a dialect's outermost groups. A
// difference is summed up likewise, over the cases judged on both sides. A case
// without labels is in no group. The zero tree is empty.
type tree struct {
	nodes map[string]*node
	roots []*node
}

// A node is one group; leaves hold means, the others their children.
type node struct {
	groupPath
	cases, pairs      int
	head, base, delta mean
	children          []*node
}

// addHead counts a case of head; its score is nil where it was not judged.
func (t *tree) addHead(at groupPath, score *float64, weight float64) {
	if len(at.Path) > 0 {
		n := t.leaf(at)
		n.cases++
		n.head.add(score, weight)
	}
}

// addBase counts a case of base.
func (t *tree) addBase(at groupPath, score *float64, weight float64) {
	if len(at.Path) > 0 {
		t.leaf(at).base.add(score, weight)
	}
}

// addPair counts the difference of a case that was judged on both sides.
func (t *tree) addPair(at groupPath, delta, weight float64) {
	if len(at.Path) > 0 {
		n := t.leaf(at)
		n.pairs++
		n.delta.add(&delta, weight)
	}
}

func (t *tree) leaf(at groupPath) *node {
	id := at.Dialect + "\x00" + at.Target + "\x00" + strings.Join(at.Path, "\x00")
	if n, ok := t.nodes[id]; ok {
		return n
	}
	if t.nodes == nil {
		t.nodes = map[string]*node{}
	}
	n := &node{groupPath: groupPath{at.Dialect, at.Target, slices.Clone(at.Path)}}
	t.nodes[id] = n
	if len(at.Path) == 0 {
		n.Path = []string{}
		t.roots = append(t.roots, n)
		return n
	}
	at.Path = at.Path[:len(at.Path)-1]
	parent := t.leaf(at)
	parent.children = append(parent.children, n)
	return n
}

// groups lists the tree from the dialects down, in natural order.
func (t *tree) groups() []Group {
	out := []Group{}
	slices.SortFunc(t.roots, func(a, b *node) int {
		return cmp.Or(cmp.Compare(a.Dialect, b.Dialect), cmp.Compare(a.Target, b.Target))
	})
	for _, root := range t.roots {
		root.walk(&out)
	}
	return out
}

func (n *node) walk(out *[]Group) Group {
	i := len(*out)
	*out = append(*out, Group{})
	g := Group{Dialect: n.Dialect, Target: n.Target, Path: n.Path, Cases: n.cases, Pairs: n.pairs}
	if len(n.children) > 0 {
		n.head, n.base, n.delta = mean{}, mean{}, mean{}
	}
	slices.SortFunc(n.children, func(a, b *node) int { return CompareNatural(last(a.Path), last(b.Path)) })
	for _, child := range n.children {
		c := child.walk(out)
		g.Cases += c.Cases
		g.Pairs += c.Pairs
		n.head.add(c.Score, 1)
		n.base.add(c.BaseScore, 1)
		n.delta.add(c.Delta, 1)
	}
	g.Score, g.BaseScore, g.Delta = n.head.value(), n.base.value(), n.delta.value()
	(*out)[i] = g
	return g
}

func last(path []string) string { return path[len(path)-1] }

// CompareNatural orders level_2 before level_10.
func CompareNatural(a, b string) int {
	pa, na := splitNumber(a)
	pb, nb := splitNumber(b)
	return cmp.Or(cmp.Compare(pa, pb), cmp.Compare(na, nb), cmp.Compare(a, b))
}

// splitNumber cuts a trailing number off; -1 where there is none.
func splitNumber(s string) (string, int) {
	text := strings.TrimRight(s, "0123456789")
	n, err := strconv.Atoi(s[len(text):])
	if err != nil {
		return s, -1
	}
	return text, n
}
