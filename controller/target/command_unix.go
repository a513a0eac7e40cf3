//go:build unix

package target

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the program into a process group of its own, which is killed
// as a whole when the context ends.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// endGroup kills what is left of the group after the program ended. Usually
// nothing is, which is no error.
func endGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}
