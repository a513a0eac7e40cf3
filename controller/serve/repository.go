package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/command"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/review"
)

// A repository is one with what was seen of it.
type repository struct {
	*Repository
	id   int64            // that of its keys, see idAt
	said forge.Repository // zero where there is no forge
	name forge.Repo
	// known is the name under which the ledger has it, see names.
	known    string
	url      string
	branches []string
	reviewer *review.Reviewer
	desk     *command.Desk // nil where there is no forge

	fetching *sync.Mutex // held while the mirror fetches
	mirror   *gitrepo.Mirror

	// The fields below belong to the goroutine that polls.
	tag    string
	pulls  map[int]forge.Pull
	tips   map[string]string
	clock  map[string]time.Time // when branches were last made due by the clock
	listed bool                 // once at least
	talk   talk
	looked string // at whose wishes last, see pollWishes
	stood  int    // whose comment was looked at last, see pollStanding

	wishes wishes
}

func (r *repository) fetch(ctx context.Context, refs []string, most gitrepo.Bounds) (*gitrepo.Repository, []string, error) {
	r.fetching.Lock()
	defer r.fetching.Unlock()
	return r.mirror.Fetch(ctx, most, refs...)
}

// tip is the commit of a branch, empty where there is none.
func (r *repository) tip(ctx context.Context, branch string) (string, error) {
	tips, err := r.mirror.Branches(ctx)
	return tips[branch], err
}

// follows reports whether a branch is one that is judged.
func (r *repository) follows(branch string) bool {
	_, queued := forge.Queued(branch)
	return slices.Contains(r.branches, branch) || queued && r.Client != nil
}

// poll makes due what is not as it was at the last time.
func (s *Server) poll(ctx context.Context, repo *repository) error {
	before := repo.seen() // new heads are looked at when they are judged
	pulls, branches := s.pollPulls(ctx, repo), s.pollBranches(ctx, repo)
	repo.listed = repo.listed || pulls == nil
	s.pollStalled(repo)
	news := errors.Join(pulls, branches, s.pollComments(ctx, repo), s.pollClock(repo))
	// Nobody waits for what is asked last.
	return errors.Join(news, s.pollStanding(ctx, repo), s.pollWishes(ctx, repo, before))
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
	// What runs for one that is closed is of no use any more.
	for key := range s.underWay(repo.id) {
		if _, open := now[key.Pull]; key.Pull != 0 && !open {
			s.loop.Add(key)
		}
	}
	repo.pulls, repo.tag = now, tag
	return nil
}

func (s *Server) pollBranches(ctx context.Context, repo *repository) error {
	tips, err := repo.mirror.Branches(ctx)
	if err != nil {
		return err
	}
	maps.DeleteFunc(tips, func(branch, _ string) bool { return !repo.follows(branch) })
	for branch, tip := range tips {
		if repo.tips[branch] != tip {
			s.loop.Add(Key{Repository: repo.id, Branch: branch})
		}
	}
	repo.tips = tips
	// What runs for a branch that is gone is of no use any more.
	for key := range s.underWay(repo.id) {
		if key.Pull == 0 && tips[key.Branch] == "" {
			s.loop.Add(key)
		}
	}
	var errs []error
	for _, branch := range repo.branches {
		if tips[branch] == "" {
			errs = append(errs, fmt.Errorf("%s has no branch %s", repo.name, branch))
		}
	}
	return errors.Join(errs...)
}

// pollStanding finds comments of ours that somebody deleted, which no listing
// tells, on a few pull requests at a time.
func (s *Server) pollStanding(ctx context.Context, repo *repository) error {
	const most = 10
	for _, number := range turn(maps.Keys(repo.pulls), repo.stood, most) {
		repo.stood = number
		stands, err := repo.reviewer.Stands(ctx, number)
		if err != nil {
			return err
		}
		if !stands {
			s.loop.AddPatiently(Key{Repository: repo.id, Pull: number})
		}
	}
	return nil
}

// turn gives so many of all at most whose turn it is after the last one.
func turn[T cmp.Ordered](all iter.Seq[T], last T, most int) []T {
	sorted := slices.Sorted(all)
	if i := slices.IndexFunc(sorted, func(one T) bool { return one > last }); i > 0 {
		sorted = slices.Concat(sorted[i:], sorted[:i])
	}
	return sorted[:min(most, len(sorted))]
}
