package ledger_test

import (
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
)

// TestAnAnswerThatIsLost: the server makes a change, and the connection is lost before it
// says so. The change is not made twice, and its holder has the lease still.
func TestAnAnswerThatIsLost(t *testing.T) {
	server := postgrestest.Start(t)
	proxy := server.Proxy(t)
	k := &fixture{t: t, Ledger: ledgertest.Open(t, ledger.Config{Path: proxy.URL(t, server.URL(t)), Wait: time.Minute})}
	million := int64(1e6)
	accounts := []ledger.Account{{Name: "day", Calls: &million}}
	run := k.want(base)
	var lease *ledger.Lease
	change := func(name string, do func() error, lost bool) {
		t.Helper()
		if lost {
			proxy.Cut()
		}
		if err := do(); err != nil {
			t.Errorf("%s with its answer lost: %v: %v", name, lost, err)
		}
	}
	steps := []string{"none", "lease", "claim", "reserve", "settle", "call", "save"}
	for i, lossy := range steps {
		d := digestsOf(lossy)
		// All statements are prepared on the connection, so that the answer is to one.
		for _, x := range []struct {
			digest string
			lossy  string
		}{{"before " + lossy, "none"}, {lossy, lossy}} {
			d = digestsOf(x.digest)
			change("lease", func() (err error) { lease, err = run.Lease(t.Context(), d.E, d.J); return err }, x.lossy == "lease")
			change("claim", func() error {
				short, err := lease.Claim(t.Context(), accounts, calls(3), calls(3))
				if short != nil {
					t.Errorf("claim: %+v is short", short)
				}
				return err
			}, x.lossy == "claim")
			change("reserve", func() error {
				short, err := lease.Reserve(t.Context(), accounts, calls(3), calls(0))
				if short != nil {
					t.Errorf("reserve: %+v is short", short)
				}
				return err
			}, x.lossy == "reserve")
			change("settle", func() error { return lease.Settle(t.Context(), accounts, calls(-2), calls(0)) }, x.lossy == "settle")
			call := ledger.Call{
				Key: ledger.CallKey{Digest: d.E, Role: "target"}, RequestDigest: "r", Request: []byte("{}"), Reply: []byte("{}"), At: epoch, Lease: lease,
				Paid: ledger.Payment{Run: ledger.Run{ID: "run", Started: epoch}, Amount: calls(1)},
			}
			change("call", func() error { return k.SaveCall(t.Context(), base, call) }, x.lossy == "call")
			o := outcome(base, d, 0, "text")
			o.Lease = lease
			change("save", func() error { return k.Save(t.Context(), o) }, x.lossy == "save")
			if got := k.see(ledger.Scope{Trust: base}, d); got.Decision != "text" || len(got.Executions) != 1 || len(got.Judgements) != 1 {
				t.Errorf("with a lost answer to %s the ledger has %+v", x.lossy, got)
			}
		}
		balances, err := k.Accounts(t.Context())
		if want := int64(2 * (i + 1)); err != nil || len(balances) != 1 || balances[0].Calls != want {
			t.Errorf("after a lost answer to %s the accounts are %+v, want %d calls: %v", lossy, balances, want, err)
		}
		unreported, err := k.Unreported(t.Context(), "")
		if want := int64(2 * (i + 1)); err != nil || len(unreported) != 1 || unreported[0].Cost.Calls != want {
			t.Errorf("after a lost answer to %s the runs without a report are %+v, want %d calls: %v", lossy, unreported, want, err)
		}
	}
}
