package forgetest

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// A Clock is for clients that wait: waiting takes no time and moves the clock. It is
// safe for concurrent use; its zero value starts at the first second of 2026.
type Clock struct {
	// mu guards the fields below.
	mu    sync.Mutex
	moved time.Duration
	waits []time.Duration
}

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(c.moved)
}

// Sleep moves the clock by d at once, or returns the error of a done ctx.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved += d
	c.waits = append(c.waits, d)
	return nil
}

// Waits returns the waits so far, in order.
func (c *Clock) Waits() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.waits)
}

// After is [time.After].
func (c *Clock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Random is [rand.Float64].
func (c *Clock) Random() float64 { return rand.Float64() }
