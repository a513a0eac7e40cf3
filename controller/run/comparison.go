package run

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// compare compares the first attempt with the alternative, sample by sample: samples of
// the same number had the same input.
func (c *caseRun) compare(ctx context.Context, first *attempt) error {
	alternative := c.job.Case.Alternative
	c.comparison = &verdict.Comparison{SystemA: first.system, SystemB: alternative.System}
	both := min(len(first.samples), len(c.alternative.samples)) // fewer than wanted if the run was stopped
	preferences := make([]verdict.Measurement, both)
	if spec, ok := alternative.Comparison.(evaluator.Comparison); ok {
		c.comparison.Preferences = &verdict.Preferences{}
		var group errgroup.Group
		for i := range both {
			if first.samples[i].failed() || c.alternative.samples[i].failed() {
				continue
			}
			group.Go(func() (err error) {
				defer recovered(&err)
				preferences[i], err = c.prefer(ctx, spec, i)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	var pairs []abPair
	for i, s := range first.samples[:both] {
		p := abPair{A: s.result, B: c.alternative.samples[i].result, Preference: preferences[i]}
		if problem := p.Problem(); problem != "" {
			c.comparison.Errors++
			c.comparison.Error = problem
			continue
		}
		pairs = append(pairs, p)
	}
	decideComparison(c.comparison, c.job.Case.Evaluators, pairs)
	return nil
}

// prefer asks for a comparison of the outputs of two samples with the same number.
func (c *caseRun) prefer(ctx context.Context, spec evaluator.Comparison, i int) (verdict.Measurement, error) {
	a, b := c.attempts[0].samples[i], c.alternative.samples[i]
	log, err := b.openLog(ctx, c.job.Digests.Comparison().J)
	if err != nil {
		return verdict.Measurement{}, err
	}
	log.judging(a.subject(), b.subject())
	log.rejudged = a.rejudged() && b.rejudged()
	in := evaluate.Input{Case: log.tc, Transcript: &a.execution.Transcript, Ask: log.askRole}
	var m verdict.Measurement
	for again := true; again; {
		if m, err = evaluate.Prefer(ctx, spec, in, &b.execution.Transcript); err == nil && m.Error != "" {
			err = errUnmeasured
		}
		again, err = log.startOver(ctx, err)
	}
	c.costs.Add(log.caller.Spent(), m.Usage)
	b.saved = b.saved.Add(log.saved)
	if ctx.Err() != nil {
		b.stopped = true
	}
	if fault, ok := errors.AsType[*evaluate.Fault](err); ok {
		return m, fault.Err
	}
	return m, nil
}
