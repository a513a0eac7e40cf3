package main

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/serve"
	"github.com/gavel-evals/gavel/controller/tracing"
)

// handler answers deliveries, health checks and metrics.
func (s *server) handler() (http.Handler, error) {
	cfg := serve.HandlerConfig{Ready: func() bool { return s.server.Load().Ready() }, Metrics: s.metrics.Handler(), Warning: s.warning}
	file := s.now.Load().file
	cfg.Hosts, cfg.Apart = file.Hosts, s.operator.File.Probes != ""
	var err error
	if cfg.Path, cfg.Webhook.Secrets, err = s.webhook(file); err != nil {
		return nil, err
	}
	cfg.Webhook.Take = s.enqueue
	cfg.Webhook.Ignored = func(delivery, event string, why error) {
		s.log.Info().Str("delivery", delivery).Str("event", event).AnErr("err", why).Msg("ignored a delivery")
	}
	cfg.Webhook.Refused = s.refused()
	if cfg.Pages, err = s.pages(file, cfg.Webhook.Secrets); err != nil {
		return nil, err
	}
	handler, err := serve.NewHandler(cfg)
	if err != nil {
		return nil, usageError("%w", err)
	}
	return handler, nil
}

// refused logs refused deliveries, at most one a minute: strangers can send any number.
func (s *server) refused() func(why string) {
	var mu sync.Mutex
	var next time.Time
	now := clock.Or(s.Clock).Now
	return func(why string) {
		mu.Lock()
		defer mu.Unlock()
		if at := now(); at.After(next) {
			next = at.Add(time.Minute)
			s.log.Warn().Str("err", why).Msg("refused a delivery; the webhook at the forge needs the secret of the operator's file and the content type application/json")
		}
	}
}

// webhook returns where deliveries arrive and the secrets that sign them, nothing without
// a webhook.
func (s *server) webhook(file *config.Server) (path string, secrets []forge.Token, err error) {
	if file.Webhook == nil {
		return "", nil, nil
	}
	if secrets, err = s.operator.WebhookSecrets(); err != nil {
		return "", nil, usageError("%w", err)
	}
	return file.Webhook.Path, secrets, nil
}

// probes serves health checks and metrics at a separate address, where strangers cannot
// use up the connections. The caller calls end.
func (s *server) probes() (end func(), err error) {
	file := s.operator.File
	if file.Probes == "" {
		return func() {}, nil
	}
	at, end, err := handleHealth(file.Probes, serve.NewProbes(serve.HandlerConfig{
		Ready: func() bool { return s.server.Load().Ready() }, Metrics: s.metrics.Handler(), Warning: s.warning, Hosts: file.Hosts,
	}))
	if err != nil {
		return nil, s.cannotListen("probes", err)
	}
	s.log.Info().Str("probes", at.String()).Msg("answering /healthz, /readyz and /metrics")
	return end, nil
}

// enqueue schedules the subject of a delivery. A trace begins with it.
func (s *server) enqueue(h forge.Hint) error {
	ctx, span := s.Tracer.Root(context.Background(), "webhook", "")
	span.Kind(tracing.Server).Text("gavel.event", h.Event).Text("gavel.delivery", h.Delivery)
	h.Trace = tracing.Parent(ctx)
	err := s.server.Load().Enqueue(h)
	span.End(err)
	return err
}

// A serverObserver logs and counts.
type serverObserver struct {
	*server
	// looked is called after every look.
	looked func(error)
}

// Done implements [serve.Observer].
func (o serverObserver) Done(key serve.Key, took time.Duration, err error) {
	o.metrics.Done(key, took, err)
	o.looked(err)
	line := o.log.Info()
	if err != nil {
		line = o.log.Warn().AnErr("err", err)
	}
	switch key.Kind {
	case serve.Branch, serve.Scheduled:
		line = line.Str("branch", key.Ref)
	case serve.CheckRerun:
		line = line.Str("commit", key.Ref)
	}
	line.Str("repo", o.server.server.Load().Name(key)).Float64("duration", took.Round(time.Millisecond).Seconds()).Msg("looked at")
}

// Judged implements [serve.Observer].
func (o serverObserver) Judged(r *report.Report) { o.metrics.Judged(r) }

// Polled implements [serve.Observer].
func (o serverObserver) Polled(repository string, err error) {
	o.metrics.Polled(repository, err)
	if err != nil {
		o.log.Warn().Str("repo", repository).AnErr("err", err).Msg("could not be polled")
	}
}

// Log implements [serve.Observer].
func (o serverObserver) Log(name, line string) { o.log.Info().Str("repo", name).Msg(line) }
