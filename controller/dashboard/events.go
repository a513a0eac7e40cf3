package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// An EventSource is the state that a page follows, and the way to notice its changes.
type EventSource struct {
	// State returns a summary of what a page shows. It is sent at the beginning, and again
	// whenever it has changed.
	State func(context.Context) (any, error)
	// Changed returns a channel that is closed when the state may have changed. If it is nil
	// the state is only polled.
	Changed func() <-chan struct{}
	// After returns a channel that receives when a duration is over. Defaults to
	// [time.After].
	After func(time.Duration) <-chan time.Time
}

const (
	// pollInterval is how long after the last reading the state is read again in any case:
	// other processes write, too.
	pollInterval = 2 * time.Second
	// pause is the least time between two events.
	eventPause = 250 * time.Millisecond
	// writeTimeout bounds the writing of one event.
	writeTimeout = 10 * time.Second
	// longest is how long a stream lasts; the browser then asks again.
	longestStream = time.Hour
)

// StreamEvents answers a request with events until its reader leaves. Each has the state as
// JSON. It returns the error of the first state; a later one ends the stream, and the
// browser asks again.
func StreamEvents(w http.ResponseWriter, r *http.Request, cfg EventSource) error {
	if cfg.After == nil {
		cfg.After = time.After
	}
	ctx, cancel := context.WithTimeout(r.Context(), longestStream)
	defer cancel()
	last, err := encodeState(ctx, cfg)
	if err != nil {
		return err
	}
	control := http.NewResponseController(w)
	// The server's limits are for requests that end.
	_ = control.SetReadDeadline(time.Time{}) // a server without limits has none to lift
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy in front must pass events on
	send := func(text string) error {
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // nor this
		if _, err := fmt.Fprint(w, text); err != nil {
			return err
		}
		return control.Flush()
	}
	if send("retry: 2000\n\ndata: "+string(last)+"\n\n") != nil {
		return nil // the reader has left
	}
	for {
		var changed <-chan struct{}
		if cfg.Changed != nil {
			changed = cfg.Changed()
		}
		now, err := encodeState(ctx, cfg) // after Changed, so that no change is missed
		switch {
		case err != nil:
			return nil
		case !bytes.Equal(now, last):
			if last = now; send("data: "+string(now)+"\n\n") != nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			select {
			case <-ctx.Done():
				return nil
			case <-cfg.After(eventPause):
			}
		case <-cfg.After(pollInterval):
			if send(":\n\n") != nil { // fails if the reader has left
				return nil
			}
		}
	}
}

// encodeState returns the state as JSON, which has no line break.
func encodeState(ctx context.Context, cfg EventSource) ([]byte, error) {
	state, err := cfg.State(ctx)
	if err != nil {
		return nil, err
	}
	return json.Marshal(state)
}
