package store_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"
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
