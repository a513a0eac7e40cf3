package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// TestAway: one line, when it is called again after an error.
func TestAway(t *testing.T) {
	var out strings.Builder
	for _, tt := range []struct {
		name   string
		errors []error
		want   int
	}{
		{"there at once", []error{nil}, 0},
		{"an error that ends it", []error{errors.New("refused")}, 0},
		{"away for long", []error{errors.New("refused"), errors.New("refused"), errors.New("refused"), nil}, 1},
	} {
		out.Reset()
		calls := 0
		do := Away(zerolog.New(&out), time.Minute, func() error { calls++; return tt.errors[calls-1] })
		for i, want := range tt.errors {
			if err := do(); !errors.Is(err, want) {
				t.Errorf("%s: call %d returns %v, want %v", tt.name, i, err, want)
			}
		}
		const line = `"err":"refused","message":"the database cannot be reached; waiting up to 1m0s"`
		if got := strings.Count(out.String(), line); got != tt.want || strings.Count(out.String(), "\n") != tt.want {
			t.Errorf("%s: the log is %q, want %d lines with %s", tt.name, out.String(), tt.want, line)
		}
	}
}
