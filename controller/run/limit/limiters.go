package limit

import (
	"sync"

	"github.com/gavel-evals/gavel/controller/config"
)

// Limiters are those of all targets of several runs. The zero value is ready; its
// methods are safe for concurrent use.
type Limiters struct {
	mu sync.Mutex
	of map[limited]*Limiter // guarded by mu
}

// limited is what a Limiter limits: a target by its name at an endpoint.
type limited struct {
	target   string
	endpoint *Breaker
}

// Of returns the Limiter of a target whose endpoint has the given Breaker: the same
// for all who ask. A nil Limiters gives a new one each time.
func (s *Limiters) Of(t config.Target, b *Breaker, c Clock) *Limiter {
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
		s.of[at] = New(t, b, c)
	}
	return s.of[at]
}
