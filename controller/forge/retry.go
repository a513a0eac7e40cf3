package forge

import (
	"context"
	"errors"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
)

var retryPauses = clock.Doubling{First: 2 * time.Second, Most: time.Minute}

// A Retry bounds repeated tries. The zero value tries once.
type Retry struct {
	// For is the time from the first failure to the last try. Defaults to none.
	For time.Duration
	// Clock paces the tries. Defaults to the machine's.
	Clock clock.Clock
	// Log receives the error before each wait, and how long that is. nil logs nothing.
	Log func(err error, wait time.Duration)
}

// Do calls try until it succeeds, until its error is not [Transient], until ctx is
// done, or until the time is up. It returns the error of the last try. The wait doubles
// from two seconds to a minute, half of it jitter, and is longer if the forge asks for
// it.
func (c Retry) Do(ctx context.Context, try func() error) error {
	err := try()
	if c.For <= 0 || !Transient(err) {
		return err
	}
	c.Clock = clock.Or(c.Clock)
	deadline := c.Clock.Now().Add(c.For)
	for n := 0; Transient(err); n++ {
		left := deadline.Sub(c.Clock.Now())
		wait := retryPauses.Jittered(n, c.Clock.Random)
		if limit, ok := errors.AsType[*LimitError](err); ok {
			if wait = max(wait, limit.Until.Sub(c.Clock.Now())); wait > left {
				return err
			}
		}
		if left <= 0 {
			return err
		}
		wait = min(wait, left)
		if c.Log != nil {
			c.Log(err, wait)
		}
		if c.Clock.Sleep(ctx, wait) != nil {
			return err
		}
		err = try()
	}
	return err
}
