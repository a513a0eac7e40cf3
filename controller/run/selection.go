package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// gather lets the candidates of comparing jobs answer first, since a judge sees the answers
// of all of them, and the cases whose answers others have. A job with a missing answer is ended without a judgement.
func (r *runner) gather(ctx context.Context, s *schedule) error {
	var jobs []Job
	owners := map[string]int{} // the jobs that pay for the answers of an E
	for i, job := range s.jobs {
		for _, answer := range job.answers() {
			_, known := owners[answer.Digests.E]
			if !known {
				jobs = append(jobs, answer)
			}
			if !known || answer.Digests.E == job.Digests.E {
				owners[answer.Digests.E] = i
			}
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	asked := newSchedule(jobs)
	asked.patient = s.patient
	if err := r.finish(ctx, asked); err != nil {
		return err
	}
	missing := map[string]Outcome{}
	for i, out := range asked.outcomes {
		e := asked.jobs[i].Digests.E
		paid := &s.outcomes[owners[e]]
		paid.Spent, paid.GivenUp = paid.Spent.Add(out.Spent), paid.GivenUp+out.GivenUp
		if out.Result.Verdict == verdict.Error {
			missing[e] = out
		}
	}
	s.end(missing, func(out *Outcome) { r.observe(Event{Key: out.Key, Outcome: out}) })
	return nil
}

// answers returns jobs that only let the candidates of a job answer, and the cases whose
// answers it has.
func (j Job) answers() []Job {
	var all []Job
	if j.Selection != nil {
		executions, _ := j.Selection.Under(j.Digests)
		for i, c := range j.Selection.Candidates {
			all = append(all, j.answer(c.Case, c.Target, executions[i]))
		}
		all[j.Selection.Own].Need = j.Need
		return all
	}
	for _, k := range j.Kept {
		one := j.answer(k.Case, k.Target, k.Under(j.Digests))
		one.Kept = k.Before()
		all = append(all, one)
	}
	return all
}

// answer returns the job that lets a case answer as often as another one needs it.
func (j Job) answer(c *schema.Case, target, execution string) Job {
	tc := *c
	tc.Evaluators, tc.Peers, tc.Policy.Iterations = nil, nil, j.Case.Policy.Iterations
	return Job{Case: &tc, Digests: plan.Digests{E: execution}, Target: target, Scope: j.Scope, Purpose: j.Purpose, Again: j.Again, answerOnly: true}
}

// missing says which answer of a job's answers is missing; empty for its own.
func (j Job) missing(at int) string {
	switch {
	case j.Selection == nil:
		return fmt.Sprintf("the answer of %s to %s, which it has as %s, is missing", j.Kept[at].Target, j.Kept[at].Case.Key, j.Kept[at].Name)
	case at == j.Selection.Own:
		return ""
	}
	return missingAnswer(j.Selection.Candidates[at])
}

// end removes jobs with a missing answer from a schedule.
func (s *schedule) end(missing map[string]Outcome, observe func(*Outcome)) {
	ended := map[int]bool{}
	for i, job := range s.jobs {
		for at, answer := range job.answers() {
			out, ok := missing[answer.Digests.E]
			if !ok || out.Stopped {
				continue
			}
			here := &s.outcomes[i]
			here.Stopped, here.Unrun, here.Result = false, out.Unrun, out.Result
			ended[i] = true
			why := job.missing(at)
			if why == "" {
				break
			}
			here.Result.Reason = why + ": " + out.Result.Reason
		}
		if ended[i] {
			job.Half.miss()
			job.Half.leave()
			observe(&s.outcomes[i])
		}
	}
	for at := range s.groups {
		s.groups[at] = slices.DeleteFunc(s.groups[at], func(i int) bool { return ended[i] })
	}
	s.groups = slices.DeleteFunc(s.groups, func(same []int) bool { return len(same) == 0 })
}

func missingAnswer(c plan.Candidate) string {
	return fmt.Sprintf("the answer of %s to %s, which is compared with this one, is missing", c.Target, c.Case.Key)
}

// A comparedNumber identifies the samples of one number that are compared under a
// digest.
type comparedNumber struct {
	digest string
	number int
}

// A comparedSample is the result of comparing the samples of one number. It is shared
// by all participating cases, and computed once per run.
type comparedSample struct {
	mu       sync.Mutex
	measured [][]verdict.Measurement // by candidate and evaluator; guarded by mu
}

// compare returns the findings of comparing evaluators about the sample, parallel to
// the case's evaluators; nil for a case without peers.
func (s *sample) compare(ctx context.Context) ([]verdict.Measurement, error) {
	c := s.attempt.caseRun
	sel := c.job.Selection
	if sel == nil {
		return nil, nil
	}
	if c.runner.recording {
		c.costs.MissReply()
		return nil, errUnrecorded
	}
	_, digest := sel.Under(s.attempt.digests)
	found, _ := c.runner.compared.LoadOrStore(comparedNumber{digest, s.number}, &comparedSample{})
	shared := found.(*comparedSample)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.measured == nil {
		measured, err := s.compareAll(ctx)
		if err != nil {
			return nil, err
		}
		shared.measured = measured
	}
	return shared.measured[sel.Own], nil
}

// compareAll compares the samples of one number of all candidates, under a lease: other
// processes may judge some of the participating cases.
func (s *sample) compareAll(ctx context.Context) (measured [][]verdict.Measurement, err error) {
	c := s.attempt.caseRun
	sel := c.job.Selection
	executions, digest := sel.Under(s.attempt.digests)
	lease, err := c.runner.leaseComparison(ctx, digest)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, fault(lease.Release(context.WithoutCancel(ctx)))) }()
	log, err := s.openComparison(ctx)
	if err != nil {
		return nil, fault(err)
	}
	log.lease = lease
	candidates, subjects := make([]evaluate.Input, len(executions)), make([]string, len(executions))
	for i, e := range executions {
		given := c.runner.answersOf(e)
		if s.number >= len(given) {
			return nil, errors.New(missingAnswer(sel.Candidates[i]))
		}
		subjects[i] = subject(e, given[s.number].Ordinal)
		transcript := given[s.number].Transcript
		tc := withWrittenPrompt(sel.Candidates[i].Case, &transcript)
		transcript.Asked, transcript.Said = answering(tc, &transcript)
		price := c.runner.cfg.Targets[sel.Candidates[i].Target].Config.Price
		transcript.Usage, transcript.Turns = priced(transcript.Usage, price), pricedTurns(transcript.Turns, price)
		candidates[i] = evaluate.Input{Case: tc, Transcript: &transcript, Ask: log.askRole, Programs: c.runner.cfg.Programs}
	}
	log.judging(subjects...)
	log.rejudged = true
	for again := true; again; {
		if measured, err = evaluate.Select(ctx, candidates); err == nil && slices.ContainsFunc(measured, unmeasured) {
			err = errUnmeasured
		}
		again, err = log.startOver(ctx, err)
	}
	s.spent, s.saved = s.spent.Add(log.caller.Spent()), s.saved.Add(log.saved)
	if errors.Is(err, errUnmeasured) && ctx.Err() == nil {
		err = nil // it is in the measurements
	}
	return measured, err
}

// openComparison reads the stored calls of a comparison. They belong to the samples of
// one number, whatever their ordinals.
func (s *sample) openComparison(ctx context.Context) (log *callLog, err error) {
	c := s.attempt.caseRun
	_, digest := c.job.Selection.Under(s.attempt.digests)
	log = c.newLog(c.job.Selection.Candidates[0].Case, digest, s.number)
	log.sample = s.number
	log.stored, err = c.runner.cfg.Ledger.Calls(ctx, c.job.Scope, digest, s.number)
	return log, err
}

// unmeasured reports whether an evaluator could not measure.
func unmeasured(measured []verdict.Measurement) bool {
	return slices.ContainsFunc(measured, func(m verdict.Measurement) bool { return m.Error != "" })
}

// leaseComparison waits for the lease on a comparison.
func (r *runner) leaseComparison(ctx context.Context, digest string) (*ledger.Lease, error) {
	for n := 0; ; n++ {
		lease, err := r.handle.Lease(ctx, digest, "")
		if !errors.Is(err, ledger.ErrLeased) {
			return lease, fault(err)
		}
		if err := clock.Sleep(ctx, looks.Pause(n)); err != nil {
			return nil, err
		}
	}
}

// fault marks an error of the ledger.
func fault(err error) error {
	if err == nil {
		return nil
	}
	return &evaluate.Fault{Err: err}
}

// answersOf returns the gathered samples that answer under one E.
func (r *runner) answersOf(e string) []ledger.Execution {
	given, _ := r.answers.Load(e)
	executions, _ := given.([]ledger.Execution)
	return executions
}

// answered keeps the samples of an answer-only job, and returns its result: a pass, or
// the error of a sample.
func (a *attempt) answered() verdict.Result {
	var given []ledger.Execution
	for _, s := range a.samples {
		if s.result.Error != "" {
			return verdict.Result{Verdict: verdict.Error, Reason: s.result.Error}
		}
		given = append(given, *s.execution)
	}
	a.caseRun.runner.answers.Store(a.digests.E, given)
	return verdict.Result{Verdict: verdict.Pass}
}
