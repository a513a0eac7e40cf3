package evaluate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// trajectory compares the target's calls with the expected ones (the tool_trajectory of
// the evalcase format). Each minimum and each step is a criterion, 1 if it holds, else
// 0, so that the score is
//
//		matched / expected
//
//	  - minimums: the tool was called at least so often, in every mode
//	  - any_order: a step has its own call (a largest matching)
//	  - superset: as any_order; subset: each call is one of the steps
//	  - in_order: a step is on the longest chain of steps that were made in
//	    order; if all were made, but in another order, nothing holds
//	  - exact: the calls are the steps in their order, some of which may be
//	    missing; if there is any other call or another order, nothing holds
//
// With Partial, another order or an extra call only costs its share, and exact compares
// the steps one by one.
//
// A call whose arguments or duration do not fit is a missing step; under exact it is
// not an extra call. Unknown calls or durations are an error.
func trajectory(spec evaluator.Trajectory, in suiteInput) (suiteFinding, error) {
	if !in.Transcript.Traced {
		return suiteFinding{}, errUntraced
	}
	if len(spec.Steps) > Most {
		return suiteFinding{}, fmt.Errorf("%d calls are expected; at most %d can be compared", len(spec.Steps), Most)
	}
	made := timed(in.output())
	fits, err := fitting(spec.Steps, made)
	if err != nil {
		return suiteFinding{}, err
	}
	if spec.Mode == evaluator.Subset {
		return subset(spec.Steps, fits, made), nil
	}
	held, violation, err := match(spec, fits, made)
	if err != nil {
		return suiteFinding{}, err
	}
	list := minimums(spec.Minimums, made)
	for i, step := range spec.Steps {
		c := verdict.Criterion{ID: fmt.Sprintf("step %d %s", i+1, step.Tool), Score: share(held[i])}
		if !held[i] {
			c.Note = stepNote(step, fits[i], made)
			contrastCalls(&c, stepCall(step), fits[i], callsOf(made, madeCall))
		}
		list = append(list, c)
	}
	if spec.Mode == evaluator.ExactOrder && spec.Partial {
		for i := len(spec.Steps); i < len(made); i++ {
			list = append(list, verdict.Criterion{ID: fmt.Sprintf("call %d %s", i+1, made[i].Name), Note: "one too many"})
		}
	}
	if spec.NoCall && len(list) == 0 {
		list = append(list, verdict.Criterion{ID: "no call", Score: 1})
	}
	if len(list) == 0 {
		return suiteFinding{}, errors.New("no call is expected")
	}
	if violation != "" {
		for i := range list {
			list[i].Score, list[i].Note = 0, violation
		}
		if !slices.ContainsFunc(list, func(c verdict.Criterion) bool { return c.Expected != "" }) {
			contrastOrder(&list[0], callsOf(spec.Steps, stepCall), callsOf(made, madeCall))
		}
		return suiteFinding{list, violation + "; called: " + wasCalled(made)}, nil
	}
	return suiteFinding{list, trajectoryReason(list, made)}, nil
}

// stepCall returns the call that a step expects.
func stepCall(s evaluator.Step) Call { return Call{Name: s.Tool, Text: string(s.Args)} }

// madeCall returns a call without its duration.
func madeCall(m timedCall) Call { return m.Call }

// match returns which steps hold, and the violation that makes the whole score 0, or an
// empty string.
func match(spec evaluator.Trajectory, fits [][]bool, made []timedCall) (held []bool, violation string, err error) {
	switch spec.Mode {
	case evaluator.AnyOrder, evaluator.Superset:
		return matchAny(fits, len(made)), "", nil
	case evaluator.InOrder:
		held = matchChain(fits, len(made))
		if !spec.Partial && slices.Contains(held, false) && !slices.Contains(matchAny(fits, len(made)), false) {
			violation = "all expected calls were made, but in another order"
		}
		return held, violation, nil
	case evaluator.ExactOrder:
		if spec.Partial {
			held = make([]bool, len(spec.Steps))
			for i := range held {
				held[i] = i < len(made) && fits[i][i]
			}
			return held, "", nil
		}
		if len(spec.Steps) == 0 && !spec.NoCall {
			return nil, "", nil // only minimums
		}
		held, violation = matchExact(spec.Steps, fits, made)
		return held, violation, nil
	}
	return nil, "", fmt.Errorf("there is no trajectory mode %q", spec.Mode)
}

// subset checks every call against the steps. A call that is none of them does not hold; a
// step may be made several times. Without calls everything holds.
func subset(steps []evaluator.Step, fits [][]bool, made []timedCall) suiteFinding {
	if len(made) == 0 {
		return suiteFinding{[]verdict.Criterion{{ID: "no call", Score: 1}}, "no tool was called"}
	}
	byCall := make([][]bool, len(made))
	for j := range made {
		for i := range fits {
			byCall[j] = append(byCall[j], fits[i][j])
		}
	}
	var list []verdict.Criterion
	for j, m := range made {
		isListed := slices.Contains(byCall[j], true)
		c := verdict.Criterion{ID: fmt.Sprintf("call %d %s", j+1, m.Name), Score: share(isListed)}
		if !isListed {
			c.Note = "not expected"
			contrastOrder(&c, callsOf(steps, stepCall), []Call{m.Call})
		}
		list = append(list, c)
	}
	return suiteFinding{list, trajectoryReason(list, made)}
}

// matchExact assigns every call to a step of its tool, in order, so that as many as
// possible fit. The violation names a call without a step.
func matchExact(steps []evaluator.Step, fits [][]bool, made []timedCall) (held []bool, violation string) {
	expected := map[string]int{}
	for _, s := range steps {
		expected[s.Tool]++
	}
	for i, m := range made {
		if expected[m.Name]--; expected[m.Name] < 0 {
			return make([]bool, len(steps)), fmt.Sprintf("call %d %s is one too many", i+1, m.Name)
		}
	}
	// best[i][j] is the number of fits of the calls from j on, assigned to the steps
	// from i on; impossible if they cannot be assigned.
	const impossible = -1
	best := make([][]int, len(steps)+1)
	for i := len(steps); i >= 0; i-- {
		best[i] = make([]int, len(made)+1)
		for j := range made {
			best[i][j] = impossible
		}
		for j := 0; i < len(steps) && j < len(made); j++ {
			best[i][j] = max(best[i+1][j], matchedCalls(steps[i], made[j], fits[i][j], best[i+1][j+1]))
		}
	}
	held = make([]bool, len(steps))
	if best[0][0] == impossible {
		return held, "the calls were made in another order"
	}
	for i, j := 0, 0; j < len(made); i++ {
		if best[i][j] == matchedCalls(steps[i], made[j], fits[i][j], best[i+1][j+1]) {
			held[i] = fits[i][j]
			j++
		}
	}
	return held, ""
}

// matchedCalls returns the number of calls that fit if a step takes a call and the
// others have rest; negative if that is impossible.
func matchedCalls(step evaluator.Step, made timedCall, fits bool, rest int) int {
	switch {
	case rest < 0 || step.Tool != made.Name:
		return -1
	case fits:
		return rest + 1
	}
	return rest
}

// A timedCall is a call with its duration in milliseconds, if known.
type timedCall struct {
	Call
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
	made := Made(messages)
	out := make([]timedCall, len(made))
	for i, c := range made {
		out[i] = timedCall{c, took[i]}
	}
	return out
}

// fitting returns, for every step, the calls that fit it.
func fitting(steps []evaluator.Step, made []timedCall) ([][]bool, error) {
	fits := make([][]bool, len(steps))
	for i, step := range steps {
		want := Call{Name: step.Tool}
		if step.Args != nil {
			var err error
			if want.Args, err = Decode(step.Args); err != nil {
				return nil, fmt.Errorf("expected arguments of %s: %w", step.Tool, err)
			}
		}
		fits[i] = make([]bool, len(made))
		for j, m := range made {
			if !argumentsFit(step, want, m.Call) {
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

// argumentsFit reports whether a call has the tool and the arguments that a step wants.
func argumentsFit(step evaluator.Step, want, made Call) bool {
	listed, _ := want.Args.(map[string]any)
	switch step.Compare {
	case evaluator.Superset:
		return want.Name == made.Name && holds(made.Args, listed, slices.Collect(maps.Keys(listed))) && hasAll(made.Args, step.AnyValue)
	case evaluator.Subset:
		object, ok := made.Args.(map[string]any)
		names := slices.DeleteFunc(slices.Collect(maps.Keys(object)), func(name string) bool { return slices.Contains(step.AnyValue, name) })
		// Without arguments every call fits.
		return want.Name == made.Name && (want.Args == nil && len(step.AnyValue) == 0 || ok && holds(object, listed, names))
	}
	return want.Fits(made) && hasAll(made.Args, step.AnyValue) && (!step.Exact || made.Fits(want))
}

// holds reports whether arguments have all the names, with the listed values. Nested
// values must be equal, without additions.
func holds(args any, listed map[string]any, names []string) bool {
	object, _ := args.(map[string]any)
	for _, name := range names {
		wanted, ok := listed[name]
		got, made := object[name]
		if !ok || !made || !carries(wanted, got) || !carries(got, wanted) {
			return false
		}
	}
	return true
}

// hasAll reports whether arguments have all these names, with any values.
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
			if least[tool] == 1 {
				c.Note = "never called"
			}
		}
		list = append(list, c)
	}
	return list
}

// stepNote returns the reason why a step does not hold.
func stepNote(step evaluator.Step, fits []bool, made []timedCall) string {
	note := "not called"
	for j, m := range made {
		switch {
		case fits[j]:
			return "called at another place, or too few times"
		case m.Name == step.Tool:
			note = "called with other arguments: " + clip(m.Text)
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
	return "not as expected: " + clip(strings.Join(broken, ", ")) + "; called: " + wasCalled(made)
}

// wasCalled lists the called tools in order.
func wasCalled(made []timedCall) string {
	if len(made) == 0 {
		return "none"
	}
	names := make([]string, len(made))
	for i, m := range made {
		names[i] = m.Name
	}
	return clip(strings.Join(names, ", "))
}
