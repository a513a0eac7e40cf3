package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gavel-evals/gavel/controller/review"
	"github.com/gavel-evals/gavel/controller/serve/slots"
	"github.com/gavel-evals/gavel/controller/serve/trial"
)

// harmful is said of a head that is not looked at.
var harmful = trial.ErrFatal.Error() + "; somebody with write permission may ask again with /gavel run"

// declined says why a head is not looked at as long as nobody asks for it, empty
// where it is.
func (s *Server) declined(repository int64, w review.Waiting) string {
	if s.guard.Declines(trial.Head{Repository: repository, Pull: w.Number, SHA: w.Head}, trial.Asked{At: w.Asked, Now: w.Again}) {
		return harmful
	}
	return ""
}

// turn waits until a head may be looked at in this process. One that the process
// before was looking at when it died is judged in a child first, so that this
// process has only to publish the report. What is
// looked at is noted, so that the next process knows it.
func (s *Server) turn(ctx context.Context, repo *repository, w review.Waiting) (review.Turn, error) {
	h := trial.Head{Repository: repo.id, Pull: w.Number, SHA: w.Head}
	tell := func(line string) { s.cfg.Observer.Tell(numbered(repo.name.String(), w.Number), line) }
	job := func(ctx context.Context) (trial.Job, func(), error) { return s.job(ctx, repo, w) }
	run, err := s.guard.Prove(ctx, h, trial.Asked{At: w.Asked, Now: w.Again}, trial.Attempt{Job: job, Tell: tell})
	if errors.Is(err, trial.ErrFatal) {
		return review.Turn{}, &review.Declined{Reason: harmful}
	}
	if err != nil {
		return review.Turn{}, err
	}
	class := slots.Interactive
	switch {
	case w.Stranger:
		class = slots.Stranger
	case w.Number == 0:
		class = slots.Background
	}
	free, err := s.slots.Take(ctx, class)
	if err != nil {
		return review.Turn{}, err
	}
	done, err := s.guard.Begin(h)
	if err != nil {
		free()
		return review.Turn{}, err
	}
	end := func() {
		if err := done(); err != nil {
			tell(fmt.Sprintf("the note that %.7s is looked at stays: %v", h.SHA, err))
		}
		free()
	}
	return review.Turn{End: end, Run: run}, nil
}

// job is what a child judges. The clone is its own until fetched is called.
func (s *Server) job(ctx context.Context, repo *repository, w review.Waiting) (job trial.Job, fetched func(), err error) {
	job = trial.Job{
		Clone: s.clone(repo.id), URL: repo.url, Ledger: s.cfg.Ledger.Path(), Subject: w.Subject(ctx),
	}
	if repo.Token != nil {
		if job.Token, err = repo.Token(ctx, ""); err != nil {
			return job, nil, err
		}
	}
	repo.fetching.Lock()
	return job, sync.OnceFunc(repo.fetching.Unlock), nil
}
