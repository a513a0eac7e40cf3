package forge

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

var errAway = &url.Error{Op: "Post", URL: "https://forge.example", Err: errors.New("connection refused")}

// TestWaits doubles up to a minute and ends with the time that there is.
func TestWaits(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name   string
		random float64
		bound  time.Duration
		want   []time.Duration
	}{
		{"no time", 1, 0, nil},
		{"three minutes", 1, 3 * time.Minute, []time.Duration{2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 58 * s}},
		{"jitter", 0.5, 10 * s, []time.Duration{1500 * time.Millisecond, 3 * s, 5500 * time.Millisecond}},
	} {
		fake, tries := &forgetest.Clock{}, 0
		cfg := Retry{For: tt.bound, Clock: clock.Funcs{NowFunc: fake.Now, SleepFunc: fake.Sleep, RandomFunc: func() float64 { return tt.random }}}
		err := cfg.Do(t.Context(), func() error { tries++; return errAway })
		if !errors.Is(err, errAway) || tries != len(tt.want)+1 {
			t.Errorf("%s: %v after %d tries", tt.name, err, tries)
		}
		if diff := cmp.Diff(tt.want, fake.Waits()); diff != "" {
			t.Errorf("%s: waits, -want +got:\n%s", tt.name, diff)
		}
	}
}

// TestEnds with success, with what no wait changes, and with the caller.
func TestEnds(t *testing.T) {
	denied := &DeniedError{Status: 403}
	for _, tt := range []struct {
		name  string
		err   error // of the second try
		ends  bool  // the caller does
		want  error
		tries int
	}{
		{"success", nil, false, nil, 2},
		{"refusal", denied, false, denied, 2},
		{"caller", nil, true, errAway, 1},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		if tt.ends {
			cancel()
		}
		fake, tries := &forgetest.Clock{}, 0
		err := Retry{For: time.Hour, Clock: fake}.Do(ctx, func() error {
			if tries++; tries == 1 {
				return errAway
			}
			return tt.err
		})
		cancel()
		if err != tt.want || tries != tt.tries {
			t.Errorf("%s: %v after %d tries, want %v after %d", tt.name, err, tries, tt.want, tt.tries)
		}
	}
}

// TestALimit is waited for as long as the forge asks, where there is time.
func TestALimit(t *testing.T) {
	for _, tt := range []struct {
		bound time.Duration
		want  []time.Duration
	}{
		{10 * time.Minute, []time.Duration{5 * time.Minute}},
		{time.Minute, nil},
	} {
		fake, tries := &forgetest.Clock{}, 0
		limit := &LimitError{Until: fake.Now().Add(5 * time.Minute)}
		err := Retry{For: tt.bound, Clock: clock.Funcs{NowFunc: fake.Now, SleepFunc: fake.Sleep, RandomFunc: func() float64 { return 0 }}}.Do(t.Context(), func() error {
			if tries++; tries == 1 {
				return limit
			}
			return nil
		})
		if diff := cmp.Diff(tt.want, fake.Waits()); diff != "" || (err == nil) != (tt.want != nil) {
			t.Errorf("%v: %v, waits -want +got:\n%s", tt.bound, err, diff)
		}
	}
}
