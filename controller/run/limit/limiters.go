package limit

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
)

// Limiters are the limiters of all targets of several runs. The zero value is ready;
// its methods are safe for concurrent use.
type Limiters struct {
	// wanted is not nil if other processes call the targets, too.
	wanted chan struct{}

	mu sync.Mutex
	of map[limited]*Limiter // guarded by mu
}

// Shared returns Limiters that each wait for a [Share].
func Shared() *Limiters { return &Limiters{wanted: make(chan struct{}, 1)} }

// limited identifies the subject of a Limiter: a target by its name at an endpoint.
type limited struct {
	target   string
	endpoint *Breaker
}

// Limiter returns the limiter of a target whose endpoint has the given Breaker: the
// same for all callers. A nil Limiters returns a new one each time.
func (s *Limiters) Limiter(t config.Target, b *Breaker, c clock.Clock) *Limiter {
	if s == nil {
		return New(t, b, c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := limited{t.Name, b}
	if s.of == nil {
		s.of = map[limited]*Limiter{}
	}
	if s.of[at] == nil {
		l := New(t, b, c)
		if s.wanted != nil {
			l.share(s.wanted)
		}
		s.of[at] = l
	}
	return s.of[at]
}

// Wanted receives a value when a call waits for a share. It is nil unless the Limiters
// are [Shared].
func (s *Limiters) Wanted() <-chan struct{} { return s.wanted }

// All returns the Limiters by ids that identify their targets in all processes.
func (s *Limiters) All() map[string]*Limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]*Limiter, len(s.of))
	for at, l := range s.of {
		out[at.endpoint.id+" "+at.target] = l
	}
	return out
}

// Held lists the throttled targets with their waits: "bot refused calls as too many;
// the next one is sent in 27 s". It is empty without any.
func (s *Limiters) Held() string {
	var out []string
	for _, l := range s.All() {
		if wait := l.next().Sub(l.clock.Now()).Round(time.Second); wait > time.Second {
			out = append(out, fmt.Sprintf("%s refused calls as too many; the next one is sent in %d s", l.name, int(wait.Seconds())))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}
