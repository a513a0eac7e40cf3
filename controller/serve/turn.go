package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gavel-evals/gavel/controller/review"
	"github.com/gavel-evals/gavel/controller/serve/crashguard"
)

// harmful is published for a head that is not judged.
var harmful = crashguard.ErrFatal.Error() + "; somebody with write permission may ask again with /gavel run"

// declined returns why a head is not judged until somebody asks for it, empty if it is.
func (w *worker) declined(repository int64, head review.QueuedHead) string {
	if w.guard.Declines(crashguard.Head{Repository: repository, Pull: head.Number, SHA: head.Head}, crashguard.Request{At: head.Asked, Now: head.Again}) {
		return harmful
	}
	return ""
}

// turn waits until a head may be judged in this process. If the process before died
// while it judged the head, a child judges it first, so that this process only has to
// publish the report. The ledger records the heads that are being judged, for the next
// process.
func (w *worker) turn(ctx context.Context, repo *repository, head review.QueuedHead) (review.Turn, error) {
	h := crashguard.Head{Repository: repo.id, Pull: head.Number, SHA: head.Head}
	log := func(line string) { w.cfg.Observer.Log(numbered(repo.name.String(), head.Number), line) }
	job := func(ctx context.Context) (crashguard.Job, func(), error) { return w.job(ctx, repo, head) }
	run, err := w.guard.Prove(ctx, h, crashguard.Request{At: head.Asked, Now: head.Again}, crashguard.Attempt{Job: job, Log: log})
	if errors.Is(err, crashguard.ErrFatal) {
		return review.Turn{}, &review.DeclinedError{Reason: harmful}
	}
	if err != nil {
		return review.Turn{}, err
	}
	class := classInteractive
	switch {
	case head.Stranger:
		class = classStranger
	case head.Number == 0:
		class = classBackground
	}
	waited := false
	free, err := w.slots.Acquire(ctx, class, func() {
		waited = true
		w.countQueued(h, 1)
		head.Waits()
	})
	if waited {
		w.countQueued(h, -1)
	}
	if err != nil {
		return review.Turn{}, err
	}
	done, err := w.guard.Begin(ctx, h)
	if err != nil {
		free()
		return review.Turn{}, err
	}
	end := func() {
		if err := done(); err != nil {
			log(fmt.Sprintf("the note that %.7s is being judged cannot be removed: %v", h.SHA, err))
		}
		free()
	}
	return review.Turn{End: end, Run: run}, nil
}

// job is the work of a child. The clone is its own until fetched is called.
func (w *worker) job(ctx context.Context, repo *repository, head review.QueuedHead) (job crashguard.Job, fetched func(), err error) {
	job = crashguard.Job{
		Clone: repo.clone, URL: repo.url, Ledger: w.cfg.Ledger.Path(), Unconfined: w.cfg.Ledger.Unconfined(), Subject: head.Subject(ctx),
	}
	if repo.Token != nil {
		if job.Token, err = repo.Token(ctx, ""); err != nil {
			return job, nil, err
		}
	}
	repo.fetching.Lock()
	return job, sync.OnceFunc(repo.fetching.Unlock), nil
}

// countQueued notes that one more key waits for the turn of a head, or one less.
func (w *worker) countQueued(h crashguard.Head, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queued[h] += n; w.queued[h] == 0 {
		delete(w.queued, h)
	}
}

// queuedHeads returns how many keys of a repository wait for the turn of each head.
func (w *worker) queuedHeads(repository int64) map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	heads := map[string]int{}
	for h, n := range w.queued {
		if h.Repository == repository {
			heads[h.SHA] += n
		}
	}
	return heads
}
