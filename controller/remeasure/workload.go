package remeasure

import (
	"cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/load"
	"github.com/gavel-evals/gavel/schema/packed"
)

// A Workload has the data for the estimate of a case. It is small enough to be
// remembered in place of the case.
type Workload struct {
	samples int
	// said counts the characters that the case itself sends with each call.
	said int
	// turns counts the replies of the target in a simulated conversation. It is 0
	// without a simulation.
	turns int
	// scripted counts the replies of the target in a conversation whose other side is
	// in the case. It is 0 for others.
	scripted    int
	alternative bool
	// given means that the answer is in the case.
	given bool
	// kept means that it has answers of other cases.
	kept bool
	// programs means that programs of the repository write its prompt, prepare its
	// workspace or judge it.
	programs bool
	// judges are asked once for each sample, comparison once for each pair of samples
	// of a case with an alternative.
	judges, comparison []load.Callee
	// retries bounds how often the case is run again, and editors counts the models
	// that are asked each time for a change.
	retried          bool
	retries, editors int
	// asks lists the models and roles that judging the case calls.
	asks []load.Callee
}

// NewWorkload returns the workload of a case.
func NewWorkload(c *schema.Case) Workload {
	s := Workload{samples: c.Samples(), said: len(c.System), alternative: c.Alternative != nil, given: c.Drive.Given != nil, kept: len(c.Kept) > 0, asks: load.Callees(c)}
	for _, m := range c.Drive.Messages {
		s.said += len(m.Content)
	}
	for _, said := range c.Drive.Turns() {
		s.scripted = len(c.Drive.Turns()) + 1
		for _, m := range said {
			s.said += len(m.Content)
		}
	}
	for _, t := range c.Tools {
		s.said += len(t.Description) + len(t.Parameters)
	}
	if c.Drive.Simulation != nil {
		s.turns = cmp.Or(c.Policy.MaxTurns, min(cmp.Or(c.Policy.TurnCap, usualTurns), usualTurns))
	}
	s.programs = len(evaluator.Builds(c)) > 0
	for _, ev := range c.Evaluators {
		s.judges = askedBy(s.judges, ev.Spec)
	}
	if s.alternative && c.Alternative.Comparison != nil {
		s.comparison = askedBy(nil, c.Alternative.Comparison)
	}
	if retry := c.Policy.Retry; retry != nil {
		s.retried, s.retries, s.editors = true, retry.Most, len(c.Policy.Roles())
	}
	return s
}

// askedBy appends the models and roles that a spec calls for each sample.
func askedBy(list []load.Callee, spec schema.Spec) []load.Callee {
	for _, role := range spec.Roles() {
		list = append(list, load.Callee{Role: role})
	}
	if own, ok := spec.(interface{ Targets() []string }); ok {
		for _, name := range own.Targets() {
			list = append(list, load.Callee{Target: name})
		}
	}
	return list
}

// The bits of a workload's first number.
const (
	bitAlternative = 1 << iota
	bitRetried
	bitGiven
	bitPrograms
	bitKept
)

// HasKept reports whether the case has answers of other cases, which only the case itself
// names.
func (s Workload) HasKept() bool { return s.kept }

// RunsPrograms reports whether programs of the repository write the prompt of the case,
// prepare its workspace or judge it.
func (s Workload) RunsPrograms() bool { return s.programs }

// Text encodes the workload for [ReadWorkload].
func (s Workload) Text() string {
	var w packed.Writer
	flags := 0
	if s.alternative {
		flags |= bitAlternative
	}
	if s.retried {
		flags |= bitRetried
	}
	if s.given {
		flags |= bitGiven
	}
	if s.programs {
		flags |= bitPrograms
	}
	if s.kept {
		flags |= bitKept
	}
	for _, n := range []int{flags, s.samples, s.said, s.turns, s.scripted, s.retries, s.editors} {
		w.Number(n)
	}
	for _, list := range [][]load.Callee{s.judges, s.comparison, s.asks} {
		w.Number(len(list))
		for _, a := range list {
			w.Text(string(a.Role))
			w.Text(a.Target)
		}
	}
	return string(w.Bytes)
}

// ReadWorkload returns the workload that Text encoded. It reports false for another text.
func ReadWorkload(text string) (Workload, bool) {
	r := packed.Reader{Rest: text}
	var s Workload
	flags := r.Number()
	s.alternative, s.retried, s.given, s.programs, s.kept = flags&bitAlternative != 0, flags&bitRetried != 0, flags&bitGiven != 0, flags&bitPrograms != 0, flags&bitKept != 0
	for _, n := range []*int{&s.samples, &s.said, &s.turns, &s.scripted, &s.retries, &s.editors} {
		*n = r.Number()
	}
	for _, list := range []*[]load.Callee{&s.judges, &s.comparison, &s.asks} {
		for range r.Count() {
			*list = append(*list, load.Callee{Role: schema.Role(r.Text()), Target: r.Text()})
		}
	}
	return s, !r.Bad && r.Rest == ""
}
