package matrix

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// maxPeers bounds the answers of a test that are compared with one another: a judge
// sees all of them.
const maxPeers = 64

// weigh sets the weights of max-score assertions for the others, which they have by
// type.
func (j *judgement) weigh() {
	for i, ev := range j.evaluators {
		spec, ok := ev.Spec.(evaluator.MaxScore)
		if !ok {
			continue
		}
		var by struct{ Weights map[string]float64 }
		_ = json.Unmarshal(j.written[i].Value, &by) // as it was read before
		for n, other := range j.evaluators {
			if _, selects := evaluator.Selects(other.Spec); selects {
				continue
			}
			weight, listed := by.Weights[j.written[n].Type]
			if !listed {
				weight = 1
			}
			spec.Weights = append(spec.Weights, weight)
		}
		j.evaluators[i].Spec = spec
	}
}

// compare makes the cases of a row each other's peers if an assertion compares their
// answers.
func (c *compiler) compare(cases []*schema.Case) {
	var active []*schema.Case
	for _, tc := range cases {
		if tc.Skip == "" && slices.ContainsFunc(tc.Evaluators, func(ev schema.Evaluator) bool { _, ok := evaluator.Selects(ev.Spec); return ok }) {
			active = append(active, tc)
		}
	}
	for i, tc := range active {
		switch {
		case len(active) == 1:
			c.skip(tc, "a second prompt or provider, whose answer it is compared with")
		case len(active) > maxPeers:
			c.skip(tc, fmt.Sprintf("at most %d answers to compare, and has %d", maxPeers, len(active)))
		default:
			tc.Peers = slices.Concat(active[:i], active[i+1:])
		}
	}
	for _, tc := range active {
		for _, peer := range tc.Peers {
			tc.Inputs = append(slices.Clip(tc.Inputs), peer.Inputs...)
		}
		tc.Inputs = sorted(tc.Inputs)
	}
}

// skip lists a case with an unsupported need without running it.
func (c *compiler) skip(tc *schema.Case, need string) {
	c.skipped[need]++
	tc.Skip = "it needs " + need
	// A case that is not run must not be judged by half of its evaluators.
	tc.Evaluators, tc.Policy.Bands, tc.Kept = ungated(), nil, nil
}
