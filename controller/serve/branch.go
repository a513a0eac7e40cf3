package serve

import (
	"context"
	"fmt"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/review"
)

// branch returns the review of the tip of a branch, nil if there is none.
func (w *worker) branch(ctx context.Context, repo *repository, name string) (*review.Review, error) {
	tip, err := repo.tip(ctx, name)
	if err != nil || tip == "" {
		return nil, err
	}
	if group, ok := forge.Queued(name); ok {
		return w.group(ctx, repo, name, group)
	}
	return w.base(ctx, repo, name)
}

// base returns the review of the tip of a base branch. It is compared with the last
// commit that was judged below it, else with its parent, if it has one.
func (w *worker) base(ctx context.Context, repo *repository, name string) (*review.Review, error) {
	git, commits, err := repo.fetchTip(ctx, name)
	if err != nil {
		return nil, err
	}
	defer git.Close()
	base, isKnown := w.judgedBelow(ctx, repo, git, commits[0])
	if !isKnown {
		whole, tips, err := repo.fetch(ctx, gitrepo.Source{Refs: []string{"refs/heads/" + name}, Most: gitrepo.OfBase})
		if err != nil {
			return nil, err
		}
		defer whole.Close()
		commits = tips
		base, _ = w.judgedBelow(ctx, repo, whole, tips[0])
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if base == "" {
		w.cfg.Observer.Log(repo.name.String(), fmt.Sprintf("%s at %.7s is the first commit: there is nothing to compare with", name, commits[0]))
	}
	return repo.reviewer.Commit(forge.Event{
		Name: forge.EventPush, Repo: repo.name, HeadSHA: commits[0], BaseSHA: base, IsBelow: true, HeadRef: name, BaseRef: name,
	})
}

// judgedBelow returns the last commit that was judged below a tip, else its parent, else
// nothing. isKnown is false if only the history says it.
func (w *worker) judgedBelow(ctx context.Context, repo *repository, git *gitrepo.Repository, tip string) (base string, isKnown bool) {
	shallow, err := git.Shallow()
	if err != nil {
		return "", false
	}
	parent, err := git.Resolve(ctx, tip+"~1")
	if err != nil {
		parent = "" // there is none, or it was not fetched
	}
	for _, before := range w.reports.baseCandidates(repo.ledgerName, tip) {
		switch {
		case before == parent:
			return parent, true
		case shallow:
			return "", false
		case isAncestor(ctx, git, before, tip): // one that is not there any more was pushed away
			return before, true
		}
	}
	return parent, parent != "" || !shallow
}

// isAncestor reports whether commit is in the history of head.
func isAncestor(ctx context.Context, git *gitrepo.Repository, commit, head string) bool {
	common, err := git.MergeBase(ctx, commit, head)
	return err == nil && common == commit && commit != head
}

// group returns the review of a merge group. It is compared with its parent
// in the queue, so that a group on top of another shows only its own changes.
func (w *worker) group(ctx context.Context, repo *repository, name string, group forge.Group) (*review.Review, error) {
	git, commits, err := repo.fetch(ctx, gitrepo.Source{Refs: []string{"refs/heads/" + name, "refs/heads/" + group.Base}, Most: gitrepo.OfBase})
	if err != nil {
		return nil, err
	}
	defer git.Close()
	tip, base := commits[0], group.BaseSHA
	if base == "" || !isAncestor(ctx, git, base, tip) {
		// One that was merged meanwhile is in its base branch.
		if base = commits[1]; !isAncestor(ctx, git, tip, base) && base != tip {
			base, err = git.MergeBase(ctx, base, tip)
		} else {
			base, err = git.Resolve(ctx, tip+"~1")
		}
		if err != nil {
			return nil, err
		}
	}
	return repo.reviewer.Commit(forge.Event{
		Name: forge.EventMergeGroup, Repo: repo.name, HeadSHA: tip, BaseSHA: base, HeadRef: name, BaseRef: group.Base,
		DefaultBranch: repo.said.DefaultBranch,
	})
}
