package assertion

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/template"
)

// maxPattern bounds a pattern, whose compiled form grows with it.
const maxPattern = 4096

// comparisons hold the answer against a value.
var comparisons = []string{
	"contains", "icontains", "contains-any", "contains-all", "icontains-any", "icontains-all", "equals", "starts-with", "ends-with", "regex", "is-json",
}

// IsComparison reports whether a type of assertion is read by [Comparison].
func IsComparison(kind string) bool { return slices.Contains(comparisons, kind) }

// Comparisons returns the types of assertions that [Comparison] reads.
func Comparisons() []string { return slices.Clone(comparisons) }

// Compared is a parsed comparison.
type Compared struct {
	// Spec is the evaluator, or nil.
	Spec schema.Spec
	// Need is an unsupported need of the comparison, or empty.
	Need    string
	Problem *schema.Problem
}

// Comparison reads an assertion of AgentV that holds the answer against a text, a list, a
// pattern or JSON.
func Comparison(kind string, p document.Place) Compared {
	spec := evaluator.Assertion{Type: kind, Value: p.JSON("value")}
	switch kind {
	case "equals", "starts-with", "ends-with", "contains", "icontains":
		spec.Trim = !strings.HasSuffix(kind, "contains")
		if p.Text("value") == "" {
			return problem(notText(kind, p))
		}
	case "contains-any", "contains-all", "icontains-any", "icontains-all":
		texts := p.Strings("value")
		if len(texts) == 0 {
			return problem(p.Problem("missing-field", fmt.Sprintf("the assertion %s has no list", kind), `add "value": […]`))
		}
		for i, text := range texts {
			switch {
			case p.IsList("value") && !p.IsText("value", i):
				return problem(p.Problem("wrong-type", fmt.Sprintf("an item of the value of %s is not a text", kind), "write a list of texts, such as [one, two]", "value", i))
			case text == "":
				return problem(p.Problem("wrong-value", fmt.Sprintf("an item of the value of %s is empty, and every answer contains that", kind), "write a text, or remove it", "value"))
			}
		}
		spec.Value, _ = json.Marshal(texts) // texts
	case "regex":
		if p.Text("value") == "" {
			return problem(notText(kind, p))
		}
		return pattern(p, spec)
	case "is-json":
		spec.Value = nil
	}
	return Compared{Spec: spec}
}

func problem(p schema.Problem) Compared { return Compared{Problem: &p} }

// notText returns the problem of an assertion that looks for one text and has none.
func notText(kind string, p document.Place) schema.Problem {
	raw := strings.TrimSpace(string(p.JSON("value")))
	what, hint, at := "has no text", `add "value": …`, []any(nil)
	switch {
	case !p.Has("value") || raw == `""`:
	case raw[0] == '[':
		what, hint, at = "looks for one text, and its value is a list", "write one text; contains-any and contains-all take a list, and regex a pattern such as (one|two)", []any{"value"}
	case raw[0] == '{':
		what, hint, at = "looks for one text, and its value is an object", "write one text", []any{"value"}
	default: // a number or a boolean
		what, hint, at = "looks for a text, and its value is not one", fmt.Sprintf("write %q", raw), []any{"value"}
	}
	return p.Problem("missing-field", fmt.Sprintf("the assertion %s %s", kind, what), hint, at...)
}

// pattern reads a JavaScript regular expression with its flags.
func pattern(p document.Place, spec evaluator.Assertion) Compared {
	text, flags := p.Text("value"), p.Text("flags")
	err := CheckPattern(text, flags)
	need, isNeed := errors.AsType[*template.NeedError](err)
	wrong, isWrong := errors.AsType[*template.MistakeError](err)
	switch {
	case len(text) > maxPattern:
		return problem(p.Problem("regex", fmt.Sprintf("the pattern has %d bytes", len(text)), fmt.Sprintf("it may have %d", maxPattern), "value"))
	case isNeed:
		return Compared{Need: need.What}
	case isWrong && wrongFlags(flags) != "":
		return problem(p.Problem("regex", wrong.Message, wrong.Hint, "flags"))
	case isWrong:
		return problem(p.Problem("regex", wrong.Message, wrong.Hint, "value"))
	}
	spec.Value, _ = json.Marshal(text)                                // a text
	spec.Flags = strings.NewReplacer("g", "", "d", "").Replace(flags) // which bear on no test
	return Compared{Spec: spec}
}
