package ledger

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
)

// For tests from outside.
var (
	Repair          = repair
	ErrReadOnlyDisk = syscall.EROFS
	ErrDiskFull     = syscall.ENOSPC
	Sign            = (*Interest).sign
)

// idle is a ledger whose writes nobody takes up.
func idle() *Ledger { return &Ledger{writes: make(chan write), stop: make(chan struct{})} }

func TestCancelBeforeTakenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := idle()
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 1)
		go func() { errs <- l.submit(ctx, nil) }()
		synctest.Wait()
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		// Also when it could be taken up at once.
		go func() {
			for w := range l.writes {
				w.done <- nil
			}
		}()
		for range 30 {
			synctest.Wait()
			if err := l.submit(ctx, nil); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		close(l.writes)
	})
}

func TestCancelAfterTakenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := idle()
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 1)
		go func() { errs <- l.submit(ctx, nil) }()
		w := <-l.writes
		cancel()
		synctest.Wait()
		select {
		case err := <-errs:
			t.Fatalf("returned before the write was durable: %v", err)
		default:
		}
		w.done <- nil
		if err := <-errs; err != nil {
			t.Error(err)
		}
	})
}

func TestGather(t *testing.T) {
	for waiting, want := range map[int]int{1: 1, 20: 20, maxBatch: maxBatch, maxBatch + 10: maxBatch} {
		synctest.Test(t, func(t *testing.T) {
			l := idle()
			for range waiting {
				go l.submit(t.Context(), nil) //nolint:errcheck // only that it waits matters
			}
			synctest.Wait()
			batch := l.gather(<-l.writes)
			if len(batch) != want {
				t.Errorf("of %d waiting writes %d are gathered, want %d", waiting, len(batch), want)
			}
			for _, w := range batch {
				w.done <- nil
			}
			close(l.stop)
		})
	}
}

// TestClose closes a ledger while many write: what was said to be stored is,
// and nothing else.
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
	if err := l.SaveReport(t.Context(), Run{ID: "late"}); !errors.Is(err, errClosed) {
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
		if (err == nil) != (missing == nil) || err != nil && !errors.Is(err, errClosed) {
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
		err := l.submit(t.Context(), func(tx *tx) error {
			var got int
			return tx.row(fmt.Sprintf("PRAGMA max_page_count = %d", pages)).Scan(&got)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	body := []byte(`"` + strings.Repeat("x", 20_000) + `"`)
	limit(60)
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
