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

// RecordStored passes the stored replies of decided jobs to Record. It makes no call
// and changes nothing in the ledger. It returns the keys of jobs with a reply that is
// no longer stored; the error is the ledger's, or ctx's.
func RecordStored(ctx context.Context, cfg Config, jobs []Job) (unrecorded []string, err error) {
	cfg.Observe, cfg.Control = nil, nil
	r := newRunner(cfg, jobs)
	r.recording = true
	known := map[string]bool{}
	for _, job := range jobs {
		known[job.Digests.E] = true
	}
	for _, job := range jobs {
		lacks := false
		for _, one := range append(answersBefore(job, known), job) {
			if err := ctx.Err(); err != nil {
				return unrecorded, err
			}
			c := newCaseRun(r, one)
			if err := c.makeAttempts(ctx); err != nil {
				return unrecorded, err
			}
			lacks = lacks || c.costs.Unrecorded
		}
		if lacks {
			unrecorded = append(unrecorded, job.Case.Key)
		}
	}
	return unrecorded, nil
}

// answersBefore returns the jobs of the answers that a job has of other cases, unless their
// executions are known, and makes them known.
func answersBefore(job Job, known map[string]bool) (all []Job) {
	if job.Selection != nil {
		return nil
	}
	for _, one := range job.answers() {
		if !known[one.Digests.E] {
			known[one.Digests.E] = true
			all = append(append(all, answersBefore(one, known)...), one)
		}
	}
	return all
}

// errUnrecorded ends a sample that needs a call to be recorded.
var errUnrecorded = errors.New("a reply is no longer stored")

// record reports a used reply, live or stored.
func (l *callLog) record(name, digest string, req target.Request, reply target.Reply) {
	if record := l.caseRun.runner.cfg.Record; record != nil {
		record(name, digest, req, reply)
	}
}

// recordStored passes the calls of a stored sample to Record: to the target, and to its
// judges.
func (s *sample) recordStored(ctx context.Context) error {
	if s.attempt.caseRun.runner.cfg.Record == nil || s.fresh {
		return nil
	}
	recorded, err := s.recordCalls(ctx, s.attempt.digests.E)
	if err != nil {
		return err
	}
	missing := recorded == 0 && s.attempt.caseRun.job.Case.Drive.Given == nil
	if s.judged {
		if recorded, err = s.recordJudging(ctx); err != nil {
			return err
		}
		missing = missing || recorded == 0 && s.askedModel()
	}
	if missing {
		s.attempt.caseRun.costs.MissReply()
	}
	return nil
}

// askedModel reports whether a model was asked to judge the sample.
func (s *sample) askedModel() bool {
	return slices.ContainsFunc(s.result.Measurements, func(m verdict.Measurement) bool { return m.Usage.Calls > 0 })
}

// recordJudging passes the calls that judged the sample to Record, and counts them.
func (s *sample) recordJudging(ctx context.Context) (int, error) {
	recorded, err := s.recordCalls(ctx, s.attempt.digests.J)
	if sel := s.attempt.caseRun.job.Selection; err == nil && sel != nil {
		var log *callLog
		if log, err = s.openComparison(ctx); err == nil {
			var compared int
			compared, err = log.recordAll()
			recorded += compared
		}
	}
	return recorded, err
}

// recordCalls passes the sample's calls under one digest to Record, and counts them.
func (s *sample) recordCalls(ctx context.Context, digest string) (int, error) {
	log, err := s.openLog(ctx, digest)
	if err != nil {
		return 0, err
	}
	return log.recordAll()
}

// recordAll passes the stored calls of a log to Record, and counts them.
func (log *callLog) recordAll() (int, error) {
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

// answering returns the target that answered a stored call.
func (l *callLog) answering(c ledger.Call) (string, error) {
	if c.Key.Role == targetRole {
		return l.caseRun.job.Target, nil
	}
	return l.caseRun.runner.targetName(schema.Role(c.Key.Role))
}
