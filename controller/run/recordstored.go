package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// RecordStored hands the stored replies of jobs that are decided to Record. It makes
// no call and changes nothing in the ledger. It returns the keys of the jobs of
// which a reply is no longer stored; the error is the ledger's, or that of ctx.
func RecordStored(ctx context.Context, cfg Config, jobs []Job) (unrecorded []string, err error) {
	cfg.Observe, cfg.Control = nil, nil
	r := newRunner(cfg, jobs)
	r.recording = true
	for _, job := range jobs {
		if err := ctx.Err(); err != nil {
			return unrecorded, err
		}
		c := newCaseRun(r, job)
		if err := c.makeAttempts(ctx); err != nil {
			return unrecorded, err
		}
		if c.costs.unrecorded {
			unrecorded = append(unrecorded, job.Case.Key)
		}
	}
	return unrecorded, nil
}

// errUntold ends a sample that would need a call to be recorded.
var errUntold = errors.New("a reply is no longer stored")

// record reports a reply that is used, whether it is live or stored.
func (l *callLog) record(name, digest string, req target.Request, reply target.Reply) {
	if record := l.c.run.cfg.Record; record != nil {
		record(name, digest, req, reply)
	}
}

// tell hands the calls of a stored sample to Record: those to the target, and
// those that judged it.
func (s *sample) tell(ctx context.Context) error {
	if s.attempt.c.run.cfg.Record == nil || s.fresh {
		return nil
	}
	told, err := s.tellCalls(ctx, s.attempt.digests.E)
	if err != nil {
		return err
	}
	missing := told == 0
	if s.judged {
		if told, err = s.tellCalls(ctx, s.attempt.digests.J); err != nil {
			return err
		}
		missing = missing || told == 0 && s.askedModel()
	}
	if missing {
		s.attempt.c.costs.missReply()
	}
	return nil
}

// askedModel reports whether a model was asked to judge the sample.
func (s *sample) askedModel() bool {
	return slices.ContainsFunc(s.result.Measurements, func(m verdict.Measurement) bool { return m.Usage.Calls > 0 })
}

// tellCalls hands the calls of the sample under one digest to Record, and counts
// them.
func (s *sample) tellCalls(ctx context.Context, digest string) (int, error) {
	log, err := s.openLog(ctx, digest)
	if err != nil {
		return 0, err
	}
	for _, c := range log.stored {
		name, err := log.answering(c)
		var asked struct {
			System   string           `json:"system"`
			Messages []schema.Message `json:"messages"`
			Tools    []schema.Tool    `json:"tools"`
		}
		var reply target.Reply
		if err := errors.Join(err, json.Unmarshal(c.Request, &asked), json.Unmarshal(c.Reply, &reply)); err != nil {
			return 0, fmt.Errorf("read the stored calls of %s: %w", log.tc.Key, err)
		}
		log.record(name, c.RequestDigest, target.Request{
			System: asked.System, Messages: asked.Messages, Tools: asked.Tools, Case: log.tc.Key,
			Sample: log.sample, Occurrence: log.seen[c.RequestDigest], Root: log.root,
		}, reply)
		log.seen[c.RequestDigest]++
	}
	return len(log.stored), nil
}

// answering is the target that answered a stored call.
func (l *callLog) answering(c ledger.Call) (string, error) {
	if c.Key.Role == targetRole {
		return l.c.job.Target, nil
	}
	return l.c.run.player(schema.Role(c.Key.Role))
}
