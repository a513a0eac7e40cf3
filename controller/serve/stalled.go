package serve

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/reconcile"
)

// stalledFor is how long a key rests that the forge refused. Nothing tells of it
// when somebody gives the credential what it lacked.
const stalledFor = 15 * time.Minute

// stalls are the keys that rest, with when they came to.
type stalls struct {
	mu    sync.Mutex
	since map[Key]time.Time // guarded by mu
}

// note remembers a key whose look ended in a stall, and forgets every other.
func (s *stalls) note(key Key, err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, stalled := errors.AsType[*reconcile.Stall](err); stalled {
		s.since[key] = now
		return
	}
	delete(s.since, key)
}

// rested takes so many of a repository's keys at most that rested long enough,
// the longest first.
func (s *stalls) rested(repository int64, until time.Time, most int) []Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Key
	for key, since := range s.since {
		if key.Repository == repository && !since.After(until) {
			found = append(found, key)
		}
	}
	slices.SortFunc(found, func(a, b Key) int {
		return cmp.Or(s.since[a].Compare(s.since[b]), cmp.Compare(a.Pull, b.Pull), cmp.Compare(a.Branch, b.Branch))
	})
	found = found[:min(most, len(found))]
	maps.DeleteFunc(s.since, func(key Key, _ time.Time) bool { return slices.Contains(found, key) })
	return found
}

// pollStalled makes due what the forge refused a while ago and is there still, a
// few keys at a time: where a permission is missing, all are refused.
func (s *Server) pollStalled(repo *repository) {
	const most = 10
	for _, key := range s.stalls.rested(repo.id, s.cfg.Now().Add(-stalledFor), most) {
		_, open := repo.pulls[key.Pull]
		_, there := repo.tips[key.Branch]
		if open || there || key.Commit != "" {
			s.loop.AddPatiently(key)
		}
	}
}
