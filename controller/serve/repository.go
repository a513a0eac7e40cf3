package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/review"
)

// A repository is one with what was seen of it.
type repository struct {
	Repository
	id       int64
	name     forge.Repo
	branches []string
	reviewer *review.Reviewer
	due      chan struct{} // has a place when it is to be polled at once

	fetching sync.Mutex // held while the mirror fetches
	mirror   *gitrepo.Mirror

	// The fields below belong to the goroutine that polls.
	tag    string
	pulls  map[int]forge.Pull
	tips   map[string]string
	listed bool // once at least
}

// hurry has the repository polled at once.
func (r *repository) hurry() {
	select {
	case r.due <- struct{}{}:
	default:
	}
}

func (r *repository) fetch(ctx context.Context, refs []string) (*gitrepo.Repository, []string, error) {
	r.fetching.Lock()
	defer r.fetching.Unlock()
	return r.mirror.Fetch(ctx, refs...)
}

// tip is the commit of a branch.
func (r *repository) tip(ctx context.Context, branch string) (string, error) {
	repo, commits, err := r.fetch(ctx, []string{"refs/heads/" + branch})
	if err != nil {
		return "", err
	}
	return commits[0], repo.Close()
}

// watch polls a repository until ctx ends. What a delivery did not tell is
// found here.
func (s *Server) watch(ctx context.Context, repo *repository) {
	for ctx.Err() == nil {
		after := s.cfg.Poll + time.Duration((s.cfg.Random()*2-1)*0.05*float64(s.cfg.Poll))
		err := errors.Join(s.poll(ctx, repo), s.sweep(ctx, repo))
		if ctx.Err() == nil {
			s.cfg.Observer.Polled(repo.name.String(), err)
		}
		var limit *forge.LimitError
		if errors.As(err, &limit) {
			after = max(after, time.Until(limit.Until))
		}
		timer := time.NewTimer(after)
		select {
		case <-ctx.Done():
		case <-repo.due:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// poll makes due what is not as it was at the last time.
func (s *Server) poll(ctx context.Context, repo *repository) error {
	pulls, branches := s.pollPulls(ctx, repo), s.pollBranches(ctx, repo)
	if pulls == nil && !repo.listed {
		repo.listed = true
		s.polled.Add(1)
	}
	return errors.Join(pulls, branches)
}

func (s *Server) pollPulls(ctx context.Context, repo *repository) error {
	if repo.Client == nil {
		return nil
	}
	pulls, tag, err := repo.Client.OpenPulls(ctx, repo.name, repo.tag)
	if errors.Is(err, forge.ErrUnchanged) {
		return nil
	}
	if err != nil {
		return err
	}
	now := make(map[int]forge.Pull, len(pulls))
	for _, p := range pulls {
		now[p.Number] = p
		if repo.pulls[p.Number] != p {
			s.loop.Add(Key{Repository: repo.id, Pull: p.Number})
		}
	}
	for number := range repo.pulls {
		if _, open := now[number]; !open {
			s.loop.Add(Key{Repository: repo.id, Pull: number})
		}
	}
	repo.pulls, repo.tag = now, tag
	return nil
}

func (s *Server) pollBranches(ctx context.Context, repo *repository) error {
	var errs []error
	for _, branch := range repo.branches {
		tip, err := repo.tip(ctx, branch)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if repo.tips[branch] != tip {
			repo.tips[branch] = tip
			s.loop.Add(Key{Repository: repo.id, Branch: branch})
		}
	}
	return errors.Join(errs...)
}

// branch is the review of the tip of a base branch, nil where that has nothing
// before it. It is compared with the last commit that was judged below it, else
// with its parent.
func (s *Server) branch(ctx context.Context, repo *repository, name string) (*review.Review, error) {
	git, commits, err := repo.fetch(ctx, []string{"refs/heads/" + name})
	if err != nil {
		return nil, err
	}
	defer git.Close()
	tip := commits[0]
	base := ""
	for _, before := range s.memory.before(repo.name.String(), tip) {
		// One that is not there any more was pushed away.
		if common, err := git.MergeBase(ctx, before, tip); err == nil && common == before && before != tip {
			base = before
			break
		}
	}
	if base == "" {
		if base, err = git.Resolve(ctx, tip+"~1"); err != nil {
			s.cfg.Observer.Tell(repo.name.String(), fmt.Sprintf("%s at %.7s is the first commit: there is nothing to compare with", name, tip))
			return nil, ctx.Err()
		}
	}
	return repo.reviewer.Commit(forge.Event{
		Name: forge.EventPush, Repo: repo.name, HeadSHA: tip, BaseSHA: base, HeadRef: name, BaseRef: name,
	})
}
