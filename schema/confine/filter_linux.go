//go:build amd64 || arm64

package confine

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The answers of a filter, from linux/seccomp.h.
const (
	filterAllow = unix.SECCOMP_RET_ALLOW
	filterError = unix.SECCOMP_RET_ERRNO
)

// Offsets of the filter's input in struct seccomp_data: number, architecture,
// instruction pointer, arguments.
const (
	atNumber = 0
	atArch   = 4
	atFirst  = 16     // the low half of the first argument
	atSecond = 16 + 8 // the low half of the second argument
	atThird  = 16 + 16
)

// newNamespaces are the flags of clone(2) that create namespaces: in its own namespace
// a program has every capability.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

// The instructions of filters.
const (
	load  = syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS
	equal = syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K
	least = syscall.BPF_JMP | syscall.BPF_JGE | syscall.BPF_K
	and   = syscall.BPF_ALU | syscall.BPF_AND | syscall.BPF_K
	set   = syscall.BPF_JMP | syscall.BPF_JSET | syscall.BPF_K
	reply = syscall.BPF_RET | syscall.BPF_K
)

var (
	allow  = syscall.SockFilter{Code: reply, K: filterAllow}
	refuse = syscall.SockFilter{Code: reply, K: filterError | uint32(syscall.EPERM)}
	// Callers that hear that there is no such call make an older one.
	unknown = syscall.SockFilter{Code: reply, K: filterError | uint32(syscall.ENOSYS)}
)

// CanFilter reports whether the kernel accepts filters: it checks the filter before it
// notices that there is none.
func CanFilter() bool {
	_, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, 0)
	return errno == syscall.EFAULT
}

// FilterThread makes the kernel refuse system calls of the calling thread, and of its
// children. The thread must have given up new privileges.
func (p Profile) FilterThread() error { return install(p.filter(), 0) }

// filterProcess makes the kernel refuse all calls of all threads that computing does
// not need. They give up new privileges if the calling thread did.
func filterProcess() error { return install(computation.filter(), unix.SECCOMP_FILTER_FLAG_TSYNC) }

func install(filter []syscall.SockFilter, flags uintptr) error {
	arg := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	thread, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&arg)))
	runtime.KeepAlive(filter)
	switch {
	case errno != 0:
		return fmt.Errorf("filter system calls: %w", errno)
	case thread != 0:
		return fmt.Errorf("filter system calls: thread %d has another filter", thread)
	}
	return nil
}

// filter compiles the refused calls of a profile. Calls of another architecture, which
// have other numbers, are refused too.
func (p Profile) filter() []syscall.SockFilter {
	// x32 numbers its calls from here on, under amd64's name.
	const otherNumbers = 0x40000000
	program := []syscall.SockFilter{
		{Code: load, K: atArch},
		{Code: equal, K: filterArch, Jt: 1},
		refuse,
		{Code: load, K: atNumber},
		{Code: least, K: otherNumbers, Jf: 1},
		refuse,
	}
	if p == computation {
		return append(program, computing(uint32(os.Getpid()))...)
	}
	return append(program, p.running()...)
}

// refused lists the system calls refused to a program. They bypass the rest of the
// sandbox.
func (p Profile) refused() []uint32 {
	calls := []uint32{
		// It executes other calls outside of any filter.
		unix.SYS_IO_URING_SETUP,
		// Keys of the user are in none of the namespaces.
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
		// Memory that is counted for no process.
		unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_SHMGET, unix.SYS_MSGGET, unix.SYS_SEMGET,
		// Programs in the kernel, and views of other processes.
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN,
		// New namespaces, and other processes' namespaces.
		unix.SYS_UNSHARE, unix.SYS_SETNS,
	}
	switch p {
	case Client, Listener:
		return calls
	case Loopback:
		return append(calls, unix.SYS_BIND)
	}
	// A socket with a path is reached from every network namespace.
	return append(calls, unix.SYS_SOCKET, unix.SYS_CONNECT, unix.SYS_BIND)
}

// streams compiles the one kind of socket that a program on loopback gets: TCP
// over IPv4. One with a path would reach other network namespaces.
var streams = []syscall.SockFilter{
	{Code: equal, K: unix.SYS_SOCKET, Jf: 10},
	{Code: load, K: atFirst},
	{Code: equal, K: unix.AF_INET, Jf: 7},
	{Code: load, K: atSecond},
	{Code: and, K: 0xf},
	{Code: equal, K: unix.SOCK_STREAM, Jf: 4},
	{Code: load, K: atThird},
	{Code: equal, K: 0, Jt: 1},
	{Code: equal, K: unix.IPPROTO_TCP, Jf: 1},
	allow,
	refuse,
}

// running compiles the calls that are refused to a program.
func (p Profile) running() (program []syscall.SockFilter) {
	for _, call := range p.refused() {
		program = append(program, syscall.SockFilter{Code: equal, K: call, Jf: 1}, refuse)
	}
	if p == Loopback || p == Listener {
		program = append(program, streams...)
	}
	program = append(program,
		// No filter sees the flags of this one.
		syscall.SockFilter{Code: equal, K: unix.SYS_CLONE3, Jf: 1}, unknown,
		syscall.SockFilter{Code: equal, K: unix.SYS_CLONE, Jf: 4},
		syscall.SockFilter{Code: load, K: atFirst},
		syscall.SockFilter{Code: set, K: newNamespaces, Jf: 1},
		refuse, allow)
	if p == Client {
		return append(program, allow)
	}
	// Pairs of sockets connect a process with its children. Datagram sockets could send
	// to any address.
	return append(program,
		syscall.SockFilter{Code: equal, K: unix.SYS_SOCKETPAIR, Jt: 1}, allow,
		syscall.SockFilter{Code: load, K: atSecond},
		syscall.SockFilter{Code: and, K: 0xf},
		syscall.SockFilter{Code: equal, K: unix.SOCK_STREAM, Jt: 2},
		syscall.SockFilter{Code: equal, K: unix.SOCK_SEQPACKET, Jt: 1},
		refuse, allow)
}
