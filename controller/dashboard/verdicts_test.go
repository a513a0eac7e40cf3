package dashboard_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// TestVerdicts has the newest verdict or error of each case, also one that was reused, in the
// order in which runs end. A pull request's verdicts are left out.
func TestVerdicts(t *testing.T) {
	h := newHouse(t)
	start := h.now
	row := func(key string, action plan.Action, v verdict.Verdict) report.Row {
		return report.Row{Key: key, Action: action, Verdict: &v}
	}
	store := func(id string, pull, from, to int, rows ...report.Row) {
		t.Helper()
		body, err := json.Marshal(report.Report{Run: id, Cases: rows})
		if err != nil {
			t.Fatal(err)
		}
		at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
		if err := h.ledger.SaveReport(t.Context(), ledger.Run{ID: id, PullRequest: pull, Head: "worktree", Started: at(from), Finished: at(to), Report: body}); err != nil {
			t.Fatal(err)
		}
	}
	site := h.site(dashboard.Config{})
	check := func(want map[string]string) {
		t.Helper()
		found, err := site.Verdicts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for name, last := range found {
			got[name] = fmt.Sprint(last.Verdict, " ", last.URL)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the verdicts are %v, want %v", got, want)
		}
	}
	why, failed := "timed out", verdict.Error
	store("first", 0, 0, 1, row("a", plan.Run, verdict.Pass), row("b", plan.Run, verdict.Pass), row("c", plan.Run, verdict.Pass))
	store("pull", 7, 2, 3, row("a", plan.Run, verdict.Fail))
	store("later", 0, 10, 12, row("a", plan.Reuse, verdict.Pass), report.Row{Key: "b", Action: plan.Run, Verdict: &failed, Error: &why})
	check(map[string]string{"a": "pass /runs/later/case?name=a", "b": "error /runs/later/case?name=b", "c": "pass /runs/first/case?name=c"})
	store("slow", 0, 5, 30, row("a", plan.Run, verdict.Fail)) // began before later, and ends after it
	store("old", 0, 6, 7, row("b", plan.Run, verdict.Pass))
	store("stopped", 0, 40, 41, report.Row{Key: "a", Action: plan.Run, Error: &why}, report.Row{Key: "c", Action: plan.Run, Error: &why})
	check(map[string]string{"a": "fail /runs/slow/case?name=a", "b": "error /runs/later/case?name=b", "c": "pass /runs/first/case?name=c"})
}
