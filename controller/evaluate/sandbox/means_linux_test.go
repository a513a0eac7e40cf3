package sandbox

import (
	"os"
	"os/exec"
	"syscall"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// kernelIsolates asks the kernel itself whether it has Landlock and lets us
// make a namespace of users with a network of its own.
func kernelIsolates() bool {
	if _, err := landlock.LandlockGetABIVersion(); err != nil {
		return false
	}
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	return cmd.Run() == nil
}
