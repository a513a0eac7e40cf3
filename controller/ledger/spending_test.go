package ledger_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// calls is an amount of calls alone.
func calls(n int64) ledger.Amount { return ledger.Amount{Calls: n} }

func testSpending(t *testing.T, b backend) {
	k := newFixture(t, b)
	three, hundred, dollar := int64(3), int64(100), 1.
	day := ledger.Account{Name: "day", Calls: &three, USD: &dollar}
	pull := ledger.Account{Name: "pull", Tokens: &hundred}
	both := []ledger.Account{day, pull}
	lease := k.lease(k.want(base, "e"), "e")
	reserve := func(a ledger.Amount, want *ledger.Shortage) {
		t.Helper()
		short, err := lease.Reserve(t.Context(), both, a, ledger.Amount{})
		if diff := cmp.Diff(want, short); diff != "" || err != nil {
			t.Errorf("reserve %+v: %v (-want +got):\n%s", a, err, diff)
		}
	}
	reserve(ledger.Amount{Calls: 1, Tokens: 60, USD: 0.5}, nil)
	reserve(ledger.Amount{Calls: 1, Tokens: 41}, &ledger.Shortage{Account: 1, On: ledger.Amount{Calls: 1, Tokens: 60, USD: 0.5}})
	reserve(ledger.Amount{Calls: 1, USD: 0.6}, &ledger.Shortage{On: ledger.Amount{Calls: 1, Tokens: 60, USD: 0.5}})
	reserve(ledger.Amount{Calls: 1, Tokens: 40, USD: 0.5}, nil)
	k.check(lease.Settle(t.Context(), both, ledger.Amount{Tokens: -35, USD: -0.5}, ledger.Amount{}))
	reserve(ledger.Amount{Calls: 1, Tokens: 35}, nil)
	reserve(calls(1), &ledger.Shortage{On: ledger.Amount{Calls: 3, Tokens: 100, USD: 0.5}})
	// An amount that one account refuses is on none.
	reserve(ledger.Amount{Tokens: 1}, &ledger.Shortage{Account: 1, On: ledger.Amount{Calls: 3, Tokens: 100, USD: 0.5}})
}

// held is an account of ten calls, eight of which a killed run has claimed.
func held() []ledger.Account {
	ten := int64(10)
	return []ledger.Account{{Name: "held", Calls: &ten}}
}

// testClaims has cases of two processes claim what they are likely to take of
// an account of ten calls.
func testClaims(t *testing.T, b backend) {
	one, other := twoFixtures(t, b)
	ten := int64(10)
	accounts := []ledger.Account{{Name: "day", Calls: &ten}}
	begun := one.want(base, "a", "b")
	a, bb := one.lease(begun, "a"), one.lease(begun, "b")
	late := other.want(base, "c")
	c := other.lease(late, "c")
	expect := func(want *ledger.Shortage) func(*ledger.Shortage, error) {
		return func(got *ledger.Shortage, err error) {
			t.Helper()
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
	}
	claim := func(x *ledger.Lease, n int64, want *ledger.Shortage) {
		t.Helper()
		short, err := x.Claim(t.Context(), accounts, calls(n), calls(n))
		expect(want)(short, err)
	}
	spends := func(x *ledger.Lease, rest int64, want *ledger.Shortage) {
		t.Helper()
		short, err := x.Reserve(t.Context(), accounts, calls(1), calls(rest))
		expect(want)(short, err)
	}
	claim(a, 4, nil)
	claim(c, 4, nil)
	claim(bb, 3, &ledger.Shortage{Claimed: calls(8)})
	spends(a, 3, nil) // out of its own
	claim(bb, 3, &ledger.Shortage{On: calls(1), Claimed: calls(7)})
	claim(bb, 2, nil)
	// The first may take more than was claimed, and later ones may not.
	for range 5 {
		spends(a, 0, nil)
	}
	spends(bb, 2, &ledger.Shortage{On: calls(6), Claimed: calls(4)}) // nothing of a's, four of c's
	spends(c, 3, nil)
	// The claim of a case ends with its lease.
	o := outcome(base, digestsOf("c"), 0, "text")
	o.Lease = c
	other.save(o)
	spends(bb, 1, nil)
	spends(bb, 0, nil)
	on, err := one.Accounts(t.Context())
	one.check(err)
	if diff := cmp.Diff([]ledger.Balance{{Name: "day", Amount: calls(9)}}, on); diff != "" {
		t.Errorf("accounts (-want +got):\n%s", diff)
	}
	// One that was lost has no claim.
	one.check(a.Release(t.Context()))
	spends(a, 5, nil)
	claim(other.lease(late, "d"), 1, &ledger.Shortage{On: calls(10)})
}

// testSpendingAtOnce reserves from two handles at the same time: the limit is
// reached and never passed.
func testSpendingAtOnce(t *testing.T, b backend) {
	one, other := twoFixtures(t, b)
	limit := int64(25)
	accounts := []ledger.Account{{Name: "day", Calls: &limit}}
	leases := []*ledger.Lease{one.lease(one.want(base, "a"), "a"), other.lease(other.want(base, "b"), "b")}
	var mu sync.Mutex
	var group sync.WaitGroup
	granted := int64(0)
	for i := range 60 {
		group.Go(func() {
			short, err := leases[i%2].Reserve(t.Context(), accounts, calls(1), ledger.Amount{})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if short == nil {
				granted++
			}
		})
	}
	group.Wait()
	if granted != limit {
		t.Errorf("%d calls were allowed, want %d", granted, limit)
	}
}
