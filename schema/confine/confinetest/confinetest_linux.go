//go:build amd64 || arm64

// Package confinetest looks at a process that may do nothing but compute.
package confinetest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An Attempt is something that reaches out of a process. Do gives no error where
// it did.
type Attempt struct {
	Name string
	Do   func() error
}

// call makes a system call without a wrapper, which may make another one.
func call(number uintptr, args ...uintptr) func() error {
	return func() error {
		args = append(args, 0, 0, 0, 0, 0, 0)
		if _, _, errno := syscall.RawSyscall6(number, args[0], args[1], args[2], args[3], args[4], args[5]); errno != 0 {
			return errno
		}
		return nil
	}
}

// Attempts are those that work in an ordinary process, on a file and in a folder
// that can be written. They change nothing that matters.
func Attempts(file, folder string) []Attempt {
	// Calls that are let through find out that there is nothing at this address,
	// and under this key.
	const nowhere, key = 1, 0x67617665
	attr := &unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK}
	return []Attempt{
		{"read a file", func() error { _, err := os.ReadFile(file); return err }},
		{"write a file", func() error { return os.WriteFile(file, []byte("x"), 0o600) }},
		{"read a folder", func() error { _, err := os.ReadDir(folder); return err }},
		{"look at a path", func() error { _, err := os.Stat(file); return err }},
		{"make a folder", func() error { return os.Mkdir(folder+"/made", 0o700) }},
		{"change a mode", func() error { return os.Chmod(file, 0o640) }},
		{"change an owner", func() error { return os.Chown(file, os.Getuid(), os.Getgid()) }},
		{"rename a file", func() error { return os.Rename(file, file+".old") }},
		{"cut a file off", func() error { return os.Truncate(file, 0) }},
		{"make a pipe", func() error { return unix.Pipe2(make([]int, 2), 0) }},
		{"listen", func() error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err }},
		{"make a Unix socket", func() error { _, err := net.Listen("unix", folder+"/socket"); return err }},
		{"make a socket", func() error { _, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0); return err }},
		{"make a pair of sockets", func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err }},
		{"start a program", func() error {
			_, err := syscall.ForkExec("/bin/true", []string{"true"}, nil)
			return err
		}},
		{"become another program", call(unix.SYS_EXECVE, nowhere)},
		{"become an open program", call(unix.SYS_EXECVEAT, nowhere, nowhere)},
		{"trace a process", call(unix.SYS_PTRACE, unix.PTRACE_PEEKTEXT)},
		{"signal another process", func() error { return syscall.Kill(os.Getppid(), 0) }},
		{"make a namespace", func() error { return unix.Unshare(unix.CLONE_NEWUSER) }},
		{"have keys", call(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(0))},
		{"look for a message queue", call(unix.SYS_MSGGET, key)},
		{"look for semaphores", call(unix.SYS_SEMGET, key)},
		{"look for shared memory", call(unix.SYS_SHMGET, key)},
		{"make a file of memory", func() error { _, err := unix.MemfdCreate("x", 0); return err }},
		{"measure", func() error { _, err := unix.PerfEventOpen(attr, 0, -1, -1, 0); return err }},
		{"load a program into the kernel", call(unix.SYS_BPF)},
		{"have a ring of calls", call(unix.SYS_IO_URING_SETUP, 1)},
	}
}

// Reached makes the attempts from the first thread of the process and from others, and
// returns those that the kernel did not refuse, with their results. An error that is
// not a refusal counts as none: the call itself was let through.
func Reached(file, folder string) []string {
	found := make(chan []string)
	const threads = 4
	for range threads {
		go func() {
			runtime.LockOSThread() // and never unlocked: the others get other threads
			found <- reached(file, folder)
			time.Sleep(time.Hour)
		}()
	}
	all := reached(file, folder)
	for range threads {
		all = append(all, <-found...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func reached(file, folder string) (open []string) {
	for _, a := range Attempts(file, folder) {
		err := a.Do()
		refused := errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EMFILE)
		if !refused {
			open = append(open, fmt.Sprintf("%s: %v", a.Name, err))
		}
	}
	return open
}

// WithoutMeans makes this process, and all that it starts, find a kernel that has
// neither Landlock nor filters of system calls. It panics where that cannot be.
func WithoutMeans() {
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
	for _, missing := range []uint32{unix.SYS_SECCOMP, unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_RESTRICT_SELF} {
		program = append(program,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: missing, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
	}
	program = append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		arg := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
		err = call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&arg)))()
		runtime.KeepAlive(program)
	}
	if err != nil {
		panic(fmt.Errorf("be without filters: %w", err))
	}
	if err := call(unix.SYS_SECCOMP)(); !errors.Is(err, unix.ENOSYS) {
		panic(fmt.Errorf("filters are still there: %v", err))
	}
}
