//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"unsafe"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/gavel-evals/gavel/schema/confine"
)

// Constants that package syscall lacks: of prctl(2), capabilities(7),
// mount_setattr(2), close_range(2), getrlimit(2) and open(2). The numbers of
// calls are the same on every architecture.
const (
	prSetKeepcaps       = 8
	prSetSecurebits     = 28
	secureNoSetuidFixup = 1 << 2
	prSetChildSubreaper = 36
	prSetNoNewPrivs     = 38
	prCapAmbient        = 47
	capAmbientRaise     = 2
	capAmbientClearAll  = 4

	capDacReadSearch = 2
	capSetgid        = 6
	capSetuid        = 7
	capSetpcap       = 8
	capNetAdmin      = 12
	capSysAdmin      = 21
	capVersion3      = 0x20080522

	sysMountSetattr   = 442
	mountAttrReadOnly = 1
	atRecursive       = 0x8000
	atCwd             = ^uintptr(99) // -100
	sysCloseRange     = 436
	closeRangeCloexec = 4

	rlimitNproc = 6
	oPath       = 0x200000
)

// prctl changes the calling thread.
func prctl(option, value, further uintptr) error {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, option, value, further, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// setLimit bounds another process.
func setLimit(pid int, resource int, most uint64) error {
	limit := syscall.Rlimit{Cur: most, Max: most}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), uintptr(resource), uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("set limit %d: %w", resource, errno)
	}
	return nil
}

// restrict takes all rights from the calling thread and its children that the program
// does not need. It is irrevocable.
//
// The library's own function changes all threads of a process, by means that spin
// forever in a PID namespace that has another namespace's /proc.
func (s *spec) restrict() error {
	if err := s.giveUp(); err != nil {
		return fmt.Errorf("give up privileges: %w", err)
	}
	if s.Means.Landlock > 0 {
		if err := s.restrictFiles(); err != nil {
			return err
		}
	}
	if s.Means.Filter {
		return s.profile().FilterThread()
	}
	return nil
}

// profile returns the system calls that the kernel refuses.
func (s *spec) profile() confine.Profile {
	switch {
	case s.Network:
		return confine.Client
	case s.Port != 0:
		return confine.Listener
	case s.Loopback != "":
		return confine.Loopback
	}
	return confine.Program
}

// giveUp drops the calling thread's capabilities, and the means to regain any by
// executing a file. Root becomes nobody with root's right to read; the restrictions on
// files come on top.
func (s *spec) giveUp() error {
	if s.Root {
		if err := becomeNobody(); err != nil {
			return err
		}
	}
	if err := prctl(prCapAmbient, capAmbientClearAll, 0); err != nil {
		return err
	}
	if s.Root {
		if err := prctl(prCapAmbient, capAmbientRaise, capDacReadSearch); err != nil {
			return err
		}
	}
	return prctl(prSetNoNewPrivs, 1, 0)
}

// becomeNobody changes the user of the calling thread and keeps one capability.
func becomeNobody() error {
	// Otherwise access(2) checks without that capability, so that files in root's
	// private folders seem to be missing. The call fails if the capability for it was
	// taken.
	_ = prctl(prSetSecurebits, secureNoSetuidFixup, 0)
	// Otherwise the change of user drops it.
	if err := prctl(prSetKeepcaps, 1, 0); err != nil {
		return err
	}
	for _, call := range [][4]uintptr{
		{syscall.SYS_SETGROUPS, 0, 0},
		{syscall.SYS_SETRESGID, nobody, nobody, nobody},
		{syscall.SYS_SETRESUID, nobody, nobody, nobody},
	} {
		if _, _, errno := syscall.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
			return fmt.Errorf("become nobody: %w", errno)
		}
	}
	type capabilities struct{ effective, permitted, inheritable uint32 }
	header := struct{ version, pid uint32 }{version: capVersion3}
	const keep = 1 << capDacReadSearch
	data := [2]capabilities{{keep, keep, keep}}
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data)), 0)
	if errno != 0 {
		return fmt.Errorf("give up capabilities: %w", errno)
	}
	return nil
}

// The rights on files, in Landlock's terms.
const (
	rightsToRun = landlock.AccessFSExecute | landlock.AccessFSReadFile
	rightsToUse = rightsToRun | landlock.AccessFSReadDir
	// These rights apply to files; the others apply to folders only.
	rightsOfFiles = rightsToRun | landlock.AccessFSWriteFile | landlock.AccessFSTruncate | landlock.AccessFSIoctlDev
	// No program creates devices, or reaches others through a socket in a folder.
	rightsOfNobody = landlock.AccessFSMakeChar | landlock.AccessFSMakeBlock | landlock.AccessFSIoctlDev | landlock.AccessFSResolveUnix
)

// restrictFiles allows reading the readable folders and writing scratch, but no other
// file, no socket and no outside process.
func (s *spec) restrictFiles() error {
	attr := s.profile().Ruleset(s.Means.Landlock)
	rules, err := landlock.LandlockCreateRuleset(attr, 0)
	if err != nil {
		return fmt.Errorf("restrict files: %w", err)
	}
	defer syscall.Close(rules) //nolint:errcheck // it is in force or of no use
	allow := func(path string, rights uint64) error {
		err := allow(rules, path, rights&attr.HandledAccessFS)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("restrict files: %s: %w", path, err)
		}
		return nil
	}
	if err := s.allowReading(allow); err != nil {
		return err
	}
	if err := allow("/dev/null", rightsToRun|landlock.AccessFSWriteFile|landlock.AccessFSTruncate); err != nil {
		return err
	}
	if err := allow(s.Scratch, attr.HandledAccessFS&^rightsOfNobody); err != nil {
		return err
	}
	if s.Workspace != "" {
		if err := allow(s.Workspace, attr.HandledAccessFS&^rightsOfNobody); err != nil {
			return err
		}
	}
	if err := landlock.LandlockRestrictSelf(rules, 0); err != nil {
		return fmt.Errorf("restrict files: %w", err)
	}
	return nil
}

// allowReading adds the readable paths.
func (s *spec) allowReading(allow func(path string, rights uint64) error) error {
	if len(s.Hidden) > 0 {
		return s.allowVisible(allow)
	}
	for _, path := range s.Readable {
		if err := allow(path, rightsToUse); err != nil {
			return err
		}
	}
	return nil
}

// allow adds one path to the rules; a missing one gives fs.ErrNotExist.
func allow(rules int, path string, rights uint64) error {
	fd, err := syscall.Open(path, oPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing was written to it
	var info syscall.Stat_t
	if err := syscall.Fstat(fd, &info); err != nil {
		return err
	}
	if info.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		rights &= rightsOfFiles
	}
	return landlock.LandlockAddPathBeneathRule(rules, &landlock.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}, 0)
}
