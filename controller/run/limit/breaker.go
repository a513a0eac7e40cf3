package limit

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
)

const (
	// most is the number of consecutive failures after which a target is down. While
	// calls fail, at most so many are failed or in flight.
	most = 10
	// unknown bounds the calls in flight before the first reply.
	unknown = 2 * most
	// patience bounds the time for which a provider may throttle before it counts as
	// down.
	patience = 2 * time.Minute
	// firstRest doubles with every call that still fails, up to lastRest.
	firstRest = 30 * time.Second
	lastRest  = 5 * time.Minute
)

// A Down error means that a target is not called because calls to it fail.
type Down struct {
	// Target is its name.
	Target string
	// Failures is the number of consecutive failures, Last the last message.
	Failures int
	Last     string
}

// Error returns the same text for all cases that need the target.
func (d *Down) Error() string {
	calls := "calls in a row"
	if d.Failures == 1 {
		calls = "call"
	}
	return fmt.Sprintf("not run: target %s is down: %d %s failed, the last with: %s", d.Target, d.Failures, calls, strings.TrimPrefix(d.Last, "target "+d.Target+": "))
}

// A Breaker stops the calls to an endpoint that is down: after ten consecutive
// failures, or two minutes of throttling. After a while it lets one call through, whose
// outcome decides.
type Breaker struct {
	mu sync.Mutex
	// The fields below are guarded by mu. answered is true from the first reply on;
	// underway counts the running calls.
	answered bool
	underway int
	failures int
	// throttled is the time since which all calls have been throttled.
	throttled time.Time
	// down is nil unless the endpoint is down; until is the time of the next call;
	// probing is true while one call tries.
	down    *Down
	until   time.Time
	rest    time.Duration
	probing bool
	// followed means that another process found the endpoint down. id identifies it.
	followed bool
	id       string
	// changed is closed when a field above changes that calls wait for.
	changed chan struct{}
}

func newBreaker() *Breaker { return &Breaker{changed: make(chan struct{})} }

// refuses returns the reason why no call is let through, or nil if one is, or may be
// soon.
func (b *Breaker) refuses(now time.Time) *Down {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.probing || !now.Before(b.until) {
		return nil
	}
	return b.down
}

// retry lets the next call through although the endpoint is down.
func (b *Breaker) retry() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.until = time.Time{}
}

// enter lets a call through, waits while other calls decide whether one may, or returns
// the reason for refusing it. The caller must call leave with probe.
func (b *Breaker) enter(ctx context.Context, now func() time.Time) (probe bool, down *Down, err error) {
	for {
		b.mu.Lock()
		changed := b.changed
		switch {
		case b.down != nil && b.probing:
		case b.down != nil && now().Before(b.until):
			down = b.down
			b.mu.Unlock()
			return false, down, nil
		case b.down != nil:
			b.probing = true
			b.underway++
			b.mu.Unlock()
			return true, nil, nil
		case b.room():
			b.underway++
			b.mu.Unlock()
			return false, nil, nil
		}
		b.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return false, nil, ctx.Err()
		}
	}
}

// room reports whether one more call may be in flight. The caller holds mu.
func (b *Breaker) room() bool {
	switch {
	case b.underway == 0:
		return true
	case b.failures > 0:
		return b.failures+b.underway < most
	}
	return b.answered || b.underway < unknown
}

// leave records the outcome of a call.
func (b *Breaker) leave(probe bool, o Outcome, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.underway--
	if probe {
		b.probing = false
	}
	switch o.Kind {
	case Answered:
		b.answered, b.failures, b.throttled, b.down, b.rest, b.followed = true, 0, time.Time{}, nil, 0, false
	case Failed:
		b.fail(probe, o.Message, now)
	case Throttled:
		if b.throttled.IsZero() {
			b.throttled = now
		}
		b.fail(probe || now.Sub(b.throttled) >= patience, o.Message, now)
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// fail records a failure; the endpoint is down if last is set or if there are too many.
// The caller holds mu.
func (b *Breaker) fail(last bool, message string, now time.Time) {
	b.failures++
	switch {
	case b.down != nil && !last, b.down == nil && !last && b.failures < most:
		return
	case b.down == nil:
		b.rest = firstRest
	default:
		b.rest = min(2*b.rest, lastRest)
	}
	b.down, b.until, b.answered, b.followed = &Down{Failures: b.failures, Last: message}, now.Add(b.rest), false, false
}

// Breakers are the breakers of all endpoints. The zero value is ready; its methods are
// safe for concurrent use.
type Breakers struct {
	mu sync.Mutex
	of map[endpoint]*Breaker // guarded by mu
}

// An endpoint is a unit that is down as a whole.
type endpoint struct{ provider, address, model, key, revision string }

// manyEndpoints bounds the healthy endpoints that are kept.
const manyEndpoints = 1000

// Breaker returns the Breaker of a target's endpoint, at a revision if each has its own
// endpoint. A new caller has one call let through.
func (s *Breakers) Breaker(t config.Target, revision string) *Breaker {
	at := endpoint{
		provider: t.Provider, address: strings.Join(append([]string{t.BaseURL, t.URL, t.URLTemplate}, t.Argv...), "\x00"),
		model: t.Model, key: t.APIKeyEnv,
	}
	switch {
	case t.URLTemplate != "":
		at.revision = revision
	case strings.Trim(at.address, "\x00") == "" && at.model == "":
		at.address = t.Name
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.of[at]
	if b == nil {
		s.sweep()
		b = newBreaker()
		b.id = at.id()
		s.of[at] = b
	}
	b.retry()
	return b
}

// sweep forgets healthy endpoints if there are many. The caller holds mu.
func (s *Breakers) sweep() {
	if s.of == nil {
		s.of = map[endpoint]*Breaker{}
	}
	if len(s.of) < manyEndpoints {
		return
	}
	for at, b := range s.of {
		b.mu.Lock()
		if b.underway == 0 && b.failures == 0 {
			delete(s.of, at)
		}
		b.mu.Unlock()
	}
}
