package maintenance_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/maintenance"
)

// openHistory returns a ledger with a run that judges n cases, and reruns that reuse them.
func openHistory(tb testing.TB, n, reruns int) *ledger.Ledger {
	tb.Helper()
	store, err := ledger.Open(tb.Context(), ledger.Config{Path: filepath.Join(tb.TempDir(), "ledger.db")})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { store.Close() }) //nolint:errcheck // the test is over
	for i := range reruns + 1 {
		action, judged := "run", n
		if i > 0 {
			action, judged = "reuse", 0
		}
		cases := func(yield func([]byte, error) bool) {
			for c := range n {
				text := fmt.Sprintf(`{"key":"case %d","action":%q,"verdict":"pass","score":1,"digest":"d%d","detail":{"messages":[{"role":"user","content":"question %d"}]}}`, c, action, c, c)
				if !yield([]byte(text), nil) {
					return
				}
			}
		}
		at := time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC)
		report := fmt.Sprintf(`{"summary":{"run":%d,"rejudged":0,"redecided":0,"reused":%d},"cases":[]}`, judged, n-judged)
		err := store.SaveReport(tb.Context(), ledger.Run{ID: fmt.Sprint("run ", i), Started: at, Finished: at, Report: json.RawMessage(report), Cases: cases})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return store
}

// TestHistories holds that a rerun without a judgement adds nothing, and that the limit
// counts it.
func TestHistories(t *testing.T) {
	store := openHistory(t, 2, 2)
	for limit, want := range map[int][]string{3: {"case 0", "case 1"}, 2: {}} {
		got, err := maintenance.Histories(t.Context(), store, limit, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Names()); diff != "" {
			t.Errorf("the newest %d runs (-want +got):\n%s", limit, diff)
		}
	}
}

// TestUnreadRuns holds that the cases of a run that judged nothing are not read: these
// cannot be.
func TestUnreadRuns(t *testing.T) {
	store := openHistory(t, 1, 0)
	save := func(id, summary string) {
		report := `{"summary":` + summary + `,"cases":[{"key":7}]}`
		if err := store.SaveReport(t.Context(), ledger.Run{ID: id, Report: json.RawMessage(report)}); err != nil {
			t.Fatal(err)
		}
	}
	save("unchanged", `{"run":0,"rejudged":0,"redecided":0}`)
	if _, err := maintenance.Histories(t.Context(), store, 9, nil); err != nil {
		t.Errorf("the run was read: %v", err)
	}
	save("changed", `{"run":1,"rejudged":0,"redecided":0}`)
	if _, err := maintenance.Histories(t.Context(), store, 9, nil); err == nil {
		t.Error("a run with judgements was not read")
	}
}

func BenchmarkHistories(b *testing.B) {
	store := openHistory(b, 10_000, 20)
	for b.Loop() {
		if _, err := maintenance.Histories(b.Context(), store, 50, nil); err != nil {
			b.Fatal(err)
		}
	}
}
