package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/reporttest"
)

// TestFlakyCasesAreNamedInOneLine, however many there are, without those that are out of
// the gate.
func TestFlakyCasesAreNamedInOneLine(t *testing.T) {
	s := reporttest.New()
	s.In.Flaky = map[string]*report.FlakyCase{}
	for i := range 8 {
		key := fmt.Sprintf("math/1/%d", i)
		row := s.Add(key, pass(1), pass(1), definition)
		if i > 0 {
			s.In.Flaky[row.Head.ID()] = &report.FlakyCase{Name: key, Differ: 2, Measurements: 7}
		}
	}
	s.In.Quarantined = report.Quarantines{{Case: "math/1/7", Until: "2999-01-31", Reason: "slow"}}
	const line = "6 affected cases are known to be flaky: math/1/1 (2 of 7 differ), math/1/2 (2 of 7 differ), math/1/3 (2 of 7 differ), math/1/4 (2 of 7 differ), math/1/5 (2 of 7 differ) and 1 more"
	r := report.Compare(s.In)
	if !strings.Contains(noticed(r), line+"\n") || r.Gate.Result != report.GatePass {
		t.Errorf("%s, notices %q", r.Gate.Result, noticed(r))
	}
	if r.Cases[0].Flaky != nil || r.Cases[1].Flaky == nil {
		t.Error("the rows do not say which cases are flaky")
	}
	s.In.Gate.FailFlaky = true
	if r := report.Compare(s.In); r.Gate.Result != report.GateFail || !strings.HasPrefix(r.Gate.Reason, "6 cases are flaky (noise.flaky: fail): math/1/1") {
		t.Errorf("with noise.flaky: fail the gate is %s: %s", r.Gate.Result, r.Gate.Reason)
	}
}
