package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// A sample is one conversation of an attempt with its measurements.
type sample struct {
	attempt *attempt
	// index is the sample's number among the samples of an attempt, and number among all
	// samples of the case.
	index, number int
	execution     *ledger.Execution
	fresh         bool // executed by this run
	resumed       bool // if fresh: an earlier run made all of its calls
	result        verdict.Sample
	judged        bool // result comes from the ledger
	// spent is the sample's cost in this run, made the total cost of its result.
	spent, made verdict.Usage
	saved       verdict.Usage // the cost of the replies that other judgements of it got
	stopped     bool
}

// run drives the target and measures, unless that is stored. A stored sample is
// reported if replies are recorded.
func (s *sample) run(ctx context.Context) error {
	if err := s.recordStored(ctx); err != nil || s.judged {
		return err
	}
	if down := s.down(); down != nil {
		s.attempt.caseRun.costs.Refuse(down)
		return s.fail(ctx, down)
	}
	if s.fresh {
		log, err := s.openLog(ctx, s.attempt.digests.E)
		if err != nil {
			return err
		}
		now := s.attempt.caseRun.runner.cfg.Clock.Now
		start := now()
		kept, err := s.keptAnswers(ctx)
		if err != nil {
			return s.fail(ctx, err)
		}
		log.tc = schema.FillKept(log.tc, kept)
		var talk *conversation
		for again := true; again; {
			if talk, err = newConversation(ctx, log); err == nil {
				talk.transcript.Kept = kept
				err = talk.run(ctx)
				talk.transcript.Notes = append(talk.transcript.Notes, talk.workspace.Close(context.WithoutCancel(ctx))...)
			}
			again, err = log.startOver(ctx, err)
		}
		s.spent = s.spent.Add(log.caller.Spent())
		if err != nil {
			return s.fail(ctx, err)
		}
		s.resumed = log.seq > 0 && !log.live
		s.execution.Transcript = talk.transcript
		s.execution.Usage = talk.transcript.Usage
		s.execution.Duration = now().Sub(start)
	}
	if s.attempt.caseRun.job.answerOnly {
		return nil
	}
	return s.measure(ctx)
}

// keptAnswers returns the answers of other cases that the case has, by their names, from the
// samples with the same number.
func (s *sample) keptAnswers(ctx context.Context) (map[string]string, error) {
	c := s.attempt.caseRun
	if len(c.job.Kept) == 0 {
		return nil, nil
	}
	all := map[string]string{}
	for _, k := range c.job.Kept {
		given := c.runner.answersOf(k.Under(s.attempt.digests))
		if s.number >= len(given) {
			if c.runner.recording {
				return nil, errUnrecorded
			}
			return nil, fmt.Errorf("the answer of %s to %s is missing", k.Target, k.Case.Key)
		}
		transcript := given[s.number].Transcript
		tc := withWrittenPrompt(k.Case, &transcript)
		transcript.Asked, transcript.Said = answering(tc, &transcript)
		answer, err := evaluate.Answer(ctx, k.Kept, evaluate.Input{Case: tc, Transcript: &transcript})
		if err != nil {
			return nil, fmt.Errorf("the answer of %s to %s: %w", k.Target, k.Case.Key, err)
		}
		all[k.Name] = answer
	}
	return all, nil
}

// measure lets every evaluator measure the transcript, one after the other, so that the
// order of their calls is always the same.
func (s *sample) measure(ctx context.Context) error {
	log, err := s.openLog(ctx, s.attempt.digests.J)
	if err != nil {
		return err
	}
	log.judging(s.subject())
	log.rejudged = s.rejudged()
	s.result.Ordinal = s.execution.Ordinal
	before := s.made
	for again := true; again; {
		s.made, s.result.Measurements = before, nil
		again, err = log.startOver(ctx, s.measureAll(ctx, log))
	}
	s.spent, s.saved = s.spent.Add(log.caller.Spent()), s.saved.Add(log.saved)
	s.stopped = ctx.Err() != nil
	if err != nil && !errors.Is(err, errUnmeasured) {
		return s.fail(ctx, err)
	}
	return nil
}

// measureAll adds each evaluator's measurements.
func (s *sample) measureAll(ctx context.Context, log *callLog) error {
	r, target := s.attempt.caseRun.runner, s.attempt.caseRun.job.Target
	transcript := s.execution.Transcript
	// The price is today's, which may differ from the price that was paid.
	price := r.cfg.Targets[target].Config.Price
	transcript.Usage, transcript.Turns = priced(transcript.Usage, price), pricedTurns(transcript.Turns, price)
	compared, problem := s.compare(ctx)
	if problem != nil {
		return problem
	}
	tc := withWrittenPrompt(log.tc, &transcript)
	transcript.Asked, transcript.Said = answering(tc, &transcript)
	log.sound = true
	for i, ev := range tc.Evaluators {
		var m verdict.Measurement
		if compared != nil {
			m = compared[i]
		}
		if m.Evaluator == "" { // it only looks at the sample
			var err error
			asked := log.seq
			m, err = evaluate.Measure(ctx, ev, evaluate.Input{
				Case: tc, Transcript: &transcript, Ask: log.askRole, Programs: r.cfg.Programs,
			})
			log.sound = log.sound && (log.seq == asked || err == nil && m.Error == "")
			if err != nil {
				return err
			}
		}
		if m.Error != "" {
			problem = errUnmeasured
		}
		s.made = s.made.Add(m.Usage)
		s.result.Measurements = append(s.result.Measurements, m)
	}
	return problem
}

// answering returns the number of messages before the answer of a sample, or the text
// that replaces it. If the user is simulated, the case's own target messages count as
// replies.
func answering(tc *schema.Case, t *verdict.Transcript) (asked int, said string) {
	if tc.Drive.CallsAnswer {
		said = t.Calls()
	}
	if tc.Drive.Simulation == nil {
		asked = len(tc.Drive.Messages)
	}
	return asked, said
}

// errUnmeasured represents the errors within measurements.
var errUnmeasured = errors.New("an evaluator could not measure")

// fail keeps an outside failure with the sample and returns a fault of the ledger.
func (s *sample) fail(ctx context.Context, err error) error {
	if fault, ok := errors.AsType[*evaluate.Fault](err); ok {
		return fault.Err
	}
	s.result.Error = err.Error()
	s.stopped = ctx.Err() != nil
	return nil
}

// failed reports whether the sample could not be judged.
func (s *sample) failed() bool {
	return s.result.Error != "" || len(s.result.Measurements) == 0 ||
		slices.ContainsFunc(s.result.Measurements, func(m verdict.Measurement) bool { return m.Error != "" })
}

// down returns the first target that the sample still needs and that is down, so that
// the others are not called in vain; nil without one.
func (s *sample) down() error {
	r, job := s.attempt.caseRun.runner, s.attempt.caseRun.job
	names := r.judges(job.Case)
	if s.fresh {
		if job.Case.Drive.Given == nil {
			names = append(names, job.Target)
		}
		if job.Case.Drive.Simulation != nil {
			names = append(names, r.cfg.Roles[schema.Simulator])
		}
	}
	for _, name := range names {
		if l := r.limits[name]; l != nil {
			if down := l.Down(); down != nil {
				return down
			}
		}
	}
	return nil
}

// judges returns the targets that measure the samples of a case.
func (r *runner) judges(c *schema.Case) []string {
	var names []string
	for _, ev := range c.Evaluators {
		if own, ok := ev.Spec.(interface{ Targets() []string }); ok {
			names = append(names, own.Targets()...)
		}
		for _, role := range ev.Spec.Roles() {
			if name, ok := evaluator.JudgedBy(role); ok {
				names = append(names, name)
			} else {
				names = append(names, r.cfg.Roles[role])
			}
		}
	}
	return names
}
