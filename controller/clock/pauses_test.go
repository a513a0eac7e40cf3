package clock_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
)

func TestPausesDoubleUpToABound(t *testing.T) {
	d := clock.Doubling{First: time.Second, Most: 5 * time.Second}
	for _, tt := range []struct {
		n    int
		want time.Duration
	}{
		{-1, time.Second}, {0, time.Second}, {1, 2 * time.Second}, {2, 4 * time.Second}, {3, 5 * time.Second}, {math.MaxInt, 5 * time.Second},
	} {
		if got := d.Pause(tt.n); got != tt.want {
			t.Errorf("the pause after %d others is %s, want %s", tt.n, got, tt.want)
		}
	}
	if got := (clock.Doubling{First: time.Minute, Most: time.Second}).Pause(0); got != time.Second {
		t.Errorf("a first pause of a minute with a bound of a second is %s, want 1s", got)
	}
	if got := (clock.Doubling{First: 1, Most: math.MaxInt64}).Pause(100); got != math.MaxInt64 {
		t.Errorf("the pause after 100 others without a bound is %s, want the longest that there is", got)
	}
}

func TestJitterTakesUpToHalf(t *testing.T) {
	d := clock.Doubling{First: 4 * time.Second, Most: time.Minute}
	for _, tt := range []struct {
		random float64
		want   time.Duration
	}{{0, 4 * time.Second}, {0.5, 6 * time.Second}, {1, 8 * time.Second}} {
		if got := d.Jittered(1, func() float64 { return tt.random }); got != tt.want {
			t.Errorf("with the random number %g the pause is %s, want %s", tt.random, got, tt.want)
		}
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := clock.Sleep(t.Context(), time.Hour); err != nil || time.Since(start) != time.Hour {
			t.Errorf("a sleep of 1h took %s and returned %v, want 1h and no error", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start = time.Now()
		if err := clock.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("a sleep whose context ends after 1m took %s and returned %v, want 1m and %v", time.Since(start), err, context.DeadlineExceeded)
		}
	})
}
