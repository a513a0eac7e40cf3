package html

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

func TestCurve(t *testing.T) {
	score := func(x float64) *float64 { return &x }
	points := []report.PastJudgement{{Verdict: "pass", Score: score(1)}, {Verdict: verdict.Borderline}, {Verdict: "fail", Score: score(0)}}
	got := string(curve(points))
	for _, want := range []string{"passed 1 of the last 2", `points="3.0,3.0 93.0,17.0"`, `<circle cx="93.0" cy="17.0" r="2"/>`} {
		if !strings.Contains(got, want) {
			t.Errorf("the curve of pass, one without a score, fail is %s, and should contain %s", got, want)
		}
	}
	if got := curve(points[:1]); got != "" {
		t.Errorf("the curve of one result is %s, want none", got)
	}
	var many []report.PastJudgement
	for i := range 100 {
		many = append(many, report.PastJudgement{Verdict: "pass", Score: score(float64(i) / 100)})
	}
	if want := fmt.Sprintf("passed %d of the last %d", mostPoints, mostPoints); !strings.Contains(string(curve(many)), want) {
		t.Errorf("the curve of 100 results is not that of the last %d", mostPoints)
	}
}

// TestThinkingIsFolded: what a model thought is apart from what it said.
func TestThinkingIsFolded(t *testing.T) {
	turns := Turns([]schema.Message{
		{Role: schema.RoleUser, Content: "<think>15 × 7?"},
		{Role: schema.RoleAssistant, Content: "<think>It may be 7.</think>It is 105."},
		{Role: schema.RoleAssistant, Content: "It is 105.", Reasoning: "It may be 7."},
	})
	for i, want := range []Turn{{Text: "<think>15 × 7?"}, {Thinking: "It may be 7.", Text: "It is 105."}, {Thinking: "It may be 7.", Text: "It is 105."}} {
		if turns[i].Thinking != want.Thinking || turns[i].Text != want.Text {
			t.Errorf("turn %d thinks %q and says %q, want %q and %q", i+1, turns[i].Thinking, turns[i].Text, want.Thinking, want.Text)
		}
	}
	var b strings.Builder
	if err := Templates(template.New("")).ExecuteTemplate(&b, "turns", turns); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "<details><summary>thinking</summary>It may be 7.</details>It is 105."); n != 2 {
		t.Errorf("%d turns have folded thinking, want 2:\n%s", n, b.String())
	}
}

// TestNight sets what the schedule measured for the history against what that saves.
func TestNight(t *testing.T) {
	r := &report.Report{Nightly: &report.Night{Measurements: 8, Short: true, Balance: report.Balance{Days: 14, Calls: 40, SavedCalls: 90}}}
	want := Fact{Name: "history", Value: "8 further measurements for the history; the rest was not measured", Remark: "In 14 days these took 40 calls and saved pull requests about 90 calls."}
	if facts := Facts(r); !slices.Contains(facts, want) {
		t.Errorf("the page has the facts %+v, want %+v among them", facts, want)
	}
	r.Nightly = nil
	for _, f := range Facts(r) {
		if f.Name == "history" {
			t.Errorf("another run has the fact %+v", f)
		}
	}
}
