package ledger_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// asNobody has the file system take the test for a user who is not root, who
// may write everywhere.
func asNobody(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const nobody = 65534
	runtime.LockOSThread() // the user belongs to the thread
	become := func(user uintptr) {
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, user, 0, 0) // it gives the user before, whatever happens
	}
	become(nobody)
	t.Cleanup(func() {
		become(0)
		runtime.UnlockOSThread()
	})
}

// TestAFileThatMayNotBeWritten, and a folder in which none may be made.
func TestAFileThatMayNotBeWritten(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "ledger.db")
	for _, err := range []error{os.WriteFile(path, nil, 0o400), os.Chmod(folder, 0o555)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(folder, 0o755) }) //nolint:errcheck // the test is over
	asNobody(t)
	for _, path := range []string{path, filepath.Join(folder, "new.db"), filepath.Join(folder, "new", "ledger.db")} {
		_, err := ledger.Open(t.Context(), ledger.Config{Path: path})
		if err == nil || !strings.Contains(err.Error(), "permission denied; name another file with --ledger") {
			t.Errorf("%s: error %v, want \"permission denied\" and a hint at --ledger", path, err)
		}
	}
}

// TestAFileIsReadWhereItIs: only a file that an earlier version wrote, or whose log is not
// folded in, is copied.
func TestAFileIsReadWhereItIs(t *testing.T) {
	path, copies := filepath.Join(t.TempDir(), "ledger.db"), t.TempDir()
	l, err := ledger.Open(t.Context(), ledger.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", copies)
	l, err = ledger.Read(t.Context(), ledger.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it was only read
	if made, err := os.ReadDir(copies); err != nil || len(made) > 0 {
		t.Errorf("reading makes %v (%v), want no copy", made, err)
	}
}
