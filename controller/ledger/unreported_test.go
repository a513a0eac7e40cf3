package ledger_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// testUnreported has three calls of a run by two writers, at head and at base. They are counted
// until the report of the run is stored, also if the journal has lost them by then.
func testUnreported(t *testing.T, b backend) {
	k := newFixture(t, b)
	ctx := t.Context()
	paying := ledger.Run{ID: "killed", Repository: "octo/demo", PullRequest: 7, Base: "b", Head: "h", Started: epoch}
	call := func(lease *ledger.Lease, digest string, seq int, paid ledger.Payment) {
		t.Helper()
		k.check(k.SaveCall(ctx, base, ledger.Call{
			Key: ledger.CallKey{Digest: digest, Role: "target", Seq: seq}, RequestDigest: "r", Request: []byte("{}"), Reply: []byte("{}"), At: k.now, Lease: lease, Paid: paid,
		}))
	}
	cost := ledger.Amount{Calls: 1, Tokens: 10, USD: 0.25}
	first, second := k.want(base, "e"), k.want(base, "f")
	one, other := k.lease(first, "e"), k.lease(second, "f")
	call(one, "e", 0, ledger.Payment{Run: paying, Amount: cost})
	k.now = k.now.Add(time.Second)
	call(one, "e", 1, ledger.Payment{Run: paying, Amount: cost})
	call(other, "f", 0, ledger.Payment{Run: paying, Amount: ledger.Amount{Calls: 1, Tokens: 5}, Unpriced: 1})
	call(other, "f", 1, ledger.Payment{Amount: cost}) // nobody will report it
	k.check(k.DropCalls(ctx, base, ledger.CallKey{Digest: "e"}, one))

	paying.Finished = k.now
	want := ledger.Unreported{
		Run: paying, Running: true,
		Cost: ledger.RunCost{Run: "killed", Repository: "octo/demo", Finished: k.now, Calls: 3, Tokens: 25, USD: 0.5, Unpriced: true},
	}
	is := func(repository string, want ...ledger.Unreported) {
		t.Helper()
		got, err := k.Unreported(ctx, repository)
		k.check(err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the runs of %q without a report (-want +got):\n%s", repository, diff)
		}
	}
	is("octo/demo", want)
	is("", want)
	is("octo/other")
	k.now = k.now.Add(time.Hour) // no sign of life
	want.Running = false
	is("", want)

	costs := ledger.NewRunCosts(k.Ledger)
	newest, total, err := costs.Newest(ctx, "octo/demo", 9)
	k.check(err)
	if diff := cmp.Diff([]ledger.RunCost{want.Cost}, newest); diff != "" || total != 1 {
		t.Errorf("the costs of %d runs (-want +got):\n%s", total, diff)
	}
	for _, tt := range []struct {
		since time.Time
		want  map[string]ledger.CostSum
	}{
		{paying.Finished, map[string]ledger.CostSum{"octo/demo": {Runs: 1, Calls: 3, Tokens: 25, USD: 0.5, Unpriced: 1}}},
		{k.now, map[string]ledger.CostSum{}},
	} {
		spent, err := costs.Spent(ctx, tt.since)
		k.check(err)
		if diff := cmp.Diff(tt.want, spent); diff != "" {
			t.Errorf("what was spent since %v (-want +got):\n%s", tt.since, diff)
		}
	}
	// Another run that does the rest changes nothing, and the run's own report has its cost.
	for _, id := range []string{"next", "killed"} {
		is("", want)
		k.check(k.SaveReport(ctx, ledger.Run{ID: id, Repository: "octo/demo", Started: k.now, Finished: k.now, Report: json.RawMessage(`{"cases":[]}`)}))
	}
	is("")

	call(one, "e", 0, ledger.Payment{Run: ledger.Run{ID: "old"}, Amount: cost})
	_, err = k.Collect(ctx, ledger.Collection{Before: k.now.Add(time.Hour)})
	k.check(err)
	is("")
}
