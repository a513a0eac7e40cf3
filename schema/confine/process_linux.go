package confine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Process restricts this process to its memory, its threads, the clock and its open
// descriptors. From then on the kernel refuses all its threads:
//
//   - every new descriptor: files, folders, sockets, pipes, events;
//   - every look at a path, and every change to one: stat, chmod, chown, rename;
//   - execve, execveat and every clone that is not a thread of this process;
//   - ptrace, the memory of other processes, and signals to them;
//   - namespaces, mounts, keys, shared memory, message queues, semaphores, bpf,
//     perf_event_open and io_uring;
//   - everything else that is not on the list of calls needed for computing, and all
//     calls that came with or after Linux 5.1.
//
// Privileges cannot be regained, and no core is dumped.
//
// The error names the restrictions that the machine does not support; the supported
// ones are then active too, and the process can continue. Timers and heap memory work
// as before. The process must read its files before.
func Process() error {
	// Go's runtime opens two descriptors for its first timer, and ends the process if
	// it gets none.
	time.AfterFunc(time.Hour, func() {}).Stop()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err != nil {
		err = fmt.Errorf("give up new privileges: %w", err)
	}
	// Each step needs calls that the next one refuses.
	return errors.Join(err, restrictFiles(), openNothing(), filterProcess())
}

// openNothing refuses new descriptors, without any newer means of the kernel.
func openNothing() error {
	for _, resource := range []int{syscall.RLIMIT_NOFILE, syscall.RLIMIT_CORE} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{}); err != nil {
			return fmt.Errorf("set limit %d: %w", resource, err)
		}
	}
	return nil
}

// restrictFiles puts all threads under Landlock rules that allow nothing, or no more
// than to list them.
func restrictFiles() error {
	abi, err := landlock.LandlockGetABIVersion()
	if err != nil {
		return fmt.Errorf("restrict files: %w", err)
	}
	rules, err := landlock.LandlockCreateRuleset(computation.Ruleset(abi), 0)
	if err != nil {
		return fmt.Errorf("restrict files: %w", err)
	}
	defer syscall.Close(rules) //nolint:errcheck // it is in force or of no use
	if err := restrictThreads(abi, rules); err != nil {
		return fmt.Errorf("restrict files: %w", err)
	}
	return nil
}

// restrictThreads puts rules in force for all threads.
func restrictThreads(abi, rules int) error {
	const firstForAll = 8
	if abi >= firstForAll {
		err := landlock.LandlockRestrictSelf(rules, landlock.FlagRestrictSelfTSync)
		if err == nil {
			return nil
		}
	}
	// The library signals each thread in /proc after its own thread is restricted. If
	// it finds none, it ends the process; if /proc belongs to another PID namespace, it
	// never ends.
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return errors.New("/proc does not have the threads of this process")
	}
	if err := allowThreads(rules); err != nil {
		return err
	}
	if err := landlock.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return landlock.AllThreadsLandlockRestrictSelf(rules, 0)
}

// allowThreads adds a rule that allows listing this process's threads.
func allowThreads(rules int) error {
	fd, err := unix.Open("/proc/self/task", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing was written to it
	return landlock.LandlockAddPathBeneathRule(rules, &landlock.PathBeneathAttr{AllowedAccess: landlock.AccessFSReadDir, ParentFd: fd}, 0)
}
