//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/gavel-evals/gavel/schema/confine"
)

const canaryArg = "sandbox-canary"

// means are this machine's means to restrict programs.
type means struct {
	// Namespaces means that programs get new namespaces for users, processes, mounts,
	// IPC and the network.
	Namespaces bool `json:"namespaces"`
	// Landlock is the version of its interface, or 0 without Landlock.
	Landlock int `json:"landlock"`
	// Filter means that system calls can be refused.
	Filter bool `json:"filter"`
}

// A bait is a set of things that the canary tries to reach.
type bait struct {
	// File and Folder are outside of its readable files.
	File   string `json:"file"`
	Folder string `json:"folder"`
	// The addresses of servers of each kind; empty if the network is open.
	TCP      string `json:"tcp"`
	UDP      string `json:"udp"`
	Unix     string `json:"unix"`
	Abstract string `json:"abstract"`
	// Parent is the process that waits for it, or 0 if process numbers differ in its
	// namespace.
	Parent int `json:"parent"`
}

// probe determines which restrictions work here and what stays open.
func probe(ctx context.Context, policy Policy) (means, []string) {
	version, err := landlock.LandlockGetABIVersion()
	if err != nil {
		version = 0
	}
	if why := alone(); why != "" {
		return means{}, []string{why}
	}
	m := means{Namespaces: true, Landlock: version, Filter: confine.CanFilter()}
	open, err := tryOut(ctx, m, policy)
	if err != nil && ctx.Err() == nil {
		refused := err
		m.Namespaces = false
		if open, err = tryOut(ctx, m, policy); err == nil {
			open = append(open, noNamespaces(refused))
		}
	}
	if err != nil {
		return means{}, []string{"trying it out: " + err.Error()}
	}
	if _, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children"); err != nil {
		open = append(open, "the kernel does not tell what processes a program starts")
	}
	return m, open
}

// alone returns the reason why root cannot run programs as another user; empty if it
// can, or need not.
func alone() string {
	if os.Geteuid() != 0 || mapped("/proc/self/uid_map", nobody) && mapped("/proc/self/gid_map", nobody) {
		return ""
	}
	return fmt.Sprintf("root is the only user here, as in a rootless container, and programs are run as user %d: "+
		"give the container a range of 65536 users and groups, or run gavel as another user", nobody)
}

// mapped reports whether an id is mapped in this user namespace. An unreadable file
// counts as mapped.
func mapped(file string, id int) bool {
	list, err := os.ReadFile(file)
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(list)) {
		var first, outside, size int
		if n, _ := fmt.Sscan(line, &first, &outside, &size); n == 3 && id >= first && id-first < size {
			return true
		}
	}
	return false
}

// noNamespaces describes the missing namespaces and possible repairs.
func noNamespaces(refused error) string {
	text := fmt.Sprintf("there are no namespaces of its own (%v), so a file that is deleted while it is open is not limited", refused)
	if set, err := os.ReadFile("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"); err == nil && bytes.HasPrefix(set, []byte("1")) {
		text += "; sysctl kernel.apparmor_restrict_unprivileged_userns=0 allows them"
	}
	return text
}

// tryOut runs the canary under the given means and returns what it reached.
func tryOut(ctx context.Context, m means, policy Policy) ([]string, error) {
	folder, err := NewFolder(policy.Scratch, "canary")
	if err != nil {
		return nil, err
	}
	defer folder.Remove() //nolint:errcheck // it holds only the bait
	dir := folder.Path
	b, closeAll, err := layBait(ctx, dir, policy.Network)
	defer closeAll()
	if err != nil {
		return nil, err
	}
	if m.Namespaces {
		b.Parent = 0
	}
	in, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	box := &Box{mode: Partial, means: m, policy: Policy{Read: []string{self}, Network: policy.Network, Scratch: policy.Scratch}}
	out, err := box.Run(ctx, Program{
		Argv: []string{self, canaryArg}, Tree: filepath.Join(dir, "tree"), Stdin: in,
		Env: []string{childEnv + "=1"},
		// Built with -race, a program reserves memory that it does not use.
		Limits: Limits{Time: 30 * time.Second, Memory: 1 << 50},
	})
	if err != nil {
		return nil, err
	}
	var open []string
	if err := json.Unmarshal(out, &open); err != nil {
		return nil, fmt.Errorf("the canary said %.100q: %w", out, err)
	}
	return open, nil
}

// layBait creates the things that the canary tries to reach. They are open to every
// user, since a program may run as another user than its caller.
func layBait(ctx context.Context, dir string, network bool) (b bait, closeAll func(), err error) {
	b = bait{File: filepath.Join(dir, "file"), Folder: dir, Parent: os.Getpid()}
	var servers []interface{ Close() error }
	closeAll = func() {
		for _, s := range servers {
			_ = s.Close() // nothing of value was sent to it
		}
	}
	err = errors.Join(os.WriteFile(b.File, []byte("bait"), 0o600), os.Chmod(b.File, 0o666),
		os.Mkdir(filepath.Join(dir, "tree"), 0o755), os.Chmod(dir, 0o777))
	if os.Geteuid() == 0 {
		err = errors.Join(err, os.Chown(b.File, nobody, nobody))
	}
	if err != nil || network {
		return b, closeAll, err
	}
	var listen net.ListenConfig
	for _, s := range []struct {
		network, address string
		at               *string
	}{
		{"tcp", "127.0.0.1:0", &b.TCP},
		{"unix", filepath.Join(dir, "tree", "s"), &b.Unix},
		{"unix", "@gavel-canary-" + strconv.Itoa(os.Getpid()) + "-" + filepath.Base(dir), &b.Abstract},
	} {
		server, err := listenAt(ctx, listen, s.network, s.address)
		if err != nil {
			return b, closeAll, err
		}
		servers = append(servers, server)
		*s.at = s.address
		if s.network == "tcp" {
			*s.at = server.Addr().String()
		}
	}
	server, err := listen.ListenPacket(ctx, "udp", "127.0.0.1:0")
	if err != nil {
		return b, closeAll, err
	}
	servers = append(servers, server)
	b.UDP = server.LocalAddr().String()
	return b, closeAll, os.Chmod(b.Unix, 0o777)
}

// maxSocketPath is the length in bytes of the longest path in a Unix socket's address.
const maxSocketPath = 107

// listenAt listens at an address. The path of a temporary folder may be too long for a
// socket's address; the socket is then reached over a descriptor of its folder.
func listenAt(ctx context.Context, listen net.ListenConfig, network, address string) (net.Listener, error) {
	if network != "unix" || len(address) <= maxSocketPath || address[0] == '@' {
		return listen.Listen(ctx, network, address)
	}
	dir, err := os.Open(filepath.Dir(address))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	server, err := listen.Listen(ctx, network, fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(address)))
	if err != nil {
		return nil, err
	}
	server.(*net.UnixListener).SetUnlinkOnClose(false) // the name in its address ends with the descriptor
	return server, nil
}

// serveCanary tries everything that is forbidden to programs and prints its successes.
func serveCanary() {
	var b bait
	open := []string{}
	if err := json.NewDecoder(os.Stdin).Decode(&b); err != nil {
		os.Exit(3)
	}
	try := func(what string, attempt func() error) {
		if attempt() == nil {
			open = append(open, what)
		}
	}
	try("other files can be read", func() error { _, err := os.ReadFile(b.File); return err })
	try("other files can be written", func() error {
		f, err := os.OpenFile(b.File, os.O_WRONLY, 0)
		return errors.Join(err, f.Close())
	})
	try("other files can be cut off", func() error { return os.Truncate(b.File, 0) })
	try("modes of other files can be changed", func() error { return os.Chmod(b.File, 0o640) })
	try("files can be made elsewhere", func() error { return os.WriteFile(filepath.Join(b.Folder, "made"), nil, 0o600) })
	for _, s := range []struct{ network, address string }{{"tcp", b.TCP}, {"udp", b.UDP}, {"unix", b.Unix}, {"unix", b.Abstract}} {
		if s.address == "" {
			continue
		}
		try(describeNetwork(s.network, s.address)+" can be reached", func() error { return dial(s.network, s.address) })
	}
	if b.Parent != 0 {
		try("other processes can be signalled", func() error { return syscall.Kill(b.Parent, 0) })
	}
	if err := json.NewEncoder(os.Stdout).Encode(open); err != nil {
		os.Exit(3)
	}
	end()
}

// end ends a process that was restricted before it began. With the race detector,
// os.Exit would wait for a second, because such a process cannot read the detector's
// settings.
func end() { syscall.Exit(0) }

func describeNetwork(network, address string) string {
	names := map[string]string{"tcp": "TCP", "udp": "UDP", "unix": "Unix sockets"}
	if address[0] == '@' {
		return "abstract Unix sockets"
	}
	return cmp.Or(names[network], network)
}

func dial(network, address string) error {
	if network == "unix" && len(address) > maxSocketPath {
		// A relative name is short enough where the whole path is too long.
		if err := os.Chdir(filepath.Dir(address)); err != nil {
			return err
		}
		address = filepath.Base(address)
	}
	conn, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return err
	}
	_, err = conn.Write([]byte("x"))
	return errors.Join(err, conn.Close())
}
