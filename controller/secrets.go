package controller

import (
	"maps"
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/target"
)

// Scrub returns a function that removes the credentials of both sides' targets from
// kept texts.
func (p *Prepared) Scrub() func(string) string {
	return target.ScrubSecrets(p.targets(), p.req.LookupEnv)
}

// Secrets returns those credentials.
func (p *Prepared) Secrets() []string { return target.Secrets(p.targets(), p.req.LookupEnv) }

func (p *Prepared) targets() []config.Target {
	targets := slices.Collect(maps.Values(p.req.Head.Config.Targets))
	if p.req.Base != nil {
		targets = slices.AppendSeq(targets, maps.Values(p.req.Base.Config.Targets))
	}
	return targets
}

// Redacted returns an outgoing value, such as a report, without secrets: the
// credentials of the plan's targets, and texts that look like one. In stored
// transcripts for evaluators only the second kind is replaced.
func Redacted[T any](p *Prepared, v T) T { return redact.Apply(v, p.redact()) }

func (p *Prepared) redact() func(string) string {
	var known redact.Values
	known.Add(p.Secrets()...)
	return known.Text
}
