package reporters

import "github.com/gavel-evals/gavel/controller/report"

// Seen says what a green comparison would have shown; empty for any other, and if nothing is
// left to chance.
func Seen(r *report.Report) string {
	said := report.Seen(r.Power)
	if said == "" || r.Gate.Result == report.GateFail {
		return ""
	}
	return "This comparison " + said + "."
}
