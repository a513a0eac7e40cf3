// Package confirm decides which differences between base and head are real. Its
// input is the result of one measurement for each case and side. It requests further
// measurements, and decides in the end whether each case got worse.
//
// Most callers want [New], then a loop over [Procedure.Batches] that measures and
// calls [Procedure.Record], then [Procedure.Result]:
//
//	p := confirm.New(cases, options)
//	for batch := range p.Batches() {
//		for _, request := range batch {
//			p.Record(request, measure(request))
//		}
//	}
//	result := p.Result()
//
// The package measures nothing itself, reads no clock and uses no random numbers. The
// next requests and the decisions are functions of the cases, the options and the
// recorded outcomes, not of their order. So a loop that ends early and is continued
// with the recorded outcomes requests the same measurements and reaches the
// same result as an uninterrupted one, with any number of them at a time.
//
// # What holds
//
// No call uses a stored measurement, or one that was looked at in order to choose what
// to measure: stored measurements and the first one at head choose, and fresh pairs
// call. If a pull request changes nothing, the chance of any call is at most α for each
// evaluated head, or for all heads of a pull request together: 4/5 of α for the cases together, 1/5 for their means. The bound needs
// cases that fail independently of each other, and pairs whose measurements are taken at
// about the same time. It does not need a valid history. Stopping early loses
// differences and never adds one.
//
// A mean that is exactly at a limit is taken for held, or for broken, in about 1 % each by
// the first outcomes, and in 2 % by the two further rounds.
package confirm

import (
	"iter"
	"math"
	"time"

	"github.com/gavel-evals/gavel/controller/verdict"
)

// A Side is one of the two sides of a comparison.
type Side int8

// The sides of a comparison.
const (
	Base Side = iota
	Head
)

// String returns base or head.
func (s Side) String() string { return [...]string{"base", "head"}[s] }

// An Outcome is the result of one whole measurement of a case.
type Outcome struct {
	Verdict verdict.Verdict
	// Score is nil if there is none.
	Score *float64
	// Source is what answered: outcomes of one source may be spoiled at the same time.
	Source string
	// Symptom is the same for errors that may have one cause outside the cases, such as
	// the text of a provider's error. Empty means that the error is the case's own. What
	// is judged has none: cases that fail alike may be right to.
	Symptom string
	// Retry says that an error may not occur again: an error of the transport or the
	// provider, and not one about the request.
	Retry bool
	// At is when its measurement began, and Took how long it took.
	At   time.Time
	Took time.Duration
}

// A Case is the knowledge about one case before anything is measured again. Skipped
// cases, and cases that head does not have, are left out.
type Case struct {
	// Base are the outcomes at base: those stored under the same decision digest,
	// the oldest first, or a fresh one. Outcomes that were taken because of an
	// outcome are not among them. The newest twenty count; none means that the case
	// is new.
	Base []Outcome
	// Fresh says that Base is one outcome that was measured next to head's.
	Fresh bool
	// Head is the outcome at head.
	Head Outcome
	// Failures are errors whose place an outcome took that was measured later, such as
	// by a run that continued an interrupted one. They are indexed by the side.
	Failures [2][]Outcome
	// Certain says that nothing between the sides depends on chance: the target is
	// deterministic, or both sides decide about the same measurements.
	Certain bool
	// Gone says that base cannot be measured again. Only head can: the case is called
	// if none of five reruns is as good as base's verdict, and undetermined if most of
	// them are not.
	Gone bool
	// Required cases go first, and are undetermined in situations in which others are
	// unclear.
	Required bool
	// Accepted says that a person accepted the outcome at head. The case is measured like
	// any other, and is left out of the tests of all cases together.
	Accepted bool
	// Conversation is the same for cases that are turns of one conversation; empty for
	// any other case.
	Conversation string
	// Weight is the share in the interval of the mean.
	Weight float64
}

// Options are the settings of a team.
type Options struct {
	// Alpha is the chance of a false alarm in a pull request that changes
	// nothing. Defaults to 0.05.
	Alpha float64
	// Push, if not 0, makes Alpha the chance over all pushes of the pull request, of
	// which this is the Push-th: it may spend [Spent] of Alpha.
	Push int
	// Looks is how many reruns at head a case gets at most to be called, and as many
	// again, and a third, if its history chose it. Defaults to 12.
	Looks int
	// New is the rule for a case without a base. Defaults to one run that passes.
	New Rule
	// Budget is how many measurements may be asked for, counted from the first;
	// negative means without bound. A resumed procedure gets the budget that it began with.
	Budget int
	// Improvements asks for cases that got better to be confirmed as well.
	Improvements bool
	// Scores makes a fall of the scores a failure. Then the tests of the mean of the
	// verdicts and of the scores share α; otherwise a fall of the scores is only
	// reported.
	Scores bool
	// Limits are the limits on means. Cases of an open one are measured again.
	Limits []Limit
	// Spare says that a regression decides, so that none of its limits is measured again.
	Spare bool
	// Width is how many cases are measured at a time. It belongs to the decision,
	// so it must not depend on the machine. Defaults to 8 or a quarter of the cases
	// in question, whichever is more; where the budget is short, to a sixteenth.
	Width int
}

// Spent returns the share of alpha that the push-th push of a pull request may spend,
// push being at least 1: 6/(π²·push²) of it. The shares of all pushes add up to alpha, as
// the sum of 1/k² is π²/6 (L. Euler, De summis serierum reciprocarum, 1740), so that by
// Boole's inequality the chance of an alarm in any of them is at most alpha.
func Spent(alpha float64, push int) float64 {
	k := float64(push)
	return alpha * 6 / (math.Pi * math.Pi * k * k)
}

// A Rule says how many of how many runs have to pass.
type Rule struct{ Runs, Pass int }

// withDefaults fills in the missing options.
func (o Options) withDefaults() Options {
	if o.Alpha == 0 {
		o.Alpha = 0.05
	}
	if o.Push > 0 {
		o.Alpha = Spent(o.Alpha, o.Push)
	}
	if o.Looks == 0 {
		o.Looks = 12
	}
	if o.New.Runs == 0 {
		o.New = Rule{Runs: 1, Pass: 1}
	}
	return o
}

// A Request asks for a whole measurement of a case at a side: with all its
// iterations and attempts. Where both sides execute the same and only judge it
// differently, judging a stored transcript again is a measurement. Ordinal counts
// what was asked of the case and side before, from 0; what they had at the start
// is not counted.
type Request struct {
	// Case is its place among the cases.
	Case    int
	Side    Side
	Ordinal int
}

// tries is how often a measurement that ends in an error is requested.
const tries = 3

// A Procedure is one comparison of base and head. It is not safe for concurrent
// use; outcomes of a batch may be recorded in any order.
type Procedure struct {
	cases    []Case
	options  Options
	outcomes map[Request]Outcome
	errors   map[Request]int
	records  int
	// done is the finished decision about the recorded outcomes; nil if more was
	// recorded since, or is missing.
	done *decision
}

// New begins a procedure. It keeps the cases and changes none.
func New(cases []Case, options Options) *Procedure {
	return &Procedure{cases: cases, options: options.withDefaults(), outcomes: map[Request]Outcome{}, errors: map[Request]int{}}
}

// Record records the outcome of a measurement, in the present batch or from before an
// interruption. An error is requested again, up to three times in all. The first
// judgement counts; further ones are ignored.
func (p *Procedure) Record(r Request, o Outcome) {
	p.records++
	p.done = nil
	if _, known := p.outcomes[r]; known {
		return
	}
	if o.Verdict.Rank() < 0 {
		p.errors[r]++
		if p.errors[r] < tries {
			return
		}
	}
	p.outcomes[r] = o
}

// Batches returns the measurements to take, in order. The measurements of one batch may
// be taken at the same time; all of them should be recorded before the next. A batch
// that comes back without any record ends the procedure, and so does leaving the loop.
func (p *Procedure) Batches() iter.Seq[[]Request] {
	return func(yield func([]Request) bool) {
		p.decide(func(missing []Request) bool {
			before := p.records
			return yield(missing) && p.records > before
		})
	}
}

// Result returns the decision of the recorded outcomes, in the middle or at the end.
func (p *Procedure) Result() Result {
	return p.decide(func([]Request) bool { return false }).result()
}

// decide goes through the whole procedure. If an outcome is missing, it calls take to
// have it recorded, until all are there or take refuses.
func (p *Procedure) decide(take func([]Request) bool) *decision {
	if p.done != nil {
		return p.done
	}
	d := newDecision(p, take)
	if d.complete = d.run(); d.complete {
		p.done = d
	}
	return d
}
