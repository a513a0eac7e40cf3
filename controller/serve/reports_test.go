package serve

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/report"
)

// TestAReportOfAnotherProcess: of two servers with one ledger, one that began before the
// other stored its report does not recall an older one.
func TestAReportOfAnotherProcess(t *testing.T) {
	store := ledgertest.Open(t, ledger.Config{})
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const repository, base = "octo/demo", "0123456789012345678901234567890123456789"
	save := func(id string, number int, head string, after time.Duration) {
		body, err := json.Marshal(&report.Report{Run: id, Head: &head})
		if err != nil {
			t.Fatal(err)
		}
		run := ledger.Run{ID: id, Repository: repository, PullRequest: number, Base: base, Head: head, Started: at.Add(after), Finished: at.Add(after), Report: body}
		if err := store.SaveReport(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	const head, branch = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"
	save("first", 7, head, 0)
	save("branch", 0, branch, 0)
	index, err := loadReports(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	save("second", 7, head, time.Minute)
	save("other pull request", 8, head, 2*time.Minute)
	save("other head", 7, branch, 3*time.Minute)
	for _, tt := range []struct {
		key  reportKey
		want string
	}{
		{reportKey{repository, 7, head}, "second"},
		{reportKey{repository, 8, head}, "other pull request"},
		{reportKey{repository, 0, branch}, "branch"},
		{reportKey{"Octo/Demo", 0, branch}, "branch"},
		{reportKey{repository, 9, head}, ""},
	} {
		got, err := index.report(t.Context(), tt.key)
		id := ""
		if got != nil {
			id = got.Run
		}
		if err != nil || id != tt.want {
			t.Errorf("of %v the run %q is recalled (%v), want %q", tt.key, id, err, tt.want)
		}
	}
}
