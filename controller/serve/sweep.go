package serve

import (
	"context"
	"errors"

	"github.com/gavel-evals/gavel/controller/forge/priority"
	"github.com/gavel-evals/gavel/controller/review"
)

// sweep gives their last word to commits that are not the head of anything any
// more. It comes after all that people wait for. Commits that are a head have a
// key of their own, as have those whose check run is wanted again.
func (s *Server) sweep(ctx context.Context, repo *repository) error {
	heads, err := s.open.list(repo.id)
	if err != nil {
		return err
	}
	var errs []error
	for _, h := range heads {
		errs = append(errs, s.sweepHead(ctx, repo, h))
	}
	return errors.Join(errs...)
}

// A swept is a commit of a repository that the sweep is at.
type swept struct {
	repository int64
	sha        string
}

// A sweeping is the sweep of one commit: end takes back what it has not said yet,
// and done is closed when it will say nothing more.
type sweeping struct {
	end  context.CancelFunc
	done chan struct{}
}

// sweepHead ends one that is not under way, unless it comes to be meanwhile.
func (s *Server) sweepHead(ctx context.Context, repo *repository, h head) error {
	inner, end := context.WithCancel(ctx)
	defer end()
	at, now := swept{h.Repository, h.SHA}, sweeping{end, make(chan struct{})}
	s.mu.Lock()
	if s.heads[h.key()] == h.SHA {
		s.mu.Unlock()
		return nil
	}
	s.swept[at] = now
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.swept, at)
		close(now.done)
	}()
	if h.Asked {
		s.loop.AddPatiently(h.key())
		return nil
	}
	reason, err := s.passed(inner, h.key(), h.SHA)
	if err == nil && reason != "" {
		past := review.Predecessor{Number: h.key().number(), Head: h.SHA, Pushed: h.Seen, Drift: h.Anew}
		if err = repo.reviewer.Supersede(priority.Finishing(inner, ctx), past, reason); err == nil {
			return s.open.remove(h)
		}
	}
	if inner.Err() != nil && ctx.Err() == nil {
		return nil // it is a head again
	}
	return err
}

// Abandon says on all heads that an earlier server left open why nobody judges
// them. It asks nothing of a ledger.
func Abandon(ctx context.Context, cfg Config, why string) error {
	s := newServer(withDefaults(cfg))
	s.memory = new(memory)
	var errs []error
	for _, r := range cfg.Repositories {
		repo, err := s.repository(ctx, r)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		heads, err := s.open.list(repo.id)
		errs = append(errs, err)
		for _, h := range heads {
			if !h.Asked && repo.Client != nil {
				errs = append(errs, s.settle(ctx, repo, h, why))
			}
		}
	}
	return errors.Join(errs...)
}

// settle says on a head that nobody judges it, and why.
func (s *Server) settle(ctx context.Context, repo *repository, h head, reason string) error {
	var err error
	if h.Anew {
		err = repo.reviewer.SettleAnew(ctx, h.SHA, reason)
	} else {
		err = repo.reviewer.Settle(ctx, h.key().number(), h.SHA, reason, h.Groups...)
	}
	if err != nil {
		return err
	}
	return s.open.remove(h)
}
