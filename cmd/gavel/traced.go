package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/tracing"
)

// A tracedTarget is a target whose calls are steps of a trace.
type tracedTarget struct {
	target.Target
	config config.Target
}

// Respond forwards a request.
func (t tracedTarget) Respond(ctx context.Context, req target.Request) (target.Reply, error) {
	ctx, span := tracing.Start(ctx, "call")
	reply, err := t.Target.Respond(ctx, req)
	if span == nil {
		return reply, err
	}
	span.Kind(tracing.Client).Text("gavel.target", t.config.Name).Text("gen_ai.system", t.config.Provider).Text("gen_ai.request.model", t.config.Model)
	span.Int("gavel.turn", int64(req.Turn)).Int("gavel.sample", int64(req.Sample))
	span.Int("gen_ai.usage.input_tokens", reply.Usage.InputTokens).Int("gen_ai.usage.output_tokens", reply.Usage.OutputTokens)
	var fault *target.Error
	if errors.As(err, &fault) && fault.Status != 0 {
		span.Int("http.response.status_code", int64(fault.Status))
	}
	span.End(err)
	return reply, err
}

// tracedApp returns the transport of a target. An agent over HTTP gets the traceparent;
// models of providers do not.
func tracedApp(t config.Target, transport http.RoundTripper) http.RoundTripper {
	if t.Provider != config.HTTP || transport == nil {
		return transport
	}
	return tracing.Transport{Base: transport}
}
