package serve

import (
	"context"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/review"
)

// A Schedule returns the times at which all cases are judged again.
type Schedule interface {
	// Next returns the first time after another one; zero if there is none.
	Next(time.Time) time.Time
}

// lastTime returns the last time of a schedule after one and not after another; zero if
// there is none.
func lastTime(s Schedule, after, until time.Time) time.Time {
	// A schedule of every minute has this many in two months.
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

// mostAhead is how far the clocks of two servers may be apart. A time that is later was stored
// before a clock was set back.
const mostAhead = time.Hour

// dueTime returns the time for which a branch still has to be judged, zero for none. Of
// several missed times only the last is made up for. A new branch begins now, and so does one
// that was judged in the future.
func dueTime(ctx context.Context, state *ledger.ServerState, repo *repository, branch string, now time.Time) (time.Time, error) {
	from, known, err := state.Judged(ctx, repo.id, branch)
	if err != nil {
		return time.Time{}, err
	}
	if !known || from.After(now.Add(mostAhead)) {
		return time.Time{}, state.SetJudged(ctx, repo.id, branch, now)
	}
	return lastTime(repo.Schedule, from, now), nil
}

// pollSchedule makes scheduled keys due.
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
		if repo.tips[branch] == "" || due.IsZero() || due.Equal(repo.scheduled[branch]) {
			continue
		}
		repo.scheduled[branch] = due // the loop tries failed ones again
		p.loop.Add(Key{Repository: repo.id, Kind: Scheduled, Ref: branch})
	}
	return nil
}

// untilDue returns the time until the next scheduled work, at most this long.
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
