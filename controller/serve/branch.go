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
	git, commits, err := repo.fetch(ctx, gitrepo.Source{Refs: []string{"refs/heads/" + name}, Most: gitrepo.OfBase})
	if err != nil {
		return nil, err
	}
	defer git.Close()
	tip, base := commits[0], ""
	for _, before := range w.reports.baseCandidates(repo.ledgerName, tip) {
		// One that is not there any more was pushed away.
		if isAncestor(ctx, git, before, tip) {
			base = before
			break
		}
	}
	if base == "" {
		base, err = git.Resolve(ctx, tip+"~1")
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			w.cfg.Observer.Log(repo.name.String(), fmt.Sprintf("%s at %.7s is the first commit: there is nothing to compare with", name, tip))
			base = ""
		}
	}
	return repo.reviewer.Commit(forge.Event{
		Name: forge.EventPush, Repo: repo.name, HeadSHA: tip, BaseSHA: base, HeadRef: name, BaseRef: name,
	})
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
