package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// A series is all samples of a case under one system prompt: those of an
// attempt, or those of the rival.
type series struct {
	*work
	digests plan.Digests
	system  string
	// attempt counts from 0, as in the keys of calls.
	attempt int
	// first is the place of the first sample among all of the case, by which
	// recordings tell the same request of two attempts apart.
	first int
	// size is how many samples are wanted; trials are those that were begun.
	size   int
	trials []*trial
	result verdict.Result
}

// A trial is one sample on its way.
type trial struct {
	// place is that of the sample among all of the case.
	place     int
	execution *ledger.Execution
	sample    verdict.Sample
	judged    bool // sample came from the ledger
	spent     verdict.Usage
	made      verdict.Usage
	stopped   bool
	fresh     bool // execution was made by this run
}

// newSeries prepares the samples of an attempt, or, behind the places of all
// that there may be, of the rival.
func (w *work) newSeries(attempt, block int, digests plan.Digests, system string) *series {
	n := w.job.Case.Samples()
	return &series{work: w, digests: digests, system: system, attempt: attempt, first: block * n, size: n}
}

// of is the case as one sample has it: with its own opening, where there are
// several, and with the system prompt of the series.
func (s *series) of(ordinal int) *schema.Case {
	c := opened(s.job.Case, ordinal)
	c.System = s.system
	return c
}

// opened is a case with the one opening that the sample of an ordinal has.
func opened(c *schema.Case, ordinal int) *schema.Case {
	out := *c
	if n := len(c.Drive.Openings); n > 0 {
		out.Drive.Messages, out.Drive.Openings = c.Drive.Openings[ordinal%n], nil
	}
	return &out
}

// run takes the samples that are missing and decides. A sample begins when one
// before it makes room, so that what a case asks for in numbers takes no memory
// by itself. After the end of ctx none begins.
func (s *series) run(ctx context.Context) error {
	known, err := s.load(ctx)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(s.room)
	for i := range s.size {
		t := known.trial(i)
		if !t.judged && ctx.Err() != nil {
			break
		}
		t.place = s.first + i
		s.trials = append(s.trials, t)
		if !t.judged || s.Record != nil {
			group.Go(guarded(func() error { return s.take(ctx, t) }))
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	s.result = verdict.DecideCase(s.job.Case, s.samples())
	return nil
}

// stock is what is stored of a series.
type stock struct {
	// executions by opening, those of the lowest ordinals first.
	executions [][]ledger.Execution
	judgements map[int]ledger.Judgement // by ordinal
	next       int                      // the first ordinal that is free
}

// load reads what is stored.
func (s *series) load(ctx context.Context) (*stock, error) {
	executions, next, err := s.Ledger.Executions(ctx, s.job.Scope, s.digests.E)
	if err != nil {
		return nil, err
	}
	judgements, err := s.Ledger.Judgements(ctx, s.job.Scope, s.digests.J)
	if err != nil {
		return nil, err
	}
	openings := max(1, len(s.job.Case.Drive.Openings))
	out := &stock{executions: make([][]ledger.Execution, openings), judgements: map[int]ledger.Judgement{}, next: next}
	for _, x := range executions {
		out.executions[x.Ordinal%openings] = append(out.executions[x.Ordinal%openings], x)
	}
	for _, j := range slices.Backward(judgements) { // of two with one ordinal the first counts
		out.judgements[j.Sample.Ordinal] = j
	}
	return out, nil
}

// trial gives the next sample: one that is stored, or a new one. Each opening
// gets as many samples as the others, so a new one takes the next ordinal that
// begins with what is missing.
func (k *stock) trial(i int) *trial {
	openings := len(k.executions)
	left := k.executions[i%openings]
	if len(left) == 0 {
		for k.next%openings != i%openings {
			k.next++
		}
		k.next++
		return &trial{execution: &ledger.Execution{Ordinal: k.next - 1}, fresh: true}
	}
	k.executions[i%openings] = left[1:]
	t := &trial{execution: &left[0]}
	if j, ok := k.judgements[left[0].Ordinal]; ok {
		t.sample, t.made, t.judged = j.Sample, j.Usage, true
	}
	return t
}

// take drives and measures a sample as far as it is not stored. What is stored
// is told of where replies are recorded.
func (s *series) take(ctx context.Context, t *trial) error {
	if err := s.tell(ctx, t); err != nil || t.judged {
		return err
	}
	if err := s.down(t); err != nil {
		s.refused(err)
		return t.fail(ctx, err)
	}
	if t.fresh {
		if err := s.execute(ctx, t); err != nil || t.sample.Error != "" {
			return err
		}
	}
	return s.judge(ctx, t)
}

// execute drives the target through the case.
func (s *series) execute(ctx context.Context, t *trial) error {
	calls, err := s.open(ctx, s.digests.E, t)
	if err != nil {
		return err
	}
	job := s.job
	job.Case = calls.kase
	start := s.Now()
	var transcript *verdict.Transcript
	err = calls.unlessSpoilt(ctx, func() error {
		calls.allow(job.Case.Policy.Timeout)
		transcript, err = drive(ctx, calls, s.Targets[job.Target], job)
		return err
	})
	t.spent = t.spent.Add(calls.spent)
	if err != nil {
		return t.fail(ctx, err)
	}
	t.execution.Transcript = *transcript
	t.execution.Usage = transcript.Usage
	t.execution.Duration = s.Now().Sub(start)
	return nil
}

// judge has every evaluator measure the transcript, one after the other, so
// that the order of their calls is the same each time.
func (s *series) judge(ctx context.Context, t *trial) error {
	calls, err := s.open(ctx, s.digests.J, t)
	if err != nil {
		return err
	}
	t.sample.Ordinal = t.execution.Ordinal
	made := t.made
	err = calls.unlessSpoilt(ctx, func() error {
		t.made, t.sample.Measurements = made, nil
		var problem error
		for _, ev := range s.job.Case.Evaluators {
			m, err := calls.measure(ctx, ev, &t.execution.Transcript)
			if err != nil {
				return err
			}
			if m.Error != "" {
				problem = errUnmeasured
			}
			t.made = t.made.Add(m.Usage)
			t.sample.Measurements = append(t.sample.Measurements, m)
		}
		return problem
	})
	t.spent = t.spent.Add(calls.spent)
	t.stopped = ctx.Err() != nil
	if err != nil && !errors.Is(err, errUnmeasured) {
		return t.fail(ctx, err)
	}
	return nil
}

// errUnmeasured stands for the errors that measurements hold.
var errUnmeasured = errors.New("an evaluator could not measure")

// fail keeps a fault of the outside world with the sample and hands a fault of
// the ledger up.
func (t *trial) fail(ctx context.Context, err error) error {
	var store *storeError
	if errors.As(err, &store) {
		return store.err
	}
	t.sample.Error = err.Error()
	t.stopped = ctx.Err() != nil
	return nil
}

func (s *series) samples() []verdict.Sample {
	out := make([]verdict.Sample, len(s.trials))
	for i, t := range s.trials {
		out[i] = t.sample
	}
	return out
}

// usage sums up what the series cost in this run and in all.
func (s *series) usage() (spent, made verdict.Usage, took time.Duration) {
	for _, t := range s.trials {
		spent = spent.Add(t.spent)
		made = made.Add(t.execution.Usage).Add(t.execution.Transcript.Simulated).Add(t.made)
		took += t.execution.Duration
	}
	return spent, made, took
}

func (s *series) stopped() bool {
	return len(s.trials) < s.size || slices.ContainsFunc(s.trials, func(t *trial) bool { return t.stopped })
}

// failed counts the samples that could not be judged.
func (s *series) failed() int {
	n := 0
	for _, t := range s.trials {
		if sampleFailed(t.sample) {
			n++
		}
	}
	return n
}

func sampleFailed(s verdict.Sample) bool {
	return s.Error != "" || len(s.Measurements) == 0 ||
		slices.ContainsFunc(s.Measurements, func(m verdict.Measurement) bool { return m.Error != "" })
}

// save writes what is new in one transaction, with the decision if there is
// one.
func (s *series) save(ctx context.Context, decision *ledger.Decision) error {
	o := ledger.Outcome{Trust: s.Trust, Digests: s.digests, Case: s.job.Case.ID(), Decision: decision, Lease: s.lease}
	if decision != nil {
		o.Parts = s.digests.Parts()
	}
	for _, t := range s.trials {
		if t.fresh && len(t.execution.Transcript.Messages) > 0 {
			o.Executions = append(o.Executions, *t.execution)
		}
		if !t.judged && !sampleFailed(t.sample) {
			o.Samples = append(o.Samples, ledger.Judgement{Sample: t.sample, Usage: t.made})
		}
	}
	if s.retelling || len(o.Executions) == 0 && len(o.Samples) == 0 && decision == nil {
		return nil
	}
	// What was paid for is kept even if the run is being cancelled.
	return s.Ledger.Save(context.WithoutCancel(ctx), o)
}
