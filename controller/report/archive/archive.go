// Package archive reads reports that were stored, by this version or an earlier
// one.
package archive

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/oldnames"
)

var (
	oldCommand = oldnames.Rules{"": {"comment": "comment_id", "by": "author", "at": "taken_at"}}
	oldSummary = oldnames.Rules{"": {"ungated": "no_threshold"}}
	oldGroup   = oldnames.Rules{"": {"base": "base_score"}}

	// oldReport are the names of fields in reports that were stored before the
	// first release.
	oldReport = oldnames.Rules{
		"":      {"not_run": "not_run_reason", "orders": "commands"},
		"cases": {"beside": "per_target", "trial": oldnames.Up, "ungated": "no_threshold", "reason": "verdict_reason"},
	}.With(oldCommand.Nested("orders")).With(oldCommand.Nested("cases.accepted")).
		With(oldSummary.Nested("summary")).With(oldSummary.Nested("group_gates.summary")).
		With(oldGroup.Nested("groups")).With(oldGroup.Nested("conversations")).
		With(verdict.OldNames.Nested("cases.trial"))
)

// oldParts are the names of reasons in such reports.
var oldParts = map[string]string{"again": "rerun", "asked": "command"}

// Decode reads a report that was stored as JSON, by this version or an earlier
// one. The error is that of a document that is not a report.
func Decode(stored []byte) (*report.Report, error) {
	out := struct {
		*report.Report
		// Old is in every report with old names, and in no other.
		Old *string `json:"not_run"`
	}{Report: &report.Report{}}
	if err := json.Unmarshal(stored, &out); err != nil || out.Old == nil {
		return out.Report, err
	}
	renamed, err := oldnames.Rename(stored, oldReport)
	if err != nil {
		return nil, err
	}
	var r report.Report
	if err := json.Unmarshal(renamed, &r); err != nil {
		return nil, err
	}
	for i := range r.Cases {
		for k := range r.Cases[i].Reasons {
			reason := &r.Cases[i].Reasons[k]
			if part, ok := oldParts[reason.Part]; ok {
				reason.Part = part
			}
		}
	}
	return &r, nil
}
