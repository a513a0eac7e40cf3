package run

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/run/abtest"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// compare sets the first attempt against the rival, sample by sample: the two
// of one place had the same input.
func (w *work) compare(ctx context.Context, first *series) error {
	rival := w.job.Case.Rival
	w.contest = &verdict.Contest{SystemA: first.system, SystemB: rival.System}
	both := min(len(first.trials), len(w.rival.trials)) // fewer than wanted where the run was stopped
	preferences := make([]verdict.Measurement, both)
	if spec, ok := rival.Comparison.(evaluator.Comparison); ok {
		w.contest.Preferences = &verdict.Preferences{}
		var group errgroup.Group
		for i := range both {
			if sampleFailed(first.trials[i].sample) || sampleFailed(w.rival.trials[i].sample) {
				continue
			}
			group.Go(guarded(func() error {
				var err error
				preferences[i], err = w.prefer(ctx, spec, i)
				return err
			}))
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	var pairs []abtest.Pair
	for i, t := range first.trials[:both] {
		p := abtest.Pair{A: t.sample, B: w.rival.trials[i].sample, Preference: preferences[i]}
		if problem := p.Problem(); problem != "" {
			w.contest.Errors++
			w.contest.Error = problem
			continue
		}
		pairs = append(pairs, p)
	}
	abtest.Decide(w.contest, w.job.Case.Evaluators, pairs)
	return nil
}

// prefer has the outputs of one place compared.
func (w *work) prefer(ctx context.Context, spec evaluator.Comparison, i int) (verdict.Measurement, error) {
	a, b := w.attempts[0].trials[i], w.rival.trials[i]
	calls, err := w.rival.open(ctx, w.job.Digests.Comparison().J, b)
	if err != nil {
		return verdict.Measurement{}, err
	}
	var m verdict.Measurement
	err = calls.unlessSpoilt(ctx, func() error {
		var fault error
		in := evaluate.Input{Case: calls.kase, Transcript: &a.execution.Transcript, Ask: calls.asker(&fault)}
		m = evaluate.Prefer(ctx, spec, in, &b.execution.Transcript)
		if fault == nil && m.Error != "" {
			fault = errUnmeasured
		}
		return fault
	})
	w.account(calls.spent, m.Usage)
	if ctx.Err() != nil {
		b.stopped = true
	}
	var store *storeError
	if errors.As(err, &store) {
		return m, store.err
	}
	return m, nil
}

// account adds what calls cost that belong to no sample. Made are all of them,
// spent those that were not in the journal.
func (w *work) account(spent, made verdict.Usage) {
	w.counting.Lock()
	defer w.counting.Unlock()
	w.spent, w.made = w.spent.Add(spent), w.made.Add(made)
}
