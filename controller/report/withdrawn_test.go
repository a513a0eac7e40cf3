package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/schema"
)

// ways are those in which a head can leave out a case of base.
var ways = map[string]func(s *reporttest.Scenario, key string, base *side){
	report.WithdrawnRemoved: func(s *reporttest.Scenario, key string, base *side) {
		s.Add(key, base, nil, plan.Reason{Part: "removed"})
	},
	report.WithdrawnIgnored: func(s *reporttest.Scenario, key string, base *side) {
		s.Add(key, base, nil, plan.Reason{Part: plan.Ignored})
	},
	report.WithdrawnDisabled: func(s *reporttest.Scenario, key string, base *side) { s.Add(key, base, skipped, definition) },
	report.WithdrawnDrafted: func(s *reporttest.Scenario, key string, base *side) {
		s.Add(key, base, &side{Skip: "the status is draft"}, definition).Head.Labels.Status = "draft"
	},
	"archived": func(s *reporttest.Scenario, key string, base *side) {
		s.Add(key, base, &side{Skip: "the status is archived"}, definition).Head.Labels.Status = "archived"
	},
}

// TestAbuseWithdrawnCases: however a case is left out and whatever base knows of it,
// the headline, a notice and the gate name it, and gate.removed decides.
func TestAbuseWithdrawnCases(t *testing.T) {
	for way, leave := range ways {
		for _, tt := range []struct {
			was  string
			base *side
		}{{"has no verdict", unknown}, {"passed", pass(1)}, {"failed", fail(0, "")}} {
			t.Run(way+" that "+tt.was, func(t *testing.T) {
				s := reporttest.New()
				s.Same("math/1", 1, 1)
				leave(s, "math/2/out", tt.base)
				r := report.Compare(s.In)
				sections := reporters.Arrange(r)
				if got, want := sections.Headline(r), "No regressions · 1 case "+way; got != want {
					t.Errorf("headline %q, want %q", got, want)
				}
				if r.Gate.Result != report.GatePass || !strings.HasSuffix(r.Gate.Reason, "; 1 case "+way) {
					t.Errorf("gate %+v", r.Gate)
				}
				if len(r.Notices) != 1 || r.Notices[0].Case != "math/2/out" || !strings.HasPrefix(r.Notices[0].Message, tt.was+" at base and is "+way+" here") {
					t.Errorf("notices %+v", r.Notices)
				}
				if row := r.Cases[1]; row.Withdrawn != way {
					t.Errorf("withdrawn %q", row.Withdrawn)
				}
				s.In.Gate.Removed = report.RemovedFail
				r = report.Compare(s.In)
				if want := "1 case " + way + " (removed: fail)"; r.Gate.Result != report.GateFail || r.Gate.Reason != want {
					t.Errorf("gate %+v, want %s", r.Gate, want)
				}
				sections = reporters.Arrange(r)
				if got, want := sections.Headline(r), "Gate failed: 1 case "+way+" (removed: fail)"; got != want {
					t.Errorf("headline %q, want %q", got, want)
				}
			})
		}
	}
}

// TestNotWithdrawn: cases that base does not judge either, cases that only have another
// key, and cases that are a problem of their own.
func TestNotWithdrawn(t *testing.T) {
	s := reporttest.New()
	s.Same("math/1", 1, 1)
	s.Move("math/2/old", "math/2/new", pass(1))
	s.Add("math/3/never", skipped, nil, plan.Reason{Part: "removed"})
	s.Add("math/3/still", skipped, skipped, definition)
	s.Add("math/3/fresh", nil, skipped, definition)
	s.In.Gate.Removed = report.RemovedFail
	r := report.Compare(s.In)
	if r.Gate.Result != report.GatePass || report.Withdrawals(r) != "" || len(r.Notices) != 0 {
		t.Errorf("gate %+v, notices %+v", r.Gate, r.Notices)
	}
	sections := reporters.Arrange(r)
	if got := sections.Headline(r); got != "No regressions" {
		t.Errorf("headline %q", got)
	}
	s.Add("math/3/broken", pass(1), nil, plan.Reason{Part: "invalid"}).Action = plan.Skip
	if r := report.Compare(s.In); r.Gate.Result != report.GateUndetermined || report.Withdrawals(r) != "" {
		t.Errorf("an invalid definition: %+v", r.Gate)
	}
}

// TestManyWithdrawnAreOneNotice but for those that failed at base.
func TestManyWithdrawnAreOneNotice(t *testing.T) {
	var got []string
	for _, n := range report.Compare(reporttest.Withdrawn().In).Notices {
		got = append(got, strings.TrimSpace(n.Case+" "+n.Message))
	}
	want := []string{
		"returns/2/red failed at base and is removed here",
		"10 cases that did not fail at base are removed here: returns/1/case_01, returns/1/case_02, returns/1/case_03 and 7 more",
		"returns/2/ignored has no verdict at base and is ignored here: .gavelignore names its file",
		"sql/1/disabled has no verdict at base and is disabled here: the test is not enabled",
		"sql/1/drafted passed at base and is drafted here: the status is draft",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestWithdrawnUnderOtherRules: gate.removed counts under every rule, and under never
// it is reported.
func TestWithdrawnUnderOtherRules(t *testing.T) {
	for _, tt := range []struct{ rule, want string }{
		{report.FailOnAny, report.GateFail},
		{report.FailOnThreshold, report.GateFail},
		{report.FailOnNever, report.GatePass},
	} {
		s := reporttest.New()
		s.Same("math/1", 1, 1)
		s.Add("math/2/out", pass(1), nil, plan.Reason{Part: "removed"})
		s.In.Gate = report.GateSettings{FailOn: tt.rule, MinScore: number(0.5), Removed: report.RemovedFail}
		if got := report.Compare(s.In).Gate; got.Result != tt.want || !strings.Contains(got.Reason, "1 case removed (removed: fail)") {
			t.Errorf("%s: %+v, want the removed case to fail the gate as the rule says", tt.rule, got)
		}
	}
}

// TestWithdrawnInAGroup: the group that lost a case fails, the other does not.
func TestWithdrawnInAGroup(t *testing.T) {
	s := reporttest.New()
	s.Same("math/1", 1, 1)
	s.Same("sql/1", 1, 1)
	s.Add("sql/1/out", unknown, nil, plan.Reason{Part: "removed"})
	s.In.GroupGates, s.In.Gate.Removed = true, report.RemovedFail
	got := map[string]string{}
	for _, g := range report.Compare(s.In).GroupGates {
		got[g.Group] = g.Gate.Result
	}
	if diff := cmp.Diff(map[string]string{"math": report.GatePass, "sql": report.GateFail}, got); diff != "" {
		t.Error(diff)
	}
}

// TestDetailWithoutABase: where nothing is compared, a reader wants to see what
// failed, and not what passed.
func TestDetailWithoutABase(t *testing.T) {
	said := []schema.Message{{Role: schema.RoleAssistant, Content: "12"}}
	s := reporttest.New()
	s.In.Plan.Base = ""
	s.Add("math/1/wrong", nil, &side{Verdict: "fail", Transcript: said}, definition)
	s.Add("math/1/right", nil, &side{Verdict: "pass", Score: 1, Transcript: said}, definition)
	r := report.Compare(s.In)
	for i := range r.Cases {
		row := &r.Cases[i]
		if row.Class != nil || (row.Detail != nil) != (row.Key == "math/1/wrong") {
			t.Errorf("%s: class %v, detail %+v", row.Key, row.Class, row.Detail)
		}
	}
}
