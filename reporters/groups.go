package reporters

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// groups sums scores up along the labels of the cases: the innermost group is
// Σ w·s / Σ w over its judged cases, every group above it the plain mean of
// the groups in it, the empty path the mean of a dialect's outermost groups.
func groups(pairs []pair) []Group {
	t := tree{nodes: map[string]*node{}}
	for _, p := range pairs {
		if c := p.plan.Head; c != nil && len(c.Labels.Groups) > 0 {
			n := t.leaf(c.Dialect, c.Labels.Groups)
			n.cases++
			n.head.add(score(p.head), c.Weight)
		}
		if c := p.plan.Base; active(c) && len(c.Labels.Groups) > 0 {
			n := t.leaf(c.Dialect, c.Labels.Groups)
			n.base.add(score(p.base), c.Weight)
			if !judged(p.base) && judged(p.head) {
				n.partial = true
			}
		}
	}
	return t.groups()
}

// A node is one group; leaves hold means, the others their children.
type node struct {
	dialect    string
	path       []string
	cases      int
	head, base mean
	// partial says that base was judged for fewer cases than head.
	partial  bool
	children []*node
}

type tree struct {
	nodes map[string]*node
	roots []*node
}

func (t *tree) leaf(dialect string, path []string) *node {
	id := dialect + "\x00" + strings.Join(path, "\x00")
	if n, ok := t.nodes[id]; ok {
		return n
	}
	n := &node{dialect: dialect, path: slices.Clone(path)}
	t.nodes[id] = n
	if len(path) == 0 {
		n.path = []string{}
		t.roots = append(t.roots, n)
		return n
	}
	parent := t.leaf(dialect, path[:len(path)-1])
	parent.children = append(parent.children, n)
	return n
}

// groups lists the tree from the dialects down, in natural order.
func (t *tree) groups() []Group {
	out := []Group{}
	slices.SortFunc(t.roots, func(a, b *node) int { return cmp.Compare(a.dialect, b.dialect) })
	for _, root := range t.roots {
		root.walk(&out)
	}
	return out
}

func (n *node) walk(out *[]Group) Group {
	i := len(*out)
	*out = append(*out, Group{})
	g := Group{Dialect: n.dialect, Path: n.path, Cases: n.cases}
	if len(n.children) > 0 {
		n.head, n.base = mean{}, mean{}
	}
	slices.SortFunc(n.children, func(a, b *node) int { return compareNatural(last(a.path), last(b.path)) })
	for _, child := range n.children {
		c := child.walk(out)
		g.Cases += c.Cases
		n.head.add(c.Score, 1)
		n.base.add(c.Base, 1)
		n.partial = n.partial || child.partial
	}
	g.Score = n.head.value()
	if !n.partial {
		g.Base = n.base.value()
	}
	(*out)[i] = g
	return g
}

func last(path []string) string { return path[len(path)-1] }

// compareNatural orders level_2 before level_10.
func compareNatural(a, b string) int {
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
