//go:build amd64 || arm64

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

const attackArg = "sandbox-attack"

// A weapon has the means of an attack.
type weapon struct {
	bait
	Tree string `json:"tree"`
	// Datagram is the path of a Unix socket of datagrams.
	Datagram string `json:"datagram"`

	loopback *Loopback
}

// attacks are forbidden actions of programs; nil means that one succeeded.
func attacks() map[string]func(weapon) error {
	return map[string]func(weapon) error{
		"read a file":    func(w weapon) error { _, err := os.ReadFile(w.File); return err },
		"list a folder":  func(w weapon) error { _, err := os.ReadDir(w.Folder); return err },
		"write a file":   func(w weapon) error { return os.WriteFile(w.File, nil, 0o600) },
		"append":         func(w weapon) error { return closed(os.OpenFile(w.File, os.O_APPEND|os.O_WRONLY, 0)) },
		"cut off":        func(w weapon) error { return os.Truncate(w.File, 1) },
		"chmod":          func(w weapon) error { return os.Chmod(w.File, 0o666) },
		"change times":   func(w weapon) error { return syscall.Utimes(w.File, make([]syscall.Timeval, 2)) },
		"make a file":    func(w weapon) error { return os.WriteFile(w.Folder+"/new", nil, 0o600) },
		"make a folder":  func(w weapon) error { return os.Mkdir(w.Folder+"/folder", 0o700) },
		"make a link":    func(w weapon) error { return os.Symlink("/", w.Folder+"/link") },
		"make a socket":  func(w weapon) error { return closed(net.Listen("unix", w.Folder+"/socket")) },
		"rename":         func(w weapon) error { return os.Rename(w.File, w.Folder+"/renamed") },
		"delete":         func(w weapon) error { return os.Remove(w.File) },
		"write the tree": func(w weapon) error { return os.WriteFile(w.Tree+"/new", nil, 0o600) },
		"read environment of the parent": func(w weapon) error {
			_, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", w.Parent))
			return err
		},
		"read own environment": func(weapon) error { _, err := os.ReadFile("/proc/self/environ"); return err },
		"tcp":                  func(w weapon) error { return dial("tcp", w.TCP) },
		"udp":                  func(w weapon) error { return dial("udp", w.UDP) },
		"unix":                 func(w weapon) error { return dial("unix", w.Unix) },
		"abstract":             func(w weapon) error { return dial("unix", w.Abstract) },
		"datagram to a path":   func(w weapon) error { return dial("unixgram", w.Datagram) },
		"datagram from a pair": func(w weapon) error {
			pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			return syscall.Sendto(pair[0], []byte("x"), 0, &syscall.SockaddrUnix{Name: w.Datagram})
		},
		"listen": func(weapon) error { return closed(net.Listen("tcp", "127.0.0.1:0")) },
		"netlink": func(weapon) error {
			_, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW, 0)
			return err
		},
		"signal the parent": func(w weapon) error { return syscall.Kill(w.Parent, syscall.SIGCONT) },
		"shared memory": func(weapon) error {
			id, _, errno := syscall.Syscall(syscall.SYS_SHMGET, 0, 4096, 0o1600)
			if errno != 0 {
				return errno
			}
			_, _, errno = syscall.Syscall(syscall.SYS_SHMCTL, id, 0, 0)
			return succeeded(errno)
		},
		"message queue": func(weapon) error {
			id, _, errno := syscall.Syscall(syscall.SYS_MSGGET, 0, 0o1600, 0)
			if errno != 0 {
				return errno
			}
			_, _, errno = syscall.Syscall(syscall.SYS_MSGCTL, id, 0, 0)
			return succeeded(errno)
		},
		"semaphores": func(weapon) error {
			id, _, errno := syscall.Syscall(syscall.SYS_SEMGET, 0, 1, 0o1600)
			if errno != 0 {
				return errno
			}
			_, _, errno = syscall.Syscall6(syscall.SYS_SEMCTL, id, 0, 0, 0, 0, 0)
			return succeeded(errno)
		},
		"memory file": func(weapon) error {
			name := []byte("x\x00")
			fd, _, errno := syscall.Syscall(unix.SYS_MEMFD_CREATE, uintptr(unsafe.Pointer(&name[0])), 0, 0)
			if errno != 0 {
				return errno
			}
			return syscall.Close(int(fd))
		},
		"open files": func(weapon) error {
			for range 500 {
				f, err := os.Open(os.DevNull)
				if err != nil {
					return err
				}
				defer f.Close()
			}
			return nil
		},
	}
}

func succeeded(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// closed closes what should not have been opened.
func closed[C interface{ Close() error }](c C, err error) error {
	if err == nil {
		return c.Close()
	}
	return err
}

// serveAttack is the program that the tests run.
func serveAttack() bool {
	if len(os.Args) != 3 || os.Args[1] != attackArg {
		return false
	}
	var w weapon
	if err := json.NewDecoder(os.Stdin).Decode(&w); err != nil {
		os.Exit(3)
	}
	switch name := os.Args[2]; name {
	case "files that are open":
		for fd := 3; fd < 100; fd++ {
			var stat syscall.Stat_t
			// The runtime opens its own and marks them.
			flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
			if errno == 0 && flags&syscall.FD_CLOEXEC == 0 && syscall.Fstat(fd, &stat) == nil {
				fmt.Printf("%d ", fd)
			}
		}
	case "kill who waits":
		// Its parent is who started it, for whom numbers are the same.
		err := syscall.Kill(os.Getppid(), syscall.SIGKILL)
		fmt.Println("alive", err)
	case "calls for namespaces":
		_, _, unshare := syscall.Syscall(syscall.SYS_UNSHARE, syscall.CLONE_NEWUSER, 0, 0)
		_, _, clone := syscall.Syscall(syscall.SYS_CLONE, syscall.CLONE_NEWUSER|uintptr(syscall.SIGCHLD), 0, 0)
		if clone == 0 {
			os.Exit(0) // either of the two
		}
		_, _, clone3 := syscall.Syscall(unix.SYS_CLONE3, 0, 0, 0)
		fmt.Println(unshare == syscall.EPERM, clone == syscall.EPERM, clone3 == syscall.ENOSYS, exec.Command("/bin/true").Run())
	case "ask":
		fmt.Println(ask(os.Getenv("ASK_URL")))
	case "hang up":
		_, err := http.Get(os.Getenv("ASK_URL") + "/leave")
		fmt.Println(err)
	case "trace who waits":
		const seize = 0x4206
		_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, seize, uintptr(os.Getppid()), 0, 0, 0, 0)
		fmt.Println(errno)
	case "fill":
		fill(os.Getenv("FILL"))
	case "serve":
		serveAttacks(w)
	case "all":
		said := map[string]string{}
		for name, attack := range attacks() {
			said[name] = fmt.Sprint(attack(w))
		}
		if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
			os.Exit(3)
		}
	}
	end()
	return true
}

// attack runs one attack.
func attack(ctx context.Context, box *Box, w weapon, name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	in, err := json.Marshal(w)
	if err != nil {
		return "", err
	}
	var env []string
	if w.loopback != nil {
		env = []string{"ASK_URL=" + w.loopback.Address}
	}
	armed := *box
	armed.policy.Read = []string{self}
	out, err := armed.Run(ctx, Program{
		Argv: []string{self, attackArg, name}, Tree: w.Tree, Stdin: in, Env: env, Loopback: w.loopback,
		// Built with -race, a program reserves memory that it does not use.
		Limits: Limits{Memory: 1 << 50},
	})
	return strings.TrimSpace(string(out)), err
}

// armed lays out what attacks go for.
func armed(t *testing.T) weapon {
	t.Helper()
	dir := t.TempDir()
	b, closeAll, err := layBait(t.Context(), dir, false)
	t.Cleanup(closeAll)
	if err != nil {
		t.Fatal(err)
	}
	w := weapon{bait: b, Tree: filepath.Join(dir, "tree"), Datagram: filepath.Join(dir, "d")}
	server, err := net.ListenPacket("unixgram", w.Datagram)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	if err := os.Chmod(w.Datagram, 0o777); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestAttacks runs every attack in a sandbox, where it must fail, and here,
// where it must not: else it would prove nothing.
func TestAttacks(t *testing.T) {
	out, err := attack(t.Context(), isolated(t), armed(t), "all")
	said := map[string]string{}
	if err := errors.Join(err, json.Unmarshal([]byte(out), &said)); err != nil {
		t.Fatal(err)
	}
	for name, attack := range attacks() {
		t.Run(name, func(t *testing.T) {
			if said[name] == "<nil>" || said[name] == "" {
				t.Error("it succeeded in the sandbox")
			}
			if err := attack(armed(t)); err != nil {
				t.Errorf("without a sandbox: %v", err)
			}
		})
	}
}

func TestAttacksOnSupervisor(t *testing.T) {
	for name, box := range boxes(t) {
		t.Run(name, func(t *testing.T) {
			w := armed(t)
			if said, err := attack(t.Context(), box, w, "files that are open"); err != nil || said != "" {
				t.Errorf("open files: %s, %v", said, err)
			}
			if said, err := attack(t.Context(), box, w, "trace who waits"); err != nil || said != "operation not permitted" {
				t.Errorf("ptrace: %s, %v", said, err)
			}
			if said, err := attack(t.Context(), box, w, "calls for namespaces"); err != nil || said != "true true true <nil>" {
				t.Errorf("namespaces: %s, %v", said, err)
			}
			if said, err := attack(t.Context(), box, w, "kill who waits"); err != nil || !strings.HasPrefix(said, "alive") {
				t.Errorf("kill: %s, %v", said, err)
			}
		})
	}
}

// boxes are the sandbox with namespaces and the one without.
func boxes(t *testing.T) map[string]*Box {
	t.Helper()
	box := isolated(t)
	without := *box
	without.mode, without.means.Namespaces = Partial, false
	return map[string]*Box{"isolated": box, "without namespaces": &without}
}

// TestNothingOutlives starts processes that leave their group, session and
// parent, and looks whether they are still there.
func TestNothingOutlives(t *testing.T) {
	for name, box := range boxes(t) {
		for i, script := range []string{
			`sleep %s & echo done`,
			`(setsid sleep %s >/dev/null 2>&1 &) & echo done`,
			`setsid sh -c 'trap "" TERM HUP INT; (setsid sleep %s & ) & wait' & echo done`,
			`nohup sh -c 'while :; do sleep %s; done' >/dev/null 2>&1 & echo done`,
			`setsid sleep %s & wait`, // until the time is over
		} {
			t.Run(fmt.Sprintf("%s %d", name, i), func(t *testing.T) {
				mark := fmt.Sprintf("3600.%d%d", os.Getpid(), i)
				limits := Limits{}
				if strings.Contains(script, "wait") && !strings.Contains(script, "echo") {
					limits.Time = 300e6
				}
				_, err := shell(t.Context(), t, box, fmt.Sprintf(script, mark), limits)
				if (err != nil) != (limits.Time != 0) {
					t.Error(err)
				}
				if left := withArgument(t, mark); len(left) > 0 {
					t.Errorf("processes %v are left", left)
				}
			})
		}
	}
}

// withArgument lists the processes that have an argument.
func withArgument(t *testing.T, arg string) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(line), arg) && !strings.Contains(string(line), "setsid\x00sh") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			found = append(found, pid)
		}
	}
	return found
}

func TestCancelled(t *testing.T) {
	for name, box := range boxes(t) {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			tree := t.TempDir()
			out := make(chan error, 1)
			go func() {
				_, err := box.Run(ctx, Program{Argv: []string{"sh", "-c", "setsid sleep 3601 & wait"}, Tree: tree})
				out <- err
			}()
			for len(withArgument(t, "3601")) == 0 {
				if t.Context().Err() != nil {
					t.Fatal("the program did not start")
				}
			}
			cancel()
			if err := <-out; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if left := withArgument(t, "3601"); len(left) > 0 {
				t.Errorf("processes %v are left", left)
			}
		})
	}
}

// TestLimits has programs that want too much. How they are stopped depends on
// who is faster, the kernel or we.
func TestLimits(t *testing.T) {
	small := Limits{Memory: 48 << 20, Processes: 24, Disk: 1 << 20, Files: 50, Output: 1 << 20, Time: 60e9}
	for name, box := range boxes(t) {
		for _, tt := range []struct {
			name, script string
			want         []string
		}{
			{"time", `while :; do :; done`, []string{"it timed out after 300ms"}},
			{"output", `yes`, []string{"stdout is longer than 1 MiB"}},
			{"one large file", `head -c 100000000 /dev/zero >"$HOME/f" && echo kept`, []string{"No space left", "File size limit", "exit status 153", "file size limit", "wrote more than"}},
			{"some large files", `for i in 1 2 3 4 5; do head -c 900000 /dev/zero >"$HOME/$i" || exit 1; done; sleep 60`, []string{"No space left", "it wrote more than 1 MiB into its scratch folder"}},
			{"many small files", `i=0; while [ $i -lt 500 ]; do : >"$HOME/$i" || exit 1; i=$((i+1)); done; sleep 60`, []string{"No space left", "there are more than 50 files"}},
			{"many folders", `i=0; while [ $i -lt 500 ]; do mkdir "$HOME/$i" || exit 1; i=$((i+1)); done; sleep 60`, []string{"No space left", "there are more than 50 files"}},
			{"memory", `head -c 1000000000 /dev/zero | tail | wc -c; sleep 60`, []string{"it used more than 48 MiB of memory", "memory exhausted"}},
			{"memory of several", `for i in 1 2 3 4; do (head -c 20000000 /dev/zero; sleep 60) | tail & done; wait`, []string{"it used more than 48 MiB of memory"}},
			{"processes", `for i in $(seq 100); do sleep 60 & done; wait`, []string{"it had more than 24 processes", "fork"}},
		} {
			t.Run(name+" "+tt.name, func(t *testing.T) {
				limits := small
				if tt.name == "time" {
					limits.Time = 300e6
				}
				out, err := shell(t.Context(), t, box, tt.script, limits)
				if err == nil || !slices.ContainsFunc(tt.want, func(want string) bool { return strings.Contains(err.Error(), want) }) {
					t.Errorf("got %.80q, %v", out, err)
				}
			})
		}
	}
}

// TestDeletedFiles fills the disk with files that have no name any more.
func TestDeletedFiles(t *testing.T) {
	script := `for fd in 3 4 5 6; do eval "exec $fd>\"\$HOME/f\""; rm "$HOME/f"; eval "head -c 900000 /dev/zero >&$fd" || exit 1; done`
	if _, err := shell(t.Context(), t, isolated(t), script, Limits{Disk: 1 << 20}); err == nil || !strings.Contains(err.Error(), "No space left") {
		t.Errorf("error %v, want no space left", err)
	}
}

// TestNetwork allows the network and nothing else.
func TestNetwork(t *testing.T) {
	box := isolated(t)
	open, err := Open(t.Context(), Policy{Network: true, Scratch: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if open.Mode() != box.Mode() {
		t.Errorf("mode %s, missing %v", open.Mode(), open.Missing())
	}
	out, err := attack(t.Context(), open, armed(t), "all")
	said := map[string]string{}
	if err := errors.Join(err, json.Unmarshal([]byte(out), &said)); err != nil {
		t.Fatal(err)
	}
	for name := range attacks() {
		network := slices.Contains([]string{"tcp", "udp", "unix", "abstract", "datagram to a path", "datagram from a pair", "listen", "netlink"}, name)
		if network != (said[name] == "<nil>") {
			t.Errorf("%s: %s, want <nil> only where the network is open", name, said[name])
		}
	}
}

// TestCanary names the open ways if means are missing.
func TestCanary(t *testing.T) {
	box := isolated(t)
	for _, tt := range []struct {
		name  string
		means means
		want  []string
	}{
		{"all", box.means, nil},
		{"no filter", means{Namespaces: true, Landlock: box.means.Landlock}, []string{"Unix sockets can be reached"}},
		{"no Landlock", means{Namespaces: true, Filter: true}, []string{"other files can be read"}},
		{"no namespaces", means{Landlock: box.means.Landlock, Filter: true}, []string{"modes of other files can be changed"}},
		{"nothing", means{}, []string{
			"other files can be read", "other files can be written", "other files can be cut off", "modes of other files can be changed",
			"files can be made elsewhere", "TCP can be reached", "UDP can be reached", "Unix sockets can be reached",
			"abstract Unix sockets can be reached", "other processes can be signalled",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			scratch := t.TempDir()
			got, err := tryOut(t.Context(), tt.means, Policy{Scratch: scratch})
			if err != nil {
				t.Fatal(err)
			}
			// A path may be too long for the address of a socket.
			long := filepath.Join(scratch, strings.Repeat("l", 120))
			if err := os.Mkdir(long, 0o777); err != nil {
				t.Fatal(err)
			}
			if again, err := tryOut(t.Context(), tt.means, Policy{Scratch: long}); err != nil || !slices.Equal(again, got) {
				t.Errorf("in a folder with a long path: %q, %v; want %q", again, err, got)
			}
			if strings.HasPrefix(tt.name, "no") && os.Geteuid() == 0 {
				// Nobody has no right to what belongs to root in any case.
				tt.want = slices.DeleteFunc(tt.want, func(what string) bool {
					return strings.HasPrefix(what, "other processes")
				})
			}
			if tt.name == "no filter" && box.means.Landlock >= 9 {
				tt.want = nil
			}
			// An older kernel leaves more open.
			missed := slices.ContainsFunc(tt.want, func(what string) bool { return !slices.Contains(got, what) })
			if missed || tt.want == nil && len(got) > 0 {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
