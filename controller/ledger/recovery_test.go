package ledger_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/store"
)

var now = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func config(path string) ledger.Config {
	return ledger.Config{Path: path, Now: func() time.Time { return now }}
}

// sound makes a ledger with a few runs in it and returns its bytes.
func sound(t *testing.T, path string) []byte {
	t.Helper()
	l, err := ledger.Open(t.Context(), config(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		if err := l.SaveReport(t.Context(), ledger.Run{ID: id, Report: []byte(`"` + strings.Repeat(id, 10_000) + `"`)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return read(t, path)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// rawRecovery changes a SQLite file past the ledger.
func rawRecovery(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

const asideAt = "ledger.db.damaged-20260302T090000.000Z"

// TestAbuseADamagedLedgerIsPutAside: the damaged bytes are kept, and the new
// file says what happened.
func TestAbuseADamagedLedgerIsPutAside(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func([]byte) []byte
	}{
		{"cut in the middle", func(b []byte) []byte { return b[:len(b)/2] }},
		{"cut by one page", func(b []byte) []byte { return b[:len(b)-4096] }},
		{"cut in the header", func(b []byte) []byte { return b[:50] }},
		{"text", func([]byte) []byte { return []byte(strings.Repeat("this is not a database\n", 100)) }},
		{"random bytes", func(b []byte) []byte { return bytes.Repeat([]byte{0xee, 0x17, 0x02}, len(b)/3) }},
		{"header overwritten", func(b []byte) []byte { return append(bytes.Repeat([]byte{0}, 100), b[100:]...) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.db")
			damaged := tt.damage(sound(t, path))
			write(t, path, damaged)
			l, err := ledger.OpenOrReplace(t.Context(), config(path))
			if err != nil {
				t.Fatal(err)
			}
			if runs, err := l.Runs(t.Context(), 10); err != nil || len(runs) > 0 {
				t.Errorf("the new one has %v, %v", runs, err)
			}
			if want := "the ledger was damaged and is kept as " + asideAt; !strings.HasPrefix(l.Notice(), want) {
				t.Errorf("notice %q, want %q", l.Notice(), want)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(read(t, filepath.Join(filepath.Dir(path), asideAt)), damaged) {
				t.Error("the damaged file is not kept as it was")
			}
			again, err := ledger.OpenOrReplace(t.Context(), config(path))
			if err != nil || again.Notice() != "" {
				t.Fatalf("the second time: %q, %v", again.Notice(), err)
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestAbuseAForeignFileStays: what a newer version or another program wrote is
// refused by name and never moved.
func TestAbuseAForeignFileStays(t *testing.T) {
	for _, tt := range []struct{ name, statement, want string }{
		{"newer", "PRAGMA user_version = 999", "newer version of gavel"},
		{"foreign", "PRAGMA application_id = 7", "another program"},
	} {
		path := filepath.Join(t.TempDir(), "ledger.db")
		sound(t, path)
		rawRecovery(t, path, tt.statement)
		before := read(t, path)
		for _, row := range []struct {
			what string
			open func(context.Context, ledger.Config) (*ledger.Ledger, error)
		}{{"open", ledger.OpenOrReplace}, {"read", ledger.Read}} {
			if _, err := row.open(t.Context(), config(path)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %s: %v, want %q", tt.name, row.what, err, tt.want)
			}
		}
		if _, err := ledger.SetDamagedAside(t.Context(), config(path)); err == nil {
			t.Errorf("%s: it was healed", tt.name)
		}
		files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*damaged*"))
		if err != nil || len(files) > 0 || !bytes.Equal(read(t, path), before) {
			t.Errorf("%s: the file was touched: %v, %v", tt.name, files, err)
		}
	}
}

// TestHeal makes no file, whether it puts one aside or not.
func TestHeal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	for _, data := range [][]byte{nil, bytes.Repeat([]byte("x"), 1000)} {
		if data != nil {
			write(t, path, data)
		}
		notice, err := ledger.SetDamagedAside(t.Context(), config(path))
		if err != nil || (notice == "") != (data == nil) {
			t.Errorf("notice %q, error %v; want a notice only when there was a file", notice, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("a file was made")
		}
	}
	sound(t, path)
	if notice, err := ledger.SetDamagedAside(t.Context(), config(path)); err != nil || notice != "" {
		t.Errorf("a sound one: %q, %v", notice, err)
	}
}

// TestUse does all once more where pages turn out to be damaged that nobody
// reads at first.
func TestUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	data := sound(t, path)
	for page := range slices.Chunk(data, 4096) {
		if !bytes.Contains(page, []byte("SQLite format")) && !bytes.Contains(page, []byte("CREATE ")) && !bytes.Contains(page, []byte("secret")) {
			copy(page, bytes.Repeat([]byte{0xee}, len(page)))
		}
	}
	write(t, path, data)
	var told []string
	calls := 0
	use := func(do func(*ledger.Ledger) error) error {
		told, calls = nil, 0
		return ledger.Use(t.Context(), config(path), func(line string) { told = append(told, line) }, func(l *ledger.Ledger) error {
			calls++
			return do(l)
		})
	}
	err := use(func(l *ledger.Ledger) error {
		_, err := l.Runs(t.Context(), 10)
		return errors.Join(err, l.SaveReport(t.Context(), ledger.Run{ID: "new", Report: []byte("{}")}))
	})
	if err != nil || calls != 2 || len(told) != 1 || !strings.Contains(told[0], asideAt) {
		t.Errorf("%v after %d calls: %q", err, calls, told)
	}
	err = use(func(*ledger.Ledger) error { return context.Canceled })
	if !errors.Is(err, context.Canceled) || calls != 1 || len(told) > 0 {
		t.Errorf("another error: %v after %d calls: %q", err, calls, told)
	}
}

// TestAbuseAVanishedLedger is distinguished from an existing one, and no connection is
// ever made to another file in its place.
func TestAbuseAVanishedLedger(t *testing.T) {
	for _, tt := range []struct {
		name   string
		vanish func(t *testing.T, path string)
	}{
		{"removed", func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}},
		{"replaced", func(t *testing.T, path string) {
			sound(t, path+".other")
			if err := os.Rename(path+".other", path); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		path := filepath.Join(t.TempDir(), "ledger.db")
		var told []string
		calls := 0
		err := ledger.Use(t.Context(), config(path), func(line string) { told = append(told, line) }, func(l *ledger.Ledger) error {
			if calls++; calls > 1 {
				return nil
			}
			if err := l.Vanished(); err != nil {
				t.Errorf("%s: before: %v", tt.name, err)
			}
			tt.vanish(t, path)
			if err := l.Vanished(); !errors.Is(err, store.ErrVanished) {
				t.Errorf("%s: error %v, want ErrVanished", tt.name, err)
			}
			// Sooner or later a reader needs another connection than those that are open.
			errs := make(chan error, 100)
			for range cap(errs) {
				go func() {
					runs, err := l.Runs(t.Context(), 10)
					if len(runs) > 0 {
						err = errors.New("another file was read")
					}
					errs <- err
				}()
			}
			var all error
			for range cap(errs) {
				all = errors.Join(all, <-errs)
			}
			if all == nil {
				return store.ErrVanished // all found a connection
			}
			return all
		})
		if err != nil || calls != 2 || len(told) != 1 || told[0] != ledger.NoticeGone {
			t.Errorf("%s: %v after %d calls: %q", tt.name, err, calls, told)
		}
	}
}
