package reporters

import "github.com/gavel-evals/gavel/controller/report"

// Seen says what a green comparison would have shown; empty for any other, and if nothing is
// left to chance.
func Seen(r *report.Report) string {
	said := report.Seen(r.Power)
	unjudged := r.Gate.Result == report.GateUndetermined && r.Summary.Error > 0
	if said == "" || r.Gate.Result == report.GateFail || unjudged {
		return ""
	}
	return "This comparison " + said + "."
}
