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

// refusalBackoff is how long a key rests that the forge refused. No delivery reports
// that the credential got its missing permission.
const refusalBackoff = 15 * time.Minute

// refusedKeys are the keys that rest, with when they came to. They are safe for
// concurrent use.
type refusedKeys struct {
	mu    sync.Mutex
	since map[Key]time.Time // guarded by mu
}

// note remembers a key whose look ended in a stall, and forgets every other.
func (r *refusedKeys) note(key Key, err error, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, stalled := errors.AsType[*reconcile.Stall](err); stalled {
		r.since[key] = now
		return
	}
	delete(r.since, key)
}

// dueForRetry removes and returns at most this many of a repository's keys that have
// rested long enough, the longest first.
func (r *refusedKeys) dueForRetry(repository int64, until time.Time, most int) []Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []Key
	for key, since := range r.since {
		if key.Repository == repository && !since.After(until) {
			found = append(found, key)
		}
	}
	slices.SortFunc(found, func(a, b Key) int {
		return cmp.Or(r.since[a].Compare(r.since[b]), cmp.Compare(a.Pull, b.Pull), cmp.Compare(a.Ref, b.Ref))
	})
	found = found[:min(most, len(found))]
	maps.DeleteFunc(r.since, func(key Key, _ time.Time) bool { return slices.Contains(found, key) })
	return found
}

// pollRefused makes keys due that the forge refused a while ago and that still exist, a
// few at a time: if a permission is missing, all are refused.
func (p *poller) pollRefused(repo *repository) {
	const most = 10
	for _, key := range p.refused.dueForRetry(repo.id, p.cfg.Clock.Now().Add(-refusalBackoff), most) {
		_, open := repo.pulls[key.Pull]
		_, there := repo.tips[key.Ref]
		if open || there || key.Kind == CheckRerun {
			p.loop.AddIfIdle(key)
		}
	}
}
