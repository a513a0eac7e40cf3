package store_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/ledger/store"
)

var (
	one = fstest.MapFS{"001.sql": {Data: []byte("CREATE TABLE words (word TEXT)")}}
	two = fstest.MapFS{"001.sql": one["001.sql"], "002.sql": {Data: []byte("ALTER TABLE words ADD COLUMN length INTEGER")}}
)

func config(path string, scripts fstest.MapFS) store.Config {
	return store.Config{Path: path, Migrations: scripts, Prepare: func(*store.Tx) error { return nil }}
}

func add(t *testing.T, s *store.Store, word string) error {
	t.Helper()
	return s.Submit(t.Context(), func(x *store.Tx) error { return x.Exec("INSERT INTO words (word) VALUES (?)", word) })
}

// words are those that can be read.
func words(t *testing.T, s *store.Store) string {
	t.Helper()
	var all []string
	err := s.Each(t.Context(), func(rows *sql.Rows) error {
		all = append(all, "")
		return rows.Scan(&all[len(all)-1])
	}, "SELECT word FROM words ORDER BY word")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// TestAbuseReadOnlyFiles reads a file that may not be written, in whatever state it
// was left, and writes nothing next to it.
func TestAbuseReadOnlyFiles(t *testing.T) {
	for _, tt := range []struct {
		name    string
		scripts fstest.MapFS // of the reader
		open    bool         // the writer has not folded its log in
	}{
		{name: "closed", scripts: one},
		{name: "with a log", scripts: one, open: true},
		{name: "of an earlier schema", scripts: two},
		{name: "both", scripts: two, open: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			made := t.TempDir()
			writer, err := store.Open(t.Context(), config(filepath.Join(made, "file.db"), one))
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range []string{"b", "a"} {
				if err := add(t, writer, word); err != nil {
					t.Fatal(err)
				}
			}
			closed := func() {
				if err := writer.Close(); err != nil {
					t.Error(err)
				}
			}
			if tt.open {
				defer closed()
			} else {
				closed()
			}
			dir := filepath.Join(t.TempDir(), "dir")
			if err := os.CopyFS(dir, os.DirFS(made)); err != nil {
				t.Fatal(err)
			}
			locked(t, dir)
			before := listed(t, dir)
			asNobody(t)
			path := filepath.Join(dir, "file.db")
			if s, err := store.Open(t.Context(), config(path, tt.scripts)); !store.IsUnwritable(err) {
				t.Fatalf("it can be written: %v, %v", s, err)
			}
			s, err := store.Read(t.Context(), config(path, tt.scripts))
			if err != nil {
				t.Fatal(err)
			}
			if got := words(t, s); got != "a b" {
				t.Errorf("it has %q", got)
			}
			if err := add(t, s, "c"); !errors.Is(err, store.ErrReadOnly) {
				t.Errorf("a write: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if after := listed(t, dir); after != before {
				t.Errorf("the folder has %s, and had %s", after, before)
			}
		})
	}
}

func listed(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	return strings.Join(names, " ")
}

// locked lets nobody write in a folder.
func locked(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if err := os.Chmod(file, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	ledgertest.Show(t, filepath.Dir(dir))
	t.Cleanup(func() { os.Chmod(dir, 0o755) }) //nolint:errcheck // the test is over
}
