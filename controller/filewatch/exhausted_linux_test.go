package filewatch

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// exhausted names what a process of TestAbuseNoInotifyInstance is without.
const exhausted = "GAVEL_TEST_WITHOUT"

// TestAbuseNoInotifyInstance watches in processes that get no inotify
// instance: from a user who has none left, or since no descriptor is left.
func TestAbuseNoInotifyInstance(t *testing.T) {
	if lack := os.Getenv(exhausted); lack != "" {
		withoutInstance(t, lack)
		return
	}
	for _, tt := range []struct {
		name string
		attr *syscall.SysProcAttr
	}{
		{"instances", &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}},
		{"descriptors", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAbuseNoInotifyInstance$", "-test.v")
			cmd.Env = append(os.Environ(), exhausted+"="+tt.name)
			cmd.SysProcAttr = tt.attr
			out, err := cmd.CombinedOutput()
			if len(out) == 0 && err != nil && tt.attr != nil {
				t.Skipf("there are no user namespaces here: %v", err)
			}
			if err != nil || !strings.Contains(string(out), "--- PASS: TestAbuseNoInotifyInstance") {
				t.Errorf("the child ended with %v, want it to pass:\n%s", err, out)
			}
		})
	}
}

// withoutInstance uses up what an instance takes, and watches.
func withoutInstance(t *testing.T, lack string) {
	root := t.TempDir()
	write(t, root, "defs/a.json")
	switch lack {
	case "instances":
		const limit = "/proc/sys/user/max_inotify_instances" // of this namespace
		if err := os.WriteFile(limit, []byte("0"), 0o600); err != nil {
			t.Fatal(err)
		}
	case "descriptors":
		fd, err := syscall.Dup(0) // the next one that is free
		if err != nil {
			t.Fatal(err)
		}
		syscall.Close(fd) //nolint:errcheck // it was only asked for
		var usual syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &usual); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Setrlimit(syscall.RLIMIT_NOFILE, &usual) }) //nolint:errcheck // the process ends
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: uint64(fd), Max: usual.Max}); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w, err := Open(Config{Root: root, Paths: []string{"defs"}})
		if err != nil {
			t.Fatal(err)
		}
		const want = "too many open files) and are looked at every 2s; raise fs.inotify.max_user_instances, or the limit of open files, to have them watched"
		if !strings.HasPrefix(w.Notice(), "files cannot be watched (") || !strings.HasSuffix(w.Notice(), want) {
			t.Errorf("notice %q, want %q", w.Notice(), want)
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if hint, err := w.Next(ctx); err != nil || !hint.All || time.Since(start) != 2*time.Second {
			t.Errorf("%+v after %s: %v", hint, time.Since(start), err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}
