//go:build unix

package sandbox

import (
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup starts the program in a new process group, which is killed as a whole when
// the context ends.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// endGroup kills the rest of the group after the program ended. It usually has no rest,
// which is not an error.
func endGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}

// occupied returns a file's space on the disk, which excludes holes.
func occupied(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512 // independent of the file system's block size
	}
	return info.Size()
}

// lock locks a folder for this process and for later ones that inherit the file. It
// fails if another process holds it.
func lock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// isOwn reports whether a folder belongs to the user or, for root, to the user that
// runs root's programs.
func isOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	const nobody = 65534
	return ok && (int(stat.Uid) == os.Geteuid() || os.Geteuid() == 0 && stat.Uid == nobody)
}
