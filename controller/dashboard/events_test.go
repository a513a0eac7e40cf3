package dashboard_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-evals/gavel/controller/dashboard"
)

// A reader takes so many writes and fails after that.
type reader struct {
	*httptest.ResponseRecorder
	takes int
}

func (r *reader) Write(data []byte) (int, error) {
	if r.takes--; r.takes < 0 {
		return 0, errors.New("the reader has left")
	}
	return r.ResponseRecorder.Write(data)
}

// TestEventStream holds every byte that a reader gets: a state when it changes, and a comment
// every two seconds. A reader that has left is written to once, at whatever event.
func TestEventStream(t *testing.T) {
	const begin, second, comment = "retry: 2000\n\ndata: 1\n\n", "data: 2\n\n", ":\n\n"
	for _, tt := range []struct {
		name   string
		takes  int
		states []int // the last one stays
		want   string
		reads  int // of the state
	}{
		{"nothing changes", 9, []int{1}, begin + comment + comment, 4},
		{"a change", 9, []int{1, 1, 2}, begin + comment + second + comment, 4},
		{"back again", 9, []int{1, 2, 1}, begin + second + comment + "data: 1\n\n" + comment, 4},
		{"left at the beginning", 0, []int{1}, "", 1},
		{"left at a change", 1, []int{1, 2}, begin, 2},
		{"left at a comment", 1, []int{1}, begin, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				w := &reader{httptest.NewRecorder(), tt.takes}
				reads := 0
				// The clock is the one of the bubble.
				err := dashboard.StreamEvents(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil), dashboard.EventSource{State: func(context.Context) (any, error) {
					reads++
					return tt.states[min(reads, len(tt.states))-1], nil
				}})
				if err != nil {
					t.Errorf("Stream returns %v, want nothing", err)
				}
				if got := w.Body.String(); got != tt.want {
					t.Errorf("the reader gets %q, want %q", got, tt.want)
				}
				if reads != tt.reads {
					t.Errorf("the state is read %d times, want %d", reads, tt.reads)
				}
			})
		})
	}
}

// TestHeaders lets neither a browser nor a proxy wait for the end of the stream, and says
// of a first state that cannot be found out nothing but the error.
func TestHeaders(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	w := httptest.NewRecorder()
	if err := dashboard.StreamEvents(w, r, dashboard.EventSource{State: func(context.Context) (any, error) { return 1, nil }}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ name, value string }{{"Content-Type", "text/event-stream"}, {"X-Accel-Buffering", "no"}} {
		if got := w.Header().Get(want.name); got != want.value {
			t.Errorf("%s is %q, want %q", want.name, got, want.value)
		}
	}
	if !w.Flushed || !strings.HasPrefix(w.Body.String(), "retry:") {
		t.Errorf("flushed %v, body %q, want the first event flushed", w.Flushed, w.Body)
	}
	w, broken := httptest.NewRecorder(), errors.New("broken")
	err := dashboard.StreamEvents(w, r, dashboard.EventSource{State: func(context.Context) (any, error) { return nil, broken }})
	if !errors.Is(err, broken) || w.Body.Len() > 0 || len(w.Header()) > 0 {
		t.Errorf("Stream returns %v and writes %q with the headers %v, want the error alone", err, w.Body, w.Header())
	}
	if err := dashboard.StreamEvents(w, r, dashboard.EventSource{State: func(context.Context) (any, error) { return make(chan int), nil }}); err == nil {
		t.Error("the state that is not JSON is accepted")
	}
}
