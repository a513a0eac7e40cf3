package comment

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/schema"
)

// TestNext: each state that asks for something has one sentence about it, with a command
// only if somebody follows it.
func TestNext(t *testing.T) {
	invalid := []schema.Problem{{Position: schema.Position{File: "a.json", Line: 1}, Severity: schema.Error}}
	commands := []string{"/gavel rerun failed", "/gavel accept <case> <reason>", "/gavel explain <case>", "/gavel help"}
	failing := report.Report{Gate: report.Gate{Result: report.GateUndetermined}}
	failing.Summary.Error = 1
	for _, tt := range []struct {
		name     string
		r        report.Report
		commands []string
		want     string
	}{
		{"nothing", report.Report{Gate: report.Gate{Result: report.GatePass}}, commands, ""},
		{"a regression", report.Report{Diff: report.Diff{Regressions: 1}, Gate: report.Gate{Result: report.GateFail}}, commands, "fix what got worse, and push; if the new behaviour is right, comment <code>&#47;gavel accept &lt;case&gt; &lt;reason&gt;</code>."},
		{"a regression, and nobody follows commands", report.Report{Diff: report.Diff{Regressions: 1}, Gate: report.Gate{Result: report.GateFail}}, []string{"gavel run --base main"}, "fix what got worse, and push."},
		{"an invalid definition", report.Report{Problems: invalid, Gate: report.Gate{Result: report.GateUndetermined}}, commands, "correct what is invalid, and push."},
		{"both", report.Report{Problems: invalid, Diff: report.Diff{Regressions: 2}, Gate: report.Gate{Result: report.GateFail}}, nil, "correct what is invalid and fix what got worse, and push."},
		{"an error", failing, []string{"/gavel rerun errors"}, "look at the errors, and judge their cases again; comment <code>&#47;gavel rerun errors</code>."},
		{"unclear", report.Report{Diff: report.Diff{Unclear: 1}, Gate: report.Gate{Result: report.GatePass}}, nil, "nothing has to be done; the unclear cases can be measured again."},
		{"unclear, and the gate fails", report.Report{Diff: report.Diff{Unclear: 1}, Gate: report.Gate{Result: report.GateFail}}, nil, "change what the gate names below, and push."},
		{"a rule of the gate, and commands", report.Report{Gate: report.Gate{Result: report.GateFail}}, commands, "change what the gate names below, and push; to judge the failed cases again, comment <code>&#47;gavel rerun failed</code>."},
		{"a rule of the gate", report.Report{Gate: report.Gate{Result: report.GateFail}}, nil, "change what the gate names below, and push."},
		{"changed targets that wait", report.Report{TargetChanges: &report.TargetChanges{File: "gavel.yaml"}, Gate: report.Gate{Result: report.GateFail}}, []string{"/gavel accept gavel.yaml <reason>"}, ""},
		{"a commit that waits", report.Report{Diff: report.Diff{Regressions: 1}}, []string{"/gavel approve 9f31c2e0c1a74f0b8f9d1f2f4f4c8a6f0f2b7e11"}, ""},
	} {
		c := &comment{r: &tt.r, o: Options{Commands: tt.commands}}
		got := c.nextStep()
		if strings.NewReplacer("\\", "", "<wbr>", "").Replace(got) != tt.want {
			t.Errorf("%s: the next step is %q, want %q", tt.name, got, tt.want)
		}
	}
}
