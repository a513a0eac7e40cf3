//go:build amd64 || arm64

package confine

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// ask has a filter look at a call, and gives its answer.
func ask(t *testing.T, program []syscall.SockFilter, arch, number uint32, args ...uint64) string {
	t.Helper()
	data := map[uint32]uint32{atNumber: number, atArch: arch}
	for i, arg := range args {
		data[uint32(16+8*i)], data[uint32(20+8*i)] = uint32(arg), uint32(arg>>32)
	}
	accumulator := uint32(0)
	for at := 0; at < len(program); at++ {
		switch in := program[at]; in.Code {
		case syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS:
			accumulator = data[in.K]
		case syscall.BPF_ALU | syscall.BPF_AND | syscall.BPF_K:
			accumulator &= in.K
		case syscall.BPF_RET | syscall.BPF_K:
			if in.K == filterAllow {
				return "allowed"
			}
			return syscall.Errno(in.K &^ filterError).Error()
		default:
			met, known := map[uint16]bool{
				syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K:  accumulator == in.K,
				syscall.BPF_JMP | syscall.BPF_JGE | syscall.BPF_K:  accumulator >= in.K,
				syscall.BPF_JMP | syscall.BPF_JSET | syscall.BPF_K: accumulator&in.K != 0,
			}[in.Code]
			if !known {
				t.Fatalf("instruction %d: %+v", at, in)
			}
			if at += int(in.Jf); met {
				at += int(in.Jt) - int(in.Jf)
			}
		}
	}
	t.Fatal("the filter has no end")
	return ""
}

// TestFilter asks the filter about calls that reach what the rest of the sandbox
// does not see, and about those that every program makes.
func TestFilter(t *testing.T) {
	const thread, fork = 0x3d0f00, 0x1200011 // what pthread_create and fork call clone with
	denied, missing := syscall.EPERM.Error(), syscall.ENOSYS.Error()
	for _, tt := range []struct {
		name   string
		number uint32
		args   []uint64
		want   string
		open   string // with the network, where that differs
		local  string // on loopback, where that differs
	}{
		{"msgget", syscall.SYS_MSGGET, nil, denied, "", ""},
		{"semget", syscall.SYS_SEMGET, nil, denied, "", ""},
		{"shmget", syscall.SYS_SHMGET, nil, denied, "", ""},
		{"bpf", unix.SYS_BPF, nil, denied, "", ""},
		{"perf_event_open", syscall.SYS_PERF_EVENT_OPEN, nil, denied, "", ""},
		{"unshare", syscall.SYS_UNSHARE, []uint64{syscall.CLONE_NEWUSER}, denied, "", ""},
		{"setns", unix.SYS_SETNS, nil, denied, "", ""},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, nil, denied, "", ""},
		{"clone3", unix.SYS_CLONE3, nil, missing, "", ""},
		{"a thread", syscall.SYS_CLONE, []uint64{thread}, "allowed", "", ""},
		{"a fork", syscall.SYS_CLONE, []uint64{fork}, "allowed", "", ""},
		{"a user namespace", syscall.SYS_CLONE, []uint64{fork | syscall.CLONE_NEWUSER}, denied, "", ""},
		{"a mount namespace", syscall.SYS_CLONE, []uint64{fork | syscall.CLONE_NEWNS}, denied, "", ""},
		{"a network namespace", syscall.SYS_CLONE, []uint64{fork | syscall.CLONE_NEWNET}, denied, "", ""},
		{"a process namespace", syscall.SYS_CLONE, []uint64{fork | syscall.CLONE_NEWPID}, denied, "", ""},
		{"a name namespace", syscall.SYS_CLONE, []uint64{fork | syscall.CLONE_NEWUTS}, denied, "", ""},
		{"an IPC namespace", syscall.SYS_CLONE, []uint64{fork | syscall.CLONE_NEWIPC}, denied, "", ""},
		{"a cgroup namespace", syscall.SYS_CLONE, []uint64{fork | 0x2000000}, denied, "", ""},
		{"flags above 32 bits", syscall.SYS_CLONE, []uint64{1<<32 | fork}, "allowed", "", ""},
		{"socket", syscall.SYS_SOCKET, []uint64{syscall.AF_INET, syscall.SOCK_STREAM | syscall.SOCK_CLOEXEC, 0}, denied, "allowed", "allowed"},
		{"a socket of TCP", syscall.SYS_SOCKET, []uint64{syscall.AF_INET, syscall.SOCK_STREAM, syscall.IPPROTO_TCP}, denied, "allowed", "allowed"},
		{"a socket of SCTP", syscall.SYS_SOCKET, []uint64{syscall.AF_INET, syscall.SOCK_STREAM, unix.IPPROTO_SCTP}, denied, "allowed", ""},
		{"a socket of datagrams", syscall.SYS_SOCKET, []uint64{syscall.AF_INET, syscall.SOCK_DGRAM, 0}, denied, "allowed", ""},
		{"a socket with a path", syscall.SYS_SOCKET, []uint64{syscall.AF_UNIX, syscall.SOCK_STREAM, 0}, denied, "allowed", ""},
		{"netlink", syscall.SYS_SOCKET, []uint64{syscall.AF_NETLINK, syscall.SOCK_RAW, 0}, denied, "allowed", ""},
		{"connect", syscall.SYS_CONNECT, nil, denied, "allowed", "allowed"},
		{"bind", syscall.SYS_BIND, nil, denied, "allowed", ""},
		{"a pair of streams", syscall.SYS_SOCKETPAIR, []uint64{syscall.AF_UNIX, syscall.SOCK_STREAM | syscall.SOCK_CLOEXEC}, "allowed", "", ""},
		{"a pair of datagrams", syscall.SYS_SOCKETPAIR, []uint64{syscall.AF_UNIX, syscall.SOCK_DGRAM}, denied, "allowed", ""},
		{"read", syscall.SYS_READ, []uint64{syscall.CLONE_NEWUSER}, "allowed", "", ""},
		{"numbers of another ABI", 0x40000000 | syscall.SYS_READ, nil, denied, "", ""},
	} {
		for _, profile := range []Profile{Program, Client, Loopback} {
			t.Run(fmt.Sprint(tt.name, " ", profile), func(t *testing.T) {
				want := tt.want
				switch {
				case profile == Client && tt.open != "":
					want = tt.open
				case profile == Loopback && tt.local != "":
					want = tt.local
				}
				program := profile.filter()
				if got := ask(t, program, filterArch, tt.number, tt.args...); got != want {
					t.Errorf("%s, want %s", got, want)
				}
				if got := ask(t, program, filterArch+1, tt.number, tt.args...); got != denied {
					t.Errorf("of another architecture it is %s", got)
				}
			})
		}
	}
}

// TestFilterOfComputation asks the filter of a process that computes.
func TestFilterOfComputation(t *testing.T) {
	const thread, fork = 0x3d0f00, 0x1200011 // what pthread_create and fork call clone with
	denied, missing := syscall.EPERM.Error(), syscall.ENOSYS.Error()
	self := uint64(os.Getpid())
	program := computation.filter()
	for _, tt := range []struct {
		name   string
		number uint32
		args   []uint64
		want   string
	}{
		{"read", unix.SYS_READ, nil, "allowed"},
		{"memory", unix.SYS_MMAP, nil, "allowed"},
		{"the end", unix.SYS_EXIT_GROUP, nil, "allowed"},
		{"a thread", unix.SYS_CLONE, []uint64{thread}, "allowed"},
		{"a fork", unix.SYS_CLONE, []uint64{fork}, denied},
		{"a thread in a namespace", unix.SYS_CLONE, []uint64{thread | unix.CLONE_NEWUSER}, denied},
		{"clone3", unix.SYS_CLONE3, nil, missing},
		{"openat", unix.SYS_OPENAT, nil, denied},
		{"openat2", unix.SYS_OPENAT2, nil, missing},
		{"statx", unix.SYS_STATX, nil, denied},
		{"fchmodat", unix.SYS_FCHMODAT, nil, denied},
		{"fchownat", unix.SYS_FCHOWNAT, nil, denied},
		{"execve", unix.SYS_EXECVE, nil, denied},
		{"execveat", unix.SYS_EXECVEAT, nil, denied},
		{"ptrace", unix.SYS_PTRACE, nil, denied},
		{"process_vm_readv", unix.SYS_PROCESS_VM_READV, nil, denied},
		{"socket", unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, denied},
		{"a pair of streams", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, denied},
		{"unshare", unix.SYS_UNSHARE, nil, denied},
		{"msgget", unix.SYS_MSGGET, nil, denied},
		{"bpf", unix.SYS_BPF, nil, denied},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, nil, missing},
		{"a signal to its own thread", unix.SYS_TGKILL, []uint64{self, self}, "allowed"},
		{"a signal to another process", unix.SYS_TGKILL, []uint64{self + 1, self + 1}, denied},
		{"kill", unix.SYS_KILL, []uint64{self}, denied},
		{"its own limits", unix.SYS_PRLIMIT64, []uint64{0}, "allowed"},
		{"the limits of another", unix.SYS_PRLIMIT64, []uint64{1}, denied},
		{"a call of the future", 4000, nil, missing},
		{"numbers of another ABI", 0x40000000 | unix.SYS_READ, nil, denied},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ask(t, program, filterArch, tt.number, tt.args...); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if got := ask(t, program, filterArch+1, tt.number, tt.args...); got != denied {
				t.Errorf("of another architecture it is %s", got)
			}
		})
	}
}
