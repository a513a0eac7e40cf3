package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/reconcile"
)

// An eventLog records the actions with their times, in seconds after the start.
type eventLog struct {
	mu    sync.Mutex
	start time.Time
	notes []string
}

func (d *eventLog) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, fmt.Sprintf("%v ", time.Since(d.start))+fmt.Sprintf(format, args...))
}

// bubble runs a loop in virtual time and ends it.
func bubble(t *testing.T, cfg reconcile.Config[string], do func(*reconcile.Loop[string], *eventLog)) []string {
	t.Helper()
	d := &eventLog{}
	synctest.Test(t, func(t *testing.T) {
		d.start = time.Now()
		inner := cfg.Reconcile
		cfg.Reconcile = func(ctx context.Context, key string) error {
			d.note("begin %s", key)
			err := inner(ctx, key)
			d.note("end %s: %v", key, err)
			return err
		}
		if cfg.Random == nil {
			cfg.Random = func() float64 { return 1 }
		}
		l := reconcile.New(cfg)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.Run(ctx) }()
		do(l, d)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v", err)
		}
	})
	return d.notes
}

func takes(d time.Duration) func(context.Context, string) error {
	return func(ctx context.Context, _ string) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// TestOneRunningOneWaiting: however many hints come while a key is in progress,
// it runs once more.
func TestOneRunningOneWaiting(t *testing.T) {
	got := bubble(t, reconcile.Config[string]{Reconcile: takes(10 * time.Second)}, func(l *reconcile.Loop[string], _ *eventLog) {
		for range 5 {
			l.Add("a")
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
	})
	want := []string{"0s begin a", "10s end a: <nil>", "10s begin a", "20s end a: <nil>"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestANewHeadEndsTheOldRun once it learns that the run is stale.
func TestANewHeadEndsTheOldRun(t *testing.T) {
	var stale atomic.Bool
	got := bubble(t, reconcile.Config[string]{
		Reconcile: takes(10 * time.Second),
		Stale:     func(context.Context, string) bool { return stale.Load() },
	}, func(l *reconcile.Loop[string], _ *eventLog) {
		l.Add("a")
		time.Sleep(time.Second)
		l.Add("a") // a comment
		time.Sleep(time.Second)
		stale.Store(true)
		l.Add("a") // a push
		synctest.Wait()
		stale.Store(false)
		time.Sleep(time.Minute)
	})
	want := []string{"0s begin a", "2s end a: superseded", "2s begin a", "12s end a: <nil>"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestErrorsSayWhatComesNext: stall, wait, try again.
func TestErrorsSayWhatComesNext(t *testing.T) {
	left := map[string][]error{
		"stall": {&reconcile.Stall{Err: errors.New("no permission")}},
		"wait":  {&reconcile.Wait{After: 30 * time.Second}},
		"retry": {errors.New("500"), errors.New("500"), errors.New("500")},
	}
	for _, tt := range []struct {
		key  string
		want []string
	}{
		{"stall", []string{"0s begin stall", "0s end stall: no permission"}},
		{"wait", []string{"0s begin wait", "0s end wait: look again after 30s", "30s begin wait", "30s end wait: <nil>"}},
		{"retry", []string{
			"0s begin retry", "0s end retry: 500", "1s begin retry", "1s end retry: 500",
			"3s begin retry", "3s end retry: 500", "7s begin retry", "7s end retry: <nil>",
		}},
	} {
		t.Run(tt.key, func(t *testing.T) {
			got := bubble(t, reconcile.Config[string]{Reconcile: func(context.Context, string) error {
				errs := left[tt.key]
				if len(errs) == 0 {
					return nil
				}
				left[tt.key] = errs[1:]
				return errs[0]
			}}, func(l *reconcile.Loop[string], _ *eventLog) {
				l.Add(tt.key)
				time.Sleep(10 * time.Minute)
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAHintEndsTheWait: nobody waits for a try when there is news.
func TestAHintEndsTheWait(t *testing.T) {
	tries := 0
	got := bubble(t, reconcile.Config[string]{Reconcile: func(context.Context, string) error {
		if tries++; tries == 1 {
			return &reconcile.Wait{After: time.Hour, Err: errors.New("limit")}
		}
		return nil
	}}, func(l *reconcile.Loop[string], _ *eventLog) {
		l.Add("a")
		time.Sleep(time.Minute)
		l.Add("a")
		time.Sleep(2 * time.Hour)
	})
	want := []string{"0s begin a", "0s end a: limit", "1m0s begin a", "1m0s end a: <nil>"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWorkers bounds how many keys run at once, the oldest first.
func TestWorkers(t *testing.T) {
	got := bubble(t, reconcile.Config[string]{Reconcile: takes(time.Second), Workers: 1}, func(l *reconcile.Loop[string], d *eventLog) {
		for _, key := range []string{"a", "b", "c", "b"} {
			l.Add(key)
		}
		synctest.Wait()
		waiting, running := l.Depth()
		d.note("%d wait, %d run", waiting, running)
		time.Sleep(time.Minute)
	})
	want := []string{
		"0s begin a", "0s 2 wait, 1 run", "1s end a: <nil>", "1s begin b", "2s end b: <nil>", "2s begin c", "3s end c: <nil>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// failures are the errors with which keys ended.
type failures struct {
	mu  sync.Mutex
	all []string // guarded by mu
}

func (f *failures) note(key string, _ time.Duration, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.all = append(f.all, key+": "+err.Error())
	}
}

// TestAPanicOfTheLook at whether a run is of use: the run goes on.
func TestAPanicOfTheLook(t *testing.T) {
	var failed failures
	got := bubble(t, reconcile.Config[string]{
		Reconcile: func(context.Context, string) error { time.Sleep(time.Minute); return nil },
		Stale:     func(context.Context, string) bool { panic("a null field") },
		Done:      failed.note,
	}, func(l *reconcile.Loop[string], _ *eventLog) {
		l.Add("bad")
		time.Sleep(time.Second)
		l.Add("bad")
		time.Sleep(time.Hour)
	})
	want := []string{"0s begin bad", "1m0s end bad: <nil>", "1m0s begin bad", "2m0s end bad: <nil>"}
	if diff := cmp.Diff(want, got); diff != "" || len(failed.all) != 1 || !strings.HasPrefix(failed.all[0], "bad: panic: a null field\n") {
		t.Errorf("errors %v, -want +got:\n%s", failed.all, diff)
	}
}

// TestAPanicIsContained: the key is tried again, the others never notice.
func TestAPanicIsContained(t *testing.T) {
	var failed failures
	tries := 0
	got := bubble(t, reconcile.Config[string]{
		Reconcile: func(_ context.Context, key string) error {
			if key == "bad" {
				if tries++; tries == 1 {
					panic("a null field")
				}
			}
			return nil
		},
		Done: failed.note,
	}, func(l *reconcile.Loop[string], _ *eventLog) {
		l.Add("bad")
		l.Add("good")
		time.Sleep(time.Minute)
	})
	if len(failed.all) != 1 || !strings.HasPrefix(failed.all[0], "bad: panic: a null field\n") {
		t.Errorf("errors %v", failed.all)
	}
	joined := strings.Join(got, "\n")
	if !strings.Contains(joined, "0s end good: <nil>") || !strings.Contains(joined, "1s end bad: <nil>") {
		t.Errorf("the events are %v, want both keys to end without an error", got)
	}
}

// TestTheEndIsGraceful: Run returns when the runs below are down.
func TestTheEndIsGraceful(t *testing.T) {
	got := bubble(t, reconcile.Config[string]{Reconcile: func(ctx context.Context, _ string) error {
		<-ctx.Done()
		time.Sleep(3 * time.Second) // it stores what it has
		return ctx.Err()
	}}, func(l *reconcile.Loop[string], _ *eventLog) {
		l.Add("a")
		time.Sleep(time.Second)
	})
	want := []string{"0s begin a", "4s end a: context canceled"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTheWaitBetweenTries doubles up to a bound and has a jitter of up to a half.
func TestTheWaitBetweenTries(t *testing.T) {
	for _, tt := range []struct {
		random float64
		want   []string
	}{
		{0, []string{"0s", "500ms", "1.5s", "3.5s", "6.5s", "9.5s"}},
		{0.5, []string{"0s", "750ms", "2.25s", "5.25s", "9.75s", "14.25s"}},
	} {
		cfg := reconcile.Config[string]{
			Most: 6 * time.Second, Random: func() float64 { return tt.random },
			Reconcile: func(context.Context, string) error { return errors.New("500") },
		}
		var got []string
		for _, note := range bubble(t, cfg, func(l *reconcile.Loop[string], _ *eventLog) {
			l.Add("a")
			time.Sleep(15 * time.Second)
		}) {
			if at, _, begins := strings.Cut(note, " begin"); begins {
				got = append(got, at)
			}
		}
		if diff := cmp.Diff(tt.want, got[:min(len(got), len(tt.want))]); diff != "" {
			t.Errorf("jitter %v (-want +got):\n%s", tt.random, diff)
		}
	}
}

// TestSuccessEndsTheTries: the next failure is the first one again.
func TestSuccessEndsTheTries(t *testing.T) {
	tries := 0
	got := bubble(t, reconcile.Config[string]{Reconcile: func(context.Context, string) error {
		if tries++; tries == 3 {
			return nil
		}
		return errors.New("500")
	}}, func(l *reconcile.Loop[string], _ *eventLog) {
		l.Add("a")
		time.Sleep(10 * time.Second)
		l.Add("a")
		time.Sleep(1500 * time.Millisecond)
	})
	want := []string{
		"0s begin a", "0s end a: 500", "1s begin a", "1s end a: 500", "3s begin a", "3s end a: <nil>",
		"10s begin a", "10s end a: 500", "11s begin a", "11s end a: 500",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBackground leaves a worker to the others, which also go first.
func TestBackground(t *testing.T) {
	got := bubble(t, reconcile.Config[string]{
		Reconcile: takes(10 * time.Second), Workers: 2,
		Background: func(key string) bool { return strings.HasPrefix(key, "night") },
	}, func(l *reconcile.Loop[string], _ *eventLog) {
		for _, key := range []string{"night 1", "night 2"} {
			l.Add(key)
		}
		time.Sleep(time.Second)
		l.Add("day 1")
		time.Sleep(time.Second)
		l.Add("day 2")
		time.Sleep(time.Minute)
	})
	want := []string{
		"0s begin night 1", "1s begin day 1", "10s end night 1: <nil>", "10s begin day 2",
		"11s end day 1: <nil>", "11s begin night 2", "20s end day 2: <nil>", "21s end night 2: <nil>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPatience: who is not in a hurry does not end the wait for another try.
func TestPatience(t *testing.T) {
	tries := 0
	got := bubble(t, reconcile.Config[string]{Reconcile: func(context.Context, string) error {
		if tries++; tries == 1 {
			return errors.New("500")
		}
		return nil
	}}, func(l *reconcile.Loop[string], _ *eventLog) {
		l.AddIfIdle("a")
		time.Sleep(time.Millisecond)
		l.AddIfIdle("a")
		time.Sleep(time.Minute)
		l.AddIfIdle("a")
		time.Sleep(time.Minute)
	})
	want := []string{"0s begin a", "0s end a: 500", "1s begin a", "1s end a: <nil>", "1m0.001s begin a", "1m0.001s end a: <nil>"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
