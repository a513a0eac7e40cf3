// Package ledgertest opens ledgers for tests.
package ledgertest

import (
	"cmp"
	"path/filepath"
	"testing"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// Open opens a ledger that is closed with the test. Its file defaults to an
// empty one of its own.
func Open(tb testing.TB, cfg ledger.Config) *ledger.Ledger {
	tb.Helper()
	cfg.Path = cmp.Or(cfg.Path, filepath.Join(tb.TempDir(), "ledger.db"))
	store, err := ledger.Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	return store
}
