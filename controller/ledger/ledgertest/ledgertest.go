// Package ledgertest opens ledgers for tests.
package ledgertest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// Open opens a ledger that is closed with the test. Its file defaults to its own empty
// one.
func Open(tb testing.TB, cfg ledger.Config) *ledger.Ledger {
	tb.Helper()
	if cfg.Path == "" {
		cfg.Path = filepath.Join(tb.TempDir(), "ledger.db")
		if err := os.WriteFile(cfg.Path, empty(), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
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

// Make makes the tables of a ledger in a file or, by its URL, in a database.
func Make(path string) error {
	store, err := ledger.Open(context.Background(), ledger.Config{Path: path})
	if err != nil {
		return err
	}
	return store.Close()
}

// empty is the file of a ledger without entries. Making its tables takes longer than
// many tests do.
var empty = sync.OnceValue(func() []byte {
	dir, err := os.MkdirTemp("", "ledgertest")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "ledger.db")
	if err := Make(file); err != nil {
		panic(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	return data
})

// Show makes the folder of a test, and the folders above it, readable by everybody, for
// a process of another user.
func Show(tb testing.TB, dir string) {
	tb.Helper()
	for d := dir; d != filepath.Dir(d); d = filepath.Dir(d) {
		info, err := os.Stat(d)
		if err == nil && info.Mode()&0o055 != 0o055 {
			err = os.Chmod(d, 0o755)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}
