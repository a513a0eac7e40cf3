package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
)

// Retell hands the stored replies of jobs that are decided to Record. It makes
// no call and changes nothing in the ledger. It returns the keys of the jobs of
// which a reply is no longer stored; the error is the ledger's, or that of ctx.
func Retell(ctx context.Context, cfg Config, jobs []Job) (untold []string, err error) {
	cfg.Observe, cfg.Control = nil, nil
	r := newRunner(cfg, jobs)
	r.retelling = true
	for _, job := range jobs {
		if err := ctx.Err(); err != nil {
			return untold, err
		}
		w := work{runner: r, job: job}
		if err := w.attemptAll(ctx); err != nil {
			return untold, err
		}
		if w.untold.Load() {
			untold = append(untold, job.Case.Key)
		}
	}
	return untold, nil
}

// errUntold ends a sample that would need a call to be told of.
var errUntold = errors.New("a reply is no longer stored")

// record tells of a reply that is used, whether it is live or stored.
func (s *session) record(name, digest string, req target.Request, reply target.Reply) {
	if s.Record != nil {
		s.Record(name, digest, req, reply)
	}
}

// tell hands the calls of a stored sample to Record: those to the target, and
// those that judged it.
func (s *series) tell(ctx context.Context, t *trial) error {
	if s.Record == nil || t.fresh {
		return nil
	}
	told, err := s.tellCalls(ctx, s.digests.E, t)
	if err != nil {
		return err
	}
	missing := told == 0
	if t.judged {
		if told, err = s.tellCalls(ctx, s.digests.J, t); err != nil {
			return err
		}
		missing = missing || told == 0 && asked(t)
	}
	if missing {
		s.untold.Store(true)
	}
	return nil
}

// asked reports whether a model was asked to judge a sample.
func asked(t *trial) bool {
	for _, m := range t.sample.Measurements {
		if m.Usage.Calls > 0 {
			return true
		}
	}
	return false
}

// tellCalls hands the calls of a sample under one digest to Record, and counts
// them.
func (s *series) tellCalls(ctx context.Context, digest string, t *trial) (int, error) {
	calls, err := s.open(ctx, digest, t)
	if err != nil {
		return 0, err
	}
	for _, c := range calls.stored {
		name, err := s.named(calls, c)
		var asked struct {
			System   string           `json:"system"`
			Messages []schema.Message `json:"messages"`
			Tools    []schema.Tool    `json:"tools"`
		}
		var reply target.Reply
		if err := errors.Join(err, json.Unmarshal(c.Request, &asked), json.Unmarshal(c.Reply, &reply)); err != nil {
			return 0, fmt.Errorf("read the stored calls of %s: %w", s.job.Case.Key, err)
		}
		calls.record(name, c.RequestDigest, target.Request{
			System: asked.System, Messages: asked.Messages, Tools: asked.Tools, Case: s.job.Case.Key,
			Sample: calls.sample, Occurrence: calls.seen[c.RequestDigest], Root: calls.root,
		}, reply)
		calls.seen[c.RequestDigest]++
	}
	return len(calls.stored), nil
}

// named is the target that answered a stored call.
func (s *series) named(calls *session, c ledger.Call) (string, error) {
	if c.Key.Role == targetRole {
		return s.job.Target, nil
	}
	return calls.player(schema.Role(c.Key.Role))
}
