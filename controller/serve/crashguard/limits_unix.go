//go:build unix

package crashguard

import (
	"os"
	"os/exec"
	"syscall"
)

// apart keeps what a terminal sends to the server from the child.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// confine bounds this process for good.
func confine(job Job) error {
	// Where memory is short, this process goes and not the server. Not every
	// system knows that.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	for resource, most := range map[int]uint64{syscall.RLIMIT_DATA: job.Memory, syscall.RLIMIT_CPU: job.CPU, syscall.RLIMIT_CORE: 0} {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(resource, &now); err != nil {
			return err
		}
		now.Cur = min(most, now.Max)
		// The programs that it starts have a limit of their own for memory.
		if resource != syscall.RLIMIT_DATA {
			now.Max = now.Cur
		}
		if err := syscall.Setrlimit(resource, &now); err != nil {
			return err
		}
	}
	return nil
}
