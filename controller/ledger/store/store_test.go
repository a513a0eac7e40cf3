package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
)

// idle is a store whose writes nobody takes up.
func idle() *file { return &file{writes: make(chan write), stop: make(chan struct{})} }

func TestCancelBeforeTakenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := idle()
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 1)
		go func() { errs <- l.Submit(ctx, Alone, nil) }()
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
			if err := l.Submit(ctx, Alone, nil); !errors.Is(err, context.Canceled) {
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
		go func() { errs <- l.Submit(ctx, Alone, nil) }()
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
	for _, tt := range []struct{ waiting, want int }{{1, 1}, {20, 20}, {maxBatch, maxBatch}, {maxBatch + 10, maxBatch}} {
		synctest.Test(t, func(t *testing.T) {
			l := idle()
			for range tt.waiting {
				go l.Submit(t.Context(), Alone, nil) //nolint:errcheck // only that it waits matters
			}
			synctest.Wait()
			batch := l.gather(<-l.writes)
			if len(batch) != tt.want {
				t.Errorf("of %d waiting writes %d are gathered, want %d", tt.waiting, len(batch), tt.want)
			}
			for _, w := range batch {
				w.done <- nil
			}
			close(l.stop)
		})
	}
}

func TestRepair(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}, "--ledger"},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EROFS}, "--ledger"},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, "make room"},
		{fmt.Errorf("something else"), ""},
	} {
		got := (&file{}).Hint(tt.err)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%v: %q does not say %q", tt.err, got, tt.want)
		}
	}
}
