//go:build unix

package crashguard

import (
	"os"
	"os/exec"
	"syscall"
)

// apart keeps signals of a terminal to the server from the child.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// confine bounds this process for good.
func confine(job Job) error {
	// When memory is short, this process ends before the server. Not every system
	// supports that.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	for resource, most := range map[int]uint64{syscall.RLIMIT_DATA: job.Memory, syscall.RLIMIT_CPU: job.CPU, syscall.RLIMIT_CORE: 0} {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(resource, &now); err != nil {
			return err
		}
		now.Cur = min(most, now.Max)
		// The programs that it starts have their own limit for memory.
		if resource != syscall.RLIMIT_DATA {
			now.Max = now.Cur
		}
		if err := syscall.Setrlimit(resource, &now); err != nil {
			return err
		}
	}
	return nil
}
