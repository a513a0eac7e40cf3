package evaluate

import (
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// maxDoubts bounds the calls shown to the judge for one expectation, so that an agent
// that repeats a tool does not cost unlimited tokens.
const maxDoubts = 50

// expectations compares a conversation's tool calls with the calls that it must and
// must not have.
//
// A call matches if the tool is the same and the arguments carry the listed params:
// objects by the listed keys at every depth, lists item by item, numbers by value. A
// call of the tool that has all listed params but with some other values is a doubt,
// and the judge decides whether it means the same. It is asked only if the answer
// matters: about a wanted call if some expectation of the tool is open without it,
// about a forbidden one if none was made exactly.
//
// Every wanted call needs its own call; see [matchAny]. A forbidden call must not
// occur, even if it meets another expectation.
type expectations struct {
	specs  []evaluator.CallExpectation
	wanted []Call
	made   []turnCall
	fits   [][]bool // by expectation, then by call
	doubts []doubt
	// cut marks the wanted calls with more doubts than are asked about.
	cut []bool
}

// A turnCall is a call with the turn of its message.
type turnCall struct {
	Call
	turn int
	// canonical is the arguments' canonical form, equal for equal arguments; empty if
	// they are not JSON.
	canonical string
}

// A doubt asks whether calls with these arguments meet an expectation.
type doubt struct {
	want  int   // index of the expectation
	calls []int // indices of the calls, all with the same arguments
}

func newExpectations(specs []evaluator.CallExpectation, tr *verdict.Transcript) (*expectations, error) {
	e := &expectations{specs: specs, made: callsByTurn(tr), cut: make([]bool, len(specs))}
	for _, s := range specs {
		want := Call{Name: s.Tool}
		if s.Params != nil {
			var err error
			if want.Args, err = Decode(s.Params); err != nil {
				return nil, fmt.Errorf("expected params of %s: %w", s.Tool, err)
			}
		}
		fits := make([]bool, len(e.made))
		for i, m := range e.made {
			fits[i] = want.Fits(m.Call)
		}
		e.wanted, e.fits = append(e.wanted, want), append(e.fits, fits)
	}
	return e, e.doubt()
}

// callsByTurn lists all calls of the target in order.
func callsByTurn(tr *verdict.Transcript) []turnCall {
	var made []turnCall
	for i, m := range tr.Messages {
		if m.Role != schema.RoleAssistant {
			continue
		}
		for _, c := range m.ToolCalls {
			next := turnCall{Call: Call{Name: c.Function.Name, Text: c.Function.Arguments}, turn: i + 1}
			if canonical, err := schema.Canonical([]byte(next.Text)); err == nil {
				next.canonical = string(canonical)
			}
			if args, err := Decode([]byte(next.Text)); err == nil {
				next.Args = args
			}
			made = append(made, next)
		}
	}
	return made
}

// doubt collects the questions for the judge.
func (e *expectations) doubt() error {
	open := map[string]bool{} // tools with an unmet expectation
	for i, held := range e.matched() {
		if !held && !e.specs[i].Forbidden {
			open[e.specs[i].Tool] = true
		}
	}
	for i, s := range e.specs {
		if s.Forbidden && e.first(i) >= 0 || !s.Forbidden && !open[s.Tool] {
			continue
		}
		asked := map[string]int{} // by arguments, the doubt plus 1
		for j, m := range e.made {
			if e.fits[i][j] || !couldMean(e.wanted[i], m.Call) {
				continue
			}
			n := asked[m.canonical]
			switch {
			case n > 0:
				e.doubts[n-1].calls = append(e.doubts[n-1].calls, j)
			case len(asked) < maxDoubts:
				e.doubts = append(e.doubts, doubt{i, []int{j}})
				asked[m.canonical] = len(e.doubts)
			case s.Forbidden:
				return fmt.Errorf("the target made more than %d different calls of %s, too many to say that none is the forbidden one", maxDoubts, s.Tool)
			default:
				e.cut[i] = true
			}
		}
	}
	return nil
}

// couldMean reports whether a call has all listed params.
func couldMean(want, made Call) bool {
	listed, _ := want.Args.(map[string]any)
	got, ok := made.Args.(map[string]any)
	if want.Name != made.Name || !ok {
		return false
	}
	for name := range listed {
		if _, there := got[name]; !there {
			return false
		}
	}
	return true
}

// matched reports for each expectation whether it is met by the fits so far.
func (e *expectations) matched() []bool {
	held := make([]bool, len(e.specs))
	var at []int
	var fits [][]bool
	for i, s := range e.specs {
		if s.Forbidden {
			held[i] = e.first(i) < 0
			continue
		}
		at, fits = append(at, i), append(fits, e.fits[i])
	}
	for n, ok := range matchAny(fits, len(e.made)) {
		held[at[n]] = ok
	}
	return held
}

// first returns the index of the first call that fits an expectation, or -1.
func (e *expectations) first(i int) int {
	for j, fit := range e.fits[i] {
		if fit {
			return j
		}
	}
	return -1
}

// criteria returns 1 for each expectation that is met, else 0. same has the judge's
// answer to each doubt.
func (e *expectations) criteria(same []bool) []verdict.Criterion {
	for n, d := range e.doubts {
		for _, j := range d.calls {
			e.fits[d.want][j] = same[n]
		}
	}
	held := e.matched()
	out := make([]verdict.Criterion, len(e.specs))
	for i, s := range e.specs {
		c := verdict.Criterion{ID: s.ID, Score: share(held[i])}
		if j := e.first(i); j >= 0 && held[i] != s.Forbidden {
			c.Turns = []int{e.made[j].turn}
		}
		if !held[i] {
			c.Note = e.broken(i)
			if !s.Forbidden {
				contrastCalls(&c, Call{Name: s.Tool, Text: string(s.Params)}, e.fits[i], callsOf(e.made, func(m turnCall) Call { return m.Call }))
			}
		}
		out[i] = c
	}
	return out
}

// broken returns the reason why an expectation is not met.
func (e *expectations) broken(i int) string {
	s, want := e.specs[i], e.wanted[i]
	if s.Forbidden {
		return s.Tool + " must not be called" + paramsNote(s) + ", and was: " + clip(e.made[e.first(i)].Text)
	}
	note := " was not called"
	for j, m := range e.made {
		switch {
		case e.fits[i][j]:
			return s.Tool + paramsNote(s) + " was called too few times"
		case want.Name == m.Name:
			note = " was called with other arguments: " + clip(m.Text)
		}
	}
	if e.cut[i] {
		note += fmt.Sprintf(" (the judge saw the first %d different calls)", maxDoubts)
	}
	return s.Tool + paramsNote(s) + note
}

func paramsNote(s evaluator.CallExpectation) string {
	if s.Params == nil {
		return ""
	}
	return " with " + clip(strings.TrimSpace(string(s.Params)))
}
