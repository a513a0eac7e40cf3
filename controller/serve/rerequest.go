package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/reconcile"
	"github.com/gavel-evals/gavel/controller/review"
)

const (
	// hush is how long a forge is not asked again that refused it, and how long
	// that is not told again.
	hush = time.Hour
	// asAnswered is how long no check run is made again that a forge shows as
	// unanswered still, unless there is news of a wish.
	asAnswered = 24 * time.Hour
)

// wishes is what is known of the check runs of a repository that people want
// anew. That they do stands on the forge, see [forge.Client.Wishes], so that it
// is found however the news of it got lost.
type wishes struct {
	mu sync.Mutex
	// The fields below are guarded by mu.
	answered map[string]time.Time // commits, until the forge shows that it is so
	refused  time.Time            // when the forge last said that nobody may ask
	told     time.Time            // when last that it could not be asked
}

// wished lists the check runs of a commit that somebody wants anew, and that
// were not answered lately.
func (s *Server) wished(ctx context.Context, repo *repository, sha string) ([]review.Wish, error) {
	found, err := s.listWishes(ctx, repo, sha)
	repo.wishes.mu.Lock()
	defer repo.wishes.mu.Unlock()
	if s.cfg.Now().Sub(repo.wishes.answered[sha]) < asAnswered {
		found = nil
	}
	return found, err
}

// listWishes asks the forge. Where that may not be asked nothing is wanted; any
// other error is told, unless it is a limit or that of ctx.
func (s *Server) listWishes(ctx context.Context, repo *repository, sha string) ([]review.Wish, error) {
	w, now := &repo.wishes, s.cfg.Now()
	w.mu.Lock()
	refused := now.Sub(w.refused) < hush
	w.mu.Unlock()
	if refused || repo.Client == nil || !repo.Client.CanCheck(ctx, repo.name) {
		return nil, nil
	}
	found, err := repo.reviewer.Wishes(ctx, sha)
	if ctx.Err() != nil || isLimit(err) {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && now.Sub(w.told) >= hush {
		w.told = now
		s.cfg.Observer.Tell(repo.name.String(), fmt.Sprintf("who wants a check run anew is not known: %v", err))
	}
	if _, denied := errors.AsType[*forge.DeniedError](err); denied {
		w.refused = now
		return nil, nil
	}
	if err == nil && len(found) == 0 {
		delete(w.answered, sha)
	}
	return found, err
}

func isLimit(err error) bool {
	_, limited := errors.AsType[*forge.LimitError](err)
	return limited
}

// A wanted is a head whose check run somebody may want again.
type wanted struct {
	number int
	sha    string
	// ended is who cancelled it; empty where it was judged.
	ended string
}

// grant makes the check run of a head again where somebody wants that. The
// question is asked after the verdict was published, which must not wait for it;
// err is how that ended, and is returned unless this fails, too. What is not heard
// now the forge still shows later.
func (s *Server) grant(ctx context.Context, repo *repository, head wanted, err error) error {
	if _, stalled := errors.AsType[*reconcile.Stall](err); stalled {
		s.answered(ctx, repo, head.sha, err)
	}
	if err != nil {
		return err
	}
	wishes, _ := s.wished(ctx, repo, head.sha)
	if len(wishes) == 0 {
		return nil
	}
	err = next(repo.reviewer.Answer(ctx, review.Wish{Number: head.number}, head.sha, cmp.Or(head.ended, "nothing was judged")))
	s.answered(ctx, repo, head.sha, err)
	return err
}

// answered notes that the check runs of a commit were made anew, or that no try
// mends it, so that a forge which shows them as unanswered all the same does not
// get one with each look.
func (s *Server) answered(ctx context.Context, repo *repository, sha string, err error) {
	_, stalled := errors.AsType[*reconcile.Stall](err)
	if err != nil && !stalled {
		return
	}
	w, now := &repo.wishes, s.cfg.Now()
	w.mu.Lock()
	maps.DeleteFunc(w.answered, func(_ string, at time.Time) bool { return now.Sub(at) >= asAnswered })
	w.answered[sha] = now
	w.mu.Unlock()
	if left, _ := s.listWishes(ctx, repo, sha); len(left) > 0 && !stalled {
		s.cfg.Observer.Tell(repo.name.String(), fmt.Sprintf("the check run of %.7s was made anew, and the forge shows it as queued still: by itself it is not made again within a day", sha))
	}
}

// rerequested takes the news that somebody wants a check run anew. Of heads it
// only hurries what polling finds; of other commits it is all there is, so that
// it outlives the process.
func (s *Server) rerequested(repo *repository, sha string) error {
	repo.wishes.mu.Lock()
	delete(repo.wishes.answered, sha)
	repo.wishes.mu.Unlock()
	wish := head{Repository: repo.id, SHA: sha, Asked: true}
	err := s.open.add(wish)
	s.loop.Add(wish.key())
	return err
}

// asked has the check runs of a commit made anew that somebody wants: by who
// looks after it now, else from what is stored.
func (s *Server) asked(ctx context.Context, repo *repository, sha string) error {
	wishes, err := s.wished(ctx, repo, sha)
	switch {
	case ctx.Err() != nil || isLimit(err):
		return err
	case err != nil:
		return nil // it was told, and the next sweep comes back to it
	case len(wishes) > 0:
		if err := s.hear(ctx, repo, sha, wishes); err != nil {
			return err
		}
	}
	return s.open.remove(head{Repository: repo.id, SHA: sha, Asked: true})
}

func (s *Server) hear(ctx context.Context, repo *repository, sha string, wishes []review.Wish) error {
	tips, err := repo.mirror.Branches(ctx)
	if err != nil {
		return err
	}
	var keys []Key // that look after the commit
	for branch, tip := range tips {
		if tip == sha && repo.follows(branch) {
			keys = append(keys, Key{Repository: repo.id, Branch: branch})
		}
	}
	reasons := make([]string, len(wishes)) // why nobody does
	for i, wish := range wishes {
		key := Key{Repository: repo.id, Pull: wish.Number}
		switch tip := tips[wish.Branch]; {
		case wish.Number != 0:
			if reasons[i], err = s.passed(ctx, key, sha); err != nil {
				return err
			}
			if reasons[i] == "" {
				keys = append(keys, key)
			}
		case tip != "" && tip != sha:
			reasons[i] = superseded(tip)
		default:
			reasons[i] = "it is the head of nothing that gavel looks after"
		}
	}
	for _, key := range keys {
		s.loop.AddPatiently(key)
	}
	if len(keys) > 0 {
		return nil
	}
	var errs []error
	for i, wish := range wishes {
		errs = append(errs, repo.reviewer.Answer(ctx, wish, sha, reasons[i]))
	}
	err = next(errors.Join(errs...))
	s.answered(ctx, repo, sha, err)
	return err
}

// seen are the heads that the last look found.
func (r *repository) seen() map[string]bool {
	heads := map[string]bool{}
	for _, p := range r.pulls {
		heads[p.HeadSHA] = true
	}
	for _, tip := range r.tips {
		heads[tip] = true
	}
	return heads
}

// pollWishes finds who wants the check run of a head anew, of so many heads at a
// time that there is no storm. A forge that knows of no change answers for free.
func (s *Server) pollWishes(ctx context.Context, repo *repository, heads map[string]bool) error {
	const most = 100
	for _, sha := range s.underWay(repo.id) {
		delete(heads, sha) // it may be about to be answered
	}
	for _, sha := range turn(maps.Keys(heads), repo.looked, most) {
		repo.looked = sha
		wishes, err := s.wished(ctx, repo, sha)
		switch {
		case isLimit(err):
			return err
		case err != nil:
			return nil // it was told; the others have their turn
		case len(wishes) > 0:
			s.loop.AddPatiently(Key{Repository: repo.id, Commit: sha})
		}
	}
	return nil
}
