package run

import (
	"context"
	"errors"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// rewrite asks the editor for the prompt of the attempt after a failed one. An editor
// with an unusable reply leaves the case stuck: the requested attempt is impossible,
// and that is not a failure of the case.
func (c *caseRun) rewrite(ctx context.Context, failed *attempt) (string, error) {
	n := failed.number + 1
	next := &sample{attempt: failed, number: n * failed.size, execution: &ledger.Execution{}}
	log, err := next.openLog(ctx, c.job.Digests.Edit(n).E)
	if err != nil {
		return "", err
	}
	log.attempt = n
	edit := c.job.Case.Policy.Retry.Edit
	var written string
	var made verdict.Usage
	metered := evaluate.Ask(func(ctx context.Context, role schema.Role, req target.Request) (target.Reply, error) {
		reply, err := log.askRole(ctx, role, req)
		made = made.Add(reply.Usage)
		return reply, err
	})
	for again := true; again; {
		made = verdict.Usage{}
		err = metered.Retry(ctx, edit.Editor, editRequest(*edit, edited(failed)), func(reply string) error {
			var err error
			written, err = readPrompt(reply)
			return err
		})
		again, err = log.startOver(ctx, err)
	}
	c.costs.Add(log.caller.Spent(), made)
	if fault, ok := errors.AsType[*evaluate.Fault](err); ok {
		return "", fault.Err
	}
	if ctx.Err() != nil {
		failed.samples[0].stopped = true
	}
	if err != nil {
		c.stuck = err.Error()
	}
	return written, nil
}

// edited returns an editor's input about an attempt.
func edited(failed *attempt) failedAttempt {
	out := failedAttempt{System: failed.system}
	for _, s := range failed.samples {
		out.Samples = append(out.Samples, failedSample{Judged: s.result, Output: s.execution.Transcript.Final()})
	}
	return out
}
