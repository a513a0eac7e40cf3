package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/controller/stats"
)

// A Group is an aggregate of a dialect.
type Group struct {
	Dialect string `json:"dialect"`
	// Target is set if the cases ran against several targets.
	Target string `json:"target,omitempty"`
	// Path is domain and level, domain, or empty for the whole dialect.
	Path []string `json:"path"`
	// Cases counts head's cases, judged or not.
	Cases int `json:"cases"`
	// Unjudged counts the active Cases without a verdict: the score leaves them out.
	Unjudged int `json:"unjudged,omitempty"`
	// Score and BaseScore are each side's scores over everything judged there. They may
	// cover different cases: one may be new, removed, or an error on one side. So Delta
	// is not their difference.
	Score     *float64 `json:"score"`
	BaseScore *float64 `json:"base_score"`
	// Pairs counts the cases judged on both sides, in their group at head. Delta is
	// summed up only over these, and null without any.
	Pairs int      `json:"pairs"`
	Delta *float64 `json:"delta"`
	Between
}

// FlatGroups returns groups whose path is a single name made of their whole path.
func FlatGroups(groups []Group) []Group {
	out := slices.Clone(groups)
	for i, g := range out {
		out[i].Path = []string{strings.Join(g.Path, ": ")}
	}
	return out
}

// A groupPath locates a case: its dialect, the labels of its groups, and its target if
// every case has several.
type groupPath struct {
	Dialect, Target string
	// Names are the groups' names, the outermost first.
	Names []string
}

// A groupTree sums scores up along the labels of the cases: the innermost group is Σ
// w·s / Σ w over its judged cases, every group above it the plain mean of the groups in
// it, the empty path the mean of a dialect's outermost groups. Differences are summed
// up in the same way, over the cases judged on both sides. A case without labels
// belongs to no group. The zero groupTree is empty.
type groupTree struct {
	nodes map[string]*node
	roots []*node
}

// A node is one group; leaves hold means, the others their children.
type node struct {
	groupPath
	cases, unjudged   int
	pairs             []stats.Pair
	head, base, delta weightedMean
	children          []*node
}

// AddHead adds a case of head; its score is nil if it was not judged.
func (t *groupTree) AddHead(at groupPath, score *float64, weight float64) {
	if len(at.Names) > 0 {
		n := t.leaf(at)
		n.cases++
		n.head.Add(score, weight)
	}
}

// AddUnjudged records that an active case of head, already added, has no verdict.
func (t *groupTree) AddUnjudged(at groupPath) {
	if len(at.Names) > 0 {
		t.leaf(at).unjudged++
	}
}

// AddBase adds a case of base.
func (t *groupTree) AddBase(at groupPath, score *float64, weight float64) {
	if len(at.Names) > 0 {
		t.leaf(at).base.Add(score, weight)
	}
}

// AddPair adds the difference of a case judged on both sides.
func (t *groupTree) AddPair(at groupPath, p stats.Pair) {
	if len(at.Names) > 0 {
		n := t.leaf(at)
		n.pairs = append(n.pairs, p)
		n.delta.Add(&p.Difference, p.Weight)
	}
}

func (t *groupTree) leaf(at groupPath) *node {
	id := at.Dialect + "\x00" + at.Target + "\x00" + strings.Join(at.Names, "\x00")
	if n, ok := t.nodes[id]; ok {
		return n
	}
	if t.nodes == nil {
		t.nodes = map[string]*node{}
	}
	n := &node{groupPath: groupPath{at.Dialect, at.Target, slices.Clone(at.Names)}}
	t.nodes[id] = n
	if len(at.Names) == 0 {
		n.Names = []string{}
		t.roots = append(t.roots, n)
		return n
	}
	at.Names = at.Names[:len(at.Names)-1]
	parent := t.leaf(at)
	parent.children = append(parent.children, n)
	return n
}

// Groups lists the tree from the dialects down, in natural order.
func (t *groupTree) Groups() []Group {
	out := []Group{}
	slices.SortFunc(t.roots, func(a, b *node) int {
		return cmp.Or(cmp.Compare(a.Dialect, b.Dialect), cmp.Compare(a.Target, b.Target))
	})
	for _, root := range t.roots {
		root.walk(&out)
	}
	return out
}

// walk lists a group and those in it. Afterwards its pairs are all of them, with the
// shares that they have in its difference.
func (n *node) walk(out *[]Group) Group {
	i := len(*out)
	*out = append(*out, Group{})
	g := Group{Dialect: n.Dialect, Target: n.Target, Path: n.Names, Cases: n.cases, Unjudged: n.unjudged, Pairs: len(n.pairs)}
	if len(n.children) > 0 {
		n.head, n.base, n.delta, n.pairs = weightedMean{}, weightedMean{}, weightedMean{}, nil
	}
	slices.SortFunc(n.children, func(a, b *node) int { return CompareNatural(last(a.Names), last(b.Names)) })
	for _, child := range n.children {
		c := child.walk(out)
		g.Cases += c.Cases
		g.Unjudged += c.Unjudged
		g.Pairs += c.Pairs
		n.pairs = append(n.pairs, shares(child.pairs)...)
		n.head.Add(c.Score, 1)
		n.base.Add(c.BaseScore, 1)
		n.delta.Add(c.Delta, 1)
	}
	g.Score, g.BaseScore, g.Delta = n.head.Value(), n.base.Value(), n.delta.Value()
	g.Between = between(n.pairs)
	(*out)[i] = g
	return g
}

// shares gives pairs weights whose sum is 1, where they weigh anything.
func shares(pairs []stats.Pair) []stats.Pair {
	var sum float64
	for _, p := range pairs {
		sum += p.Weight
	}
	out := slices.Clone(pairs)
	for i := range out {
		if sum > 0 {
			out[i].Weight /= sum
		}
	}
	return out
}

func last(path []string) string { return path[len(path)-1] }

// CompareNatural orders level_2 before level_10.
func CompareNatural(a, b string) int {
	pa, na := splitNumber(a)
	pb, nb := splitNumber(b)
	return cmp.Or(cmp.Compare(pa, pb), cmp.Compare(na, nb), cmp.Compare(a, b))
}

// splitNumber cuts off a trailing number; -1 without one.
func splitNumber(s string) (string, int) {
	text := strings.TrimRight(s, "0123456789")
	n, err := strconv.Atoi(s[len(text):])
	if err != nil {
		return s, -1
	}
	return text, n
}
