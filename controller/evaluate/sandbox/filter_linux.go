//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"
)

// The same on every architecture that has a filter.
const (
	sysIOUringSetup = 425
	sysClone3       = 435
	sysMemfdSecret  = 447
)

// What a filter answers, from linux/seccomp.h.
const (
	filterAllow = 0x7fff0000
	filterError = 0x00050000
)

// Where the filter finds what it looks at, from struct seccomp_data: number,
// architecture, instruction pointer, arguments.
const (
	atNumber = 0
	atArch   = 4
	atFlags  = 16     // the low half of the first argument
	atType   = 16 + 8 // the low half of the second argument
)

// newNamespaces are the flags of clone(2) that make namespaces: in one of its own
// a program has every capability.
const newNamespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUSER |
	syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | 0x2000000 // CLONE_NEWCGROUP

// refused lists the system calls that a program does not get. They are those
// that the rest of the sandbox does not see.
func refused(network bool) []uint32 {
	calls := []uint32{
		// It does what other calls do, past any filter.
		sysIOUringSetup,
		// Keys of the user are in none of the namespaces.
		syscall.SYS_ADD_KEY, syscall.SYS_REQUEST_KEY, syscall.SYS_KEYCTL,
		// Memory that is counted for no process.
		sysMemfdCreate, sysMemfdSecret, syscall.SYS_SHMGET, syscall.SYS_MSGGET, syscall.SYS_SEMGET,
		// Programs in the kernel, and views of what others do.
		sysBPF, syscall.SYS_PERF_EVENT_OPEN,
		// Namespaces of its own, or those of others.
		syscall.SYS_UNSHARE, sysSetns,
	}
	if network {
		return calls
	}
	// A socket with a path is reached from every network namespace.
	return append(calls, syscall.SYS_SOCKET, syscall.SYS_CONNECT, syscall.SYS_BIND)
}

// filter has the kernel refuse system calls with EPERM.
func (s *spec) filter() error {
	program := filterProgram(refused(s.Network), s.Network)
	arg := syscall.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetSeccomp, seccompFilter, uintptr(unsafe.Pointer(&arg)), 0, 0, 0)
	runtime.KeepAlive(program)
	if errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}

// filterProgram compiles the calls to refuse. Calls of another architecture,
// which have other numbers, are refused too.
func filterProgram(calls []uint32, network bool) []syscall.SockFilter {
	const (
		load  = syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS
		equal = syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K
		least = syscall.BPF_JMP | syscall.BPF_JGE | syscall.BPF_K
		and   = syscall.BPF_ALU | syscall.BPF_AND | syscall.BPF_K
		any   = syscall.BPF_JMP | syscall.BPF_JSET | syscall.BPF_K
		reply = syscall.BPF_RET | syscall.BPF_K
		// x32 numbers its calls from here on, under amd64's name.
		otherNumbers = 0x40000000
	)
	refuse := syscall.SockFilter{Code: reply, K: filterError | uint32(syscall.EPERM)}
	allow := syscall.SockFilter{Code: reply, K: filterAllow}
	program := []syscall.SockFilter{
		{Code: load, K: atArch},
		{Code: equal, K: filterArch, Jt: 1},
		refuse,
		{Code: load, K: atNumber},
		{Code: least, K: otherNumbers, Jf: 1},
		refuse,
	}
	for _, call := range calls {
		program = append(program, syscall.SockFilter{Code: equal, K: call, Jf: 1}, refuse)
	}
	program = append(program,
		// No filter sees the flags of this one. Callers that hear that there is
		// none call clone.
		syscall.SockFilter{Code: equal, K: sysClone3, Jf: 1},
		syscall.SockFilter{Code: reply, K: filterError | uint32(syscall.ENOSYS)},
		syscall.SockFilter{Code: equal, K: syscall.SYS_CLONE, Jf: 4},
		syscall.SockFilter{Code: load, K: atFlags},
		syscall.SockFilter{Code: any, K: newNamespaces, Jf: 1},
		refuse, allow)
	if network {
		return append(program, allow)
	}
	// Pairs of sockets connect a process with what it starts. Those of
	// datagrams could send to any address beside.
	return append(program,
		syscall.SockFilter{Code: equal, K: syscall.SYS_SOCKETPAIR, Jt: 1}, allow,
		syscall.SockFilter{Code: load, K: atType},
		syscall.SockFilter{Code: and, K: 0xf},
		syscall.SockFilter{Code: equal, K: syscall.SOCK_STREAM, Jt: 2},
		syscall.SockFilter{Code: equal, K: syscall.SOCK_SEQPACKET, Jt: 1},
		refuse, allow)
}

// canFilter reports whether the kernel takes filters: it looks at the program
// before it finds that there is none.
func canFilter() bool {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetSeccomp, seccompFilter, 0, 0, 0, 0)
	return filterArch != 0 && errno == syscall.EFAULT
}
