package postgrestest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func (s *Server) query(t *testing.T, db, text string) string {
	t.Helper()
	out, err := exec.Command(filepath.Join(s.bin, "psql"), "-X", "-A", "-t", "-h", s.dir, "-U", "postgres", "-d", db, "-c", text).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestRestart shows that a killed server keeps committed data.
func TestRestart(t *testing.T) {
	s := Start(t)
	s.URL(t)
	s.query(t, "test1", "CREATE TABLE words AS SELECT 'kept' AS word")
	s.Kill(t)
	s.Restart(t)
	if got := s.query(t, "test1", "SELECT word, current_setting('fsync') FROM words"); got != "kept|on\n" {
		t.Errorf("the table has %q", got)
	}
}

// TestGuard shows that nothing is left of a server.
func TestGuard(t *testing.T) {
	s, err := start()
	require(t, err)
	if err := s.guard.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("the folder is there: %v", err)
	}
}

// TestOwn shows that two tests do not share a database.
func TestOwn(t *testing.T) {
	if a, b := URL(t), URL(t); a == b {
		t.Errorf("two databases have the address %s", a)
	}
}
