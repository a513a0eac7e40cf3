package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// Find returns a case's row by its key, or by a file or folder with a single case;
// paths are relative to a folder of the repository. If nothing matches, the error names
// the invalid definition, or similar keys.
func Find(p *plan.Plan, problems []schema.Problem, key, folder string) (plan.Row, error) {
	known := map[string]bool{}
	for _, r := range p.Rows {
		if r.Key == key {
			return r, nil
		}
		known[r.Key] = true
	}
	named := controller.MatchNames([]string{key}, folder)
	var rows []plan.Row
	for _, r := range p.Rows {
		if tc := cmp.Or(r.Head, r.Base); tc != nil && named(tc) {
			rows = append(rows, r)
		}
	}
	if len(rows) == 1 {
		return rows[0], nil
	}
	if len(rows) > 1 {
		return plan.Row{}, fmt.Errorf("%s has %d cases: write the key of one of them, such as %s", key, len(rows), rows[0].Key)
	}
	definition, _, _ := strings.Cut(key, "#") // the file that has a list of cases
	for _, problem := range problems {
		if problem.Severity == schema.Error && definition != "" && strings.Contains(problem.File, definition) {
			return plan.Row{}, fmt.Errorf("the definition of %s is invalid: %s", key, problem)
		}
	}
	hint := suggest.Case(key, slices.Collect(maps.Keys(known)))
	return plan.Row{}, fmt.Errorf("unknown case %q; %s", key, strings.TrimSpace(hint+" gavel list lists all"))
}
