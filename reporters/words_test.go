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
