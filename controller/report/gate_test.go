package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/schema"
)

func number(x float64) *float64 { return &x }

// TestGate gives each rule what passes it and what does not. reason is a part
// of the reason.
func TestGate(t *testing.T) {
	of := func(base, head *side) func(*reporttest.Scenario) {
		return func(s *reporttest.Scenario) { s.Add("math/1/sum", base, head, definition) }
	}
	first := func(head *side) func(*reporttest.Scenario) {
		return func(s *reporttest.Scenario) { s.In.Plan.Base = ""; s.Add("math/1/sum", nil, head, definition) }
	}
	nothing := func(s *reporttest.Scenario) { s.Same("math/1", 2, 1) }
	withheld := &report.Outcome{Unrun: report.NotRunPrefix + "it starts a program"}
	for _, tc := range []struct {
		name     string
		cases    func(*reporttest.Scenario)
		settings report.GateSettings
		result   string
		reason   string
	}{
		{"regression", of(pass(1), fail(0, "")), report.GateSettings{}, report.GateFail, "1 case regressed (fail_on: regression)"},
		{"improvement", of(fail(0, ""), pass(1)), report.GateSettings{}, report.GatePass, "no case regressed"},
		{"still fails", of(fail(0, ""), fail(0, "")), report.GateSettings{}, report.GatePass, "no case regressed"},
		{"new case fails", of(nil, fail(0, "")), report.GateSettings{}, report.GateFail, "1 new case fails"},
		{"new case is borderline", of(nil, borderline(0.7)), report.GateSettings{}, report.GatePass, ""},
		{"fails without a verdict at base", of(unknown, fail(0, "")), report.GateSettings{}, report.GateUndetermined, "without a verdict at base"},
		{"passes without a verdict at base", of(unknown, pass(1)), report.GateSettings{}, report.GatePass, ""},
		{"error", of(pass(1), failed("timeout")), report.GateSettings{}, report.GateUndetermined, "1 case ended in an error"},
		{"not run", of(pass(1), unknown), report.GateSettings{}, report.GateUndetermined, "1 case was not run"},
		{"asks nothing", func(s *reporttest.Scenario) {
			of(nil, pass(1))(s)
			s.In.Plan.Rows[0].Head.AsksNothing = true
		}, report.GateSettings{}, report.GateUndetermined, "1 case asks nothing of the answer, and no other affected case was judged"},
		{"one asks nothing", func(s *reporttest.Scenario) {
			nothing(s)
			s.In.Plan.Rows[0].Head.AsksNothing = true
		}, report.GateSettings{}, report.GatePass, ""},
		{"asks nothing, and nothing affects the others", func(s *reporttest.Scenario) {
			nothing(s)
			s.Add("math/1/more", nil, pass(1), definition).Head.AsksNothing = true
		}, report.GateSettings{}, report.GateUndetermined, "1 case asks nothing of the answer, and no other affected case was judged"},
		{"asks nothing, and another is affected", func(s *reporttest.Scenario) {
			of(pass(1), pass(1))(s)
			s.Add("math/1/more", nil, pass(1), definition).Head.AsksNothing = true
		}, report.GateSettings{}, report.GatePass, "no case regressed"},
		{"a new case is not run", func(s *reporttest.Scenario) {
			nothing(s)
			s.Add("math/1/more", nil, skipped, definition)
		}, report.GateSettings{}, report.GatePass, "no case regressed"},
		{"asks nothing, and another fails", func(s *reporttest.Scenario) {
			of(pass(1), fail(0, ""))(s)
			s.Add("math/1/more", nil, pass(1), definition).Head.AsksNothing = true
		}, report.GateSettings{}, report.GateFail, "1 case regressed"},
		{"budget", func(s *reporttest.Scenario) {
			of(pass(1), failed("not run: the budget of 2 calls is not enough: 1 is left"))(s)
			for _, o := range s.In.Head {
				o.Unrun = "not run: the budget of 2 calls is not enough"
			}
		}, report.GateSettings{}, report.GateUndetermined, "1 case was not run, since the budget of 2 calls is not enough"},
		{"nothing affected", nothing, report.GateSettings{}, report.GatePass, "no affected cases"},
		{"no case", func(*reporttest.Scenario) {}, report.GateSettings{}, report.GateUndetermined, "there is no case"},
		{"nothing affected, and all cases were asked for", func(s *reporttest.Scenario) {
			nothing(s)
			for i := range s.In.Plan.Rows {
				s.In.Plan.Rows[i].Reasons = []plan.Reason{{Part: plan.AllAsked, Message: "all cases were asked for"}}
			}
		}, report.GateSettings{}, report.GatePass, "no case regressed (fail_on: regression)"},
		{"no case among those with a row", func(s *reporttest.Scenario) { s.In.Plan.Rest = plan.Rest{Cases: 2, Skipped: 1} }, report.GateSettings{}, report.GatePass, "no affected cases"},
		{"none active among the rest", func(s *reporttest.Scenario) { s.In.Plan.Rest = plan.Rest{Cases: 2, Skipped: 2} }, report.GateSettings{}, report.GateUndetermined, "all 2 are skipped"},
		{"all skipped", of(skipped, skipped), report.GateSettings{}, report.GateUndetermined, "no case is active"},
		{"all removed", of(pass(1), nil), report.GateSettings{}, report.GateUndetermined, "there is no case"},
		{"waits", func(s *reporttest.Scenario) { of(pass(1), unknown)(s); s.In.NotRun = "waits for approval" }, report.GateSettings{}, report.GateUndetermined, "nothing was run: waits for approval"},
		{"waits for nothing", func(s *reporttest.Scenario) { nothing(s); s.In.NotRun = "waits for approval" }, report.GateSettings{}, report.GatePass, "no affected cases"},

		{"first run fails", first(fail(0, "")), report.GateSettings{}, report.GateFail, "1 case fails (fail_on: any_failure)"},
		{"first run is borderline", first(borderline(0.7)), report.GateSettings{}, report.GateFail, "1 case is borderline"},
		{"first run passes", first(pass(1)), report.GateSettings{}, report.GatePass, "no case fails"},
		{"regression without a base", first(fail(0, "")), report.GateSettings{FailOn: report.FailOnRegression}, report.GateFail, "no base to compare with"},
		{"any failure with a base", of(fail(0, ""), fail(0, "")), report.GateSettings{FailOn: report.FailOnAny}, report.GateFail, "1 case fails"},

		{"threshold alone", of(pass(1), pass(1)), report.GateSettings{FailOn: report.FailOnThreshold}, report.GateUndetermined, "needs min_score or max_drop"},
		{"threshold ignores regressions", of(pass(1), fail(0.9, "")), report.GateSettings{FailOn: report.FailOnThreshold, MinScore: number(0.9)}, report.GatePass, "within the limits"},
		{"below min_score", of(pass(0.8), pass(0.8)), report.GateSettings{MinScore: number(0.81)}, report.GateFail, "score 0.800 is below min_score 0.81"},
		{"min_score without a score", of(nil, failed("timeout")), report.GateSettings{MinScore: number(0.5)}, report.GateUndetermined, "nothing has a score"},
		{"drop", of(pass(1), pass(0.9)), report.GateSettings{MaxDrop: number(0)}, report.GateFail, "score fell by 0.100"},
		{"drop as allowed", of(pass(1), pass(0.9)), report.GateSettings{MaxDrop: number(0.1)}, report.GatePass, ""},
		{"drop where base is not known wholly", func(s *reporttest.Scenario) {
			of(pass(1), pass(1))(s)
			s.Add("math/2/sum", failed("timeout"), pass(1), definition)
		}, report.GateSettings{MaxDrop: number(0.1)}, report.GateUndetermined, "base has no verdict of 1 case"},
		{"what the gate alone asks for stands for both sides", func(s *reporttest.Scenario) {
			asked := s.Add("math/1/sum", unknown, fail(0, ""), definition)
			asked.Asked, asked.HeadDigests = true, asked.BaseDigests
		}, report.GateSettings{MaxDrop: number(0.1)}, report.GatePass, "no affected cases"},
		{"min_score where a case ended in an error", func(s *reporttest.Scenario) {
			of(pass(1), pass(0.1))(s)
			s.Add("math/2/sum", pass(1), failed("timeout"), definition)
		}, report.GateSettings{MinScore: number(0.5)}, report.GateUndetermined, "1 case ended in an error; min_score 0.5 is not decided: 1 active case has no verdict"},
		{"min_score where a case was not run", func(s *reporttest.Scenario) {
			of(pass(1), pass(0.1))(s)
			s.Add("math/2/sum", pass(1), unknown, definition)
		}, report.GateSettings{MinScore: number(0.5)}, report.GateUndetermined, "min_score 0.5 is not decided: 1 active case has no verdict"},
		{"min_score where nobody has judged what nothing affects", func(s *reporttest.Scenario) {
			of(pass(1), pass(1))(s)
			s.Unjudged("math/2", 3)
		}, report.GateSettings{MinScore: number(0.5)}, report.GateUndetermined, "min_score 0.5 is not decided: 3 active cases have no verdict"},
		{"max_drop where nobody has judged what nothing affects", func(s *reporttest.Scenario) {
			of(pass(1), pass(0.1))(s)
			s.Unjudged("math/2", 3)
		}, report.GateSettings{FailOn: report.FailOnThreshold, MaxDrop: number(0.5)}, report.GateUndetermined, "max_drop 0.5 is not decided: 3 active cases have no verdict"},
		{"max_drop of an agent whose base nobody has measured", func(s *reporttest.Scenario) {
			of(pass(1), pass(1))(s)
			s.Add("math/2/sum", unknown, pass(1), definition)
		}, report.GateSettings{MaxDrop: number(0.5)}, report.GateUndetermined, "max_drop 0.5 is set and base has no verdict of 1 case"},
		{"min_score asks for no case that is out of the gate", func(s *reporttest.Scenario) {
			of(pass(1), pass(1))(s)
			s.Add("math/2/off", pass(1), skipped, definition)
			s.Add("math/2/never", skipped, skipped, definition)
			s.Unjudged("math/3", 1)
			s.In.Quarantined = report.Quarantines{{Case: "math/3/case_001", Until: "2099-01-01", Reason: "slow"}}
		}, report.GateSettings{MinScore: number(0.5)}, report.GatePass, "no case regressed"},
		{"min_score of selected cases", of(pass(1), pass(0.1)), report.GateSettings{MinScore: number(0.5), Unasked: "only some cases are selected"}, report.GatePass, "no case regressed (fail_on: regression); min_score 0.5 is not asked, since only some cases are selected"},
		{"both limits of selected cases", of(pass(1), pass(0.1)), report.GateSettings{FailOn: report.FailOnThreshold, MinScore: number(0.5), MaxDrop: number(0), Unasked: "only some cases are selected"}, report.GatePass, "(fail_on: threshold); min_score 0.5 and max_drop 0 are not asked, since only some cases are selected"},
		{"selected cases that regress", of(pass(1), fail(0.1, "")), report.GateSettings{MinScore: number(0.5), Unasked: "only some cases are selected"}, report.GateFail, "1 case regressed (fail_on: regression); min_score 0.5 is not asked"},
		{"a plan whose stored scores are low", func(s *reporttest.Scenario) {
			s.Add("math/1/sum", fail(0, ""), fail(0, ""), definition).Action = plan.Reuse
			s.In.NotRun = "a fork"
		}, report.GateSettings{MinScore: number(0.5), Unasked: "nothing is run"}, report.GatePass, "min_score 0.5 is not asked, since nothing is run"},
		{"any failure of what is affected alone", func(s *reporttest.Scenario) {
			of(pass(1), pass(1))(s)
			same := s.Add("math/2/sum", fail(0, ""), fail(0, ""), definition)
			same.Action, same.Reasons, same.HeadDigests = plan.Reuse, nil, same.BaseDigests
		}, report.GateSettings{FailOn: report.FailOnAny, Unasked: "a save judges only what it affects"}, report.GatePass, "no affected case fails (fail_on: any_failure)"},
		{"drop without a pair", of(unknown, pass(1)), report.GateSettings{MaxDrop: number(0)}, report.GateUndetermined, "no case was judged on both sides"},

		{"required passes", of(pass(1), pass(1)), report.GateSettings{Required: []string{"math/**"}}, report.GatePass, ""},
		{"required is missing", of(pass(1), pass(1)), report.GateSettings{Required: []string{"sql/*"}}, report.GateFail, "required case sql/* is not there"},
		{"required runs although nothing affects it", func(s *reporttest.Scenario) {
			row := s.Add("math/1/sum", pass(1), pass(1), definition)
			row.HeadDigests = row.BaseDigests
		}, report.GateSettings{Required: []string{"math/**"}}, report.GatePass, "no affected cases"},
		{"affected, and from the ledger", func(s *reporttest.Scenario) {
			s.Add("math/1/sum", pass(1), pass(1), definition).Action = plan.Reuse
		}, report.GateSettings{}, report.GatePass, "no case regressed"},
		{"moved", func(s *reporttest.Scenario) { s.Move("math/1/old", "math/1/sum", pass(1)) }, report.GateSettings{}, report.GatePass, "no case regressed"},
		{"required is not selected", of(pass(1), pass(1)), report.GateSettings{Required: []string{"sql/*", "math/**"}, Selected: true, Unasked: "only some cases are selected"}, report.GatePass, "no case regressed (fail_on: regression); required case sql/* is not asked, since only some cases are selected"},
		{"required is selected", of(fail(0, ""), fail(0, "")), report.GateSettings{Required: []string{"math/**"}, Selected: true, Unasked: "only some cases are selected"}, report.GateFail, "did not pass: fail"},
		{"required is removed", func(s *reporttest.Scenario) { nothing(s); s.Add("math/1/x", pass(1), nil, definition) }, report.GateSettings{Required: []string{"math/1/x"}}, report.GateFail, "is not there"},
		{"required is skipped", func(s *reporttest.Scenario) { nothing(s); s.Add("math/1/x", pass(1), skipped, definition) }, report.GateSettings{Required: []string{"math/1/x"}}, report.GateFail, "did not pass: skipped"},
		{"required still fails", of(fail(0, ""), fail(0, "")), report.GateSettings{Required: []string{"math/1/sum"}}, report.GateFail, "did not pass: fail"},
		{"required is in error", of(pass(1), failed("timeout")), report.GateSettings{Required: []string{"math/1/sum"}}, report.GateUndetermined, "was not judged"},

		{"never", of(pass(1), fail(0, "")), report.GateSettings{FailOn: report.FailOnNever}, report.GatePass, "otherwise: 1 case regressed"},
		{"never with nothing wrong", of(pass(1), pass(1)), report.GateSettings{FailOn: report.FailOnNever}, report.GatePass, "fail_on: never"},
		{"never where nothing may be run", func(s *reporttest.Scenario) {
			of(pass(1), unknown)(s)
			s.In.NotRun = "a fork"
		}, report.GateSettings{FailOn: report.FailOnNever}, report.GateUndetermined, "nothing was run: a fork"},
		{"never where nothing may be run and nothing is affected", func(s *reporttest.Scenario) {
			s.Unjudged("math/2", 3)
			s.In.NotRun = "a fork"
		}, report.GateSettings{FailOn: report.FailOnNever}, report.GatePass, "fail_on: never"},
		{"never where the programs of every case wait", func(s *reporttest.Scenario) {
			of(pass(1), pass(1))(s)
			s.In.Head["math/1/sum"] = withheld
		}, report.GateSettings{FailOn: report.FailOnNever}, report.GateUndetermined, "1 case was not run, since it starts a program"},
		{"never where the programs of one case wait", func(s *reporttest.Scenario) {
			s.Add("math/1/a", pass(1), pass(1), definition)
			s.In.Head["math/1/a"] = withheld
			s.Add("math/1/b", pass(1), pass(1), definition)
		}, report.GateSettings{FailOn: report.FailOnNever}, report.GatePass, "otherwise: 1 case was not run"},
		{"never where every case ended in an error", of(pass(1), failed("timeout")), report.GateSettings{FailOn: report.FailOnNever}, report.GatePass, "otherwise: 1 case ended in an error"},
		{"failure outweighs error", func(s *reporttest.Scenario) {
			s.Add("math/1/a", pass(1), fail(0, ""), definition)
			s.Add("math/1/b", pass(1), failed("timeout"), definition)
		}, report.GateSettings{}, report.GateFail, "1 case regressed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := reporttest.New()
			tc.cases(s)
			s.In.Gate = tc.settings
			got := report.Compare(s.In).Gate
			if got.Result != tc.result || !strings.Contains(got.Reason, tc.reason) {
				t.Errorf("%s: %s\nwant %s: …%s…", got.Result, got.Reason, tc.result, tc.reason)
			}
			if got.Reason == "" {
				t.Error("no reason")
			}
		})
	}
}

func TestGateInvalidDefinition(t *testing.T) {
	got := report.Compare(reporttest.InvalidDefinitions().In).Gate
	if got.Result != report.GateUndetermined || !strings.Contains(got.Reason, "definition is invalid") {
		t.Errorf("the gate is %s: %s, want undetermined for an invalid definition", got.Result, got.Reason)
	}
}

// TestGateInvalidDefinitionWithoutACase: a definition that nobody can read
// leaves the gate open, also where no case of base is known to be in it.
func TestGateInvalidDefinitionWithoutACase(t *testing.T) {
	problem := func(file string, severity schema.Severity) schema.Problem {
		return schema.Problem{Position: schema.Position{File: file, Line: 1}, Severity: severity}
	}
	for _, tc := range []struct {
		name     string
		problems []schema.Problem
		result   string
		reason   string
	}{
		{"one error", []schema.Problem{problem("a.json", schema.Error)}, report.GateUndetermined, "1 definition is invalid"},
		{"two errors in a file", []schema.Problem{problem("a.json", schema.Error), problem("a.json", schema.Error)}, report.GateUndetermined, "1 definition is invalid"},
		{"two files", []schema.Problem{problem("a.json", schema.Error), problem("b.json", schema.Error)}, report.GateUndetermined, "2 definitions are invalid"},
		{"a warning and a note", []schema.Problem{problem("a.json", schema.Warning), problem("b.json", schema.Note)}, report.GatePass, "no affected cases"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := reporttest.New()
			s.Same("math/1", 2, 1)
			s.In.Problems = tc.problems
			if got := report.Compare(s.In).Gate; got.Result != tc.result || got.Reason != tc.reason {
				t.Errorf("%s: %s, want %s: %s", got.Result, got.Reason, tc.result, tc.reason)
			}
		})
	}
}

func TestNotices(t *testing.T) {
	s := reporttest.New()
	threshold := plan.Reason{Part: "threshold", File: "gavel.yaml", Message: "threshold changed"}
	for i := range 3 {
		row := s.Add(fmt.Sprintf("math/1/%d", i), pass(1), pass(1), threshold)
		row.BaseCase.Evaluators = []schema.Evaluator{{Name: "keyword", Rule: schema.Rule{Threshold: 0.7}}}
		row.HeadCase.Evaluators = []schema.Evaluator{{Name: "keyword", Rule: schema.Rule{Threshold: 0.5}}}
	}
	row := s.Add("math/2/loose", pass(1), pass(1), definition)
	row.BaseCase.Evaluators = []schema.Evaluator{
		{Name: "keyword", Rule: schema.Rule{Need: 0, Threshold: 0.5, Required: []string{"30 days"}}}, {Name: "tone"},
	}
	row.HeadCase.Evaluators = []schema.Evaluator{{Name: "keyword", Rule: schema.Rule{Need: 2, Threshold: 0.9}}}
	s.Add("math/3/removed", fail(0, ""), nil, definition)
	s.Add("math/3/green", pass(1), nil, definition)
	s.Add("math/3/skipped", fail(0, ""), skipped, definition)
	s.Add("math/3/invalid", fail(0, ""), nil, definition).Action = plan.Skip
	s.In.Notices = []report.Notice{{Message: "first"}}
	s.In.Config = report.ConfigChange{
		File: "gavel.yaml", Files: []string{"gavel.yaml"}, DecidedBy: "base",
		Base:   &report.GateSettings{MinScore: number(0.8), MaxDrop: number(0.1), Required: []string{"a", "b"}, Removed: report.RemovedFail},
		Head:   &report.GateSettings{FailOn: report.FailOnNever, MinScore: number(0.7), Required: []string{"a"}, PassUnsure: true},
		Looser: []string{"noise.alpha 0.05 → 0.01"},
	}
	want := []report.Notice{
		{Message: "first"},
		{File: "gavel.yaml", Message: "is changed here; this run was decided by the one at base"},
		{File: "gavel.yaml", Message: "changes the gate: fail_on (default) → never"},
		{File: "gavel.yaml", Message: "weakens the gate: min_score 0.8 → 0.7"},
		{File: "gavel.yaml", Message: "weakens the gate: max_drop 0.1 → off"},
		{File: "gavel.yaml", Message: "weakens the gate: removed fail → allow"},
		{File: "gavel.yaml", Message: "weakens the gate: unsure undetermined → notice"},
		{File: "gavel.yaml", Message: "weakens the gate: b is no longer required"},
		{File: "gavel.yaml", Message: "weakens the gate: noise.alpha 0.05 → 0.01"},
		{File: reporttest.File("math/3/removed"), Line: 1, Case: "math/3/removed", Message: "failed at base and is removed here", AtBase: true},
		{File: reporttest.File("math/3/skipped"), Line: 1, Case: "math/3/skipped", Message: "failed at base and is disabled here: enabled is false"},
		{File: reporttest.File("math/3/invalid"), Line: 1, Case: "math/3/invalid", Message: "failed at base and its definition is invalid here", AtBase: true},
		{File: reporttest.File("math/3/green"), Line: 1, Case: "math/3/green", Message: "passed at base and is removed here", AtBase: true},
		{File: "gavel.yaml", Message: "lowers the threshold of keyword: 0.7 → 0.5 for 3 cases"},
		{File: reporttest.File("math/2/loose"), Line: 1, Case: "math/2/loose", Message: "lowers the matches that keyword needs: all → 2"},
		{File: reporttest.File("math/2/loose"), Line: 1, Case: "math/2/loose", Message: "no longer requires the criterion 30 days of keyword"},
		{File: reporttest.File("math/2/loose"), Line: 1, Case: "math/2/loose", Message: "drops the evaluator tone"},
	}
	if diff := cmp.Diff(want, report.Compare(s.In).Notices); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
}

// TestARemovedConfiguration is named as what it is, with its place at base.
func TestARemovedConfiguration(t *testing.T) {
	s := reporttest.New()
	s.In.Config = report.ConfigChange{File: "gavel.yaml", Files: []string{"gavel.yaml", "other.yaml"}, DecidedBy: "main", Removed: true}
	want := []report.Notice{
		{File: "gavel.yaml", Message: "is removed here; this run was decided by the one at main", AtBase: true},
		{File: "other.yaml", Message: "is changed here; this run was decided by the one at main"},
	}
	if diff := cmp.Diff(want, report.Compare(s.In).Notices); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
}

// TestNoticesOfRules names each part of a rule that asks for less at head, and none that
// asks for as much or more.
func TestNoticesOfRules(t *testing.T) {
	rule := func(r schema.Rule) *schema.Case {
		return &schema.Case{Evaluators: []schema.Evaluator{{Name: "judge", Rule: r}}}
	}
	bands := func(b *schema.Bands) *schema.Case {
		return &schema.Case{Policy: schema.Policy{Bands: b}}
	}
	share := func(of float64, samples int) *schema.Case {
		return &schema.Case{Policy: schema.Policy{PassShare: of, Iterations: samples}}
	}
	required := []string{"a"}
	for _, tc := range []struct {
		name       string
		base, head *schema.Case
		want       string
	}{
		{"threshold of the case", bands(&schema.Bands{Pass: 1, Borderline: 1}), bands(&schema.Bands{Pass: 0.5, Borderline: 0.5}), "lowers the threshold of the case: 1 → 0.5"},
		{"borderline alone", bands(&schema.Bands{Pass: 0.8, Borderline: 0.6}), bands(&schema.Bands{Pass: 0.8, Borderline: 0.5}), "lowers the borderline of the case: 0.6 → 0.5"},
		{"a threshold where all had to pass", bands(nil), bands(&schema.Bands{Pass: 0.5}), "passes with a score of 0.5, where every evaluator had to pass"},
		{"all have to pass", bands(&schema.Bands{Pass: 0.5}), bands(nil), ""},
		{"least", rule(schema.Rule{Required: required, Least: map[string]float64{"a": 0.5}}), rule(schema.Rule{Required: required, Least: map[string]float64{"a": 0.4}}), "lowers the least score of the criterion a of judge: 0.5 → 0.4"},
		{"more is asked", rule(schema.Rule{Required: required, Least: map[string]float64{"a": 0.5}, Gate: 0.5, Floor: 0.1}), rule(schema.Rule{Required: []string{"a", "b"}, Least: map[string]float64{"a": 0.6}, Gate: 0.6, Floor: 0.2, NonZero: true, Unanimous: true}), ""},
		{"most", rule(schema.Rule{Most: map[string]float64{"cost": 1}}), rule(schema.Rule{Most: map[string]float64{"cost": 2}}), "raises the bound of cost of judge"},
		{"no most", rule(schema.Rule{Most: map[string]float64{"cost": 1}}), rule(schema.Rule{}), "raises the bound of cost of judge"},
		{"gate", rule(schema.Rule{Gate: 0.5}), rule(schema.Rule{Gate: 0.4}), "lowers the gate of judge: 0.5 → 0.4"},
		{"floor", rule(schema.Rule{Floor: 0.5}), rule(schema.Rule{}), "lowers the least score of judge: 0.5 → 0"},
		{"zero", rule(schema.Rule{NonZero: true}), rule(schema.Rule{}), "no longer fails with a score of 0 of judge"},
		{"every sample", rule(schema.Rule{Unanimous: true}), rule(schema.Rule{}), "requires only in most samples what every sample had to meet of judge"},
		{"aggregate", rule(schema.Rule{Aggregate: schema.Minimum}), rule(schema.Rule{Aggregate: schema.Maximum}), "combines the scores in another way of judge"},
		{"negation", rule(schema.Rule{}), rule(schema.Rule{Negate: true}), "turns the score around of judge"},
		{"a smaller share", share(0.8, 10), share(0.5, 10), "lowers the share of samples that must pass: 8 of 10 → 5 of 10"},
		{"a share of fewer samples", share(0.8, 10), share(0.8, 5), "lowers the share of samples that must pass: 8 of 10 → 4 of 5"},
		{"a larger share of fewer samples", share(0.8, 10), share(1, 1), "lowers the share of samples that must pass: 8 of 10 → 1 of 1"},
		{"a share for the format's rule", share(0, 10), share(0.8, 10), "passes with 8 of 10 samples, where the format decided"},
		{"the format's rule for a share", share(0.8, 10), share(0, 10), "no longer asks for 8 of 10 samples: the format decides"},
		{"a larger share", share(0.8, 10), share(0.9, 10), ""},
		{"a share of more samples", share(0.8, 5), share(0.8, 10), ""},
		{"best", bands(nil), &schema.Case{Policy: schema.Policy{Best: true}}, "takes the result of the best sample"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := reporttest.New()
			row := s.Add("math/1/a", pass(1), pass(1), definition)
			for _, side := range []struct{ has, gets *schema.Case }{{row.BaseCase, tc.base}, {row.HeadCase, tc.head}} {
				side.has.Evaluators, side.has.Policy = side.gets.Evaluators, side.gets.Policy
			}
			var got []string
			for _, n := range report.Compare(s.In).Notices {
				got = append(got, n.Message)
			}
			if strings.Join(got, "; ") != tc.want {
				t.Errorf("notices %q, want %q", got, tc.want)
			}
		})
	}
}

// TestGateAccepted: what somebody accepted breaks no rule, and only that: what
// has no verdict cannot be meant.
func TestGateAccepted(t *testing.T) {
	const key = "math/1/sum"
	for _, tc := range []struct {
		name       string
		base, head *side
		settings   report.GateSettings
		result     string
	}{
		{"regression", pass(1), fail(0, ""), report.GateSettings{}, report.GatePass},
		{"new case", nil, fail(0, ""), report.GateSettings{}, report.GatePass},
		{"any failure", fail(0, ""), fail(0, ""), report.GateSettings{FailOn: report.FailOnAny}, report.GatePass},
		{"required", fail(0, ""), fail(0, ""), report.GateSettings{Required: []string{key}}, report.GatePass},
		{"the score", pass(1), fail(0, ""), report.GateSettings{MinScore: number(0.9), MaxDrop: number(0)}, report.GatePass},
		{"an error", pass(1), failed("timeout"), report.GateSettings{}, report.GateUndetermined},
		{"a required error", pass(1), failed("timeout"), report.GateSettings{Required: []string{key}}, report.GateUndetermined},
		{"what was not run", pass(1), unknown, report.GateSettings{}, report.GateUndetermined},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := reporttest.New()
			s.Add(key, tc.base, tc.head, definition)
			s.Add("math/1/other", pass(1), pass(1), definition)
			s.In.Gate = tc.settings
			s.In.Commands = []report.Command{{CommentID: 7, Author: "mona", Verb: report.CommandAccept, Argument: "it is meant", Cases: []string{key}}}
			r := report.Compare(s.In)
			if r.Gate.Result != tc.result || (r.Cases[0].Accepted != nil) != (tc.result == report.GatePass) {
				t.Errorf("%+v, accepted %v", r.Gate, r.Cases[0].Accepted)
			}
			if tc.result == report.GatePass && !strings.HasSuffix(r.Gate.Reason, "; 1 case accepted") {
				t.Errorf("the gate says %q", r.Gate.Reason)
			}
			s.In.Commands[0].Cases = []string{"math/1/other"}
			if r := report.Compare(s.In); tc.result == report.GatePass && r.Gate.Result != report.GateFail {
				t.Errorf("another is accepted: %+v", r.Gate)
			}
		})
	}
}

// TestRequiredCaseBlocks: a required case that fails as at base is among those
// that speak against the change.
func TestRequiredCaseBlocks(t *testing.T) {
	s := reporttest.New()
	s.Add("math/1/sum", fail(0, ""), fail(0, ""), definition)
	s.Add("math/1/odd", fail(0, ""), fail(0, ""), definition)
	s.In.Gate.Required = []string{"**/sum"}
	r := report.Compare(s.In)
	sections := reporters.Arrange(r)
	if len(sections.Blocking) != 1 || sections.Blocking[0].Key != "math/1/sum" || sections.Standing != 1 {
		t.Errorf("blocking %v, standing %d", sections.Blocking, sections.Standing)
	}
	if got := sections.Headline(r); got != "1 failing case" {
		t.Errorf("headline %q", got)
	}
}
