package limit

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
)

// newShared is a Limiter among several processes, with the id of its target.
func newShared(t *testing.T, cfg config.Target) (all *Limiters, l *Limiter) {
	t.Helper()
	all = Shared()
	l = all.Limiter(cfg, (&Breakers{}).Breaker(cfg, ""), testClock())
	if got := all.All(); len(got) != 1 {
		t.Fatalf("the limiters are %v, want one", got)
	}
	return all, l
}

// TestAShareIsWaitedFor: nothing is sent before there is one, and then as much as it
// says.
func TestAShareIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, l := newShared(t, config.Target{Name: "bot", Concurrency: 16})
		if got := open(t, l); got != 0 {
			t.Errorf("%d calls are sent without a share, want none", got)
		}
		select {
		case <-all.Wanted():
		default:
			t.Error("nobody is told that a share is wanted")
		}
		for _, slots := range []int{3, 12, 0, 1} {
			l.Use(Share{Slots: slots, Part: float64(slots) / 16})
			if got := open(t, l); got != slots {
				t.Errorf("%d calls are in flight, want the share of %d", got, slots)
			}
		}
		// A call that ends does not open what the share does not have.
		p := acquire(t, l, Caller{})
		l.Use(Share{})
		p.Done(Outcome{Kind: Throttled, After: time.Second})
		if got := open(t, l); got != 0 {
			t.Errorf("%d calls are sent after the share was taken back, want none", got)
		}
	})
}

// TestUsage is the report to the others.
func TestUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := newShared(t, config.Target{Name: "bot", Concurrency: 16})
		l.Use(Share{Slots: 2, Part: 0.125})
		first, second := acquire(t, l, Caller{}), acquire(t, l, Caller{})
		for range 3 {
			go func() {
				if p, err := l.Acquire(t.Context(), Caller{}); err == nil {
					p.Done(Outcome{})
				}
			}()
		}
		synctest.Wait()
		if got := l.Usage(); got.Size != 16 || got.InFlight != 2 || got.Want != 5 {
			t.Errorf("the usage is %+v, want 2 calls in flight of 16 and 3 that wait", got)
		}
		first.Done(Outcome{Kind: Answered})
		second.Done(Outcome{Kind: Throttled, After: time.Minute})
		got := l.Usage()
		if got.Replies != 1 || got.Refusals != 1 || got.Pause != time.Minute {
			t.Errorf("the usage is %+v, want a reply, and a refusal for a minute", got)
		}
		if got = l.Usage(); got.Replies != 0 || got.Refusals != 0 {
			t.Errorf("the usage is %+v, want what was told before left out", got)
		}
		time.Sleep(time.Hour)
	})
}

// TestTheDemandOfLateCounts: a target that is asked again and again keeps its share
// between two calls, and not for long after the last one.
func TestTheDemandOfLateCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := newShared(t, config.Target{Name: "bot", Concurrency: 16})
		l.Use(Share{Slots: 16, Part: 1})
		first, second := acquire(t, l, Caller{}), acquire(t, l, Caller{})
		first.Done(Outcome{Kind: Answered})
		second.Done(Outcome{Kind: Answered})
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{0, 2}, {900 * time.Millisecond, 2}, {100 * time.Millisecond, 2}, {time.Second, 0}} {
			time.Sleep(step.after)
			if got := l.Usage(); got.Want != step.want || got.InFlight != 0 {
				t.Errorf("%v later the usage is %+v, want none in flight and a demand of %d", step.after, got, step.want)
			}
		}
		acquire(t, l, Caller{}).Done(Outcome{Kind: Answered})
		time.Sleep(time.Hour)
		if got := l.Usage(); got.Want != 0 {
			t.Errorf("an hour after the last call the usage is %+v, want no demand", got)
		}
	})
}

// TestPartsOfRates: a process sends its part of the allowed requests a minute.
func TestPartsOfRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := newShared(t, config.Target{Name: "bot", Concurrency: 4, RequestsPerMinute: 60})
		l.Use(Share{Slots: 2, Part: 0.5})
		begun := time.Now()
		for range 33 {
			acquire(t, l, Caller{}).Done(Outcome{Kind: Answered})
		}
		if took := time.Since(begun); took < 59*time.Second || took > 65*time.Second {
			t.Errorf("33 calls at 30 a minute, of which 3 are free at first, took %v, want about a minute", took)
		}
	})
}

// TestWhatOthersFound: what another process found out holds here, until it does not.
func TestWhatOthersFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := newShared(t, config.Target{Name: "bot"})
		up := Share{Slots: 1, Part: 1}
		down := up
		down.Down, down.Rest = &Down{Failures: 10, Last: "401"}, time.Minute
		l.Use(down)
		var found *Down
		if _, err := l.Acquire(t.Context(), Caller{}); !errors.As(err, &found) || found.Target != "bot" || found.Failures != 10 {
			t.Errorf("a call to a target that is down gives %v", err)
		}
		if got := l.Usage(); got.Down != nil {
			t.Errorf("the usage says %+v, which another process has found", got.Down)
		}
		l.Use(up)
		acquire(t, l, Caller{}).Done(Outcome{Kind: Answered})
		// The share of another process does not undo an outage that this one found.
		for range most {
			acquire(t, l, Caller{}).Done(Outcome{Kind: Failed, Message: "no"})
		}
		if got := l.Usage(); got.Down == nil || got.Rest != firstRest {
			t.Errorf("the usage is %+v, want that the target is down", got)
		}
		l.Use(up)
		if _, err := l.Acquire(t.Context(), Caller{}); !errors.As(err, &found) {
			t.Errorf("a call gives %v, want that the target is down", err)
		}
		// A pause of another process is kept.
		time.Sleep(firstRest)
		paused := up
		paused.Pause = time.Minute
		l.Use(paused)
		begun := time.Now()
		acquire(t, l, Caller{}).Done(Outcome{Kind: Answered})
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("a call waits for %v, want the minute of the pause", took)
		}
	})
}
