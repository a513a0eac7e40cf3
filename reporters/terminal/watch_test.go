package terminal

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/schema"
)

// TestInvalidRowsOfAWatch holds that a case whose definition became invalid is shown with
// its problem, and that its last result is not shown as the present one.
func TestInvalidRowsOfAWatch(t *testing.T) {
	fail, pass, zero, one := verdict.Fail, verdict.Pass, 0.0, 1.0
	row := reporters.WatchRow{
		Row:  report.Row{Key: "refunds#window", Verdict: &fail, Score: &zero, BaseVerdict: &pass, BaseScore: &one, VerdictReason: "it does not contain 30 days"},
		Kept: true, Problem: &schema.Problem{Position: schema.Position{File: "refunds.yaml", Line: 3, Column: 5}, Severity: schema.Error, Message: "unknown field `chekcs`", Hint: "did you mean `checks`?"},
	}
	var out strings.Builder
	u := reporters.WatchUpdate{Kind: reporters.WatchResult, Snapshot: reporters.WatchSnapshot{Rows: []reporters.WatchRow{row}}}
	if err := Watch(&out, u, Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	for _, want := range []string{"! invalid", "was 0.00", "refunds.yaml:3:5 unknown field `chekcs`; did you mean `checks`?", "1 invalid; spent"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	for _, never := range []string{"→", "failed", "30 days"} {
		if strings.Contains(got, never) {
			t.Errorf("it says %q", never)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}
