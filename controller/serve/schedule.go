package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gavel-evals/gavel/controller/review"
)

// A Schedule gives the times at which everything is judged anew.
type Schedule interface {
	// Next is the first time after another one; zero where there is none.
	Next(time.Time) time.Time
}

// A diary is a file for each repository that says up to when its branches were
// judged anew. Who misses a time catches up on it; of several only on the last.
type diary struct{ dir string }

func (d diary) path(repository int64) string {
	return filepath.Join(d.dir, fmt.Sprintf("%d.json", repository))
}

// read gives the times by branch. What cannot be read was never written whole:
// then the clock starts anew.
func (d diary) read(repository int64) (map[string]time.Time, error) {
	times := map[string]time.Time{}
	data, err := os.ReadFile(d.path(repository))
	if errors.Is(err, fs.ErrNotExist) {
		return times, nil
	}
	if err == nil && json.Unmarshal(data, &times) != nil {
		times = map[string]time.Time{}
	}
	return times, err
}

func (d diary) write(repository int64, times map[string]time.Time) error {
	if err := writeFile(d.path(repository), times); err != nil {
		return fmt.Errorf("note what was judged anew: %w", err)
	}
	return nil
}

// last is the last time of a schedule after one and not after another; zero
// where there is none.
func last(s Schedule, after, until time.Time) time.Time {
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

// pollClock makes due what it is time for. A branch that was never seen begins
// now.
func (s *Server) pollClock(repo *repository) error {
	if repo.Schedule == nil {
		return nil
	}
	now := s.cfg.Now()
	for _, branch := range repo.branches {
		due, err := s.due(repo, branch, now)
		if err != nil {
			return err
		}
		if repo.tips[branch] == "" || due.IsZero() || !due.After(repo.clock[branch]) {
			continue
		}
		repo.clock[branch] = due // what fails is tried again by the loop
		s.loop.Add(Key{Repository: repo.id, Branch: branch, Anew: true})
	}
	return nil
}

// due is the time that a branch has still to be judged anew for, zero for none.
func (s *Server) due(repo *repository, branch string, now time.Time) (time.Time, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	times, err := s.diary.read(repo.id)
	if err != nil {
		return time.Time{}, err
	}
	from, known := times[branch]
	if !known {
		times[branch] = now
		return time.Time{}, s.diary.write(repo.id, times)
	}
	return last(repo.Schedule, from, now), nil
}

// kept notes that a branch was judged anew.
func (s *Server) kept(repo *repository, branch string, due time.Time) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	times, err := s.diary.read(repo.id)
	if err != nil {
		return err
	}
	times[branch] = due
	return s.diary.write(repo.id, times)
}

// untilDue is how long it takes until something is to be judged anew, at most
// so long.
func (s *Server) untilDue(repo *repository, most time.Duration) time.Duration {
	if repo.Schedule == nil {
		return most
	}
	now := s.cfg.Now()
	if next := repo.Schedule.Next(now); !next.IsZero() {
		return min(most, next.Sub(now))
	}
	return most
}

// anew judges the tip of a base branch because it is time.
func (s *Server) anew(ctx context.Context, repo *repository, key Key) error {
	if repo.Schedule == nil {
		return nil
	}
	due, err := s.due(repo, key.Branch, s.cfg.Now())
	if err != nil || due.IsZero() {
		return err
	}
	tip, err := repo.tip(ctx, key.Branch)
	if err != nil || tip == "" {
		return err
	}
	r := repo.reviewer.Anew(review.Clock{Branch: key.Branch, SHA: tip, Due: due, Issue: repo.DriftIssue})
	if err := s.run(ctx, key, r); err != nil {
		return err
	}
	return s.kept(repo, key.Branch, due)
}
