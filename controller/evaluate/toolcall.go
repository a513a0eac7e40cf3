package evaluate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// maxCalls bounds how many calls are expected and how many of a transcript are
// looked at, so that a chatty agent does not make the matching slow.
const maxCalls = 1000

// toolCalls compares the calls that the target made with those expected: one
// criterion per expected call, 1 where it was matched, so that the score is
// matched / expected (the tool_call section of the domain dialect).
//
// Every expected call needs a call of its own. In any order, a largest
// matching is taken (Kuhn's augmenting paths); in a chain, a longest common
// subsequence.
func toolCalls(spec evaluator.ToolCalls, tr *verdict.Transcript) (finding, error) {
	if !tr.Traced {
		return finding{}, errors.New("the target does not report its tool calls")
	}
	if len(spec.Expected) == 0 {
		return finding{}, errors.New("no tool call is expected")
	}
	if len(spec.Expected) > maxCalls {
		return finding{}, fmt.Errorf("%d tool calls are expected; at most %d can be compared", len(spec.Expected), maxCalls)
	}
	wanted := make([]call, len(spec.Expected))
	for i, e := range spec.Expected {
		wanted[i] = call{name: e.Tool}
		if len(e.Args) == 0 || string(e.Args) == "null" {
			continue
		}
		var err error
		if wanted[i].args, err = decodeJSON(e.Args); err != nil {
			return finding{}, fmt.Errorf("expected arguments of %s: %w", e.Tool, err)
		}
	}
	made := madeCalls(tr)
	fits := make([][]bool, len(wanted))
	for i, w := range wanted {
		fits[i] = make([]bool, len(made))
		for j, m := range made {
			fits[i][j] = w.fits(m)
		}
	}
	matched := matchAny(fits, len(made))
	if spec.Chain {
		matched = matchChain(fits, len(made))
	}
	return toolFinding(spec.Chain, wanted, made, matched), nil
}

// A call is one that is expected or was made. args are decoded; nil means any
// in an expected call and unreadable ones in a call that was made.
type call struct {
	name string
	args any
	text string
}

func madeCalls(tr *verdict.Transcript) []call {
	var made []call
	for _, m := range tr.Messages {
		if m.Role != schema.RoleAssistant {
			continue
		}
		for _, c := range m.ToolCalls {
			if len(made) == maxCalls {
				return made
			}
			next := call{name: c.Function.Name, text: c.Function.Arguments}
			if args, err := decodeJSON([]byte(next.text)); err == nil {
				next.args = args
			}
			made = append(made, next)
		}
	}
	return made
}

// fits reports whether a call that was made is the one that is wanted: the same
// tool, and arguments that carry the listed ones. Objects are compared by the
// listed keys at every depth, lists item by item, numbers by value.
func (want call) fits(made call) bool {
	return want.name == made.name && (want.args == nil || carries(want.args, made.args))
}

func toolFinding(chain bool, wanted, made []call, matched []bool) finding {
	var f finding
	var missing []string
	ids := newIDs()
	for i, want := range wanted {
		c := verdict.Criterion{ID: ids.next("call " + want.name), Score: share(matched[i])}
		if !matched[i] {
			c.Note = want.missing(made, chain)
			missing = append(missing, want.name+" ("+c.Note+")")
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

// missing says whether a call is missing altogether or only does not fit.
func (want call) missing(made []call, chain bool) string {
	note := "not called"
	for _, m := range made {
		switch {
		case want.fits(m) && chain:
			return "called out of order"
		case want.fits(m):
			return "called too few times"
		case want.name == m.name:
			note = "called with other arguments: " + clip(m.text)
		}
	}
	return note
}

func calledNames(made []call) string {
	if len(made) == 0 {
		return "none"
	}
	names := make([]string, len(made))
	for i, m := range made {
		names[i] = m.name
	}
	return clip(strings.Join(names, ", "))
}

// matchAny finds a largest matching between expected and made calls.
func matchAny(fits [][]bool, calls int) []bool {
	owner := make([]int, calls) // index into fits plus 1; 0 is free
	tried := make([]bool, calls)
	var place func(i int) bool
	place = func(i int) bool {
		for j, fit := range fits[i] {
			if !fit || tried[j] {
				continue
			}
			tried[j] = true
			if owner[j] == 0 || place(owner[j]-1) {
				owner[j] = i + 1
				return true
			}
		}
		return false
	}
	matched := make([]bool, len(fits))
	for i := range fits {
		// What failed once fails until a path was found, so that tried is
		// cleared only then.
		if place(i) {
			clear(tried)
		}
	}
	for _, o := range owner {
		if o > 0 {
			matched[o-1] = true
		}
	}
	return matched
}

// matchChain finds a longest ordered match; of several the one that keeps the
// earliest expected calls.
func matchChain(fits [][]bool, calls int) []bool {
	// best[i][j] is the length for the expected calls from i and the made ones
	// from j on.
	best := make([][]int, len(fits)+1)
	for i := range best {
		best[i] = make([]int, calls+1)
	}
	for i, row := range slices.Backward(fits) {
		for j := calls - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if row[j] {
				best[i][j] = max(best[i][j], 1+best[i+1][j+1])
			}
		}
	}
	matched := make([]bool, len(fits))
	for i, j := 0, 0; i < len(fits) && j < calls; {
		switch {
		case fits[i][j] && best[i][j] == 1+best[i+1][j+1]:
			matched[i] = true
			i, j = i+1, j+1
		case best[i][j] == best[i][j+1]:
			j++
		default:
			i++
		}
	}
	return matched
}

// decodeJSON decodes one canonical value, so that equal numbers have equal text.
func decodeJSON(raw []byte) (any, error) {
	canonical, err := schema.Canonical(raw)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(canonical))
	dec.UseNumber()
	var v any
	err = dec.Decode(&v)
	return v, err
}

// carries reports whether got holds all that want lists.
func carries(want, got any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for key, v := range w {
			if other, ok := g[key]; !ok || !carries(v, other) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(w, g, carries)
	}
	switch got.(type) {
	case map[string]any, []any:
		return false // not comparable with ==
	}
	return want == got
}
