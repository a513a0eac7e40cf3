package dashboard_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/dashboard"
)

// TestStream tells the state at the beginning and after each change, and nothing where
// nothing has changed. It outlives the limits of a server for requests.
func TestStream(t *testing.T) {
	var state atomic.Pointer[string]
	put := func(text string) { state.Store(&text) }
	put("one")
	ticks := make(chan time.Time)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := dashboard.StreamEvents(w, r, dashboard.EventSource{
			State: func(context.Context) (any, error) {
				if text := *state.Load(); text != "broken" {
					return text, nil
				}
				return nil, errors.New("broken")
			},
			After: func(time.Duration) <-chan time.Time { return ticks },
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	srv.Config.ReadTimeout, srv.Config.WriteTimeout = 50*time.Millisecond, 50*time.Millisecond
	srv.Start()
	defer srv.Close()
	res, err := http.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	read := func(want string) {
		t.Helper()
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if text != want {
					t.Errorf("the event is %s, want %s", text, want)
				}
				return
			}
		}
		t.Fatalf("the stream ended before %s: %v", want, lines.Err())
	}
	read(`"one"`)
	for range 5 { // nothing has changed
		ticks <- time.Time{}
	}
	put("two\nlines")
	ticks <- time.Time{}
	read(`"two\nlines"`)
	put("broken")
	close(ticks) // the stream may have ended already, and takes no tick then
	if lines.Scan() && strings.HasPrefix(lines.Text(), "data") {
		t.Errorf("after an error comes %s", lines.Text())
	}
	if res, err := http.Get(srv.URL); err != nil || res.StatusCode != http.StatusInternalServerError {
		t.Errorf("a state that cannot be found out: %v, %v", res, err)
	}
}

// TestChanged tells at once what somebody says has changed.
func TestChanged(t *testing.T) {
	changed := make(chan struct{})
	var n atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = dashboard.StreamEvents(w, r, dashboard.EventSource{
			State: func(context.Context) (any, error) { return n.Load(), nil },
			Changed: func() <-chan struct{} {
				if n.Load() > 0 {
					return nil
				}
				return changed
			},
			After: func(d time.Duration) <-chan time.Time {
				if d > time.Second {
					return nil // the clock never says
				}
				now := make(chan time.Time, 1)
				now <- time.Time{}
				return now
			},
		})
	}))
	defer srv.Close()
	res, err := http.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	n.Store(1)
	close(changed)
	for lines := bufio.NewScanner(res.Body); ; {
		if !lines.Scan() {
			t.Fatal("the change is not told")
		}
		if lines.Text() == "data: 1" {
			return
		}
	}
}
