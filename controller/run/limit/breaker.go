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
	// most is how many calls in a row fail before a target is down. While calls
	// fail no more than that are failed or in flight.
	most = 10
	// unknown is how many calls are in flight at most before the first reply.
	unknown = 2 * most
	// patience is for how long a provider may say that it is asked too often
	// before it is down.
	patience = 2 * time.Minute
	// firstRest doubles with every call that finds the target still down, up to
	// lastRest.
	firstRest = 30 * time.Second
	lastRest  = 5 * time.Minute
)

// A Down error means that a target is not asked, since calls to it fail.
type Down struct {
	// Target is its name.
	Target string
	// Failures is how many calls failed in a row, Last what the last one said.
	Failures int
	Last     string
}

// Error is the same for all cases that need the target.
func (d *Down) Error() string {
	calls := "calls in a row"
	if d.Failures == 1 {
		calls = "call"
	}
	return fmt.Sprintf("not run: target %s is down: %d %s failed, the last with: %s", d.Target, d.Failures, calls, strings.TrimPrefix(d.Last, "target "+d.Target+": "))
}

// A Breaker stops the calls to an endpoint that is down: one of which ten calls
// in a row have failed, or that has been refusing calls as too many for two
// minutes. After a while it lets one call through, whose outcome decides.
type Breaker struct {
	mu sync.Mutex
	// The fields below are guarded by mu. answered is true from the first reply
	// on; underway counts the calls that have not ended.
	answered bool
	underway int
	failures int
	// throttled is since when all calls have been refused as too many.
	throttled time.Time
	// down is nil unless the endpoint is down, until when nothing is asked;
	// probing is true while one call tries.
	down    *Down
	until   time.Time
	rest    time.Duration
	probing bool
	// followed says that another process found the endpoint down. id tells it apart.
	followed bool
	id       string
	// changed is closed when something of the above changes that calls wait for.
	changed chan struct{}
}

func newBreaker() *Breaker { return &Breaker{changed: make(chan struct{})} }

// refuses returns why no call is let through; nil where one is, or may be soon.
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

// enter lets a call through, waits while other calls are to show whether one
// may, or says why none is. The caller must call leave with probe.
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

// leave notes what became of a call.
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

// fail notes a failure, with which the endpoint is down if it is the last straw
// or one of too many. The caller holds mu.
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

// Breakers are those of all endpoints. The zero value is ready; its methods are
// safe for concurrent use.
type Breakers struct {
	mu sync.Mutex
	of map[endpoint]*Breaker // guarded by mu
}

// An endpoint is what is down as a whole.
type endpoint struct{ provider, address, model, key, revision string }

// manyEndpoints is how many are kept though nothing is wrong with them.
const manyEndpoints = 1000

// Breaker returns the Breaker of a target's endpoint, at a revision where each has an
// endpoint of its own. A caller that begins to ask it has one call let through.
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

// sweep forgets the endpoints that nothing is wrong with where there are many.
// The caller holds mu.
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
