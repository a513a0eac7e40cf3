//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	childArg = "sandbox-child"
	childEnv = "GAVEL_SANDBOX_CHILD"
	// endTime is how long the child may take to end what the program started.
	endTime = 5 * time.Second
)

// A spec tells the child what to run and how.
type spec struct {
	File    string   `json:"file"`
	Argv    []string `json:"argv"`
	Env     []string `json:"env"`
	Dir     string   `json:"dir"`
	Scratch string   `json:"scratch"`
	// Workspace may be written, too; empty for none.
	Workspace string   `json:"workspace"`
	Readable  []string `json:"readable"`
	// Tree has the Hidden names, which a mount covers if Cover says so.
	Tree    string   `json:"tree"`
	Hidden  []string `json:"hidden"`
	Cover   bool     `json:"cover"`
	Network bool     `json:"network"`
	Means   means    `json:"means"`
	// Loopback is the variable that gets the address of the listener which is handed
	// over; empty for none.
	Loopback string `json:"loopback"`
	// Root means that another user has to run the program.
	Root   bool   `json:"root"`
	Limits Limits `json:"limits"`
}

// An exitReport is the child's report on the program: how it ended, or why it
// could not be started.
type exitReport struct {
	Status syscall.WaitStatus `json:"status"`
	Error  string             `json:"error"`
}

// start runs the program to its end and says what was wrong with it, if
// anything was.
func (b *Box) start(ctx context.Context, r *runningProgram) string {
	if b.mode == Off {
		return startPlain(ctx, r)
	}
	end, err := b.supervised(ctx, r)
	switch {
	case err != nil:
		return err.Error()
	case end.Error != "":
		return end.Error
	}
	return describe(end.Status)
}

// describe words how a program ended, as package os does; nothing when all is
// well.
func describe(s syscall.WaitStatus) string {
	switch {
	case s.Signaled():
		return "signal: " + s.Signal().String()
	case s.ExitStatus() != 0:
		return exitStatus + strconv.Itoa(s.ExitStatus())
	}
	return ""
}

// supervised has a child process run the program.
func (b *Box) supervised(ctx context.Context, r *runningProgram) (exitReport, error) {
	if os.Getenv(childEnv) != "" {
		return exitReport{}, errors.New("a child does not start another; main or TestMain must call sandbox.ServeChild first")
	}
	var over handover
	variable := ""
	if r.Loopback != nil && b.hasOwnLoopback() {
		var err error
		if over, err = newHandover(); err != nil {
			return exitReport{}, err
		}
		defer over.answer(ctx, r.Loopback)()
		defer over.theirs.Close() //nolint:errcheck // where no child was started
		variable = r.Loopback.Variable
	}
	// The child reads the spec from one pipe, whose end tells it that nobody
	// waits any more, and answers on another.
	orders, toChild, err := os.Pipe()
	if err != nil {
		return exitReport{}, fmt.Errorf("start a child process: %w", err)
	}
	defer toChild.Close()
	fromChild, answer, err := os.Pipe()
	if err != nil {
		return exitReport{}, errors.Join(fmt.Errorf("start a child process: %w", err), orders.Close())
	}
	defer fromChild.Close()
	cmd, err := b.command(ctx, r)
	if err == nil {
		cmd.ExtraFiles = []*os.File{orders, answer, over.theirs}
		cmd.Cancel = toChild.Close
		err = cmd.Start()
	}
	if err := errors.Join(err, orders.Close(), answer.Close(), over.closeChildEnd()); err != nil {
		return exitReport{}, fmt.Errorf("start a child process: %w", err)
	}
	watched, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w := watcher{runningProgram: r, load: func() (int64, int) { return load(cmd.Process.Pid, r.Limits.Processes) }}
		w.held = func() int64 { return held(cmd.Process.Pid, r.onDisk(b.means.Namespaces)) }
		w.watch(watched)
	}()
	// A child that cannot read it says so, or ends without an answer.
	_ = json.NewEncoder(toChild).Encode(spec{
		File: r.file, Argv: r.Argv, Env: r.Env, Dir: r.Dir, Scratch: r.scratch, Workspace: r.Workspace, Readable: r.readable,
		Tree: r.Tree, Hidden: r.hidden.Names, Cover: len(r.hidden.Names) > 0 && coverable(r.Tree, r.scratch),
		Network: b.policy.Network, Means: b.means, Loopback: variable,
		Root: os.Geteuid() == 0, Limits: r.Limits,
	})
	waitErr := cmd.Wait()
	stop()
	<-done
	var end exitReport
	const longestAnswer = 64 << 10
	if err := json.NewDecoder(io.LimitReader(fromChild, longestAnswer)).Decode(&end); err != nil {
		return exitReport{}, fmt.Errorf("the child process gave no answer (%v)", errors.Join(waitErr, err))
	}
	return end, nil
}

// command is the child process, in namespaces of its own where they are to be
// had.
func (b *Box) command(ctx context.Context, r *runningProgram) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, childArg)
	// Built with -race, a program would wait for a second at its end.
	cmd.Env = []string{childEnv + "=1", "GORACE=atexit_sleep_ms=0"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(r.Stdin), r.stdout, r.stderr
	cmd.WaitDelay = endTime
	// A session of its own has no terminal whose keys would end it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if b.means.Namespaces {
		b.namespaces(cmd.SysProcAttr)
		if r.Loopback != nil {
			cmd.SysProcAttr.AmbientCaps = append(cmd.SysProcAttr.AmbientCaps, capNetAdmin)
		}
	}
	return cmd, nil
}

// inside is the user and group that the child is in its user namespace. As root
// it would have every capability there.
const inside = 1000

// nobody runs the programs of root: the kernel does not limit root's processes.
const nobody = 65534

// handOver gives a workspace to the user that programs of root run as.
func (b *Box) handOver(ctx context.Context, workspace string) error {
	if workspace == "" || b.mode == Off || os.Geteuid() != 0 {
		return nil
	}
	within := WorkspaceBounds()
	within.Bytes = 0 // holes are the concern of those who read it
	err := os.Lchown(workspace, nobody, nobody)
	if err == nil {
		err = Walk(ctx, workspace, within, func(e Entry) error { return e.In.Lchown(path.Base(e.Path), nobody, nobody) })
	}
	if err != nil {
		return fmt.Errorf("hand over the workspace: %w", err)
	}
	return nil
}

func (b *Box) namespaces(attr *syscall.SysProcAttr) {
	attr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWNS
	if !b.policy.Network {
		attr.Cloneflags |= syscall.CLONE_NEWNET
	}
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: inside, HostID: os.Geteuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: inside, HostID: os.Getegid(), Size: 1}}
	// The child mounts; nobody after it has this capability.
	attr.AmbientCaps = []uintptr{capSysAdmin}
	if os.Geteuid() == 0 {
		other := syscall.SysProcIDMap{ContainerID: nobody, HostID: nobody, Size: 1}
		attr.UidMappings, attr.GidMappings = append(attr.UidMappings, other), append(attr.GidMappings, other)
		attr.GidMappingsEnableSetgroups = true
		attr.AmbientCaps = append(attr.AmbientCaps, capSetuid, capSetgid, capSetpcap, capDacReadSearch)
	}
}

// load counts the resident memory and the threads of all descendants of a
// process, up to the first that is one thread too many. One that ends meanwhile
// does not count.
func load(pid, most int) (memory int64, threads int) {
	for _, child := range children(pid) {
		m, t := usage(child)
		memory, threads = memory+m, threads+t
		if threads <= most {
			m, t = load(child, most-threads)
			memory, threads = memory+m, threads+t
		}
		if threads > most {
			break
		}
	}
	return memory, threads
}

// usage is the resident memory and the number of threads of one process.
func usage(pid int) (memory int64, threads int) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0
	}
	// The name in parentheses may hold anything; proc(5) counts num_threads as
	// field 20 and rss as field 24, and what follows the name as 3.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 22 {
		return 0, 0
	}
	threads, _ = strconv.Atoi(fields[17])
	pages, _ := strconv.ParseInt(fields[21], 10, 64)
	return pages * int64(os.Getpagesize()), threads
}

// onDisk is the folder whose disk has what the program deletes while it is open: the
// workspace, or the scratch folder where that is not a file system of its own.
func (r *runningProgram) onDisk(namespaces bool) string {
	if r.Workspace == "" && !namespaces {
		return r.scratch
	}
	return r.Workspace
}

// held counts the bytes of the files without a name that the descendants of a process have
// open on the disk of a folder.
func held(pid int, folder string) int64 {
	var at syscall.Stat_t
	if folder == "" || syscall.Stat(folder, &at) != nil {
		return 0
	}
	files := map[uint64]int64{} // by number, since processes share what they have open
	for _, child := range descendants(pid) {
		open, err := filepath.Glob("/proc/" + strconv.Itoa(child) + "/task/*/fd/*")
		if err != nil {
			continue
		}
		for _, name := range open {
			var file syscall.Stat_t
			if syscall.Stat(name, &file) == nil && file.Dev == at.Dev && file.Nlink == 0 && file.Mode&syscall.S_IFMT == syscall.S_IFREG {
				files[file.Ino] = file.Blocks * 512
			}
		}
	}
	sum := int64(0)
	for _, bytes := range files {
		sum += bytes
	}
	return sum
}

// room is how many bytes are free on the disk of a folder; false where that is not known.
func room(folder string) (int64, bool) {
	var disk syscall.Statfs_t
	if syscall.Statfs(folder, &disk) != nil {
		return 0, false
	}
	return int64(disk.Bavail) * disk.Bsize, true
}

// children lists the processes that a process started or adopted.
func children(pid int) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var found []int
	for _, task := range tasks {
		list, err := os.ReadFile(dir + task.Name() + "/children")
		if err != nil {
			continue
		}
		for _, word := range strings.Fields(string(list)) {
			if child, err := strconv.Atoi(word); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
}

// canHide reports whether the kernel refuses programs files of their tree.
func (b *Box) canHide() bool { return b.means.Landlock > 0 }
