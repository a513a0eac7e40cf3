//go:build amd64 || arm64

package confine

import (
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// firstOfBoth is the number from which all architectures share their numbers, since
// Linux 5.1. Runtimes and C libraries do not need newer calls.
const firstOfBoth = unix.SYS_PIDFD_SEND_SIGNAL

// needed lists the calls of a computing process: the ones of Go's runtime, of its race
// detector, and of the threads of C libraries.
var needed = slices.Concat([]uint32{
	// Open files.
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_CLOSE, unix.SYS_FSTAT,
	unix.SYS_LSEEK, unix.SYS_FCNTL, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_PPOLL,
	// Memory.
	unix.SYS_BRK, unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MINCORE,
	unix.SYS_MEMBARRIER,
	// Threads, and the end of them.
	unix.SYS_FUTEX, unix.SYS_SET_ROBUST_LIST, unix.SYS_SET_TID_ADDRESS, unix.SYS_RSEQ, unix.SYS_SCHED_YIELD,
	unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETCPU, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	// Signals to itself.
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	// Time and chance.
	unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP,
	unix.SYS_SETITIMER, unix.SYS_GETRANDOM,
	// The process itself.
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETPPID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID,
	unix.SYS_GETRUSAGE, unix.SYS_GETRLIMIT, unix.SYS_SYSINFO, unix.SYS_UNAME,
}, neededHere)

// computing compiles the allowed calls of a computing process; pid is its own.
func computing(pid uint32) []syscall.SockFilter {
	program := []syscall.SockFilter{{Code: least, K: firstOfBoth, Jf: 1}, unknown}
	for _, call := range needed {
		program = append(program, syscall.SockFilter{Code: equal, K: call, Jf: 1}, allow)
	}
	// Some are only for this process.
	for _, own := range []struct{ call, process uint32 }{{unix.SYS_TGKILL, pid}, {unix.SYS_PRLIMIT64, 0}} {
		program = append(program,
			syscall.SockFilter{Code: equal, K: own.call, Jf: 4},
			syscall.SockFilter{Code: load, K: atFirst},
			syscall.SockFilter{Code: equal, K: own.process, Jf: 1},
			allow, refuse)
	}
	return append(program,
		syscall.SockFilter{Code: equal, K: unix.SYS_CLONE, Jf: 4},
		syscall.SockFilter{Code: load, K: atFirst},
		syscall.SockFilter{Code: set, K: unix.CLONE_THREAD, Jf: 2},
		syscall.SockFilter{Code: set, K: newNamespaces, Jt: 1},
		allow, refuse)
}
