package main

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/serve"
)

// handler answers deliveries and those who watch over the server.
func (s *serving) handler() (http.Handler, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.server.Ready() {
			http.Error(w, "not every repository was looked through yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.Handle("GET /metrics", s.metrics.Handler())
	if s.file.Webhook == nil {
		return mux, nil
	}
	secret, err := s.secret("webhook", s.file.Webhook.Secret)
	if err != nil {
		return nil, err
	}
	secrets := []forge.Token{forge.Token(secret)}
	if previous := s.file.Webhook.Previous; previous.Env+previous.File != "" {
		before, err := s.secret("webhook, the secret before", previous)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, forge.Token(before))
	}
	hook, err := forge.NewWebhook(forge.WebhookConfig{
		Secrets: secrets,
		Take: func(h forge.Hint) error {
			s.log.Debug().Str("delivery", h.Delivery).Str("event", h.Event).Int64("repository", h.Repository).Int("pull", h.Number).Msg("hint")
			return s.server.Take(h)
		},
		Ignored: func(delivery, event string, why error) {
			s.log.Info().Str("delivery", delivery).Str("event", event).Err(why).Msg("ignored a delivery")
		},
	})
	if err != nil {
		return nil, usageError("%w", err)
	}
	mux.Handle(s.file.Webhook.Path, hook)
	return mux, nil
}

// observer logs and counts.
func (s *serving) observer() serve.Observer {
	return serve.Observer{
		Done: func(key serve.Key, took time.Duration, err error) {
			s.metrics.Done(key, took, err)
			line := s.log.Info()
			if err != nil {
				line = s.log.Warn().Err(err)
			}
			line.Int64("repository", key.Repository).Int("pull", key.Pull).Str("branch", key.Branch).Dur("took", took).Msg("looked at")
		},
		Judged: s.metrics.Judged,
		Polled: func(repository string, err error) {
			s.metrics.Polled(repository, err)
			if err != nil {
				s.log.Warn().Str("name", repository).Err(err).Msg("could not be looked through")
			}
		},
		Tell: func(repository, line string) { s.log.Info().Str("name", repository).Msg(line) },
	}
}

// newLog writes lines for people on a terminal, and JSON elsewhere.
func newLog(w io.Writer, redact func(string) string) zerolog.Logger {
	clean := redacting{w, redact}
	if _, isTerminal := screen(w); isTerminal {
		return zerolog.New(zerolog.ConsoleWriter{Out: clean, TimeFormat: time.TimeOnly}).With().Timestamp().Logger()
	}
	return zerolog.New(clean).With().Timestamp().Logger()
}

// A redacting writer is given a whole line at a time.
type redacting struct {
	w      io.Writer
	redact func(string) string
}

// Write writes the line without the secrets in it.
func (r redacting) Write(line []byte) (int, error) {
	if _, err := io.WriteString(r.w, r.redact(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}
