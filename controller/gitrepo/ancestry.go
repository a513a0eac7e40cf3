package gitrepo

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// An ancestry gives access to commits. The parents of commits at its edge were not
// cloned.
type ancestry struct {
	Store storer.EncodedObjectStorer
	Edge  []plumbing.Hash
}

// bestAncestor returns the best common ancestor of two commits: the latest if there are
// several, the zero hash if there is none.
func bestAncestor(ctx context.Context, h ancestry, a, b plumbing.Hash) (plumbing.Hash, error) {
	w := &ancestryWalk{store: h.Store, edge: map[plumbing.Hash]bool{}, marks: map[plumbing.Hash]int{}}
	for _, commit := range h.Edge {
		w.edge[commit] = true
	}
	for i, commit := range []plumbing.Hash{a, b} {
		if err := w.mark(commit, fromA<<i); err != nil {
			return plumbing.ZeroHash, fmt.Errorf("commit %s: %w", commit, err)
		}
	}
	var common []*object.Commit
	for w.live > 0 {
		if err := ctx.Err(); err != nil {
			return plumbing.ZeroHash, err
		}
		c, marks := w.next()
		if marks&both == both {
			common = append(common, c)
			// Ancestors of a common ancestor are common, but not the best.
			marks |= stale
		}
		if err := w.parents(c, marks); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	// An ancestor met first may turn out to be an ancestor of another one.
	common = slices.DeleteFunc(common, func(c *object.Commit) bool { return w.marks[c.Hash]&stale != 0 })
	if len(common) == 0 {
		return plumbing.ZeroHash, nil
	}
	return slices.MinFunc(common, latestFirst).Hash, nil
}

// A brokenError is an unreadable commit of the history.
type brokenError struct {
	Commit plumbing.Hash
	child  plumbing.Hash
	cause  error
}

// Error names both commits.
func (e *brokenError) Error() string {
	return fmt.Sprintf("commit %s, a parent of %s: %v", e.Commit, e.child, e.cause)
}

// Unwrap returns the cause.
func (e *brokenError) Unwrap() error { return e.cause }

const (
	fromA  = 1 << iota // reachable from the first commit
	fromB              // reachable from the second
	stale              // an ancestor of a common ancestor
	queued             // waiting in the queue

	both = fromA | fromB
)

// An ancestryWalk goes through history backwards from the latest commit.
type ancestryWalk struct {
	store storer.EncodedObjectStorer
	edge  map[plumbing.Hash]bool // commits whose parents were not cloned
	marks map[plumbing.Hash]int
	queue byDate
	live  int // commits in the queue that are not stale
}

// mark adds marks to a commit and queues it if that changed it.
func (w *ancestryWalk) mark(h plumbing.Hash, marks int) error {
	old := w.marks[h]
	now := old | marks
	switch {
	case now == old:
		return nil
	case old&queued != 0:
		if old&stale == 0 && now&stale != 0 {
			w.live--
		}
		w.marks[h] = now
		return nil
	}
	c, err := object.GetCommit(w.store, h)
	if err != nil {
		return err
	}
	w.marks[h] = now | queued
	heap.Push(&w.queue, c)
	if now&stale == 0 {
		w.live++
	}
	return nil
}

// next takes the latest commit from the queue.
func (w *ancestryWalk) next() (*object.Commit, int) {
	c := heap.Pop(&w.queue).(*object.Commit)
	marks := w.marks[c.Hash] &^ queued
	w.marks[c.Hash] = marks
	if marks&stale == 0 {
		w.live--
	}
	return c, marks
}

func (w *ancestryWalk) parents(c *object.Commit, marks int) error {
	if w.edge[c.Hash] {
		return nil
	}
	for _, p := range c.ParentHashes {
		if err := w.mark(p, marks); err != nil {
			return &brokenError{p, c.Hash, err}
		}
	}
	return nil
}

// byDate is a heap of commits, the latest first.
type byDate []*object.Commit

func (q byDate) Len() int           { return len(q) }
func (q byDate) Less(i, j int) bool { return latestFirst(q[i], q[j]) < 0 }
func (q byDate) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *byDate) Push(c any)        { *q = append(*q, c.(*object.Commit)) }

func (q *byDate) Pop() any {
	last := len(*q) - 1
	c := (*q)[last]
	*q = (*q)[:last]
	return c
}

// latestFirst orders commits by date and then by hash, so that the order is
// deterministic.
func latestFirst(a, b *object.Commit) int {
	return cmp.Or(
		b.Committer.When.Compare(a.Committer.When),
		bytes.Compare(a.Hash[:], b.Hash[:]),
	)
}
