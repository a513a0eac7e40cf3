package ledger_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
)

func TestOpenMakesFileForOwnerOnly(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "deep", ".gavel")
	l := open(t, filepath.Join(folder, "ledger.db"))
	if err := l.Save(t.Context(), outcome(base, digestsOf("case"), 0, "text")); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 4 { // the file, its log, the log's index, and who is alive
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, error %v; want 0600", f.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder: %v, %v", info.Mode(), err)
	}
}

func TestOpenTakesAnyName(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"plain.db", "a b.db", "50%.db", "a?mode=memory", "a#b", "file:x", "ü.db"} {
		l := open(t, name)
		if err := l.Save(t.Context(), outcome(base, digestsOf("case"), 0, "text")); err != nil {
			t.Errorf("%s: nothing could be saved: %v", name, err)
		}
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

// raw changes a SQLite file past the ledger.
func raw(t *testing.T, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	write := func(data string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name string
		make func(t *testing.T, path string)
		want []string
	}{
		{"text", write(strings.Repeat("this is not a database\n", 100)), []string{"not a ledger", "--ledger"}},
		{"database of another program", func(t *testing.T, path string) { raw(t, path, "CREATE TABLE theirs (x)") }, []string{"another program", "--ledger"}},
		{"empty database of another program", func(t *testing.T, path string) { raw(t, path, "PRAGMA application_id = 7") }, []string{"another program", "--ledger"}},
		{"newer schema", func(t *testing.T, path string) {
			open(t, path)
			raw(t, path, "PRAGMA user_version = 99")
		}, []string{"newer version", "schema 99", "update gavel"}},
		{"folder", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, []string{"is a directory", "--ledger"}},
		{"cut off", func(t *testing.T, path string) {
			open(t, filepath.Join(filepath.Dir(path), "whole"))
			raw(t, filepath.Join(filepath.Dir(path), "whole"), "PRAGMA wal_checkpoint(TRUNCATE)")
			data, err := os.ReadFile(filepath.Join(filepath.Dir(path), "whole"))
			if err != nil {
				t.Fatal(err)
			}
			write(string(data[:3000]))(t, path)
		}, []string{"damaged"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.db")
			tt.make(t, path)
			before, _ := os.ReadFile(path)
			l, err := ledger.Open(t.Context(), ledger.Config{Path: path})
			if err == nil {
				t.Fatal(l.Close())
			}
			for _, want := range append(tt.want, filepath.ToSlash(path)) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v: does not say %q", err, want)
				}
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
		})
	}
}

// TestDamaged overwrites every page except the schema's.
func TestDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, err := ledger.Open(t.Context(), ledger.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	d := digestsOf("case")
	for _, err := range []error{l.Save(t.Context(), outcome(base, d, 0, "text")), l.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := range slices.Chunk(data, 4096) {
		if !bytes.Contains(page, []byte("SQLite format")) && !bytes.Contains(page, []byte("CREATE ")) {
			copy(page, bytes.Repeat([]byte{0xee}, len(page)))
		}
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err = ledger.Open(t.Context(), ledger.Config{Path: path})
	if err == nil {
		_, err = l.Decided(t.Context(), ledger.Scope{Trust: base}, []string{d.D})
		if e := l.Close(); e != nil {
			t.Log(e)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "puts it aside") {
		t.Error(err)
	}
}

// lock takes the lock that writers of a file need, or the one that nobody
// reads past, and gives the function that lets go of it.
func lock(t *testing.T, path, kind string) (unlock func()) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exec := func(text string) {
		t.Helper()
		if _, err := conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	exec("BEGIN " + kind)
	return func() {
		t.Helper()
		exec("ROLLBACK")
		for _, err := range []error{conn.Close(), db.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	}
}

func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	unlock := lock(t, path, "EXCLUSIVE")
	_, err := ledger.Open(t.Context(), ledger.Config{Path: path, Wait: time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "another process is writing") {
		t.Error(err)
	}
	unlock()

	l := ledgertest.Open(t, ledger.Config{Path: path, Wait: time.Millisecond})
	d := digestsOf("case")
	unlock = lock(t, path, "IMMEDIATE")
	err = l.Save(t.Context(), outcome(base, d, 0, "text"))
	if err == nil || !strings.Contains(err.Error(), "another process is writing") {
		t.Error(err)
	}
	if _, _, err := l.Executions(t.Context(), ledger.Scope{Trust: base}, d.E); err != nil {
		t.Errorf("reading while another writes: %v", err)
	}
	unlock()
	if err := l.Save(t.Context(), outcome(base, d, 0, "text")); err != nil {
		t.Errorf("after the lock is gone: %v", err)
	}
}

func TestSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	first := ledgertest.Open(t, ledger.Config{Path: path, Rand: strings.NewReader(strings.Repeat("0123456789abcdef", 2))})
	if got := string(first.Secret()); got != "0123456789abcdef0123456789abcdef" {
		t.Errorf("secret %q", got)
	}
	// Nothing random is asked for once there is a secret.
	again := ledgertest.Open(t, ledger.Config{Path: path, Rand: strings.NewReader("")})
	if !bytes.Equal(first.Secret(), again.Secret()) {
		t.Error("the secret changed")
	}
	if other := open(t, filepath.Join(t.TempDir(), "ledger.db")); bytes.Equal(first.Secret(), other.Secret()) || len(other.Secret()) != 32 {
		t.Errorf("secret of another ledger %x", other.Secret())
	}
	if _, err := ledger.Open(t.Context(), ledger.Config{Path: filepath.Join(t.TempDir(), "ledger.db"), Rand: strings.NewReader("short")}); err == nil {
		t.Error("a secret was made of too little")
	}
}

// TestOpenAtOnce has several processes make, use and close the same ledger.
func TestOpenAtOnce(t *testing.T) {
	for round := range 5 {
		path := filepath.Join(t.TempDir(), fmt.Sprint(round))
		secrets := make([]string, 6)
		var group sync.WaitGroup
		for i := range secrets {
			group.Go(func() {
				l, err := ledger.Open(t.Context(), ledger.Config{Path: path})
				if err != nil {
					t.Error(err)
					return
				}
				secrets[i] = string(l.Secret())
				if err := l.Save(t.Context(), outcome(base, digestsOf(fmt.Sprint(i)), 0, "text")); err != nil {
					t.Error(err)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		k := &fixture{Ledger: open(t, path), t: t}
		for i, secret := range secrets {
			if secret != string(k.Secret()) {
				t.Errorf("secret %x, and then %x", secret, k.Secret())
			}
			k.wantSeen(ledger.Scope{Trust: base}, digestsOf(fmt.Sprint(i)), one("text"))
		}
	}
}

// TestCrash opens a ledger as a crash leaves it: with a log that nobody has
// folded in and a handle that nobody has closed.
func TestCrash(t *testing.T) {
	left := t.TempDir()
	l := open(t, filepath.Join(left, "ledger.db"))
	d := digestsOf("case")
	if err := l.Save(t.Context(), outcome(base, d, 0, "text")); err != nil {
		t.Fatal(err)
	}
	found := t.TempDir()
	if err := os.CopyFS(found, os.DirFS(left)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(found, "ledger.db-wal")); err != nil {
		t.Fatalf("there is no log, so this tests nothing: %v", err)
	}
	for _, folder := range []string{left, found} {
		k := &fixture{Ledger: open(t, filepath.Join(folder, "ledger.db")), t: t}
		k.wantSeen(ledger.Scope{Trust: base}, d, one("text"))
		k.save(outcome(base, digestsOf("next"), 0, "next"))
	}

	// Half a write at the end of the log takes nothing else with it.
	torn := t.TempDir()
	if err := os.CopyFS(torn, os.DirFS(left)); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(torn, "ledger.db-wal")
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, append(data, data[len(data)-5000:len(data)-100]...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(log[:len(log)-3] + "shm"); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	k := &fixture{Ledger: open(t, filepath.Join(torn, "ledger.db")), t: t}
	k.wantSeen(ledger.Scope{Trust: base}, d, one("text"))
	k.wantSeen(ledger.Scope{Trust: base}, digestsOf("next"), one("next"))
}

// TestVerifyFindsDamage changes a ledger past its own rules, one thing at a
// time.
func TestVerifyFindsDamage(t *testing.T) {
	for _, tt := range []struct{ statement, want string }{
		{"UPDATE verdicts SET verdict = 'fail'", "its row says fail, and its body pass"},
		{"UPDATE verdicts SET score = 0.75", "its row says pass, and its body pass"},
		{"UPDATE verdicts SET body = CAST('x' AS BLOB)", "it cannot be read"},
		{"DELETE FROM judgements", "it rests on 1 samples, and there are 0"},
		{"PRAGMA foreign_keys = OFF; DELETE FROM samples", "that is not there"},
		{"DELETE FROM transcripts", "its transcript cannot be read"},
		{"UPDATE transcripts SET body = CAST('{' AS BLOB)", "its transcript cannot be read"},
		{"UPDATE calls SET reply = CAST('' AS BLOB)", "it cannot be read"},
		{"PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE name = 'runs_started'", "Page"},
	} {
		path := filepath.Join(t.TempDir(), "ledger.db")
		l, err := ledger.Open(t.Context(), ledger.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		k := &fixture{Ledger: l, t: t, now: epoch}
		k.full(base, "case")
		if v := k.verify(nil); len(v.Faults) > 0 || v.Verdicts != 1 {
			t.Errorf("undamaged: %+v", v)
		}
		k.check(l.Close())
		raw(t, path, tt.statement)
		k.Ledger = open(t, path)
		found := ""
		for _, fault := range k.verify(nil).Faults {
			found += fault.Entry + ": " + fault.Message + "\n"
		}
		if !strings.Contains(found, tt.want) {
			t.Errorf("%s: found %q, want %q", tt.statement, found, tt.want)
		}
	}
}
