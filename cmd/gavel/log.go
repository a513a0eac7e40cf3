package main

import (
	"io"
	"time"

	"github.com/rs/zerolog"

	"github.com/gavel-evals/gavel/reporters/terminal"
)

// newLog writes lines for people on a terminal, and JSON elsewhere. redact removes
// secrets from every line.
func newLog(w io.Writer, redact func(string) string) zerolog.Logger {
	clean := redactingWriter{w, redact}
	if _, isTerminal := terminal.Screen(w); isTerminal {
		return zerolog.New(zerolog.ConsoleWriter{Out: clean, TimeFormat: time.TimeOnly}).With().Timestamp().Logger()
	}
	return zerolog.New(clean).With().Timestamp().Logger()
}

// A redactingWriter removes secrets. Each write must be a whole line.
type redactingWriter struct {
	w      io.Writer
	redact func(string) string
}

// Write writes the line without its secrets.
func (r redactingWriter) Write(line []byte) (int, error) {
	if _, err := io.WriteString(r.w, r.redact(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}
