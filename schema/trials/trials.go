// Package trials reads how often AgentV 4 runs each test of a suite.
package trials

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/gavel-evals/gavel/schema"
)

// most bounds the samples of a case.
const most = 1000

// mean is the strategy that is read: the score of a test is the mean of its trials.
const mean = "mean"

// Read returns how many samples `execution.trials` of a suite asks for, 0 where that is
// left to gavel.yaml. Only the mean of trials is taken as a score: pass_at_k, which is also
// AgentV's default, keeps the best one, which hides failures, and a bound of a confidence
// interval depends on how many were taken. A warning says so.
func Read(doc *schema.Document) (int, []schema.Problem) {
	if doc == nil || !doc.IsObject("execution", "trials") {
		return 0, nil
	}
	var written struct {
		Count    float64 `json:"count"`
		Strategy string  `json:"strategy"`
	}
	err := json.Unmarshal(doc.JSON("execution", "trials"), &written)
	n := written.Count
	unread := func(message, hint, key string) (int, []schema.Problem) {
		p := doc.Problem("not-read", message, hint, "execution", "trials", key)
		p.Severity = schema.Warning
		return 0, []schema.Problem{p}
	}
	switch {
	case err != nil || n < 1 || n > most || n != math.Trunc(n):
		return unread(fmt.Sprintf("`trials` is not read: its count is not a whole number from 1 to %d", most), "write {count: 3, strategy: mean}", "count")
	case n == 1:
		return 1, nil
	case written.Strategy == mean:
		return int(n), nil
	case written.Strategy == "confidence_interval":
		return unread("`trials` is not read: Gavel compares base and head by their samples, and not by the lower bound of one side", "write strategy: mean, or iterations in gavel.yaml", "strategy")
	}
	return unread("`trials` is not read: AgentV keeps the best of several runs, and the best hides a failure", "write strategy: mean, or iterations in gavel.yaml", "strategy")
}
