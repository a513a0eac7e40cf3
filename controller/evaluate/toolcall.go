package evaluate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// toolCalls compares the target's calls with the expected ones: one criterion per
// expected call, 1 if it was matched, so that the score is matched / expected (the
// tool_call section of the domain dialect).
//
// Every expected call needs its own call. In any order, a largest matching is taken
// (Kuhn's augmenting paths); in a chain, a longest common subsequence.
func toolCalls(spec evaluator.ToolCalls, tr *verdict.Transcript) (finding, error) {
	if !tr.Traced {
		return finding{}, errors.New("the target does not report its tool calls")
	}
	if len(spec.Expected) == 0 {
		return finding{}, errors.New("no tool call is expected")
	}
	if len(spec.Expected) > Most {
		return finding{}, fmt.Errorf("%d tool calls are expected; at most %d can be compared", len(spec.Expected), Most)
	}
	wanted := make([]Call, len(spec.Expected))
	for i, e := range spec.Expected {
		wanted[i] = Call{Name: e.Tool, Text: string(e.Args)}
		if len(e.Args) == 0 || string(e.Args) == "null" {
			continue
		}
		var err error
		if wanted[i].Args, err = Decode(e.Args); err != nil {
			return finding{}, fmt.Errorf("expected arguments of %s: %w", e.Tool, err)
		}
	}
	made := Made(tr.Messages)
	fits := make([][]bool, len(wanted))
	for i, w := range wanted {
		fits[i] = make([]bool, len(made))
		for j, m := range made {
			fits[i][j] = w.Fits(m)
		}
	}
	matched := matchAny(fits, len(made))
	if spec.Chain {
		matched = matchChain(fits, len(made))
	}
	return toolFinding(spec.Chain, wanted, made, fits, matched), nil
}

func toolFinding(chain bool, wanted, made []Call, fits [][]bool, matched []bool) finding {
	var f finding
	var missing []string
	ids := newIDs()
	isOrderShown := false // once is enough
	for i, want := range wanted {
		c := verdict.Criterion{ID: ids.next("call " + want.Name), Score: share(matched[i])}
		if !matched[i] {
			c.Note = missingNote(want, made, chain)
			contrastCalls(&c, want, fits[i], made)
			if chain && slices.Contains(fits[i], true) && !isOrderShown {
				contrastOrder(&c, wanted, made)
				isOrderShown = true
			}
			missing = append(missing, want.Name+" ("+c.Note+")")
		}
		f.criteria = append(f.criteria, c)
	}
	f.reason = fmt.Sprintf("%d of %d expected tool calls were made", len(wanted)-len(missing), len(wanted))
	if chain {
		f.reason += " in order"
	}
	if len(missing) > 0 {
		f.reason += "; missing: " + clip(strings.Join(missing, ", ")) + "; called: " + calledNames(made)
	}
	return f
}

// missingNote distinguishes a call that is missing from one that does not fit.
func missingNote(want Call, made []Call, chain bool) string {
	note := "not called"
	for _, m := range made {
		switch {
		case want.Fits(m) && chain:
			return "called out of order"
		case want.Fits(m):
			return "called too few times"
		case want.Name == m.Name:
			note = "called with other arguments: " + clip(m.Text)
		}
	}
	return note
}

func calledNames(made []Call) string {
	if len(made) == 0 {
		return "none"
	}
	names := make([]string, len(made))
	for i, m := range made {
		names[i] = m.Name
	}
	return clip(strings.Join(names, ", "))
}
