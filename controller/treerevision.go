package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/source"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// treeRevisions decides whether deployed agents answer for a working tree, which has no
// commit that they could name: an agent has to run a commit with the same inputs. Its methods
// are safe for concurrent use.
type treeRevisions struct {
	side       Checkout
	configFile string
	mu         sync.Mutex
	known      map[deployedAt]error // guarded by mu
}

// A deployedAt is a target that names a commit.
type deployedAt struct{ target, commit string }

// wholeCommit is a commit as git rev-parse prints it.
var wholeCommit = lazyregexp.New(`^[0-9a-f]{40}$`)

// newTreeRevisions returns the check for a side; nil if the side is a commit, or if other
// commits cannot be read.
func (p *Prepared) newTreeRevisions(s Checkout) *treeRevisions {
	if s.Commit != Worktree || s.At == nil {
		return nil
	}
	return &treeRevisions{side: s, configFile: p.req.ConfigFile, known: map[deployedAt]error{}}
}

// check returns an error unless a target may answer that names a revision.
func (r *treeRevisions) check(ctx context.Context, t config.Target, revision string) error {
	switch {
	case revision == "":
		return fmt.Errorf("agent is at an unknown revision, wanted a commit; with `revision: reply` the target %s has to name one", t.Name)
	case !wholeCommit.MatchString(revision):
		return fmt.Errorf("agent is at %s, wanted a commit: all 40 digits, as `git rev-parse HEAD` prints them", revision)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := deployedAt{t.Name, revision}
	err, known := r.known[at]
	if !known {
		if err = r.compare(ctx, t, revision); ctx.Err() == nil {
			r.known[at] = err
		}
	}
	return err
}

// compare compares the inputs of a target at a commit with the ones in the working tree.
func (r *treeRevisions) compare(ctx context.Context, t config.Target, commit string) error {
	files, err := r.side.At(commit)
	if err != nil {
		return fmt.Errorf("agent is at %s, which is not among the commits of this repository; fetch it, or deploy one that is", commit)
	}
	here := source.State{FS: r.side.FS, Config: r.side.Config, ConfigFile: r.configFile}
	there := here
	there.FS = files
	own, err := source.Read(ctx, here, t)
	if err != nil {
		return err
	}
	was, err := source.Read(ctx, there, t)
	if err != nil {
		return err
	}
	if name := differing(own.Facts(&was), was.Facts(&own)); name != "" {
		return fmt.Errorf("agent is at %s, where %s is not as in the working tree; deploy a commit with it, or have Gavel start the agent of the working tree (`start`)", commit, name)
	}
	return nil
}

// differing returns the file of a fact that only one of two states has; empty if they are the
// same.
func differing(a, b []plan.Fact) string {
	same := func(x, y plan.Fact) bool { return x.Name == y.Name && x.Value == y.Value }
	for _, pair := range [][2][]plan.Fact{{a, b}, {b, a}} {
		for _, fact := range pair[0] {
			if !slices.ContainsFunc(pair[1], func(other plan.Fact) bool { return same(fact, other) }) {
				return fact.File
			}
		}
	}
	return ""
}
