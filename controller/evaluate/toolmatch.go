package evaluate

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// Most bounds the expected calls and the calls taken from a transcript, so that a
// chatty agent does not make the matching slow.
const Most = 1000

// A Call is an expected or an actual call. Args are decoded; nil means any arguments in
// an expected call and unreadable ones in an actual call.
type Call struct {
	Name string
	Args any
	// Text is the source of Args.
	Text string
}

// Made returns the assistant's calls in messages, the first [Most] of them.
func Made(messages []schema.Message) []Call {
	var made []Call
	for _, m := range messages {
		if m.Role != schema.RoleAssistant {
			continue
		}
		for _, c := range m.ToolCalls {
			if len(made) == Most {
				return made
			}
			next := Call{Name: c.Function.Name, Text: c.Function.Arguments}
			if args, err := Decode([]byte(next.Text)); err == nil {
				next.Args = args
			}
			made = append(made, next)
		}
	}
	return made
}

// Fits reports whether an actual call is the wanted one: the same tool, and arguments
// that carry the listed ones. Objects are compared by the listed keys at every depth,
// lists item by item, numbers by value.
func (want Call) Fits(made Call) bool {
	return want.Name == made.Name && (want.Args == nil || carries(want.Args, made.Args))
}

// matchAny finds a largest matching between expected and actual calls.
func matchAny(fits [][]bool, made int) []bool {
	owner := make([]int, made) // index into fits plus 1; 0 is free
	tried := make([]bool, made)
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
		// A call that failed once fails until a path is found, so tried is cleared only
		// then.
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

// matchChain finds a longest ordered match. Among several it keeps the earliest
// expected calls.
func matchChain(fits [][]bool, made int) []bool {
	// best[i][j] is the length for the expected calls from i and the actual ones from j
	// on.
	best := make([][]int, len(fits)+1)
	for i := range best {
		best[i] = make([]int, made+1)
	}
	for i, row := range slices.Backward(fits) {
		for j := made - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if row[j] {
				best[i][j] = max(best[i][j], 1+best[i+1][j+1])
			}
		}
	}
	matched := make([]bool, len(fits))
	for i, j := 0, 0; i < len(fits) && j < made; {
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

// Decode decodes one canonical value, in which equal numbers have equal text.
func Decode(raw []byte) (any, error) {
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

// carries reports whether got contains everything in want.
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
		return false // not comparable by ==
	}
	return want == got
}
