package run

import (
	"context"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// An attempt is all samples of a case under one system prompt. The alternative's
// samples are one attempt, too.
type attempt struct {
	caseRun *caseRun
	digests plan.Digests
	system  string
	// number counts from 0, as in the keys of calls.
	number int
	// first is the number of the first sample among all samples of the case, by which
	// recordings distinguish equal requests of two attempts.
	first int
	// size is the wanted number of samples; samples are the ones that were begun.
	size    int
	samples []*sample
	// before is the attempt whose failed samples this one takes again; nil if it takes all.
	before *attempt
	// cut means that the end of ctx left samples out.
	cut    bool
	result verdict.Result
	// journaled means that the journal may have had calls when the attempt began.
	journaled bool
}

// newAttempt prepares an attempt. Its samples are numbered after the blocks of all
// possible earlier attempts; the alternative's come last.
func (c *caseRun) newAttempt(number, block int, digests plan.Digests, system string) *attempt {
	n := c.job.Case.Samples()
	return &attempt{caseRun: c, digests: digests, system: system, number: number, first: block * n, size: n}
}

// run takes the missing samples and decides. A sample begins when an earlier one makes
// room, so that a case with many samples takes no memory for them at once. A single
// sample runs in the goroutine of the case. After the end of ctx none begins.
func (a *attempt) run(ctx context.Context) error {
	stored, err := a.load(ctx)
	if err != nil {
		return err
	}
	switch all := (&untaken{end: a.size}); {
	case a.asksShare():
		err = a.takeShare(ctx, stored)
	case a.size == 1:
		if s := a.begin(ctx, stored, all); s != nil && s.isTaken() {
			err = s.run(ctx)
		}
	default:
		_, err = a.take(ctx, stored, all, a.size)
	}
	if err != nil {
		return err
	}
	a.result = verdict.DecideCase(a.caseRun.job.Case, a.results())
	return nil
}

// storedSamples are an attempt's samples in the ledger.
type storedSamples struct {
	// executions by opening, the lowest ordinals first.
	executions [][]ledger.Execution
	judgements map[int]ledger.Judgement // by ordinal
	next       int                      // the first free ordinal
}

// load reads the stored samples.
func (a *attempt) load(ctx context.Context) (*storedSamples, error) {
	var stored ledger.StoredCase
	if !a.isBlank() {
		var err error
		if stored, err = ledger.LoadCase(ctx, a.caseRun.runner.cfg.Ledger, a.caseRun.job.Scope, a.digests.E, a.digests.J); err != nil {
			return nil, err
		}
	}
	a.journaled = stored.Journal
	openings := max(1, len(a.caseRun.job.Case.Drive.Openings))
	out := &storedSamples{executions: make([][]ledger.Execution, openings), judgements: map[int]ledger.Judgement{}, next: stored.Next}
	for _, x := range stored.Executions {
		out.executions[x.Ordinal%openings] = append(out.executions[x.Ordinal%openings], x)
	}
	if given := a.caseRun.runner.answersOf(a.digests.E); given != nil && a.caseRun.job.Selection != nil {
		out.executions = [][]ledger.Execution{given}
	}
	for _, j := range slices.Backward(stored.Judgements) { // of two with one ordinal the first counts
		out.judgements[j.Sample.Ordinal] = j
	}
	return out, nil
}

// isBlank reports whether the ledger is known to have nothing under the digests of the
// attempt: the lease is on the digests of the first attempt.
func (a *attempt) isBlank() bool {
	c := a.caseRun
	return c.hold != nil && c.hold.lease.Blank() && a == c.attempts[0]
}

// sample returns the next sample of an attempt: a stored or a new one. All openings get
// the same number of samples, so a new one takes the next ordinal whose opening lacks
// one.
func (stored *storedSamples) sample(a *attempt, i int) *sample {
	openings := len(stored.executions)
	left := stored.executions[i%openings]
	if len(left) == 0 {
		for stored.next%openings != i%openings {
			stored.next++
		}
		stored.next++
		return &sample{attempt: a, index: i, number: a.first + i, execution: &ledger.Execution{Ordinal: stored.next - 1}, fresh: true}
	}
	stored.executions[i%openings] = left[1:]
	s := &sample{attempt: a, index: i, number: a.first + i, execution: &left[0]}
	if j, ok := stored.judgements[left[0].Ordinal]; ok {
		s.result, s.made, s.judged = j.Sample, j.Usage, true
	}
	return s
}

func (a *attempt) results() []verdict.Sample {
	samples := a.samples
	if a.before != nil {
		samples = a.latest()
	}
	out := make([]verdict.Sample, len(samples))
	for i, s := range samples {
		out[i] = s.result
	}
	return out
}

// usage sums up the attempt's cost in this run and in total.
func (a *attempt) usage() (spent, made verdict.Usage, took time.Duration) {
	for _, s := range a.samples {
		spent = spent.Add(s.spent)
		made = made.Add(s.execution.Usage).Add(s.execution.Transcript.Simulated).Add(s.made)
		took += s.execution.Duration
	}
	return spent, made, took
}

func (a *attempt) stopped() bool {
	return a.cut || slices.ContainsFunc(a.samples, func(s *sample) bool { return s.stopped })
}

// failed counts the samples that could not be judged.
func (a *attempt) failed() int {
	n := 0
	for _, s := range a.samples {
		if s.failed() {
			n++
		}
	}
	return n
}

// save writes the new results in one transaction, with the decision if there is one,
// and with the completion.
func (a *attempt) save(ctx context.Context, decision *ledger.Decision, done *completing) error {
	if a.caseRun.runner.recording {
		return nil
	}
	o := ledger.Outcome{Trust: a.caseRun.runner.cfg.Trust, Digests: a.digests, Case: a.caseRun.job.Case.ID(), Commit: a.caseRun.runner.cfg.Revision, Decision: decision, Lease: a.caseRun.hold.lease, Purpose: a.caseRun.job.Purpose}
	if done != nil {
		o.Also, o.Completion = done.store, done.statement
	}
	if decision != nil {
		if o.Parts = a.digests.Parts(); o.Parts == nil {
			o.Case = "" // the parts of an attempt are not the case's
		}
	}
	for _, s := range a.samples {
		if s.fresh && len(s.execution.Transcript.Messages) > 0 {
			o.Executions = append(o.Executions, *s.execution)
		}
		if !s.judged && !s.failed() {
			o.Samples = append(o.Samples, ledger.Judgement{Sample: s.result, Usage: s.made})
		}
	}
	if len(o.Executions) == 0 && len(o.Samples) == 0 && decision == nil {
		return nil
	}
	// Results that were paid for are kept even if the run is being cancelled.
	err := a.caseRun.runner.cfg.Ledger.Save(context.WithoutCancel(ctx), o)
	if err == nil && done != nil {
		a.caseRun.completion.Stored = true
	}
	return err
}
