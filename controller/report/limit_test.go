package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/reporttest"
)

// varying are 20 cases with a score of 1 on both sides that measuring again may change,
// and two that nothing affects.
func varying() *reporttest.Scenario {
	s := reporttest.New()
	s.In.Noise = &report.NoiseFindings{Index: map[string]int{}, Samples: make([][]report.NoiseSample, 20)}
	for i := range 20 {
		row := s.Add(fmt.Sprintf("math/1/c%02d", i), pass(1), pass(1), definition)
		s.In.Noise.Index[row.Head.ID()] = i
		s.In.Noise.Findings = append(s.In.Noise.Findings, confirm.Finding{Class: confirm.Unchanged, Fresh: true, BaseVerdict: verdict.Pass, HeadVerdict: verdict.Pass})
	}
	s.Same("sql/1", 2, 1)
	return s
}

// again adds two rounds in which all cases have some scores.
func again(s *reporttest.Scenario, base, head float64) {
	for i := range s.In.Noise.Findings {
		round := [2]confirm.Outcome{{Verdict: verdict.Pass, Score: &base}, {Verdict: verdict.Pass, Score: &head}}
		s.In.Noise.Findings[i].Rounds = [][2]confirm.Outcome{round, round}
	}
}

// TestGateLimits: a limit fails if the score is proved to be beyond, passes if it is
// proved to be within, and is open otherwise. Margins are by hand, of 20 cases out of 22.
func TestGateLimits(t *testing.T) {
	spent := func(s *reporttest.Scenario) { s.In.Noise.Why = "not run: budget calls 3 of 3 is spent" }
	for _, tt := range []struct {
		name     string
		measured func(*reporttest.Scenario)
		gate     report.GateSettings
		result   string
		says     string
	}{
		{"without noise", func(s *reporttest.Scenario) { s.In.Noise = nil }, report.GateSettings{MinScore: number(1), MaxDrop: number(0)}, report.GatePass, ""},
		{"certain", func(s *reporttest.Scenario) {
			for i := range s.In.Noise.Findings {
				s.In.Noise.Findings[i].Certain = true
			}
		}, report.GateSettings{MinScore: number(1), MaxDrop: number(0)}, report.GatePass, ""},
		{"far", func(*reporttest.Scenario) {}, report.GateSettings{MinScore: number(0.77), MaxDrop: number(0.23)}, report.GatePass, ""},
		// The score of the first measurement is shown, and more of them decided.
		{"held each time", func(s *reporttest.Scenario) { again(s, 1, 1) }, report.GateSettings{MinScore: number(0.83), MaxDrop: number(0.17)}, report.GatePass, "; min_score 0.83 holds: 1.000 in 3 measurements of each case; max_drop 0.17 holds: the score fell by 0.000 in 3 measurements of each case"},
		// (2 + 20·(.9 + 1 + 1)/3)/22 and 20·(.1 + .1)/3/22.
		{"better each time, and held", func(s *reporttest.Scenario) { again(s, .9, 1) }, report.GateSettings{MaxDrop: number(0.19)}, report.GatePass, "; max_drop 0.19 holds: the score rose by 0.061 in 3 measurements of each case"},
		// t(0.98, 40)·√(.055·.945/60)·20/22 with .055 = .05·22/20.
		{"near", func(s *reporttest.Scenario) { again(s, 1, 1) }, report.GateSettings{MinScore: number(0.95)}, report.GateUndetermined, "score 1.000 may be below min_score 0.95 (± 0.057 in 3 measurements of each case)"},
		{"near, as a notice", func(s *reporttest.Scenario) { again(s, 1, 1) }, report.GateSettings{MinScore: number(0.95), PassUnsure: true}, report.GatePass, "no case regressed (fail_on: regression); score 1.000 may be below min_score 0.95"},
		{"near, under threshold", func(s *reporttest.Scenario) { again(s, 1, 1) }, report.GateSettings{FailOn: report.FailOnThreshold, MinScore: number(0.95), PassUnsure: true}, report.GatePass, "the scores are not proved to be beyond the limits (fail_on: threshold); score 1.000 may"},
		{"the budget is spent", spent, report.GateSettings{MinScore: number(0.95), PassUnsure: true}, report.GateUndetermined, "and the cases were not measured again: budget calls 3 of 3 is spent"},
		{"stored results alone", spent, report.GateSettings{MinScore: number(0.95), Once: true}, report.GateUndetermined, "), which stored results alone do not decide"},
		// 1/3 and 2/3·.4 of 20, and 2.
		{"worse each time", func(s *reporttest.Scenario) { again(s, 1, .4) }, report.GateSettings{MaxDrop: number(0.1)}, report.GateFail, "score fell by 0.364 in 3 measurements of each case, max_drop is 0.1"},
		{"better each time", func(s *reporttest.Scenario) { again(s, .9, 1) }, report.GateSettings{MaxDrop: number(0)}, report.GateUndetermined, "score rose by 0.061, which does not prove that max_drop 0 holds; where answers vary, only a limit above 0 can be proved to hold (± 0."},
		{"base is gone", func(s *reporttest.Scenario) { s.In.Noise.Findings[3].Gone = true }, report.GateSettings{MaxDrop: number(0.1)}, report.GateUndetermined, "score may have fallen by more than max_drop 0.1: by 0.000; base cannot be measured again (± 0."},
		{"nothing may be lost", func(s *reporttest.Scenario) { again(s, 1, 1) }, report.GateSettings{MaxDrop: number(0)}, report.GateUndetermined, "by 0.000; where answers vary"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := varying()
			tt.measured(s)
			s.In.Gate = tt.gate
			r := report.Compare(s.In)
			if r.Gate.Result != tt.result || !strings.Contains(r.Gate.Reason, tt.says) {
				t.Errorf("the gate is %s: %s; want %s: %s", r.Gate.Result, r.Gate.Reason, tt.result, tt.says)
			}
			noticed := len(r.Notices) > 0 && strings.Contains(r.Notices[len(r.Notices)-1].Message, "may be below min_score")
			if want := strings.Contains(tt.says, "may") && tt.result == report.GatePass; noticed != want {
				t.Errorf("notices %v", r.Notices)
			}
		})
	}
}

// TestInputLimits: accepted and quarantined cases belong to no limit, a new one to no
// difference, and no limit is left where a case that nothing measures has no verdict.
func TestInputLimits(t *testing.T) {
	limits := func(change func(*reporttest.Scenario)) []confirm.Limit {
		s := varying()
		before := s.In.Noise
		s.In.Gate, s.In.Noise = report.GateSettings{MinScore: number(0.9), MaxDrop: number(0.1)}, nil
		before.Findings[0].Certain = true
		before.Findings[1].Class = confirm.Added
		delete(s.In.Base, "math/1/c01")
		change(s)
		out := s.In.Limits(before)
		for i := range out {
			out[i].Cases = out[i].Cases[:min(4, len(out[i].Cases))]
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		change func(*reporttest.Scenario)
		want   []confirm.Limit
	}{
		{"all", func(*reporttest.Scenario) {}, []confirm.Limit{
			{Least: .9, Sum: 3, Weight: 3, Cases: []int{1, 2, 3, 4}}, {Least: -.1, Paired: true, Weight: 3, Cases: []int{2, 3, 4, 5}},
		}},
		{"one is accepted", func(s *reporttest.Scenario) {
			s.In.Head["math/1/c03"] = &report.Outcome{Result: verdict.Result{Verdict: verdict.Fail, Score: number(0)}}
			s.In.Commands = []report.Command{{Verb: report.CommandAccept, Cases: []string{"math/1/c03"}}}
		}, []confirm.Limit{
			{Least: .9, Sum: 3, Weight: 3, Cases: []int{1, 2, 4, 5}}, {Least: -.1, Paired: true, Weight: 3, Cases: []int{2, 4, 5, 6}},
		}},
		{"one has no verdict", func(s *reporttest.Scenario) { delete(s.In.Base, "sql/1/case_001") }, nil},
	} {
		if diff := cmp.Diff(tt.want, limits(tt.change)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
