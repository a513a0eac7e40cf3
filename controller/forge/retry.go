package forge

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/gavel-evals/gavel/controller/backoff"
)

var retryPauses = backoff.Doubling{First: 2 * time.Second, Most: time.Minute}

// A Retry says how long to try. The zero value tries once.
type Retry struct {
	// For is the time from the first failure to the last try. Defaults to none.
	For time.Duration
	// Now is the clock. Defaults to [time.Now].
	Now func() time.Time
	// Wait sleeps for d or until ctx is done, whose error it returns then.
	// Defaults to a timer.
	Wait func(ctx context.Context, d time.Duration) error
	// Random returns the jitter, in [0, 1). Defaults to [rand.Float64].
	Random func() float64
	// Tell is given the error before each wait, and how long that is. Defaults to
	// nobody.
	Log func(err error, wait time.Duration)
}

// Do calls try until it succeeds, until its error is not [forge.Transient], until
// ctx is done, or until the time is up. It returns the error of the last try. The
// wait doubles from two seconds to a minute, half of it jitter, and is longer
// where the forge asks for it.
func (c Retry) Do(ctx context.Context, try func() error) error {
	err := try()
	if c.For <= 0 || !Transient(err) {
		return err
	}
	c = c.withDefaults()
	deadline := c.Now().Add(c.For)
	for n := 0; Transient(err); n++ {
		left := deadline.Sub(c.Now())
		wait := retryPauses.Jittered(n, c.Random)
		if limit, ok := errors.AsType[*LimitError](err); ok {
			if wait = max(wait, limit.Until.Sub(c.Now())); wait > left {
				return err
			}
		}
		if left <= 0 {
			return err
		}
		wait = min(wait, left)
		c.Log(err, wait)
		if c.Wait(ctx, wait) != nil {
			return err
		}
		err = try()
	}
	return err
}

func (c Retry) withDefaults() Retry {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Log == nil {
		c.Log = func(error, time.Duration) {}
	}
	if c.Wait == nil {
		c.Wait = backoff.Sleep
	}
	return c
}
