package screen

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/reporters"
)

// TestRestored holds that the terminal is given back as it was, however the
// watch ends.
func TestRestored(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(keys io.Writer, cancel func())
	}{
		{"q", func(keys io.Writer, _ func()) { io.WriteString(keys, "q") }},
		{"Ctrl-C", func(keys io.Writer, _ func()) { io.WriteString(keys, "\x03") }},
		{"from outside", func(_ io.Writer, cancel func()) { cancel() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			in, keys := io.Pipe()
			defer in.Close()
			var out bytes.Buffer
			asked := make(chan struct{})
			s := Open(Config{Do: func(reporters.WatchCommand) { close(asked) }}, in, &out)
			go func() {
				s.Render(reporters.WatchUpdate{Kind: reporters.WatchResult, Snapshot: day()})
				io.WriteString(keys, "p")
				<-asked // so it is up
				tt.end(keys, cancel)
			}()
			interrupted, err := s.Run(ctx)
			if err != nil || interrupted != (tt.name == "Ctrl-C") {
				t.Errorf("interrupted %v, %v", interrupted, err)
			}
			for _, pair := range [][2]string{{"\x1b[?1049h", "\x1b[?1049l"}, {"\x1b[?25l", "\x1b[?25h"}} {
				if on, off := strings.LastIndex(out.String(), pair[0]), strings.LastIndex(out.String(), pair[1]); on < 0 || off < on {
					t.Errorf("%q at %d is not taken back, %q is at %d", pair[0], on, pair[1], off)
				}
			}
			s.Render(reporters.WatchUpdate{Kind: reporters.WatchResult}) // nobody looks any more
		})
	}
}
