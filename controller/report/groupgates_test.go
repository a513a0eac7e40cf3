package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/reporttest"
)

// TestGroupGates asks for the gate of every group of a scenario. The whole is
// the last result.
func TestGroupGates(t *testing.T) {
	for _, tc := range []struct {
		name     string
		cases    func(*reporttest.Scenario)
		settings report.GateSettings
		want     []string
		whole    string
	}{
		{"a regression is of its group", func(s *reporttest.Scenario) {
			s.Same("math/1", 2, 1)
			s.Add("sql/1/sum", pass(1), fail(0, ""), definition)
			s.Add("talk/1/hello", fail(0, ""), pass(1), definition)
		}, report.GateSettings{}, []string{
			"math pass: no affected cases", "sql fail: 1 case regressed (fail_on: regression)",
			"talk pass: no case regressed (fail_on: regression)",
		}, report.GateFail},
		{"without a base", func(s *reporttest.Scenario) {
			s.In.Plan.Base = ""
			s.Add("math/1/a", nil, pass(1), definition)
			s.Add("sql/1/a", nil, fail(0, ""), definition)
		}, report.GateSettings{}, []string{"math pass: no case fails (fail_on: any_failure)", "sql fail: 1 case fails (fail_on: any_failure)"}, report.GateFail},
		{"an error is of its group", func(s *reporttest.Scenario) {
			s.Add("math/1/a", pass(1), pass(1), definition)
			s.Add("sql/1/a", pass(1), failed("timeout"), definition)
		}, report.GateSettings{}, []string{"math pass: no case regressed (fail_on: regression)", "sql undetermined: 1 case ended in an error"}, report.GateUndetermined},
		{"min_score is asked of the whole, and max_drop of each", func(s *reporttest.Scenario) {
			s.Add("math/1/a", pass(1), pass(0.5), definition)
			s.Add("sql/1/a", pass(1), pass(0.7), definition)
		}, report.GateSettings{FailOn: report.FailOnThreshold, MinScore: number(0.9), MaxDrop: number(0.4)}, []string{
			"math fail: score fell by 0.500, max_drop is 0.4",
			"sql pass: the scores of all cases together decide (fail_on: threshold)",
		}, report.GateFail},
		{"required is asked of its group", func(s *reporttest.Scenario) {
			s.Add("math/1/a", fail(0, ""), fail(0, ""), definition)
			s.Add("sql/1/a", fail(0, ""), fail(0, ""), definition)
		}, report.GateSettings{Required: []string{"math/**", "gone"}}, []string{
			"math fail: required case math/1/a did not pass: fail", "sql pass: no case regressed (fail_on: regression)",
		}, report.GateFail},
		{"never", func(s *reporttest.Scenario) { s.Add("math/1/a", pass(1), fail(0, ""), definition) },
			report.GateSettings{FailOn: report.FailOnNever}, []string{"math pass: fail_on: never; otherwise: 1 case regressed (fail_on: regression)"}, report.GatePass},
		{"what waits is of its group", func(s *reporttest.Scenario) {
			s.Same("math/1", 2, 1)
			s.Add("sql/1/a", pass(1), unknown, definition)
			s.In.NotRun = "waits for approval"
		}, report.GateSettings{}, []string{"math pass: no affected cases", "sql undetermined: nothing was run: waits for approval"}, report.GateUndetermined},
		{"accepted", func(s *reporttest.Scenario) {
			s.Add("math/1/a", pass(1), fail(0, ""), definition)
			s.Same("sql/1", 1, 1)
			s.In.Commands = []report.Command{{Author: "mona", Verb: report.CommandAccept, Argument: "meant", Cases: []string{"math/1/a"}}}
		}, report.GateSettings{}, []string{"math pass: no case regressed (fail_on: regression); 1 case accepted", "sql pass: no affected cases"}, report.GatePass},
		{"one that became invalid is there, removed and skipped ones are not", func(s *reporttest.Scenario) {
			s.Same("math/1", 1, 1)
			s.Add("gone/1/a", pass(1), nil, definition)
			s.Add("off/1/a", pass(1), skipped, definition)
			s.Add("broken/1/a", pass(1), nil, definition).Action = "skip"
		}, report.GateSettings{}, []string{
			"broken undetermined: 1 case of base was not run because the definition is invalid",
			"math pass: no affected cases",
		}, report.GateUndetermined},
		{"capitals make no other group", func(s *reporttest.Scenario) {
			s.Add("math/1/a", pass(1), pass(1), definition)
			s.Add("Math/1/a", pass(1), fail(0, ""), definition)
		}, report.GateSettings{}, []string{"Math fail: 1 case regressed (fail_on: regression)"}, report.GateFail},
		{"no group", func(s *reporttest.Scenario) {
			s.Add("math/1/a", pass(1), fail(0, ""), definition).Head.Labels.Groups = nil
		}, report.GateSettings{}, nil, report.GateFail},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := reporttest.New()
			tc.cases(s)
			s.In.Gate = tc.settings
			if r := report.Compare(s.In); r.GroupGates != nil {
				t.Errorf("nobody asked for %v", r.GroupGates)
			}
			s.In.GroupGates = true
			r := report.Compare(s.In)
			var got []string
			for _, g := range r.GroupGates {
				got = append(got, fmt.Sprintf("%s %s: %s", g.Group, g.Gate.Result, g.Gate.Reason))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || r.Gate.Result != tc.whole {
				t.Errorf("the whole is %s, want %s; -want +got:\n%s", r.Gate.Result, tc.whole, diff)
			}
		})
	}
}

// TestTheReportOfAGroup has the cases and problems of the group, and no other.
func TestTheReportOfAGroup(t *testing.T) {
	s := reporttest.InvalidDefinitions()
	s.Same("sql/1", 2, 1)
	s.Add("sql/1/a", pass(1), pass(1), plan.Reason{File: reporttest.File("math/2/ratio")})
	s.Add("talk/1/a", pass(1), nil, definition).Action = "skip"
	s.In.Plan.Rows[len(s.In.Plan.Rows)-1].Reasons[0].File = "test_definitions/sql/domain.json" // that it builds on
	s.In.GroupGates = true
	r := report.Compare(s.In)
	got := map[string][3]int{}
	for _, g := range r.GroupGates {
		part := r.GroupReport(g)
		got[g.Group] = [3]int{len(part.Cases), part.Summary.Cases, report.InvalidFiles(part.Problems)}
	}
	if diff := cmp.Diff(map[string][3]int{"math": {7, 7, 1}, "sql": {3, 3, 0}, "talk": {1, 1, 1}}, got); diff != "" {
		t.Errorf("cases, summary and invalid files, -want +got:\n%s", diff)
	}
}

// TestTooManyGroups: those that are left out are named where people look.
func TestTooManyGroups(t *testing.T) {
	s := reporttest.New()
	for i := range 53 {
		s.Same(fmt.Sprintf("group_%d/1", i+1), 1, 1)
	}
	s.In.GroupGates = true
	r := report.Compare(s.In)
	if n := len(r.GroupGates); n != 50 || r.GroupGates[49].Group != "group_50" {
		t.Errorf("%d groups, the last is %s", n, r.GroupGates[n-1].Group)
	}
	if len(r.Notices) != 1 || !strings.HasSuffix(r.Notices[0].Message, "and no more can: 3 groups have none, from group_51 on") {
		t.Errorf("notices %+v", r.Notices)
	}
}
