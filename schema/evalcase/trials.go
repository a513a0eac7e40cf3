package evalcase

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// most bounds the samples of a case.
const most = 1000

// A trialPlan is how many samples of a test are taken; the zero trialPlan leaves that to gavel.yaml.
type trialPlan struct {
	Count int
	// Best takes the best of the samples as the result; else it is their mean.
	Best bool
}

// readTrials reads the `trials` of an execution: {count, strategy}. The mean of trials
// is a score, and so is the best one (pass_at_k, which is AgentV's default). A bound of
// a confidence interval is not, since it depends on their number; a warning says so.
func readTrials(execution document.Place) (trialPlan, []schema.Problem) {
	p := execution.Sub("trials")
	if !p.IsObject() {
		return trialPlan{}, nil
	}
	var written struct {
		Count    float64 `json:"count"`
		Strategy string  `json:"strategy"`
	}
	err := json.Unmarshal(p.JSON(), &written)
	n := written.Count
	unread := func(message, hint, key string) (trialPlan, []schema.Problem) {
		problem := p.Problem("not-read", message, hint, key)
		problem.Severity = schema.Warning
		return trialPlan{}, []schema.Problem{problem}
	}
	switch {
	case err != nil || n < 1 || n > most || n != math.Trunc(n):
		return unread(fmt.Sprintf("the number of runs of each test is not read: it is not a whole number from 1 to %d", most), "write 3 or another one", "count")
	case written.Strategy == "confidence_interval":
		return unread("`trials` is not read: Gavel compares base and head by their samples, and not by the lower bound of one side", "write strategy: mean, or iterations in gavel.yaml", "strategy")
	}
	return trialPlan{int(n), n > 1 && written.Strategy != "mean"}, nil
}
