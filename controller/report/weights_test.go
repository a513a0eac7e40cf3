package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/schema"
)

// weigh sets what a case of the scenario weighs on both sides.
func weigh(s *reporttest.Scenario, key string, base, head float64) {
	for i := range s.In.Plan.Rows {
		row := &s.In.Plan.Rows[i]
		if row.Key != key {
			continue
		}
		was, is := *row.Base, *row.Head
		was.Weight, is.Weight = base, head
		row.Base, row.Head = &was, &is
	}
}

// TestAbuseALoweredWeightIsNoWayToGreen: a case that fails on both sides is weighed
// less, which affects no verdict, so min_score and max_drop keep to base's
// weights.
func TestAbuseALoweredWeightIsNoWayToGreen(t *testing.T) {
	s := reporttest.New()
	s.Same("math/1", 1, 1)
	s.Same("math/2", 1, 0)
	weigh(s, "math/2/case_001", 1, 0)
	s.In.Gate = report.GateSettings{MinScore: number(0.9)}
	r := report.Compare(s.In)
	if r.Gate.Result != report.GateFail || !strings.Contains(r.Gate.Reason, "score 0.500 is below min_score 0.9, by base's weights: 1 weight is lowered here") {
		t.Errorf("gate %+v", r.Gate)
	}
	if *r.Summary.Score != 0.5 || *r.Diff.ScoreHead != 0.5 || *r.Diff.Delta != 0 {
		t.Errorf("summary %v, diff %+v", *r.Summary.Score, r.Diff)
	}
	for _, g := range r.Groups {
		if len(g.Path) == 2 && g.Path[1] == "2" && (g.Score == nil || *g.Score != 0) {
			t.Errorf("the level without weight has the score %v", g.Score)
		}
	}
	want := []report.Notice{{
		File: reporttest.File("math/2/case_001"), Line: 1, Case: "math/2/case_001",
		Message: "weakens the gate: weight 1 → 0 (this run counts 1)",
	}}
	if diff := cmp.Diff(want, r.Notices); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
	body, _ := json.Marshal(r.Cases[1])
	if !strings.Contains(string(body), `"weight":1,"head_weight":0`) {
		t.Errorf("the row is %s", body)
	}
}

// TestAbuseAGivenAnswerIsNoWayToGreen: a test that brings its own answer says nothing of the
// target any more, so the report names it. Another given answer is a change like any other.
func TestAbuseAGivenAnswerIsNoWayToGreen(t *testing.T) {
	s := reporttest.New()
	answer, other := "right", "left"
	s.Add("math/1/sum", fail(0, ""), pass(1), definition).HeadCase.Drive.Given = &answer
	changed := s.Add("math/1/both", pass(1), pass(1), definition)
	changed.BaseCase.Drive.Given, changed.HeadCase.Drive.Given = &answer, &other
	s.Add("math/1/asked", pass(1), pass(1), definition).BaseCase.Drive.Given = &answer
	want := []report.Notice{{
		File: reporttest.File("math/1/sum"), Line: 1, Case: "math/1/sum",
		Message: "no longer asks the target: the answer is given with the test",
	}}
	if diff := cmp.Diff(want, report.Compare(s.In).Notices); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
}

// TestDropIsWeighedByBase: a case that got worse counts as much as at base.
func TestDropIsWeighedByBase(t *testing.T) {
	s := reporttest.New()
	s.Add("math/1/sum", pass(1), pass(0.8), definition)
	s.Same("math/2", 1, 1)
	weigh(s, "math/1/sum", 3, 0.001)
	s.In.Gate = report.GateSettings{MaxDrop: number(0.1)}
	if r := report.Compare(s.In); r.Gate.Result != report.GateFail || !strings.Contains(r.Gate.Reason, "score fell by 0.150, max_drop is 0.1, by base's weights") {
		t.Errorf("gate %+v", r.Gate)
	}
}

// TestNewCaseHasItsOwnWeight: what base does not have weighs what head says,
// and what base does have is not made heavier by head either.
func TestNewCaseHasItsOwnWeight(t *testing.T) {
	s := reporttest.New()
	s.Add("math/1/new", nil, pass(0.4), definition).Head.Weight = 3
	s.Same("math/2", 1, 0.8)
	weigh(s, "math/2/case_001", 1, 100)
	r := report.Compare(s.In)
	if got := *r.Summary.Score; got < 0.4999 || got > 0.5001 {
		t.Errorf("score %v, want 0.5", got)
	}
	if len(r.Notices) != 0 {
		t.Errorf("notices %+v", r.Notices)
	}
}

// TestLoweredWeightsAreOneNotice where they come from one place.
func TestLoweredWeightsAreOneNotice(t *testing.T) {
	s := reporttest.New()
	s.Same("math/1", 3, 1)
	for i := range s.In.Plan.Rows {
		weigh(s, s.In.Plan.Rows[i].Key, 2, 1)
		s.In.Plan.Rows[i].Head.Origin.File = "suite.json"
	}
	want := []report.Notice{{File: "suite.json", Message: "weakens the gate: weight 2 → 1 (this run counts 2) for 3 cases"}}
	if diff := cmp.Diff(want, report.Compare(s.In).Notices); diff != "" {
		t.Error(diff)
	}
}

// TestLowerSharesAreNamed: the weights of evaluators and of criteria decide
// about a verdict as much as a threshold does.
func TestLowerSharesAreNamed(t *testing.T) {
	ev := func(name string, weight float64, criteria map[string]float64) schema.Evaluator {
		return schema.Evaluator{Name: name, Weight: weight, Rule: schema.Rule{Weights: criteria}}
	}
	s := reporttest.New()
	row := s.Add("math/1/sum", fail(0.5, ""), pass(1), plan.Reason{Part: "weight", Message: "weight 1 → 0"})
	row.BaseCase.Evaluators = []schema.Evaluator{ev("exact", 1, nil), ev("tone", 1, map[string]float64{"kind": 1, "short": 1})}
	row.HeadCase.Evaluators = []schema.Evaluator{ev("exact", 1, nil), ev("tone", 9, map[string]float64{"kind": 1, "short": 3})}
	more := s.Add("math/1/more", pass(1), pass(1), definition)
	more.BaseCase.Evaluators = []schema.Evaluator{ev("exact", 1, nil)}
	more.HeadCase.Evaluators = []schema.Evaluator{ev("exact", 0.5, nil), ev("tone", 0.5, nil)}
	var got []string
	for _, n := range report.Compare(s.In).Notices {
		got = append(got, n.Case+" "+n.Message)
	}
	want := []string{
		"math/1/sum lowers the weight of exact in the score: 50 % → 10 %",
		"math/1/sum lowers the weight of kind of tone in the score: 50 % → 25 %",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDespiteFailures: a mean of 1 over a case that fails says so, and only
// that.
func TestDespiteFailures(t *testing.T) {
	for _, tc := range []struct {
		name        string
		score       float64
		light, want string
	}{
		{"a failing case without weight", 1, "math/2/case_001", ", although 1 case fails"},
		{"nearly 1", 0.9996, "math/2/case_001", ""},
		{"a failing case with weight", 1, "", ""},
	} {
		s := reporttest.New()
		s.Same("math/1", 1, tc.score)
		s.Same("math/2", 1, 0)
		s.In.Base["math/2/case_001"].Result.Verdict = "fail"
		weigh(s, tc.light, 0, 0)
		r := report.Compare(s.In)
		if got := reporters.DespiteFailures(r, r.Summary.Score); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	s := reporttest.New()
	s.Same("math/1", 1, 1)
	r := report.Compare(s.In)
	if got := reporters.DespiteFailures(r, r.Summary.Score); got != "" {
		t.Errorf("no case fails: %q", got)
	}
}
