package serve

import (
	"context"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/review"
)

// A Schedule gives the times at which all cases are judged again.
type Schedule interface {
	// Next is the first time after another one; zero where there is none.
	Next(time.Time) time.Time
}

// lastTime is the last time of a schedule after one and not after another; zero
// where there is none.
func lastTime(s Schedule, after, until time.Time) time.Time {
	// A schedule of every minute has so many in two months.
	const most = 100_000
	var found time.Time
	for range most {
		next := s.Next(after)
		if next.IsZero() || next.After(until) {
			return found
		}
		found, after = next, next
	}
	return until // longer ago than anybody counts
}

// dueTime is the time that a branch has still to be judged for, zero for none. A
// missed time is made up for; of several only the last. A branch that was never seen
// begins now.
func dueTime(ctx context.Context, state *ledger.ServerState, repo *repository, branch string, now time.Time) (time.Time, error) {
	from, known, err := state.Judged(ctx, repo.id, branch)
	if err != nil {
		return time.Time{}, err
	}
	if !known {
		return time.Time{}, state.SetJudged(ctx, repo.id, branch, now)
	}
	return lastTime(repo.Schedule, from, now), nil
}

// pollSchedule makes due what it is time for.
func (p *poller) pollSchedule(ctx context.Context, repo *repository) error {
	if repo.Schedule == nil {
		return nil
	}
	now := p.cfg.Clock.Now()
	for _, branch := range repo.branches {
		due, err := dueTime(ctx, p.state, repo, branch, now)
		if err != nil {
			return err
		}
		if repo.tips[branch] == "" || !due.After(repo.scheduled[branch]) {
			continue
		}
		repo.scheduled[branch] = due // what fails is tried again by the loop
		p.loop.Add(Key{Repository: repo.id, Kind: Scheduled, Ref: branch})
	}
	return nil
}

// untilDue is how long it takes until the schedule has something judged, at most so
// long.
func (p *poller) untilDue(repo *repository, most time.Duration) time.Duration {
	if repo.Schedule == nil {
		return most
	}
	now := p.cfg.Clock.Now()
	if next := repo.Schedule.Next(now); !next.IsZero() {
		return min(most, next.Sub(now))
	}
	return most
}

// scheduled judges all cases of the tip of a base branch again, because it is time.
func (w *worker) scheduled(ctx context.Context, repo *repository, key Key) error {
	if repo.Schedule == nil {
		return nil
	}
	due, err := dueTime(ctx, w.state, repo, key.Ref, w.cfg.Clock.Now())
	if err != nil || due.IsZero() {
		return err
	}
	tip, err := repo.tip(ctx, key.Ref)
	if err != nil || tip == "" {
		return err
	}
	r := repo.reviewer.Scheduled(review.Schedule{Branch: key.Ref, SHA: tip, Due: due, Issue: repo.DriftIssue})
	if err := w.run(ctx, key, r); err != nil {
		return err
	}
	return w.state.SetJudged(ctx, repo.id, key.Ref, due)
}
