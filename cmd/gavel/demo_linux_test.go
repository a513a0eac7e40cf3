package main

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestDemoWithoutASandbox has a machine that cannot isolate programs: root is its only user,
// as in a rootless container. The case that a program judges is refused, and the rest is
// as ever.
func TestDemoWithoutASandbox(t *testing.T) {
	cmd := program(t, "demo")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &stdout, &stderr
	cmd.Env = append(cmd.Env, "TMPDIR="+t.TempDir())
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("demo: %v, stderr %s", err, &stderr)
	}
	for _, want := range []string{
		"13 cases in four dialects are judged: 9 pass, 3 fail, 23 calls",
		"invoices#total was not judged: programs cannot be isolated on this machine",
		"1 invalid definition, 3 regressions (confirmed), 2 improvements, 1 flaky", "32 calls",
		"failed in 4 of 4 reruns here, passed 4 of 4 at base (p = 0.01 after all looks)",
		"failed once, then passed 5 of 5 reruns: as likely noise",
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the demo does not say %q:\n%s", want, &stdout)
		}
	}
}
