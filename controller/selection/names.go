package selection

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// targets returns the targets that names refer to, each once. The error suggests a
// target for an unknown name.
func targets(settings schema.Settings, names []string) ([]string, error) {
	var found []string
	for _, written := range names {
		name, checked, problem := settings.FindTarget(written)
		switch {
		case problem != nil:
			return nil, mistake("--target: %s; %s", problem.Message, problem.Hint)
		case !checked:
			return nil, mistake("--target %s: gavel.yaml has no targets; add it under targets", written)
		case !slices.Contains(found, name):
			found = append(found, name)
		}
	}
	return found, nil
}

// checkStatuses refuses an unknown status: unlike tags, there are only three.
func checkStatuses(statuses []string) error {
	if len(statuses) == 0 {
		return nil // reading the schemas takes longer than a small plan
	}
	known := document.Shapes()["#Testcase"].Fields["status"].Enum
	for _, status := range statuses {
		if !slices.Contains(known, status) {
			hint := cmp.Or(suggest.DidYouMean(status, known), "write one of "+strings.Join(known, ", "))
			return mistake("--status %q is not known; %s", status, hint)
		}
	}
	return nil
}
