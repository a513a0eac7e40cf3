package ledger_test

import (
	"context"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
)

var (
	epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

	operator = ledger.Trust{Level: ledger.LevelOperator}
	base     = ledger.Trust{Level: ledger.LevelBase, Repository: "o/r"}
	pull7    = ledger.Trust{Level: ledger.LevelPull, Repository: "o/r", PullRequest: 7}
	pull8    = ledger.Trust{Level: ledger.LevelPull, Repository: "o/r", PullRequest: 8}
)

// open opens a ledger that is closed with the test.
func open(tb testing.TB, path string) *ledger.Ledger {
	tb.Helper()
	return ledgertest.Open(tb, ledger.Config{Path: path})
}

// ctxAfter is for what happens when the context of a test has ended.
var ctxAfter = context.Background()
