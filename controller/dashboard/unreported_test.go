package dashboard_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/reporttest"
)

// pay stores a call of a run that begins now and has no report.
func (h *house) pay(run string, usd float64) {
	h.Helper()
	err := h.ledger.SaveCall(h.Context(), ledger.Trust{Level: ledger.LevelOperator}, ledger.Call{
		Key: ledger.CallKey{Digest: run, Role: "target"}, RequestDigest: "r", Request: []byte("{}"), Reply: []byte("{}"), At: h.now,
		Paid: ledger.Payment{Run: ledger.Run{ID: run, Head: "worktree", Started: h.now}, Amount: ledger.Amount{Calls: 1, Tokens: 10, USD: usd}},
	})
	if err != nil {
		h.Fatal(err)
	}
}

// TestInterruptedRuns are on the page of the time when they began, with what they cost, and
// in the costs.
func TestInterruptedRuns(t *testing.T) {
	h := newHouse(t)
	h.pay("before all", 0.01)
	for i := range 51 { // one more than a page has
		h.run(fmt.Sprintf("run-%d", i), report.Compare(reporttest.NothingAffected().In))
		if i == 0 || i == 25 {
			h.now = h.now.Add(time.Minute)
			h.pay(fmt.Sprintf("after %d", i), 0.02+float64(i))
		}
	}
	h.now = h.now.Add(time.Minute)
	h.pay("now", 0.03)
	site := h.site(dashboard.Config{})
	for path, want := range map[string][]string{
		"/":        {"running $0.03", "interrupted $25.02", "interrupted $0.02"},
		"/?page=2": {"interrupted $0.01"},
	} {
		var got []string
		text := get(t, site, path, 200)
		for _, row := range strings.Split(text, "<tr>")[1:] {
			for _, word := range []string{"running", "interrupted"} {
				if strings.Contains(row, ">"+word+"<") {
					_, cost, _ := strings.Cut(row, `data-name="cost">`)
					cost, _, _ = strings.Cut(cost, "<")
					got = append(got, word+" "+cost)
				}
			}
		}
		if strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Errorf("%s has %q, want %q", path, got, want)
		}
	}
	if text := get(t, site, "/costs", 200); !strings.Contains(text, "of 55 stored runs") || !strings.Contains(text, "$25.0") {
		t.Errorf("the costs are\n%s", text)
	}
}
