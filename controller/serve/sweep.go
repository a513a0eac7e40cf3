package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/review"
)

// sweep publishes the last status of commits that are no longer the head of anything.
// It has the lowest priority. Commits that are a head have their own key, and so do
// commits whose check run is requested again.
func (w *worker) sweep(ctx context.Context, repo *repository) error {
	heads, err := w.state.Pending(ctx, repo.id)
	if err != nil {
		return err
	}
	var errs []error
	for _, h := range heads {
		errs = append(errs, w.sweepHead(ctx, repo, h))
	}
	return errors.Join(errs...)
}

// A sweptCommit is a commit of a repository that the sweep is at.
type sweptCommit struct {
	repository int64
	sha        string
}

// A sweepRun is the sweep of one commit: end cancels the statuses that it has not
// published yet, and done is closed when it publishes nothing more.
type sweepRun struct {
	end  context.CancelFunc
	done chan struct{}
}

// sweepHead ends one that is not being judged, unless it comes to be meanwhile.
func (w *worker) sweepHead(ctx context.Context, repo *repository, h ledger.PendingHead) error {
	key := keyOf(h)
	if key.Kind == CheckRerun {
		w.loop.AddIfIdle(key)
		return nil
	}
	inner, end := context.WithCancel(ctx)
	defer end()
	at, now := sweptCommit{h.Repository, h.SHA}, sweepRun{end, make(chan struct{})}
	w.mu.Lock()
	if w.heads[key] == h.SHA {
		w.mu.Unlock()
		return nil
	}
	w.swept[at] = now
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.swept, at)
		close(now.done)
	}()
	reason, err := w.passed(inner, key, h.SHA)
	if err == nil && reason != "" {
		past := predecessor(h)
		if err = w.rejected(repo, h, repo.reviewer.Supersede(forge.Finishing(inner, ctx), past, reason)); err == nil {
			return w.state.RemovePending(ctx, h)
		}
	}
	if inner.Err() != nil && ctx.Err() == nil {
		return nil // it is a head again
	}
	return err
}

// rejected returns an error of a write to a passed commit, nil if the forge will never take
// it: the commit is gone.
func (w *worker) rejected(repo *repository, h ledger.PendingHead, err error) error {
	if !forge.Rejected(err) {
		return err
	}
	w.cfg.Observer.Log(repo.name.String(), fmt.Sprintf("%.12s is not written to any more: %v", h.SHA, err))
	return nil
}

// predecessor is a head that is not judged any more.
func predecessor(h ledger.PendingHead) review.Predecessor {
	key := keyOf(h)
	return review.Predecessor{
		Number: key.number(), Queued: key.Kind == Branch && key.number() != 0, Head: h.SHA, Pushed: h.Seen, Drift: key.Kind == Scheduled,
	}
}

// settle publishes on a head that it is not judged, and why.
func (w *worker) settle(ctx context.Context, repo *repository, h ledger.PendingHead, reason string) error {
	if err := w.rejected(repo, h, repo.reviewer.Settle(ctx, predecessor(h), reason, h.Contexts...)); err != nil {
		return err
	}
	return w.state.RemovePending(context.WithoutCancel(ctx), h)
}

// Abandon publishes on the pending heads of all repositories why they are not judged.
// It does not use a ledger, which is broken: the forge knows the heads, and their
// statuses.
func Abandon(ctx context.Context, cfg Config, why string) error {
	var errs []error
	for _, listed := range cfg.Repositories {
		if listed.Client != nil {
			errs = append(errs, abandon(ctx, listed, why))
		}
	}
	return errors.Join(errs...)
}

func abandon(ctx context.Context, listed *Repository, why string) error {
	repo, err := identify(ctx, listed)
	if err != nil {
		return err
	}
	pulls, _, err := listed.Client.OpenPulls(ctx, repo.name, "")
	if err != nil {
		return err
	}
	heads := map[string]bool{}
	for _, pull := range pulls {
		heads[pull.HeadSHA] = true
	}
	var errs []error
	mirror, err := gitrepo.NewMirror(gitrepo.MirrorConfig{URL: repo.url, Token: listed.Token})
	if err == nil {
		var tips map[string]string
		tips, err = mirror.Branches(ctx)
		for branch, tip := range tips {
			if repo.follows(branch) {
				heads[tip] = true
			}
		}
	}
	errs = append(errs, err)
	reviewer := review.New(review.Config{Client: listed.Client, Repository: repo.name})
	for head := range heads {
		errs = append(errs, reviewer.EndPending(ctx, head, why))
	}
	return errors.Join(errs...)
}
