package report_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/golden"
)

// Short names for the tests below.
type side = reporttest.Side

var (
	pass       = reporttest.Pass
	fail       = reporttest.Fail
	definition = reporttest.Definition()
)

func borderline(score float64) *side { return &side{Verdict: verdict.Borderline, Score: score} }

func failed(reason string) *side { return &side{Verdict: verdict.Error, Reason: reason} }

var (
	skipped = &side{Skip: "enabled is false"}
	unknown = &side{}
)

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// TestClass is the table of all pairs of outcomes of the two sides.
func TestClass(t *testing.T) {
	for _, tc := range []struct {
		name       string
		base, head *side
		class      report.Class
		// verdict is empty for null.
		verdict verdict.Verdict
		err     string
	}{
		{"pass fails", pass(1), fail(0, ""), report.Regression, verdict.Fail, ""},
		{"pass is borderline", pass(1), borderline(0.7), report.Regression, verdict.Borderline, ""},
		{"borderline fails", borderline(0.7), fail(0, ""), report.Regression, verdict.Fail, ""},
		{"fail is borderline", fail(0, ""), borderline(0.7), report.Improvement, verdict.Borderline, ""},
		{"fail passes", fail(0, ""), pass(1), report.Improvement, verdict.Pass, ""},
		{"score falls within pass", pass(1), pass(0.8), report.Unchanged, verdict.Pass, ""},
		{"still fails", fail(0.2, ""), fail(0.1, ""), report.Unchanged, verdict.Fail, ""},
		{"new", nil, fail(0, ""), report.New, verdict.Fail, ""},
		{"active again", skipped, pass(1), report.New, verdict.Pass, ""},
		{"removed", pass(1), nil, report.Gone, "", ""},
		{"skipped on both sides", skipped, skipped, report.Unchanged, verdict.Skipped, ""},
		{"new and skipped", nil, skipped, report.New, verdict.Skipped, ""},
		{"skipped at head only", pass(1), skipped, "", verdict.Skipped, ""},
		{"error at head", pass(1), failed("timeout"), report.Failed, verdict.Error, "timeout"},
		{"new and an error", nil, failed("timeout"), report.Failed, verdict.Error, "timeout"},
		{"not run", pass(1), unknown, report.Failed, "", "it was not run"},
		{"no verdict at base", unknown, fail(0, ""), report.Unclear, verdict.Fail, ""},
		{"error at base", failed("timeout"), pass(1), report.Unclear, verdict.Pass, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := reporttest.New()
			s.Add("math/1/sum", tc.base, tc.head, definition)
			row := report.Compare(s.In).Cases[0]
			got := report.Class("")
			if row.Class != nil {
				got = *row.Class
			}
			if got != tc.class {
				t.Errorf("class %q, want %q", got, tc.class)
			}
			if v := row.Verdict; v == nil && tc.verdict != "" || v != nil && *v != tc.verdict {
				t.Errorf("verdict %v, want %q", row.Verdict, tc.verdict)
			}
			if got := text(row.Error); got != tc.err {
				t.Errorf("error %q, want %q", got, tc.err)
			}
		})
	}
}

func TestClassOfTheSameDigest(t *testing.T) {
	s := reporttest.New()
	flaky := s.Add("talk/1/capital", pass(1), fail(0, ""), definition)
	flaky.HeadDigests = flaky.BaseDigests
	s.Move("math/2/sum", "math/1/sum", pass(1))
	s.Same("sql/1", 1, 0.9)
	r := report.Compare(s.In)
	var got []report.Class
	for _, row := range r.Cases {
		got = append(got, *row.Class)
	}
	if diff := cmp.Diff([]report.Class{report.Flaky, report.Moved, report.Unchanged}, got); diff != "" {
		t.Error(diff)
	}
	moved := r.Cases[1]
	if text(moved.MovedFrom) != "math/2/sum" || moved.Score == nil || *moved.Score != 1 || *moved.BaseScore != 1 {
		t.Errorf("moved case lost its verdict: %+v", moved)
	}
	if r.Diff.Pairs != 3 || r.Diff.Moved != 1 || r.Diff.Removed != 0 {
		t.Errorf("diff %+v", r.Diff)
	}
}

// TestARerunIsNoBase: a case that was run again under the same digest is compared with
// base's verdict, and with nothing if base has none. A case that was not run does not
// take base's verdict either.
func TestARerunIsNoBase(t *testing.T) {
	for _, tc := range []struct {
		name       string
		base, head *side
		asked      bool
		class      report.Class
		verdict    verdict.Verdict
	}{
		{"another verdict", pass(1), fail(0, ""), false, report.Flaky, verdict.Fail},
		{"no verdict at base", unknown, fail(0, ""), false, report.Unclear, verdict.Fail},
		{"not run", pass(1), unknown, false, report.Failed, ""},
		{"the gate alone asks, and head is judged", unknown, fail(0, ""), true, report.Unchanged, verdict.Fail},
		{"the gate alone asks, and base is judged", pass(1), unknown, true, report.Unchanged, verdict.Pass},
	} {
		s := reporttest.New()
		row := s.Add("math/1/sum", tc.base, tc.head, definition)
		row.HeadDigests, row.Asked = row.BaseDigests, tc.asked
		got := report.Compare(s.In).Cases[0]
		if got.Class == nil || *got.Class != tc.class || (got.Verdict == nil) != (tc.verdict == "") || got.Verdict != nil && *got.Verdict != tc.verdict {
			t.Errorf("%s: class %v, verdict %v; want %s and %q", tc.name, got.Class, got.Verdict, tc.class, tc.verdict)
		}
	}
}

// TestClassOfAnUnknownVersion holds that another verdict under the same digest is
// a change of the agent where another version of it may have answered.
func TestClassOfAnUnknownVersion(t *testing.T) {
	s := reporttest.New()
	s.Add("a/worse", pass(1), fail(0, ""), definition)
	s.Add("b/better", fail(0, ""), pass(1), definition)
	s.Add("c/lenient", fail(0.6, ""), pass(0.6), definition)
	for i := range s.In.Plan.Rows {
		row := &s.In.Plan.Rows[i]
		row.HeadDigests.J, row.Unversioned = row.BaseDigests.J, true
		if row.Key != "c/lenient" {
			row.HeadDigests = row.BaseDigests
		}
	}
	var got []report.Class
	for _, row := range report.Compare(s.In).Cases {
		got = append(got, *row.Class)
		if !row.UnknownVersion || row.JudgedAt != nil {
			t.Errorf("%s: unknown version %t, judged at %v", row.Key, row.UnknownVersion, row.JudgedAt)
		}
	}
	if diff := cmp.Diff([]report.Class{report.Regression, report.Improvement, report.Unchanged}, got); diff != "" {
		t.Error(diff)
	}
}

// TestAnotherRuleIsNoImprovement holds that a case which passes because less is
// asked of it has not improved, and that one which fails because more is asked
// still counts against the change.
func TestAnotherRuleIsNoImprovement(t *testing.T) {
	s := reporttest.New()
	for _, row := range []*plan.Row{
		s.Add("a/lenient", fail(0.6, ""), pass(0.6), definition), s.Add("b/strict", pass(0.6), fail(0.6, ""), definition),
	} {
		row.Action = plan.Redecide
	}
	for i := range s.In.Plan.Rows {
		s.In.Plan.Rows[i].HeadDigests.J = s.In.Plan.Rows[i].BaseDigests.J
	}
	s.Add("c/better", fail(0.6, ""), pass(0.6), definition)
	r := report.Compare(s.In)
	var got []string
	for i := range r.Cases {
		row := &r.Cases[i]
		got = append(got, string(*row.Class)+", "+reporters.Label(row)+" "+reporters.Remark(row))
	}
	if diff := cmp.Diff([]string{"unchanged, re-decided fail → pass by another rule", "regression, higher ", "improvement, improved "}, got); diff != "" {
		t.Error(diff)
	}
	if r.Diff.Improvements != 1 || r.Diff.Regressions != 1 || r.Gate.Result != report.GateFail {
		t.Errorf("diff %+v, gate %+v", r.Diff, r.Gate)
	}
}

// TestCounts holds that every case is counted by its verdict or by why it has
// none: an invalid definition is not judged, and what nothing affects and nobody
// judged is neither called unchanged nor counted as judged.
func TestCounts(t *testing.T) {
	r := report.Compare(reporttest.FreshLedger().In)
	for _, row := range r.Cases {
		switch {
		case row.Invalid():
			if row.Verdict != nil || row.Class == nil || *row.Class != report.Failed || text(row.Error) == "" {
				t.Errorf("invalid %s: verdict %v, class %v, error %q", row.Key, row.Verdict, row.Class, text(row.Error))
			}
		case row.Verdict == nil:
			if row.Action != plan.Reuse || row.Class != nil || row.Error != nil {
				t.Errorf("unaffected %s: action %s, class %v, error %q", row.Key, row.Action, row.Class, text(row.Error))
			}
		}
	}
	s := r.Summary
	if s.Error != 1 || s.Skipped != 0 || s.Reused != 12 || s.NoVerdict != 11 {
		t.Errorf("%d in error, %d skipped, %d reused of which %d have no verdict", s.Error, s.Skipped, s.Reused, s.NoVerdict)
	}
	if sum := s.Pass + s.Borderline + s.Fail + s.Error + s.Skipped + s.NoVerdict; sum != s.Cases {
		t.Errorf("%d of %d cases are counted: %+v", sum, s.Cases, s)
	}
	sections := reporters.Arrange(r)
	if got, want := sections.Headline(r), "1 invalid definition, 1 regression"; got != want {
		t.Errorf("headline %q, want %q", got, want)
	}
	if got := r.Gate; !strings.Contains(got.Reason, "1 case regressed") || r.ExitCode() != 2 {
		t.Errorf("gate %+v, exit %d", got, r.ExitCode())
	}
}

// TestWithoutBase checks that nothing is classed and that unknown numbers are
// null in JSON.
func TestWithoutBase(t *testing.T) {
	raw, err := json.Marshal(report.Compare(reporttest.FirstRun().In))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got["base"] != nil {
		t.Errorf("base is %v, want null", got["base"])
	}
	for _, c := range got["cases"].([]any) {
		row := c.(map[string]any)
		for _, field := range []string{"class", "base_verdict", "base_score", "moved_from"} {
			if v, ok := row[field]; !ok || v != nil {
				t.Errorf("%s: %s is %v, want null", row["key"], field, v)
			}
		}
	}
	for _, field := range []string{"delta", "score_base", "ci_low", "ci_high"} {
		if v, ok := got["diff"].(map[string]any)[field]; !ok || v != nil {
			t.Errorf("diff: %s is %v, want null", field, v)
		}
	}
}

// TestReportGolden compares whole reports, as run --json prints them, with
// testdata. The packages below render them in their tests.
func TestReportGolden(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    *reporttest.Scenario
	}{
		{"first_run", reporttest.FirstRun()}, {"regressions", reporttest.Regressions()}, {"errors", reporttest.ErrorsOnly()}, {"invalid", reporttest.InvalidDefinitions()}, {"fresh_ledger", reporttest.FreshLedger()},
		{"moved_removed_new", reporttest.MovedRemovedNew()}, {"waiting", reporttest.Waiting()}, {"lightened", reporttest.Lightened()}, {"withdrawn", reporttest.Withdrawn()}, {"hostile", reporttest.Hostile(reporttest.HostileTexts())},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw, err := json.MarshalIndent(report.Compare(tt.s.In), "", " ")
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, "testdata/"+tt.name+".json", string(raw)+"\n")
		})
	}
}

// TestContract holds the field names that others rely on.
func TestContract(t *testing.T) {
	raw, err := json.Marshal(report.Compare(reporttest.Regressions().In))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Cases               []map[string]any
		Summary, Diff, Gate map[string]any
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		name   string
		object map[string]any
		fields []string
	}{
		{"case", got.Cases[0], []string{
			"key", "dialect", "target", "file", "line", "action", "verdict", "score", "native", "base_verdict", "base_score",
			"class", "moved_from", "samples", "calls", "tokens", "cost_usd", "duration_ms", "reasons", "error",
		}},
		{"summary", got.Summary, []string{
			"cases", "pass", "borderline", "fail", "error", "skipped", "run", "rejudged", "redecided", "reused",
			"removed", "calls", "tokens", "cost_usd", "score",
		}},
		{"diff", got.Diff, []string{
			"pairs", "score_base", "score_head", "delta", "ci_low", "ci_high", "regressions", "improvements", "unclear",
			"new", "removed", "moved",
		}},
		{"gate", got.Gate, []string{"result", "reason"}},
	} {
		for _, field := range part.fields {
			if _, ok := part.object[field]; !ok {
				t.Errorf("%s has no field %q", part.name, field)
			}
		}
	}
}

func TestSummary(t *testing.T) {
	s := reporttest.New()
	s.Same("math/1", 2, 1)
	spent := pass(0.5)
	spent.Usage = verdict.Usage{Calls: 2, InputTokens: 10, OutputTokens: 5, CostUSD: 0.25}
	s.Add("math/2/heavy", pass(1), spent, definition)
	weigh(s, "math/2/heavy", 2, 2)
	s.Add("math/2/skip", nil, skipped, definition)
	s.Add("math/2/error", nil, failed("timeout"), definition)
	s.Add("math/2/late", nil, unknown, definition)
	s.Add("math/2/gone", pass(1), nil, definition)
	s.Add("math/2/again", pass(1), pass(1), definition).Action = plan.Rejudge
	got := report.Compare(s.In)
	cost, score := 0.25, 0.8 // (1 + 1 + 2·0.5 + 1) / 5
	affected := 5            // all except those of math/1 and the new one that is skipped
	want := report.Summary{
		Verdicts: report.Verdicts{Cases: 7, Pass: 4, Error: 2, Skipped: 1}, Run: 3, Rejudged: 1, Reused: 2, NotRun: 1, Removed: 1, Affected: &affected, ChangedUnrun: 1,
		Calls: 2, Tokens: 15, CostUSD: &cost, Score: &score,
	}
	if diff := cmp.Diff(want, got.Summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if got.Saved.Calls != 10 {
		t.Errorf("saved %d calls, want 10", got.Saved.Calls)
	}
}

func TestUnknownPriceIsNull(t *testing.T) {
	s := reporttest.New()
	head := pass(1)
	head.Usage = verdict.Usage{Calls: 1, Unpriced: 1}
	s.Add("math/1/sum", nil, head, definition)
	r := report.Compare(s.In)
	if r.Summary.CostUSD != nil || r.Cases[0].CostUSD != nil {
		t.Errorf("cost is %v, want null", r.Summary.CostUSD)
	}
}

// TestGroups checks that a level is a weighted mean and that everything above
// it is a plain one; the difference is over the cases judged on both sides, and
// what came, went or is not known on one side moves it nowhere.
func TestGroups(t *testing.T) {
	s := reporttest.New()
	s.Add("math/1/a", pass(1), pass(1), definition)
	weigh(s, "math/1/a", 3, 3)
	s.Add("math/1/b", pass(1), fail(0, ""), definition)
	s.Add("math/10/c", pass(1), pass(0.5), definition)
	s.Add("math/2/d", pass(1), failed("timeout"), definition)
	s.Add("sql/1/e", unknown, pass(0.25), definition)
	s.Add("text/1/f", pass(0.5), pass(0.75), definition)
	s.Add("text/1/g", nil, fail(0, ""), definition)
	s.Add("text/1/h", pass(1), nil, definition)
	type row struct {
		path         string
		cases, pairs int
		score, base  float64
		delta        float64
	}
	none := -1.0
	value := func(x *float64) float64 {
		if x == nil {
			return none
		}
		return *x
	}
	var got []row
	for _, g := range report.Compare(s.In).Groups {
		path := ""
		for _, p := range g.Path {
			path += "/" + p
		}
		got = append(got, row{path, g.Cases, g.Pairs, value(g.Score), value(g.BaseScore), value(g.Delta)})
	}
	want := []row{
		{"", 7, 4, 1.25 / 3, 0.875, -0.0625},
		{"/math", 4, 3, 0.625, 1, -0.375},
		{"/math/1", 2, 2, 0.75, 1, -0.25},
		{"/math/2", 1, 0, none, 1, none},
		{"/math/10", 1, 1, 0.5, 1, -0.5},
		{"/sql", 1, 0, 0.25, none, none},
		{"/sql/1", 1, 0, 0.25, none, none},
		{"/text", 2, 1, 0.375, 0.75, 0.25},
		{"/text/1", 2, 1, 0.375, 0.75, 0.25},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestExitCode(t *testing.T) {
	invalid := []schema.Problem{{Severity: schema.Error}}
	for _, tc := range []struct {
		result   string
		problems []schema.Problem
		want     int
	}{
		{report.GatePass, nil, 0},
		{report.GatePass, []schema.Problem{{Severity: schema.Warning}}, 0},
		{report.GateFail, nil, 1},
		{report.GateUndetermined, nil, 1},
		{report.GateFail, invalid, 2},
		{report.GatePass, invalid, 2},
	} {
		r := report.Report{Gate: report.Gate{Result: tc.result}, Problems: tc.problems}
		if got := r.ExitCode(); got != tc.want {
			t.Errorf("%s with %d problems: %d, want %d", tc.result, len(tc.problems), got, tc.want)
		}
	}
}

// TestCriteria joins both sides by evaluator and criterion.
func TestCriteria(t *testing.T) {
	s := reporttest.New()
	base, head := reporttest.Refund()
	base.Criteria = append(base.Criteria, verdict.Criterion{ID: "keyword label", Score: 1})
	s.Add("support/3/refund", base, head, definition)
	one, low, zero, mid := 1.0, 0.76, 0.0, 0.4
	want := []report.CriterionDiff{
		{Evaluator: "keyword", ID: "keyword 30 days", Base: &one, Head: &zero, Note: "not in the reply"},
		{Evaluator: "keyword", ID: "keyword receipt", Base: &one, Head: &one},
		{Evaluator: "keyword", ID: "keyword unopened", Base: &low, Head: &mid},
		{Evaluator: "keyword", ID: "forbidden 60 days", Head: &zero, Note: "found: “within 60 days of purchase”"},
		{Evaluator: "keyword", ID: "keyword label", Base: &one},
	}
	if diff := cmp.Diff(want, report.Compare(s.In).Cases[0].Detail.Criteria); diff != "" {
		t.Errorf("criteria (-want +got):\n%s", diff)
	}
}

// A criterion that does not apply is not a zero, and a note says where and what.
func TestCriteriaThatDoNotApply(t *testing.T) {
	head, base := 0.2, 0.8
	is, was := fail(0.2, ""), pass(1)
	is.Criteria = []verdict.Criterion{{ID: "never", NotApplicable: true}, {ID: "now", Score: head, Note: "states 60 days", Code: "fabricated_policy", Turns: []int{2, 4}}}
	was.Criteria = []verdict.Criterion{{ID: "never", NotApplicable: true}, {ID: "then", Score: base}}
	s := reporttest.New()
	s.Add("support/3/refund", was, is, definition)
	want := []report.CriterionDiff{
		{Evaluator: "keyword", ID: "now", Head: &head, Note: "turn 2, 4: states 60 days [fabricated_policy]"},
		{Evaluator: "keyword", ID: "then", Base: &base},
	}
	if diff := cmp.Diff(want, report.Compare(s.In).Cases[0].Detail.Criteria); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestConversations sums up the turns of conversations next to their suites, whose
// scores cover all their cases.
func TestConversations(t *testing.T) {
	s := reporttest.New()
	for _, turn := range []struct {
		key, suite, conversation string
		base, head               *side
	}{
		{"support/1/a", "support", "refund", pass(1), pass(1)},
		{"support/1/b", "support", "refund", pass(1), fail(0.5, "")},
		{"support/1/c", "support", "", pass(1), fail(0, "")},
		{"support/1/d", "support", "login", unknown, pass(0.8)},
		{"sales/1/e", "sales", "refund", pass(1), pass(1)},
		{"math/1/f", "", "", pass(1), pass(1)},
	} {
		row := s.Add(turn.key, turn.base, turn.head, definition)
		for _, c := range []*schema.CaseInfo{row.Head, row.Base} {
			if c != nil && turn.suite != "" {
				c.Dialect, c.Labels.Groups, c.Labels.Conversation = schema.DialectEvalcase, []string{turn.suite}, turn.conversation
			}
		}
	}
	r := report.Compare(s.In)
	var got []string
	for _, g := range r.Conversations {
		base := "-"
		if g.BaseScore != nil {
			base = fmt.Sprint(*g.BaseScore)
		}
		got = append(got, fmt.Sprintf("%s %d: %v from %s", strings.Join(g.Path, "/"), g.Cases, *g.Score, base))
	}
	want := []string{"sales/refund 1: 1 from 1", "support/login 1: 0.8 from -", "support/refund 2: 0.75 from 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conversations (-want +got):\n%s", diff)
	}
	for _, g := range r.Groups {
		if len(g.Path) == 1 && g.Path[0] == "support" && (g.Cases != 4 || math.Abs(*g.Score-0.575) > 1e-9) {
			t.Errorf("the suite is %+v", g)
		}
	}
}

func BenchmarkCompare10000(b *testing.B) {
	in := reporttest.ChangedCases(10_000).In
	b.ReportAllocs()
	for b.Loop() {
		report.Compare(in)
	}
}
