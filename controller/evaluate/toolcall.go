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
func toolCalls(spec schema.ToolCalls, tr *verdict.Transcript) (finding, error) {
	if !tr.Traced {
		return finding{}, errors.New("the target does not report its tool calls")
	}
	if len(spec.Expected) == 0 {
		return finding{}, errors.New("no tool call is expected")
	}
	if len(spec.Expected) > maxCalls {
		return finding{}, fmt.Errorf("%d tool calls are expected; at most %d can be compared", len(spec.Expected), maxCalls)
	}
	var calls []schema.FunctionCall
	for _, m := range tr.Messages {
		if m.Role != schema.RoleAssistant {
			continue
		}
		for _, c := range m.ToolCalls {
			calls = append(calls, c.Function)
		}
	}
	calls = calls[:min(len(calls), maxCalls)]
	fits := make([][]bool, len(spec.Expected))
	for i, want := range spec.Expected {
		fits[i] = make([]bool, len(calls))
		for j, call := range calls {
			fits[i][j] = want.Tool == call.Name && argsFit(want.Args, call.Arguments)
		}
	}
	matched := matchAny(fits, len(calls))
	if spec.Chain {
		matched = matchChain(fits, len(calls))
	}
	return toolFinding(spec, calls, matched), nil
}

func toolFinding(spec schema.ToolCalls, calls []schema.FunctionCall, matched []bool) finding {
	var f finding
	var missing []string
	met := 0
	ids := newIDs()
	for i, want := range spec.Expected {
		c := verdict.Criterion{ID: ids.next("call " + want.Tool), Score: share(matched[i])}
		if matched[i] {
			met++
		} else {
			c.Note = missingNote(want, calls, spec.Chain)
			missing = append(missing, want.Tool+" ("+c.Note+")")
		}
		f.criteria = append(f.criteria, c)
	}
	order := ""
	if spec.Chain {
		order = " in order"
	}
	f.reason = fmt.Sprintf("%d of %d expected tool calls were made%s", met, len(spec.Expected), order)
	if len(missing) > 0 {
		f.reason += "; missing: " + clip(strings.Join(missing, ", ")) + "; called: " + calledNames(calls)
	}
	return f
}

// missingNote says whether a call is missing altogether or only does not fit.
func missingNote(want schema.ExpectedCall, calls []schema.FunctionCall, chain bool) string {
	for _, c := range calls {
		switch {
		case c.Name != want.Tool:
		case !argsFit(want.Args, c.Arguments):
			return "called with other arguments: " + clip(c.Arguments)
		case chain:
			return "called out of order"
		default:
			return "called too few times"
		}
	}
	return "not called"
}

func calledNames(calls []schema.FunctionCall) string {
	if len(calls) == 0 {
		return "none"
	}
	names := make([]string, len(calls))
	for i, c := range calls {
		names[i] = c.Name
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

// argsFit reports whether the call's arguments carry the listed ones. Objects
// are compared by the listed keys at every depth, lists item by item, numbers
// by value. Arguments that are not JSON carry nothing.
func argsFit(want json.RawMessage, got string) bool {
	if len(want) == 0 || string(want) == "null" {
		return true
	}
	w, err := decodeJSON(want)
	if err != nil {
		return false
	}
	g, err := decodeJSON([]byte(got))
	return err == nil && carries(w, g)
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
	return v, dec.Decode(&v)
}

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
