package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema"
)

// Find returns the row of a case. Without one, the error names the invalid
// definition, or the nearest key.
func Find(p *plan.Plan, problems []schema.Problem, key string) (plan.Row, error) {
	known := map[string]bool{}
	for _, r := range p.Rows {
		if r.Key == key {
			return r, nil
		}
		known[r.Key] = true
	}
	for _, problem := range problems {
		if problem.Severity == schema.Error && strings.Contains(problem.File, key) {
			return plan.Row{}, fmt.Errorf("the definition of %s is invalid: %s", key, problem)
		}
	}
	hint := schema.DidYouMean(key, slices.Collect(maps.Keys(known)))
	return plan.Row{}, fmt.Errorf("unknown case %q; %s", key, strings.TrimSpace(hint+" gavel plan lists all"))
}
