//go:build unix

package sandbox

import (
	"io/fs"
	"os"
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
// nothing is, which is not an error.
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

// lock holds a folder for this process and those after it in which the file is
// open; it fails where another one does.
func lock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// isOwn reports whether a folder belongs to the user, or to root with no other writer.
func isOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	const nobody = 65534
	return ok && (int(stat.Uid) == os.Geteuid() || os.Geteuid() == 0 && stat.Uid == nobody)
}
