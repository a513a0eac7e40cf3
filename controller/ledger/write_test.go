package ledger

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// Sign is for tests from outside.
var Sign = (*RunHandle).sign

// TestClose closes a ledger while many write: it has exactly the changes that were
// reported as stored.
func TestClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 10 { // over several connections
		group.Go(func() {
			if _, err := l.Runs(t.Context(), 1); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	const writes = 50
	errs := make([]error, writes)
	half := make(chan bool, writes)
	for i := range writes {
		group.Go(func() {
			errs[i] = l.SaveReport(t.Context(), Run{ID: fmt.Sprint(i), Report: []byte("{}")})
			half <- true
		})
	}
	for range writes / 2 {
		<-half
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	group.Wait()
	if err := l.SaveReport(t.Context(), Run{ID: "late"}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if left, err := filepath.Glob(path + "-wal"); err != nil || len(left) > 0 {
		t.Errorf("the log was not folded in: %v, %v", left, err)
	}
	if l, err = Open(t.Context(), Config{Path: path}); err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it was only read
	for i, err := range errs {
		_, missing := l.Run(t.Context(), fmt.Sprint(i))
		if (err == nil) != (missing == nil) || err != nil && !errors.Is(err, store.ErrClosed) {
			t.Errorf("run %d was stored with %v and read with %v", i, err, missing)
		}
	}
}

// TestDiskFull has the file reach its largest size. SQLite then ends the
// transaction by itself.
func TestDiskFull(t *testing.T) {
	l, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	limit := func(pages int) {
		t.Helper()
		err := l.store.Submit(t.Context(), func(tx *store.Tx) error {
			var got int
			return tx.Row(fmt.Sprintf("PRAGMA max_page_count = %d", pages)).Scan(&got)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	random := make([]byte, 10_000) // nothing makes it smaller
	_, _ = rand.Read(random)
	body := fmt.Appendf(nil, "%q", hex.EncodeToString(random))
	limit(80)
	errs := make([]error, 100)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { errs[i] = l.SaveReport(t.Context(), Run{ID: fmt.Sprint(i), Report: body}) })
	}
	group.Wait()
	stored := 0
	for i, err := range errs {
		_, missing := l.Run(t.Context(), fmt.Sprint(i))
		switch {
		case err == nil && missing == nil:
			stored++
		case err == nil || missing == nil || !strings.Contains(err.Error(), "make room"):
			t.Errorf("run %d was stored with %v and read with %v", i, err, missing)
		}
	}
	if stored == 0 || stored == len(errs) {
		t.Errorf("%d of %d runs were stored", stored, len(errs))
	}
	limit(100_000)
	if err := l.SaveReport(t.Context(), Run{ID: "late", Report: body}); err != nil {
		t.Errorf("after room was made: %v", err)
	}
}
