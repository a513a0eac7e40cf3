package comment

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/schema/golden"
)

func driftOptions() DriftOptions {
	return DriftOptions{Branch: "main", Due: time.Date(2026, 3, 2, 3, 0, 0, 0, time.UTC), RepositoryURL: "https://github.com/octo/demo"}
}

var scheduled = plan.Reason{Part: "schedule", Message: "scheduled run of all cases"}

// scenario has cases with their verdicts before and now.
func scenario(cases map[string][2]*reporttest.Side) *reporttest.Scenario {
	s := reporttest.New()
	for _, key := range []string{"support/1/refund", "support/1/greeting", "support/2/angry", "billing/1/new", "billing/1/broken"} {
		if sides, ok := cases[key]; ok {
			row := s.Add(key, sides[0], sides[1], scheduled)
			row.BaseDigests = row.HeadDigests
		}
	}
	return s
}

func sides(base, head *reporttest.Side) [2]*reporttest.Side { return [2]*reporttest.Side{base, head} }

// unknown is a case that nobody has judged.
func unknown() *reporttest.Side { return &reporttest.Side{} }

func broken() *reporttest.Side {
	return &reporttest.Side{Verdict: verdict.Error, Reason: "the model is gone: 404"}
}

func drifted() *reporttest.Scenario {
	return scenario(map[string][2]*reporttest.Side{
		"support/1/refund":   sides(reporttest.Pass(1), reporttest.Fail(0.4, "it promises a refund after 90 days")),
		"support/1/greeting": sides(reporttest.Pass(1), reporttest.Pass(0.9)),
		"support/2/angry":    sides(reporttest.Fail(0.5, "rude"), reporttest.Pass(0.8)),
		"billing/1/new":      sides(unknown(), reporttest.Pass(1)),
		"billing/1/broken":   sides(reporttest.Pass(1), broken()),
	})
}

// TestDriftStatus says what became of the verdicts, and is green only where none got
// worse and all are known.
func TestDriftStatus(t *testing.T) {
	pass, fail := reporttest.Pass(1), reporttest.Fail(0, "no")
	for _, tt := range []struct {
		name  string
		of    *reporttest.Scenario
		state State
		says  string
	}{
		{"all", drifted(), StateFailure, "2 verdicts of 4 cases changed, 1 for the worse, 1 not judged · score 0.833 → 0.700 (−0.133"},
		{"same", scenario(map[string][2]*reporttest.Side{"support/1/refund": sides(fail, fail)}), StateSuccess,
			"no verdict of 1 case changed"},
		{"better", scenario(map[string][2]*reporttest.Side{"support/1/refund": sides(fail, pass)}), StateSuccess,
			"1 verdict of 1 case got better"},
		{"worse", scenario(map[string][2]*reporttest.Side{"support/1/refund": sides(pass, fail)}), StateFailure,
			"1 verdict of 1 case got worse"},
		{"first", scenario(map[string][2]*reporttest.Side{"support/1/refund": sides(unknown(), fail)}), StateSuccess,
			"1 case judged for the first time"},
		{"error", scenario(map[string][2]*reporttest.Side{"support/1/refund": sides(pass, pass), "billing/1/broken": sides(pass, broken())}), StateError,
			"no verdict of 1 case changed, 1 not judged"},
		{"nothing", reporttest.New(), StateError, "no case was judged"},
		{"invalid", reporttest.InvalidDefinitions(), StateError, "invalid definition"},
		{"waiting", reporttest.Waiting(), StateError, "waits for approval"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := NewDriftStatus(report.Compare(tt.of.In))
			if got.Context != "gavel/drift" || got.State != tt.state || !strings.Contains(got.Description, tt.says) {
				t.Errorf("got %+v, want %s: %s", got, tt.state, tt.says)
			}
		})
	}
}

// collected is a night that measured further than the schedule asks for.
func collected() *reporttest.Scenario {
	s := scenario(map[string][2]*reporttest.Side{"support/1/refund": sides(reporttest.Pass(1), reporttest.Pass(1))})
	cost, all := 0.02, 1.25
	s.In.Nightly = &report.Night{Measurements: 8, Calls: 8, CostUSD: &cost, Short: true, Balance: report.Balance{Days: 14, Calls: 500, CostUSD: &all, SavedCalls: 1300}}
	return s
}

// TestDriftGolden compares whole comments with testdata.
func TestDriftGolden(t *testing.T) {
	hostile := driftOptions()
	hostile.Branch = "x --> <b>@octocat</b> #1\n"
	for _, tt := range []struct{ name, got string }{
		{"drifted", DriftMarkdown(report.Compare(drifted().In), driftOptions())},
		{"none", DriftMarkdown(report.Compare(scenario(map[string][2]*reporttest.Side{"support/1/refund": sides(reporttest.Pass(1), reporttest.Pass(1))}).In), driftOptions())},
		{"nightly", DriftMarkdown(report.Compare(collected().In), driftOptions())},
		{"hostile", DriftMarkdown(report.Compare(reporttest.Hostile(reporttest.HostileTexts()).In), hostile)},
	} {
		golden.Compare(t, filepath.Join("testdata", "drift_"+tt.name+".md"), tt.got)
	}
}

// TestDriftHostileStrings stay text: no mention, no reference, no marker but ours.
func TestDriftHostileStrings(t *testing.T) {
	o := driftOptions()
	for _, text := range reporttest.HostileTexts() {
		o.Branch = text
		got := DriftMarkdown(report.Compare(reporttest.Hostile([]string{text, "plain", text}).In), o)
		marker, rest, _ := strings.Cut(got, "\n")
		if !strings.HasPrefix(marker, "<!-- gavel:drift branch=") || strings.Count(marker, "-->") != 1 {
			t.Errorf("the marker is %q", marker)
		}
		for _, live := range []string{"<!--", "<script", "<img", "](javascript", "@octocat", "@everyone", "```", "</details>", "\x1b"} {
			if strings.Contains(rest, live) {
				t.Errorf("%q is live in\n%s", live, rest)
			}
		}
	}
}

// TestDriftLevels: with less room the text is shorter, and still complete.
func TestDriftLevels(t *testing.T) {
	r := report.Compare(reporttest.ChangedCases(2000).In)
	for _, most := range []int{60_000, 10_000, 2_000} {
		o := driftOptions()
		o.MaxBytes = most
		got := DriftMarkdown(r, o)
		if len(got) > most || !strings.HasSuffix(got, "</sub>\n") || !strings.Contains(got, "for the worse") {
			t.Errorf("%d bytes of %d:\n%.500s", len(got), most, got)
		}
	}
}
