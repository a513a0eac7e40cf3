package limit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
)

func testClock() clock.Clock {
	return clock.Funcs{NowFunc: time.Now, RandomFunc: func() float64 { return 1 }, SleepFunc: func(ctx context.Context, d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
}

func newLimiter(t config.Target) *Limiter { return New(t, (&Breakers{}).Breaker(t, ""), testClock()) }

// acquire takes a place or fails the test.
func acquire(t *testing.T, l *Limiter, c Caller) *Permit {
	t.Helper()
	p, err := l.Acquire(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// open counts the calls that may be in progress at once.
func open(t *testing.T, l *Limiter) int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	places := make(chan *Permit, 100)
	for range 100 {
		group.Go(func() {
			if p, err := l.Acquire(ctx, Caller{}); err == nil {
				places <- p
			}
		})
	}
	time.Sleep(time.Hour)
	n := len(places)
	cancel()
	group.Wait()
	for range n {
		(<-places).Done(Outcome{})
	}
	return n
}

// TestRunsTakeTurns has a run with one call come before the rest of a run with many, and
// a caller that gives up take no turn.
func TestRunsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(config.Target{Name: "bot", Concurrency: 1})
		first := acquire(t, l, Caller{})
		var group sync.WaitGroup
		var order []string // one call at a time
		call := func(ctx context.Context, run, name string) {
			group.Go(func() {
				p, err := l.Acquire(ctx, Caller{Run: run})
				if err != nil {
					return
				}
				order = append(order, name)
				p.Done(Outcome{Kind: Answered})
			})
			synctest.Wait()
		}
		impatient, give := context.WithCancel(t.Context())
		call(t.Context(), "front", "front") // it has the turn, and waits for the call
		for i := range 4 {
			call(t.Context(), "large", fmt.Sprint("large ", i))
		}
		call(impatient, "gone", "gone")
		call(t.Context(), "small", "small")
		call(t.Context(), "other", "other 0")
		call(t.Context(), "other", "other 1")
		give()
		synctest.Wait()
		if in, waiting := l.slots.queued(), l.turn.queued(); in != 1 || waiting != 7 {
			t.Errorf("%d callers have the turn and %d wait for it, want 1 and 7", in, waiting)
		}
		first.Done(Outcome{Kind: Answered})
		group.Wait()
		want := []string{"front", "large 0", "small", "other 0", "large 1", "other 1", "large 2", "large 3"}
		if !slices.Equal(order, want) {
			t.Errorf("calls in the order %v, want %v", order, want)
		}
	})
}

// TestARefusalHalvesWhatIsAskedAtOnce counts how many calls may be in progress after
// refusals, several of one moment counting as one, and after replies.
func TestARefusalHalvesWhatIsAskedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(config.Target{Name: "bot", Concurrency: 16})
		acquire(t, l, Caller{}).Done(Outcome{Kind: Answered})
		want := func(what string, n int) {
			t.Helper()
			if got := open(t, l); got != n {
				t.Errorf("%s: %d calls at once, want %d", what, got, n)
			}
		}
		want("at first", 16)
		var burst []*Permit
		for range 16 {
			burst = append(burst, acquire(t, l, Caller{}))
		}
		for _, p := range burst {
			p.Done(Outcome{Kind: Throttled})
		}
		want("after a burst", 8)
		acquire(t, l, Caller{}).Done(Outcome{Kind: Answered})
		acquire(t, l, Caller{}).Done(Outcome{Kind: Throttled})
		acquire(t, l, Caller{}).Done(Outcome{Kind: Answered})
		want("after one more", 4)
		acquire(t, l, Caller{}).Done(Outcome{Kind: Throttled})
		want("after a third", 2)
		for n := 2; n < 8; n++ {
			for range growth*n - 1 {
				acquire(t, l, Caller{}).Done(Outcome{Kind: Answered})
			}
			want("one reply before there are more", n)
			acquire(t, l, Caller{}).Done(Outcome{Kind: Answered})
			want(fmt.Sprint("after ", growth*n, " replies"), n+1)
		}
		for range 10 {
			acquire(t, l, Caller{}).Done(Outcome{Kind: Throttled})
			acquire(t, l, Caller{}).Done(Outcome{Kind: Answered})
		}
		want("after many", 1)
	})
}

// TestHeld says for how long nothing is sent, by target.
func TestHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all Limiters
		var breakers Breakers
		var limiters [3]*Limiter
		for i, name := range []string{"bot", "alice", "judge"} {
			cfg := config.Target{Name: name, BaseURL: "http://" + name}
			limiters[i] = all.Limiter(cfg, breakers.Breaker(cfg, ""), testClock())
		}
		if held := all.Held(); held != "" {
			t.Errorf("before any call: %q", held)
		}
		acquire(t, limiters[0], Caller{}).Done(Outcome{Kind: Throttled, After: 30 * time.Second})
		acquire(t, limiters[1], Caller{}).Done(Outcome{Kind: Throttled, After: 20 * time.Second})
		time.Sleep(3 * time.Second)
		const want = "alice refused calls as too many; the next one is sent in 17 s; bot refused calls as too many; the next one is sent in 27 s"
		if held := all.Held(); held != want {
			t.Errorf("after two refusals: %q, want %q", held, want)
		}
		time.Sleep(27 * time.Second)
		if held := all.Held(); held != "" {
			t.Errorf("after the pauses: %q", held)
		}
	})
}

// TestTheWaitsThatCount has a case that has begun wait for the provider and for
// the rates, which counts, and for other calls, which does not.
func TestTheWaitsThatCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(config.Target{Name: "bot", Concurrency: 1, RequestsPerMinute: 6})
		first := acquire(t, l, Caller{})
		time.AfterFunc(15*time.Second, func() { first.Done(Outcome{Kind: Throttled, After: 7 * time.Second}) })
		// 15 s for the place, in which the rate allows a call, and 7 s for the provider.
		second := acquire(t, l, Caller{Begun: true, Left: time.Minute})
		if held := second.Held(); held != 7*time.Second {
			t.Errorf("%s count", held)
		}
		second.Done(Outcome{Kind: Answered})
		third := acquire(t, l, Caller{Begun: true, Left: time.Minute})
		if held := third.Held().Round(time.Second); held != 3*time.Second {
			t.Errorf("%s count for the rate", held)
		}
		third.Done(Outcome{Kind: Answered})
		var late *Late
		if _, err := l.Acquire(t.Context(), Caller{Begun: true, Left: 5 * time.Second}); !errors.As(err, &late) || late.Wait.Round(time.Second) != 10*time.Second {
			t.Errorf("a wait of 10 s with 5 s left: %v", err)
		}
		fresh := acquire(t, l, Caller{Left: 5 * time.Second})
		if held := fresh.Held(); held != 0 {
			t.Errorf("%s count for a case that has not begun", held)
		}
		fresh.Done(Outcome{})
	})
}

// TestCasesThatHaveBegunComeFirst lets five callers wait, and the others later.
func TestCasesThatHaveBegunComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(config.Target{Name: "bot", Concurrency: 1})
		blocking := acquire(t, l, Caller{})
		var group sync.WaitGroup
		var order []string
		for _, c := range []struct {
			name  string
			begun bool
		}{{"head", false}, {"new 1", false}, {"new 2", false}, {"begun 1", true}, {"begun 2", true}} {
			group.Go(func() {
				p := acquire(t, l, Caller{Begun: c.begun, Left: time.Hour})
				order = append(order, c.name)
				p.Done(Outcome{Kind: Answered})
			})
			synctest.Wait()
		}
		blocking.Done(Outcome{Kind: Answered})
		group.Wait()
		if want := []string{"head", "begun 1", "begun 2", "new 1", "new 2"}; !slices.Equal(order, want) {
			t.Errorf("the order is %q, want %q", order, want)
		}
	})
}

// TestGivingUpLeavesNoGap has callers give up where they wait: those behind them
// are let in.
func TestGivingUpLeavesNoGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(config.Target{Name: "bot", Concurrency: 1})
		p := acquire(t, l, Caller{})
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for range 3 { // one waits for the place, the others for their turn
			group.Go(func() {
				if _, err := l.Acquire(ctx, Caller{}); !errors.Is(err, context.Canceled) {
					t.Errorf("a caller that gave up: %v", err)
				}
			})
			synctest.Wait()
		}
		cancel()
		group.Wait()
		p.Done(Outcome{Kind: Answered})
		acquire(t, l, Caller{}).Done(Outcome{})
	})
}

// failing makes calls that fail until none is let through.
func failing(t *testing.T, l *Limiter) (calls int, down *Down) {
	t.Helper()
	for {
		p, err := l.Acquire(t.Context(), Caller{})
		if errors.As(err, &down) {
			return calls, down
		}
		if err != nil || calls > 100 {
			t.Fatal(calls, err)
		}
		calls++
		p.Done(Outcome{Kind: Failed, Message: fmt.Sprint("fault ", calls)})
	}
}

// TestHalfOpen has an endpoint be down, and tried with one call after a while,
// for which the others wait.
func TestHalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(config.Target{Name: "bot"})
		for range 9 {
			acquire(t, l, Caller{}).Done(Outcome{Kind: Failed})
		}
		acquire(t, l, Caller{}).Done(Outcome{}) // says nothing
		acquire(t, l, Caller{}).Done(Outcome{Kind: Answered})
		calls, down := failing(t, l)
		if want := "not run: target bot is down: 10 calls in a row failed, the last with: fault 10"; calls != 10 || down.Error() != want {
			t.Errorf("after %d calls it is %q, want %q", calls, down, want)
		}
		for _, rest := range []time.Duration{30, 60, 120, 240, 300, 300} {
			time.Sleep(rest*time.Second - time.Nanosecond)
			if calls, _ := failing(t, l); calls != 0 || l.Down() == nil {
				t.Errorf("%d calls within %d s", calls, rest)
			}
			time.Sleep(time.Nanosecond)
			if l.Down() != nil {
				t.Errorf("it is not tried again after %d s", rest)
			}
			if calls, _ := failing(t, l); calls != 1 {
				t.Errorf("%d calls after %d s", calls, rest)
			}
		}
		time.Sleep(lastRest)
		probe := acquire(t, l, Caller{})
		var group sync.WaitGroup
		for range 5 {
			group.Go(func() { acquire(t, l, Caller{}).Done(Outcome{Kind: Answered}) })
		}
		synctest.Wait()
		probe.Done(Outcome{Kind: Answered})
		group.Wait()
		if calls, _ := failing(t, l); calls != 10 {
			t.Errorf("an endpoint that was back is down after %d calls", calls)
		}
	})
}

// TestFailuresUnderWay has many calls begin before the first fails, and counts
// those that begin while it is not known whether the endpoint is up.
func TestFailuresUnderWay(t *testing.T) {
	for _, tt := range []struct {
		name     string
		answered bool
		want     int
	}{{"never answered", false, unknown}, {"answered before", true, 50}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter(config.Target{Name: "bot", Concurrency: 50})
				if tt.answered {
					acquire(t, l, Caller{}).Done(Outcome{Kind: Answered})
				}
				var group sync.WaitGroup
				var mu sync.Mutex
				calls := 0
				for range 400 {
					group.Go(func() {
						p, err := l.Acquire(t.Context(), Caller{})
						if err != nil {
							return
						}
						mu.Lock()
						calls++
						mu.Unlock()
						time.Sleep(time.Second)
						p.Done(Outcome{Kind: Failed})
					})
				}
				group.Wait()
				if calls != tt.want {
					t.Errorf("%d calls, want %d", calls, tt.want)
				}
			})
		})
	}
}

// TestEndpoints tells which targets are down together, and that a run begins
// with one call to each.
func TestEndpoints(t *testing.T) {
	var all Breakers
	deployed := config.Target{Name: "a", Provider: config.HTTP, URLTemplate: "https://{sha}.test"}
	small := config.Target{Name: "a", Provider: "openai", Model: "small"}
	same := small
	same.Name, same.Concurrency = "b", 3
	other := small
	other.Model = "large"
	for _, tt := range []struct {
		a, b     config.Target
		atA, atB string
		one      bool
	}{
		{small, same, "1", "2", true}, {small, other, "", "", false}, {deployed, deployed, "1", "1", true}, {deployed, deployed, "1", "2", false},
		{config.Target{Name: "a"}, config.Target{Name: "b"}, "", "", false},
	} {
		if one := all.Breaker(tt.a, tt.atA) == all.Breaker(tt.b, tt.atB); one != tt.one {
			t.Errorf("%+v at %q and %+v at %q are one: %v", tt.a, tt.atA, tt.b, tt.atB, one)
		}
	}
	l := New(small, all.Breaker(small, ""), testClock())
	failing(t, l)
	again := New(small, all.Breaker(small, ""), testClock())
	if calls, _ := failing(t, again); calls != 1 {
		t.Errorf("the next run makes %d calls", calls)
	}
	for n := range 2 * manyEndpoints {
		all.Breaker(deployed, fmt.Sprint(n))
	}
	if n := len(all.of); n > manyEndpoints+1 {
		t.Errorf("%d endpoints are kept", n)
	}
	if all.Breaker(small, "") != l.breaker {
		t.Error("one that is down was forgotten")
	}
}
