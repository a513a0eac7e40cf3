package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/stats"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/reporttest"
)

// TestNoiseDecidesTheGate: of a case that failed once the further measurements say
// whether it regressed.
func TestNoiseDecidesTheGate(t *testing.T) {
	five := stats.Count{Passed: 0, Of: 5}
	all := stats.Count{Passed: 5, Of: 5}
	for _, tt := range []struct {
		name     string
		finding  confirm.Finding
		mean     confirm.Mean
		why      string
		required bool
		// both fails base as well.
		both   bool
		class  report.Class
		result string
		says   string
	}{
		{
			name:    "confirmed",
			finding: confirm.Finding{Class: confirm.Regression, Confirmed: true, Head: five, Base: all, Reruns: five, P: 0.004},
			class:   report.Regression, result: report.GateFail, says: "1 case regressed (fail_on: regression)",
		},
		{name: "noise", finding: confirm.Finding{Class: confirm.Flaky, Reruns: all}, class: report.Flaky, result: report.GatePass, says: "no case regressed (fail_on: regression)"},
		{name: "required, noise", finding: confirm.Finding{Class: confirm.Flaky, Reruns: all, Required: true}, required: true, class: report.Flaky, result: report.GatePass, says: "no case regressed (fail_on: regression)"},
		{name: "unclear", finding: confirm.Finding{Class: confirm.Unclear, Reruns: five}, class: report.Unclear, result: report.GatePass, says: "no case regressed, 1 case unclear (fail_on: regression)"},
		{
			name:    "too few to call",
			finding: confirm.Finding{Class: confirm.Unclear, TooFew: true, More: 9, Base: stats.Count{Passed: 12, Of: 12}, Head: stats.Count{Passed: 7, Of: 12}, Reruns: stats.Count{Passed: 7, Of: 12}},
			class:   report.Unclear, result: report.GatePass, says: "no case regressed, 1 case unclear (fail_on: regression)",
		},
		{
			name:    "required, unclear",
			finding: confirm.Finding{Class: confirm.Unclear, Reruns: five, Required: true}, required: true,
			class: report.Unclear, result: report.GateUndetermined, says: "required case math/1/a is not settled: failed, and again in 5 of 5 reruns here",
		},
		{
			name:    "required, fails as at base and passes when measured again",
			finding: confirm.Finding{Class: confirm.Unchanged, Required: true, Ruled: true, Held: true, Head: stats.Count{Passed: 1, Of: 2}}, required: true, both: true,
			class: report.Unchanged, result: report.GatePass, says: "no case regressed (fail_on: regression)",
		},
		{
			name:    "required, fails as at base each time",
			finding: confirm.Finding{Class: confirm.Unchanged, Required: true, Ruled: true, Head: stats.Count{Of: 3}}, required: true, both: true,
			class: report.Unchanged, result: report.GateFail, says: "required case math/1/a did not pass: fail",
		},
		{
			name:    "the budget ended",
			finding: confirm.Finding{Class: confirm.Unclear, Open: true}, why: "not run: budget calls 3 of 3 is spent", mean: confirm.Mean{State: confirm.MeanOpen},
			class: report.Unclear, result: report.GateUndetermined, says: "1 case was not measured again often enough to tell a regression from noise: budget calls 3 of 3 is spent",
		},
		{
			name:    "an error in a rerun",
			finding: confirm.Finding{Class: confirm.Error}, class: report.Unclear, result: report.GateUndetermined,
			says: "1 case was not measured again often enough to tell a regression from noise",
		},
		{
			name:    "the mean",
			finding: confirm.Finding{Class: confirm.Flaky, Reruns: all}, mean: confirm.Mean{State: confirm.MeanTested, Called: true, P: 0.0041, Worse: 31, Better: 9},
			class: report.Flaky, result: report.GateFail, says: "the cases got worse on the whole: 31 worse, 9 better (p = 0.004)",
		},
		{
			name:    "the mean was not measured",
			finding: confirm.Finding{Class: confirm.Flaky, Reruns: all}, mean: confirm.Mean{State: confirm.MeanOpen}, why: "not run: budget calls 3 of 3 is spent",
			class: report.Flaky, result: report.GateUndetermined, says: "whether the cases got worse on the whole was not measured: budget calls 3 of 3 is spent",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := reporttest.New()
			row := s.Add("math/1/a", pass(1), fail(0, "no"), definition)
			if tt.both {
				s.In.Base[row.Base.ID()] = s.In.Head[row.Head.ID()]
			}
			tt.finding.BaseVerdict, tt.finding.HeadVerdict = verdict.Pass, verdict.Fail
			s.In.Noise = &report.NoiseFindings{
				Result: confirm.Result{Findings: []confirm.Finding{tt.finding}, Mean: tt.mean, Complete: tt.why == ""},
				Index:  map[string]int{row.Head.ID(): 0}, Samples: [][]report.NoiseSample{{{Side: "head", Verdict: verdict.Fail}}}, Why: tt.why,
			}
			if tt.required {
				s.In.Gate.Required = []string{"math/**"}
			}
			r := report.Compare(s.In)
			if diff := cmp.Diff([]string{string(tt.class), tt.result, tt.says}, []string{string(*r.Cases[0].Class), r.Gate.Result, r.Gate.Reason}); diff != "" {
				t.Errorf("class, gate and reason (-want +got):\n%s", diff)
			}
			if r.Cases[0].Confirmation == nil || len(r.Cases[0].Confirmation.Samples) != 1 {
				t.Errorf("the confirmation is %+v", r.Cases[0].Confirmation)
			}
			if unclear := tt.class == report.Unclear && tt.result == report.GatePass; unclear != strings.Contains(noticed(r), "does not settle whether it got worse: math/1/a") {
				t.Errorf("notices %q", noticed(r))
			}
		})
	}
}

func noticed(r *report.Report) string {
	var out string
	for _, n := range r.Notices {
		out += n.Message + "\n"
	}
	return out
}

// TestNewCasesByTheirRule: of a team's rule for cases that base does not have, the
// verdict of one run is not the result.
func TestNewCasesByTheirRule(t *testing.T) {
	for _, tt := range []struct {
		held   bool
		first  verdict.Verdict
		result string
	}{{true, verdict.Fail, report.GatePass}, {false, verdict.Pass, report.GateFail}} {
		s := reporttest.New()
		out := pass(1)
		if tt.first == verdict.Fail {
			out = fail(0, "no")
		}
		row := s.Add("math/1/a", nil, out, definition)
		s.In.Noise = &report.NoiseFindings{
			Result:  confirm.Result{Findings: []confirm.Finding{{Class: confirm.Added, Held: tt.held, HeadVerdict: tt.first, Head: stats.Count{Passed: 3, Of: 5}}}},
			Index:   map[string]int{row.Head.ID(): 0},
			Samples: [][]report.NoiseSample{{{Side: "head", Verdict: verdict.Pass}}},
		}
		if r := report.Compare(s.In); r.Gate.Result != tt.result || *r.Cases[0].Class != report.New {
			t.Errorf("held %v: %+v", tt.held, r.Gate)
		}
	}
}
