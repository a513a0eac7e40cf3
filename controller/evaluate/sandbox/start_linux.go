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
	// endTime bounds the child's time to end the program's processes.
	endTime = 5 * time.Second
)

// A spec is the child's description of the program and its restrictions.
type spec struct {
	File    string   `json:"file"`
	Argv    []string `json:"argv"`
	Env     []string `json:"env"`
	Dir     string   `json:"dir"`
	Scratch string   `json:"scratch"`
	// Workspace is writable, too; empty for none.
	Workspace string   `json:"workspace"`
	Readable  []string `json:"readable"`
	// Tree has the Hidden names; a mount covers them if Cover is set.
	Tree    string   `json:"tree"`
	Hidden  []string `json:"hidden"`
	Cover   bool     `json:"cover"`
	Network bool     `json:"network"`
	Means   means    `json:"means"`
	// Loopback is the text in whose place the program gets the address of the listener
	// that is handed over; empty for none.
	Loopback string `json:"loopback"`
	// Port is where the program listens; 0 for none. Connections to it are handed over if
	// the program has a private loopback interface.
	Port int `json:"port"`
	// Root means that the program has to run as another user.
	Root   bool   `json:"root"`
	Limits Limits `json:"limits"`
}

// An exitReport is the child's report on the program: how it ended, or why it
// could not be started.
type exitReport struct {
	Status syscall.WaitStatus `json:"status"`
	Error  string             `json:"error"`
}

// start runs the program to its end and returns its failure, if any.
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

// describe words a program's exit as package os does; empty for success.
func describe(s syscall.WaitStatus) string {
	switch {
	case s.Signaled():
		return "signal: " + s.Signal().String()
	case s.ExitStatus() != 0:
		return exitStatus + strconv.Itoa(s.ExitStatus())
	}
	return ""
}

// supervised runs the program in a child process.
func (b *Box) supervised(ctx context.Context, r *runningProgram) (exitReport, error) {
	if os.Getenv(childEnv) != "" {
		return exitReport{}, errors.New("a child does not start another; main or TestMain must call sandbox.ServeChild first")
	}
	over, address := handover{theirs: r.connections}, ""
	if r.Loopback != nil && b.hasOwnLoopback() {
		var err error
		if over, err = newHandover(); err != nil {
			return exitReport{}, err
		}
		defer over.answer(ctx, r.Loopback)()
		defer over.theirs.Close() //nolint:errcheck // where no child was started
		address = r.Loopback.Address
	}
	// The child reads the spec from one pipe, which closes when no one waits any more,
	// and answers on another.
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
	// A child that cannot read it reports an error, or ends without an answer.
	_ = json.NewEncoder(toChild).Encode(spec{
		File: r.file, Argv: r.Argv, Env: r.Env, Dir: r.Dir, Scratch: r.scratch, Workspace: r.Workspace, Readable: r.readable,
		Tree: r.Tree, Hidden: r.hidden.Names, Cover: len(r.hidden.Names) > 0 && coverable(r.Tree, r.scratch),
		Network: b.policy.Network, Means: b.means, Loopback: address, Port: r.port,
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

// command returns the child process, in new namespaces if they are available.
func (b *Box) command(ctx context.Context, r *runningProgram) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, childArg)
	// Built with -race, a program would wait for a second at its end.
	cmd.Env = []string{childEnv + "=1", "GORACE=atexit_sleep_ms=0"}
	cmd.Stdin = bytes.NewReader(r.Stdin)
	cmd.Stdout, cmd.Stderr = r.outputs()
	cmd.WaitDelay = endTime
	// A new session has no terminal whose keys would end it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if b.means.Namespaces {
		b.namespaces(cmd.SysProcAttr)
		if r.Loopback != nil || r.port != 0 {
			cmd.SysProcAttr.AmbientCaps = append(cmd.SysProcAttr.AmbientCaps, capNetAdmin)
		}
	}
	return cmd, nil
}

// inside is the child's user and group in its user namespace. As root it would have
// every capability there.
const inside = 1000

// nobody runs root's programs: the kernel does not limit root's processes.
const nobody = 65534

// handOver gives a workspace to the user that runs root's programs.
func (b *Box) handOver(ctx context.Context, workspace string) error {
	if workspace == "" || b.mode == Off || os.Geteuid() != 0 {
		return nil
	}
	within := WorkspaceBounds()
	within.Bytes = 0 // holes concern only those who read it
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
	// The child mounts; no later process has this capability.
	attr.AmbientCaps = []uintptr{capSysAdmin}
	if os.Geteuid() == 0 {
		other := syscall.SysProcIDMap{ContainerID: nobody, HostID: nobody, Size: 1}
		attr.UidMappings, attr.GidMappings = append(attr.UidMappings, other), append(attr.GidMappings, other)
		attr.GidMappingsEnableSetgroups = true
		attr.AmbientCaps = append(attr.AmbientCaps, capSetuid, capSetgid, capSetpcap, capDacReadSearch)
	}
}

// load counts the resident memory and the threads of a process's descendants, and stops
// at the first thread beyond most. A process that ends meanwhile does not count.
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

// usage returns the resident memory and the number of threads of one process.
func usage(pid int) (memory int64, threads int) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0
	}
	// The name in parentheses may contain anything; proc(5) numbers num_threads as
	// field 20 and rss as field 24, and the first field after the name as 3.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 22 {
		return 0, 0
	}
	threads, _ = strconv.Atoi(fields[17])
	pages, _ := strconv.ParseInt(fields[21], 10, 64)
	return pages * int64(os.Getpagesize()), threads
}

// onDisk returns the folder whose disk holds files that the program deletes while they
// are open: the workspace, or the scratch folder if that is not a separate file system.
func (r *runningProgram) onDisk(namespaces bool) string {
	if r.Workspace == "" && !namespaces {
		return r.scratch
	}
	return r.Workspace
}

// held counts the bytes of nameless files that a process's descendants have open on a
// folder's disk.
func held(pid int, folder string) int64 {
	var at syscall.Stat_t
	if folder == "" || syscall.Stat(folder, &at) != nil {
		return 0
	}
	files := map[uint64]int64{} // by number, since processes share open files
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

// room returns the free bytes on a folder's disk; false if they are unknown.
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

// canHide reports whether the kernel can hide files of a tree from programs.
func (b *Box) canHide() bool { return b.means.Landlock > 0 }
