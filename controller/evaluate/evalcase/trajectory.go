package evalcase

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/evaluate/textnorm"
	"github.com/gavel-evals/gavel/controller/evaluate/toolmatch"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// Trajectory compares the calls that the target made with those expected (the
// tool_trajectory of the evalcase format). Each of these is a criterion, 1 where
// it holds and else 0, so that the score is the share of those that hold:
//
//   - any_order: a tool with a minimum was called at least so often; a step has
//     a call of its own (a largest matching)
//   - in_order: a step is on the longest chain of steps that were made in order
//   - exact: the n-th step is the n-th call; every call beyond the steps is a
//     criterion that does not hold
//
// A step with a longest duration holds by a call that took no longer. Calls or
// durations that are not known are an error.
func Trajectory(spec evaluator.Trajectory, in Input) (Finding, error) {
	if !in.Transcript.Traced {
		return Finding{}, errUntraced
	}
	if len(spec.Steps) > toolmatch.Most {
		return Finding{}, fmt.Errorf("%d calls are expected; at most %d can be compared", len(spec.Steps), toolmatch.Most)
	}
	made := timed(in.output())
	fits, err := fitting(spec.Steps, made)
	if err != nil {
		return Finding{}, err
	}
	var held []bool
	switch spec.Mode {
	case evaluator.AnyOrder:
		held = toolmatch.MatchAny(fits, len(made))
	case evaluator.InOrder:
		held = toolmatch.MatchChain(fits, len(made))
	case evaluator.ExactOrder:
		held = make([]bool, len(fits))
		for i := range held {
			held[i] = i < len(made) && fits[i][i]
		}
	default:
		return Finding{}, fmt.Errorf("there is no trajectory mode %q", spec.Mode)
	}
	list := minimums(spec.Minimums, made)
	for i, step := range spec.Steps {
		c := verdict.Criterion{ID: fmt.Sprintf("step %d %s", i+1, step.Tool), Score: share(held[i])}
		if !held[i] {
			c.Note = stepNote(step, fits[i], made)
		}
		list = append(list, c)
	}
	for i := len(spec.Steps); spec.Mode == evaluator.ExactOrder && i < len(made); i++ {
		list = append(list, verdict.Criterion{ID: fmt.Sprintf("call %d %s", i+1, made[i].Name), Note: "not expected"})
	}
	if len(list) == 0 {
		return Finding{}, errors.New("no call is expected")
	}
	return Finding{list, trajectoryReason(list, made)}, nil
}

// A timedCall is a call with how long it took, in milliseconds, where that is
// known.
type timedCall struct {
	toolmatch.Call
	took *float64
}

func timed(messages []schema.Message) []timedCall {
	var took []*float64
	for _, m := range messages {
		if m.Role != schema.RoleAssistant {
			continue
		}
		for _, c := range m.ToolCalls {
			took = append(took, c.DurationMS)
		}
	}
	made := toolmatch.Made(messages)
	out := make([]timedCall, len(made))
	for i, c := range made {
		out[i] = timedCall{c, took[i]}
	}
	return out
}

// fitting says of every step which calls could be it.
func fitting(steps []evaluator.Step, made []timedCall) ([][]bool, error) {
	fits := make([][]bool, len(steps))
	for i, step := range steps {
		want := toolmatch.Call{Name: step.Tool}
		if step.Args != nil {
			var err error
			if want.Args, err = toolmatch.Decode(step.Args); err != nil {
				return nil, fmt.Errorf("expected arguments of %s: %w", step.Tool, err)
			}
		}
		fits[i] = make([]bool, len(made))
		for j, m := range made {
			if !want.Fits(m.Call) || !hasAll(m.Args, step.AnyValue) {
				continue
			}
			if step.MaxMS > 0 && m.took == nil {
				return nil, fmt.Errorf("the target does not report how long its calls take, and %s may take %v ms", step.Tool, step.MaxMS)
			}
			fits[i][j] = step.MaxMS == 0 || *m.took <= step.MaxMS
		}
	}
	return fits, nil
}

// hasAll reports whether arguments have all these, whatever their values.
func hasAll(args any, names []string) bool {
	object, _ := args.(map[string]any)
	for _, name := range names {
		if _, ok := object[name]; !ok {
			return false
		}
	}
	return true
}

func minimums(least map[string]int, made []timedCall) []verdict.Criterion {
	var list []verdict.Criterion
	for _, tool := range slices.Sorted(maps.Keys(least)) {
		n := 0
		for _, m := range made {
			if m.Name == tool {
				n++
			}
		}
		c := verdict.Criterion{ID: "minimum " + tool, Score: share(n >= least[tool])}
		if c.Score == 0 {
			c.Note = fmt.Sprintf("called %d of at least %d times", n, least[tool])
		}
		list = append(list, c)
	}
	return list
}

// stepNote says why a step does not hold.
func stepNote(step evaluator.Step, fits []bool, made []timedCall) string {
	note := "not called"
	for j, m := range made {
		switch {
		case fits[j]:
			return "called at another place, or too few times"
		case m.Name == step.Tool:
			note = "called with other arguments: " + textnorm.Clip(m.Text)
			if step.MaxMS > 0 && m.took != nil && *m.took > step.MaxMS {
				note = fmt.Sprintf("took %v ms, more than %v", *m.took, step.MaxMS)
			}
		}
	}
	return note
}

func trajectoryReason(list []verdict.Criterion, made []timedCall) string {
	var broken []string
	for _, c := range list {
		if c.Score == 0 {
			broken = append(broken, c.ID+" ("+c.Note+")")
		}
	}
	if len(broken) == 0 {
		return "all calls are as expected"
	}
	names := make([]string, len(made))
	for i, m := range made {
		names[i] = m.Name
	}
	called := "none"
	if len(names) > 0 {
		called = strings.Join(names, ", ")
	}
	return "not as expected: " + textnorm.Clip(strings.Join(broken, ", ")) + "; called: " + textnorm.Clip(called)
}
