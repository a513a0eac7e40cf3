package clock

import (
	"context"
	"time"
)

// Doubling is a series of pauses: First, then twice as long each time, up to
// Most.
type Doubling struct{ First, Most time.Duration }

// Pause returns the pause that follows after n others: First for 0. A negative
// n counts as 0.
func (d Doubling) Pause(n int) time.Duration {
	pause := d.First
	for ; n > 0; n-- {
		if pause > d.Most/2 {
			return d.Most
		}
		pause *= 2
	}
	return min(pause, d.Most)
}

// Jittered returns between a half and the whole of that pause, by a random
// number in [0,1), so that callers which failed together do not come back
// together.
func (d Doubling) Jittered(n int, random func() float64) time.Duration {
	pause := d.Pause(n)
	return pause/2 + time.Duration(random()*float64(pause)/2)
}

// Sleep waits for d. It returns the error of ctx where that ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
