package report_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

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
	var gone atomic.Int32
	all := int32(0)
	for _, side := range []map[string]*report.Outcome{s.In.Head, s.In.Base} {
		for _, out := range side {
			all++
			runtime.AddCleanup(out, func(int) { gone.Add(1) }, 0)
		}
	}
	r := report.Compare(s.In)
	s = nil
	for range 200 {
		if runtime.GC(); gone.Load() == all {
			break
		}
		time.Sleep(5 * time.Millisecond) // cleanups run on their own
	}
	if gone.Load() != all {
		t.Errorf("%d of %d outcomes are gone", gone.Load(), all)
	}
	if len(r.Cases) != 5 || r.Cases[len(r.Cases)-1].JudgedAt == nil {
		t.Errorf("the report has the rows %v, and the time of the last verdict is missing", r.Cases)
	}
}
