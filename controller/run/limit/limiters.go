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

// Limiters are those of all targets of several runs. The zero value is ready; its
// methods are safe for concurrent use.
type Limiters struct {
	// wanted is not nil where other processes call the targets, too.
	wanted chan struct{}

	mu sync.Mutex
	of map[limited]*Limiter // guarded by mu
}

// Shared returns Limiters of which each waits until it is given a [Share].
func Shared() *Limiters { return &Limiters{wanted: make(chan struct{}, 1)} }

// limited is what a Limiter limits: a target by its name at an endpoint.
type limited struct {
	target   string
	endpoint *Breaker
}

// Limiter returns that of a target whose endpoint has the given Breaker: the same for
// all who ask. A nil Limiters returns a new one each time.
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

// Wanted has a value when a call waits for a share. It is nil unless the Limiters are
// [Shared].
func (s *Limiters) Wanted() <-chan struct{} { return s.wanted }

// All returns the Limiters by what tells their targets apart in all processes.
func (s *Limiters) All() map[string]*Limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]*Limiter, len(s.of))
	for at, l := range s.of {
		out[at.endpoint.id+" "+at.target] = l
	}
	return out
}

// Held returns which targets are asked nothing for a while, since they were asked too
// often, and for how long: "bot refused calls as too many; the next one is sent in
// 27 s". It is empty where none is.
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
