//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestAbuseOneUser opens a sandbox with root as the only user, as in a rootless
// container: the missing means are named.
func TestAbuseOneUser(t *testing.T) {
	const inside = "GAVEL_TEST_ALONE"
	if os.Getenv(inside) != "" {
		_, err := Open(t.Context(), Policy{Scratch: t.TempDir()})
		var unavailable *Unavailable
		if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "root is the only user here") || !strings.Contains(err.Error(), "65536 users and groups") {
			t.Errorf("it says %v", err)
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestAbuseOneUser$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if len(out) == 0 && err != nil {
		t.Skipf("there are no user namespaces here: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: TestAbuseOneUser") {
		t.Errorf("the child ended with %v, want it to pass:\n%s", err, out)
	}
}
