//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// ServeChild does the child's work if this package started this process, and reports
// whether it did; the program then has to end.
func ServeChild() bool {
	if os.Getenv(childEnv) == "" || len(os.Args) != 2 {
		return false
	}
	switch os.Args[1] {
	case childArg:
		serveChild(os.NewFile(3, "orders"), os.NewFile(4, "answer"))
	case canaryArg:
		serveCanary()
	default:
		return false
	}
	return true
}

// serveChild runs one program, ends the processes that it started, and reports its
// exit.
func serveChild(orders, answer *os.File) {
	// Only SIGKILL ends this process. Signals are caught, since ignored ones would be
	// ignored in the program too.
	signal.Notify(make(chan os.Signal, 1))
	var s spec
	var end exitReport
	from := json.NewDecoder(orders)
	if err := from.Decode(&s); err != nil {
		end.Error = "read what to run: " + err.Error()
	} else if pid, err := s.begin(); err != nil {
		end.Error = err.Error()
	} else {
		go func() {
			// No more orders come: reading ends when the parent has ended or given the
			// program up.
			_, _ = io.Copy(io.Discard, orders)
			if os.Getpid() == 1 {
				os.Exit(0) // and everything else with it
			}
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}()
		if end.Status, err = await(pid); err != nil {
			end.Error = err.Error()
		}
	}
	endAll()
	if err := json.NewEncoder(answer).Encode(end); err != nil {
		os.Exit(3)
	}
}

// begin prepares this process and starts the program.
func (s *spec) begin() (int, error) {
	// The program gets neither this process's pipes nor files left open by its parents.
	if _, _, errno := syscall.Syscall(sysCloseRange, 3, ^uintptr(0)>>33, closeRangeCloexec); errno != 0 {
		return 0, fmt.Errorf("close files: %w", errno)
	}
	if s.Means.Namespaces {
		if err := s.mount(); err != nil {
			return 0, err
		}
	} else if err := prctl(prSetChildSubreaper, 1, 0); err != nil {
		return 0, fmt.Errorf("adopt processes: %w", err)
	}
	if s.Loopback != "" {
		at, err := openLoopback(os.NewFile(5, "listener"))
		if err != nil {
			return 0, err
		}
		s.Argv, s.Env = replaceAddress(s.Argv, s.Loopback, at), replaceAddress(s.Env, s.Loopback, at)
	}
	if s.Port != 0 && s.Means.Namespaces && !s.Network {
		if err := connectTo(s.Port, os.NewFile(5, "connections")); err != nil {
			return 0, err
		}
	}
	if s.Root && !s.Means.Namespaces {
		if err := os.Chown(s.Scratch, nobody, nobody); err != nil {
			return 0, fmt.Errorf("give the scratch folder away: %w", err)
		}
	}
	for resource, most := range map[int]uint64{
		syscall.RLIMIT_CORE:   0,
		syscall.RLIMIT_FSIZE:  uint64(s.Limits.Disk),
		syscall.RLIMIT_NOFILE: uint64(s.Limits.OpenFiles),
	} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return 0, fmt.Errorf("set limit %d: %w", resource, err)
		}
	}
	if !s.Means.Namespaces {
		// The user's other processes count, too.
		s.Limits.Processes += threadsOf(s.user())
	}
	return s.restricted()
}

// mount makes all files read-only, since Landlock does not protect modes and owners,
// and then mounts the scratch folder. Its separate file system also bounds files that
// are deleted while open. Other processes see neither mount.
func (s *spec) mount() error {
	root := []byte("/\x00")
	attr := [4]uint64{mountAttrReadOnly}
	_, _, errno := syscall.Syscall6(sysMountSetattr, atCwd, uintptr(unsafe.Pointer(&root[0])), atRecursive,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("mount all files read-only: %w", errno)
	}
	if s.Cover && s.cover() == nil {
		s.Hidden = nil // Landlock need not know them
	}
	options := fmt.Sprintf("size=%d,nr_inodes=%d,mode=0700", s.Limits.Disk, s.Limits.Files+1)
	if s.Root {
		options += fmt.Sprintf(",uid=%d,gid=%d", nobody, nobody)
	}
	if err := syscall.Mount("scratch", s.Scratch, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount the scratch folder: %w", err)
	}
	return s.mountWorkspace()
}

// mountWorkspace mounts the workspace separately, writable.
func (s *spec) mountWorkspace() error {
	if s.Workspace == "" {
		return nil
	}
	if err := syscall.Mount(s.Workspace, s.Workspace, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount the workspace: %w", err)
	}
	path, err := syscall.BytePtrFromString(s.Workspace)
	if err != nil {
		return fmt.Errorf("mount the workspace: %w", err)
	}
	attr := [4]uint64{1: mountAttrReadOnly} // cleared
	_, _, errno := syscall.Syscall6(sysMountSetattr, atCwd, uintptr(unsafe.Pointer(path)), 0,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("let the workspace be written: %w", errno)
	}
	return nil
}

// limit sets the limits that this process could not keep itself. The counted limits are
// sums over all processes, taken periodically; these hold at once. The calling thread
// belongs to the program's user, who may set them.
func (s *spec) limit(pid int) error {
	err := setLimit(pid, syscall.RLIMIT_DATA, 2*uint64(s.Limits.Memory))
	if err == nil {
		err = setLimit(pid, rlimitNproc, uint64(s.Limits.Processes))
	}
	if errors.Is(err, syscall.ESRCH) {
		return nil // it has ended
	}
	return err
}

// user returns the id of the user that runs the program.
func (s *spec) user() int {
	if s.Root {
		return nobody
	}
	return os.Geteuid()
}

// threadsOf counts the threads of a user.
func threadsOf(user int) int {
	entries, _ := os.ReadDir("/proc") // nothing is counted if it is unreadable
	count := 0
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) == user {
			_, threads := usage(pid)
			count += threads
		}
	}
	return count
}

// restricted starts the program from a thread that is restricted permanently and then
// ends. The other threads stay unrestricted, so that they can end the program's
// processes.
func (s *spec) restricted() (pid int, err error) {
	done := make(chan struct{})
	var begin func()
	begin = func() {
		runtime.LockOSThread() // never unlocked: the thread ends here
		if syscall.Gettid() == os.Getpid() {
			// The main thread represents the process when the kernel decides who may
			// signal it. While it is held here, begin does not run on it.
			go begin()
			<-done
			runtime.UnlockOSThread()
			return
		}
		defer close(done)
		if err = s.restrict(); err != nil {
			return
		}
		pid, err = syscall.ForkExec(s.File, s.Argv, &syscall.ProcAttr{
			Dir: s.Dir, Env: s.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true},
		})
		if err != nil {
			err = fmt.Errorf("start %s: %w", s.File, err)
			return
		}
		if err = s.limit(pid); err != nil {
			err = errors.Join(err, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	go begin()
	<-done
	return pid, err
}

// await waits for the program, and reaps adopted processes that ended before it.
func await(program int) (syscall.WaitStatus, error) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case pid == program:
			return status, nil
		case err != nil && !errors.Is(err, syscall.EINTR):
			return status, fmt.Errorf("wait for the program: %w", err)
		}
	}
}

// endAll ends the processes that the program left behind, whatever their session or
// group. If this process is the first of a PID namespace, the kernel ends the others
// with it.
func endAll() {
	if os.Getpid() == 1 {
		return
	}
	for {
		for _, pid := range descendants(os.Getpid()) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		_, err := syscall.Wait4(-1, nil, 0, nil)
		if errors.Is(err, syscall.ECHILD) {
			return
		}
	}
}

// descendants lists the processes below pid, deepest last.
func descendants(pid int) []int {
	found := children(pid)
	for _, child := range found {
		found = append(found, descendants(child)...)
	}
	return found
}
