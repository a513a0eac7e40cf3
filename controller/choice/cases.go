package choice

import (
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// statusActive is the status of the cases that run.
const statusActive = "active"

// WithStatus keeps the cases with one of the statuses and activates them. A dialect
// without statuses has running cases and disabled ones, which no status activates.
func WithStatus(cases []*schema.Case, statuses []string) []*schema.Case {
	var kept []*schema.Case
	for _, c := range cases {
		status := c.Labels.Status
		if status == "" && c.Skip == "" {
			status = statusActive
		}
		if !slices.Contains(statuses, status) {
			continue
		}
		if c.Skip != "" {
			awake := *c
			awake.Skip = ""
			c = &awake
		}
		kept = append(kept, c)
	}
	return kept
}

// WithSamples returns the cases with another number of samples.
func WithSamples(cases []*schema.Case, samples int) []*schema.Case {
	out := make([]*schema.Case, len(cases))
	for i, c := range cases {
		one := *c
		one.Policy.Iterations = samples
		out[i] = &one
	}
	return out
}
