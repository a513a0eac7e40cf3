package reporters_test

import (
	"testing"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
)

// TestHeadlineOfAFirstRun holds that a run without a base speaks of one case and of
// many in the right number.
func TestHeadlineOfAFirstRun(t *testing.T) {
	for _, test := range []struct {
		pass int
		want string
	}{
		{1, "The one judged case passes"},
		{2, "All 2 judged cases pass"},
	} {
		r := &report.Report{Gate: report.Gate{Result: report.GatePass}, Summary: report.Summary{Verdicts: report.Verdicts{Cases: test.pass, Pass: test.pass}}}
		sections := reporters.Arrange(r)
		if got := sections.Headline(r); got != test.want {
			t.Errorf("the headline of %d passing cases is %q, want %q", test.pass, got, test.want)
		}
	}
}

// TestHeadlineSaysWhyTheGateFails: flaky cases do not make it fail. The mean of all cases
// does, and so does a limit on scores, next to what is flaky.
func TestHeadlineSaysWhyTheGateFails(t *testing.T) {
	const limit = "score 0.840 is below min_score 0.9"
	for _, tt := range []struct {
		name            string
		gate            string
		reason          string
		worse           bool
		unclear, errors int
		want            string
	}{
		{"the mean", report.GateFail, "the cases got worse on the whole: 17 worse, 0 better (p = 8e-06)", true, 3, 0, "Worse on the whole, 3 unclear, 14 flaky"},
		{"a limit", report.GateFail, limit, false, 3, 0, "Gate failed: " + limit + "; 3 unclear, 14 flaky"},
		{"an open limit", report.GateUndetermined, "score 0.9 may be below min_score 0.9", false, 0, 0, "Gate undetermined: score 0.9 may be below min_score 0.9; 14 flaky"},
		{"a required case", report.GateUndetermined, "1 required case is unclear", false, 1, 0, "1 unclear, 14 flaky"},
		{"errors", report.GateUndetermined, "2 cases have no verdict", false, 0, 2, "2 errors, 14 flaky"},
		{"none", report.GatePass, "no case regressed", false, 0, 0, "No regressions, 14 flaky"},
	} {
		r := &report.Report{
			Gate: report.Gate{Result: tt.gate, Reason: tt.reason}, Base: new(string), Remeasured: &report.Noise{},
			Summary: report.Summary{Verdicts: report.Verdicts{Cases: 100, Pass: 84 - tt.errors, Fail: 16, Error: tt.errors}},
			Diff:    report.Diff{Unclear: tt.unclear, Flaky: 14},
		}
		affected := 100
		r.Summary.Affected = &affected
		for i := range tt.unclear + 14 {
			class := report.Flaky
			if i < tt.unclear {
				class = report.Unclear
			}
			r.Cases = append(r.Cases, report.Row{Class: &class, Confirmation: &report.Confirmation{}})
		}
		r.Remeasured.Mean.Called = tt.worse
		sections := reporters.Arrange(r)
		if got := sections.Headline(r); got != tt.want {
			t.Errorf("%s: the headline is %q, want %q", tt.name, got, tt.want)
		}
	}
}
