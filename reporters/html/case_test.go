package html

import (
	"testing"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// TestErrorIsSaidOnce holds that a case has each text about its verdict once.
func TestErrorIsSaidOnce(t *testing.T) {
	const why = "target bot: connection refused,\n4 attempts"
	failed, text := verdict.Error, why
	r := &report.Report{}
	for _, tt := range []struct {
		name   string
		row    report.Row
		reason string
	}{
		{"the same", report.Row{Error: &text, VerdictReason: why}, ""},
		{"on one line", report.Row{Error: &text, VerdictReason: "target bot: connection refused, 4 attempts"}, ""},
		{"another reason", report.Row{Error: &text, VerdictReason: "no sample was judged"}, "no sample was judged"},
		{"no error", report.Row{VerdictReason: "it is rude"}, "it is rude"},
	} {
		tt.row.Action, tt.row.Verdict = plan.Run, &failed
		c := NewCase(r, &tt.row, Options{})
		seen := map[string]bool{}
		for _, text := range []string{c.Error, c.Reason, c.Remark, c.Why} {
			if text != "" && seen[text] {
				t.Errorf("%s: %q is there twice", tt.name, text)
			}
			seen[text] = true
		}
		if c.Reason != tt.reason || tt.row.Error != nil && c.Error != why {
			t.Errorf("%s: the error is %q and the reason %q, want %q and %q", tt.name, c.Error, c.Reason, why, tt.reason)
		}
	}
}
