// Package clock tells the time, waits, and computes the pauses between the tries of
// something that failed.
package clock

import (
	"context"
	"math/rand/v2"
	"time"
)

// A Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	// After returns a channel that receives once d is over.
	After(d time.Duration) <-chan time.Time
	// Sleep waits for d. It returns the error of ctx if that ends before.
	Sleep(ctx context.Context, d time.Duration) error
	// Random returns a number in [0,1), by which waits are spread.
	Random() float64
}

// Funcs is a clock of functions; nil ones are the machine's. Its zero value is
// the machine's clock.
type Funcs struct {
	NowFunc    func() time.Time
	AfterFunc  func(time.Duration) <-chan time.Time
	SleepFunc  func(context.Context, time.Duration) error
	RandomFunc func() float64
}

// Or returns c, or the machine's clock if c is nil.
func Or(c Clock) Clock {
	if c == nil {
		return Funcs{}
	}
	return c
}

// Now implements [Clock].
func (f Funcs) Now() time.Time {
	if f.NowFunc == nil {
		return time.Now()
	}
	return f.NowFunc()
}

// After implements [Clock].
func (f Funcs) After(d time.Duration) <-chan time.Time {
	if f.AfterFunc == nil {
		return time.After(d)
	}
	return f.AfterFunc(d)
}

// Sleep implements [Clock].
func (f Funcs) Sleep(ctx context.Context, d time.Duration) error {
	if f.SleepFunc == nil {
		return Sleep(ctx, d)
	}
	return f.SleepFunc(ctx, d)
}

// Random implements [Clock].
func (f Funcs) Random() float64 {
	if f.RandomFunc == nil {
		return rand.Float64()
	}
	return f.RandomFunc()
}
