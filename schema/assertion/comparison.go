package assertion

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/place"
)

// maxPattern bounds a pattern, whose compiled form grows with it.
const maxPattern = 4096

// comparisons hold the answer against a value.
var comparisons = []string{
	"contains", "icontains", "contains-any", "contains-all", "icontains-any", "icontains-all", "equals", "starts-with", "ends-with", "regex", "is-json",
}

// IsComparison reports whether a type of assertion is read by [Comparison].
func IsComparison(kind string) bool { return slices.Contains(comparisons, kind) }

// Comparisons are the types of assertions that [Comparison] reads.
func Comparisons() []string { return slices.Clone(comparisons) }

// Comparison reads an assertion of AgentV that holds the answer against a text, a list, a
// pattern or JSON.
func Comparison(kind string, p place.Place) (evaluator.Assertion, *schema.Problem) {
	spec := evaluator.Assertion{Type: kind, Value: p.JSON("value")}
	missing := func(what, hint string) (evaluator.Assertion, *schema.Problem) {
		problem := p.Problem("missing-field", fmt.Sprintf("the assertion %s has no %s", kind, what), hint)
		return spec, &problem
	}
	switch kind {
	case "equals", "starts-with", "ends-with", "contains", "icontains":
		spec.Trim = !strings.HasSuffix(kind, "contains")
		if p.Text("value") == "" {
			return missing("text", `add "value": …`)
		}
	case "contains-any", "contains-all", "icontains-any", "icontains-all":
		texts := p.Strings("value")
		if len(texts) == 0 {
			return missing("list", `add "value": […]`)
		}
		spec.Value, _ = json.Marshal(texts) // texts
	case "regex":
		if p.Text("value") == "" {
			return missing("pattern", `add "value": …`)
		}
		return pattern(p, spec)
	case "is-json":
		spec.Value = nil
	}
	return spec, nil
}

// pattern reads a regular expression with its flags.
func pattern(p place.Place, spec evaluator.Assertion) (evaluator.Assertion, *schema.Problem) {
	text := p.Text("value")
	if flags := strings.Trim(p.Text("flags"), "gu"); flags != "" {
		text = "(?" + flags + ")" + text
	}
	var problem schema.Problem
	switch _, err := regexp.Compile(text); {
	case len(text) > maxPattern:
		problem = p.Problem("regex", fmt.Sprintf("the pattern has %d bytes", len(text)), fmt.Sprintf("it may have %d", maxPattern), "value")
	case err != nil:
		problem = p.Problem("regex", fmt.Sprintf("the pattern does not compile: %v", err), "write an RE2 pattern", "value")
	default:
		spec.Value, _ = json.Marshal(text) // a text
		return spec, nil
	}
	return spec, &problem
}
