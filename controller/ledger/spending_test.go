package ledger_test

import (
	"sync"
	"testing"

	"github.com/gavel-evals/gavel/controller/ledger"
)

func testSpending(t *testing.T, b backend) {
	k := newBook(t, b)
	three, hundred, dollar := int64(3), int64(100), 1.
	day := ledger.Account{Name: "day", Calls: &three, USD: &dollar}
	pull := ledger.Account{Name: "pull", Tokens: &hundred}
	both := []ledger.Account{day, pull}
	reserve := func(a ledger.Amount, wantShort int, wantOn ledger.Amount) {
		t.Helper()
		short, on, err := k.Reserve(t.Context(), both, a)
		if err != nil || short != wantShort || short >= 0 && on != wantOn {
			t.Errorf("reserve %+v: account %d with %+v, %v; want %d with %+v", a, short, on, err, wantShort, wantOn)
		}
	}
	reserve(ledger.Amount{Calls: 1, Tokens: 60, USD: 0.5}, -1, ledger.Amount{})
	reserve(ledger.Amount{Calls: 1, Tokens: 41}, 1, ledger.Amount{Calls: 1, Tokens: 60, USD: 0.5})
	reserve(ledger.Amount{Calls: 1, USD: 0.6}, 0, ledger.Amount{Calls: 1, Tokens: 60, USD: 0.5})
	reserve(ledger.Amount{Calls: 1, Tokens: 40, USD: 0.5}, -1, ledger.Amount{})
	k.check(k.Settle(t.Context(), both, ledger.Amount{Calls: 1, Tokens: 40, USD: 0.5}, ledger.Amount{Calls: 1, Tokens: 5}))
	reserve(ledger.Amount{Calls: 1, Tokens: 35}, -1, ledger.Amount{})
	reserve(ledger.Amount{Calls: 1}, 0, ledger.Amount{Calls: 3, Tokens: 100, USD: 0.5})
	// What one account refuses is on none.
	reserve(ledger.Amount{Tokens: 1}, 1, ledger.Amount{Calls: 3, Tokens: 100, USD: 0.5})
}

// testSpendingAtOnce reserves from two handles at the same time: the limit is
// reached and never passed.
func testSpendingAtOnce(t *testing.T, b backend) {
	one, other := twoBooks(t, b)
	limit := int64(25)
	accounts := []ledger.Account{{Name: "day", Calls: &limit}}
	var mu sync.Mutex
	var group sync.WaitGroup
	granted := int64(0)
	for i := range 60 {
		group.Go(func() {
			short, _, err := []*book{one, other}[i%2].Reserve(t.Context(), accounts, ledger.Amount{Calls: 1})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if short < 0 {
				granted++
			}
		})
	}
	group.Wait()
	if granted != limit {
		t.Errorf("%d calls were allowed, want %d", granted, limit)
	}
}
