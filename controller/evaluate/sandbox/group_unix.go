//go:build unix

package sandbox

import (
	"io/fs"
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

// occupied is what a file takes of the disk, which holes do not.
func occupied(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512 // whatever the file system's own blocks are
	}
	return info.Size()
}
