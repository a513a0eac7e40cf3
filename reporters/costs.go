package reporters

import (
	"strings"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// Answers compares what the answers of both sides took: "answers of 12 cases: $0.012 →
// $0.019 (+54 %, 95 % CI 30 % … 80 %) · 1,200 → 1,800 tokens (+50 %)". It is empty if no
// case was asked again, or nothing differs.
func Answers(r *report.Report) string {
	changes := r.Costs.Changes()
	if len(changes) == 0 {
		return ""
	}
	return "answers of " + textfmt.Count(r.Costs.Cases, "case") + ": " + strings.Join(changes, " · ")
}
