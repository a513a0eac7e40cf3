package run_test

import (
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// disk mounts a small disk of its own, where the test may do that.
func disk(t *testing.T, size string) (folder string, remount func(options string)) {
	t.Helper()
	folder = t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", folder).CombinedOutput(); err != nil {
		t.Skipf("no disk can be mounted: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return folder, func(options string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), "mount", "-o", "remount,"+options, folder).CombinedOutput(); err != nil {
			t.Fatalf("remount: %v: %s", err, out)
		}
	}
}

// TestAFullDisk has the disk run full in the middle.
func TestAFullDisk(t *testing.T) {
	t.Run("disk", func(t *testing.T) {
		folder, remount := disk(t, "1m")
		h := newHazard(folder)
		h.fails(t, "make room and run again")
		if n := len(h.asked); n == 0 || n == len(h.cases) {
			t.Fatalf("it was full after %d calls, so this tests nothing", n)
		}
		before := len(h.asked)
		h.fails(t, "make room") // still full
		if len(h.asked)-before > workers {
			t.Errorf("%d calls on a full disk", len(h.asked)-before)
		}
		remount("size=64m")
		h.recovers(t, len(h.cases)+2*workers)
	})
	// A limit for files is met where nothing can be mounted, too.
	t.Run("limit", func(t *testing.T) {
		signal.Ignore(syscall.SIGXFSZ)
		defer signal.Reset(syscall.SIGXFSZ)
		var before syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Fatal(err)
		}
		h := newHazard(t.TempDir())
		small := before
		small.Cur = 1 << 20
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
			t.Fatal(err)
		}
		_, err := h.run(t)
		if e := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); e != nil {
			t.Fatal(e)
		}
		if err == nil || !strings.Contains(err.Error(), "finished results are kept") {
			t.Fatalf("error %v", err)
		}
		h.recovers(t, len(h.cases)+workers)
	})
}

// TestAReadOnlyDisk has the ledger on a disk that cannot be written.
func TestAReadOnlyDisk(t *testing.T) {
	folder, remount := disk(t, "64m")
	h := newHazard(folder)
	all := h.cases
	h.cases = all[:20]
	h.recovers(t, 20)
	h.cases = all
	remount("ro")
	h.fails(t, "name another file with --ledger")
	if len(h.asked) != 20 {
		t.Errorf("%d calls whose replies cannot be kept", len(h.asked)-20)
	}
	remount("rw")
	h.recovers(t, len(h.cases))
}
