package ledger_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// TestCosts adds up the costs of runs, reading each report once: a report that is
// damaged afterwards changes nothing, and a new run's report is read.
func TestCosts(t *testing.T) {
	l := ledgertest.Open(t, ledger.Config{})
	saveCost := func(repository string, i int, summary string) {
		t.Helper()
		at := noon.Add(time.Duration(i) * time.Hour)
		err := l.SaveReport(t.Context(), ledger.Run{
			ID: fmt.Sprintf("run-%d", i), Repository: repository, PullRequest: i + 1, Started: at, Finished: at,
			Report: json.RawMessage(`{"cases":[],"summary":` + summary + `}`),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	saveCost("octo/demo", 0, `{"calls":2,"tokens":30,"cost_usd":0.5}`)
	saveCost("octo/other", 1, `{"calls":7,"tokens":70,"cost_usd":null}`)
	saveCost("octo/demo", 2, `{"calls":1,"tokens":5,"cost_usd":0.25}`)
	costs := ledger.NewRunCosts(l)
	first := ledger.RunCost{Run: "run-0", Repository: "octo/demo", Finished: noon, Calls: 2, Tokens: 30, USD: 0.5}
	third := ledger.RunCost{Run: "run-2", Repository: "octo/demo", Finished: noon.Add(2 * time.Hour), Calls: 1, Tokens: 5, USD: 0.25}
	wantNewest := func(repository string, limit, wantTotal int, want ...ledger.RunCost) {
		t.Helper()
		got, total, err := costs.Newest(t.Context(), repository, limit)
		if err != nil || total != wantTotal {
			t.Errorf("the costs of %q are of %d runs, want %d: %v", repository, total, wantTotal, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the costs of %q (-want +got):\n%s", repository, diff)
		}
	}
	wantNewest("octo/demo", 9, 2, third, first)
	wantNewest("", 1, 3, third)

	err := l.Store().Submit(t.Context(), func(t *store.Tx) error {
		return t.Exec("UPDATE reports SET body = ? WHERE run IN ('run-0', 'run-2')", []byte("damaged"))
	})
	if err != nil {
		t.Fatal(err)
	}
	wantNewest("octo/demo", 9, 2, third, first)
	spent, err := costs.Spent(t.Context(), noon.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]ledger.CostSum{"octo/demo": {Runs: 1, Calls: 1, Tokens: 5, USD: 0.25}, "octo/other": {Runs: 1, Calls: 7, Tokens: 70, Unpriced: 1}}
	if diff := cmp.Diff(want, spent); diff != "" {
		t.Errorf("what was spent (-want +got):\n%s", diff)
	}
	if _, _, err := ledger.NewRunCosts(l).Newest(t.Context(), "octo/demo", 9); err == nil {
		t.Error("a damaged report that was not read before is not an error")
	}
}
