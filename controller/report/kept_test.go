package report_test

import (
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/reporttest"
)

// TestAReportKeepsNoOutcome holds that the outcomes of cases do not live as long as their
// report: none of its rows points into one.
func TestAReportKeepsNoOutcome(t *testing.T) {
	s := reporttest.New()
	s.Add("math/1/passes", pass(1), pass(1), definition)
	s.Add("math/1/fails", pass(1), fail(0, "wrong"), definition)
	s.Add("math/1/error", failed("502"), failed("502"), definition)
	s.Add("math/1/undecided", pass(1), pass(1), definition)
	s.In.Head["math/1/undecided"] = &report.Outcome{Unrun: report.NotRunPrefix + "the budget is spent"}
	reused := s.Add("math/1/reused", nil, pass(1), definition)
	reused.Unversioned = true
	*s.In.Head["math/1/reused"] = report.Outcome{Result: verdict.Result{Verdict: verdict.Pass}, Reused: true, Judged: time.Unix(1, 0)}
	var all []weak.Pointer[report.Outcome]
	for _, side := range []map[string]*report.Outcome{s.In.Head, s.In.Base} {
		for _, out := range side {
			all = append(all, weak.Make(out))
		}
	}
	r := report.Compare(s.In)
	s, reused = nil, nil
	runtime.GC()
	if kept := slices.DeleteFunc(slices.Clone(all), func(p weak.Pointer[report.Outcome]) bool { return p.Value() == nil }); len(kept) > 0 {
		t.Errorf("%d of %d outcomes are kept", len(kept), len(all))
	}
	if len(r.Cases) != 5 || r.Cases[len(r.Cases)-1].JudgedAt == nil {
		t.Errorf("the report has the rows %v, and the time of the last verdict is missing", r.Cases)
	}
}
