//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"unsafe"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Of prctl(2) and capabilities(7); package syscall does not have them.
const (
	prSetSeccomp        = 22
	prSetSecurebits     = 28
	prSetChildSubreaper = 36
	prSetNoNewPrivs     = 38
	prCapAmbient        = 47
	capAmbientClearAll  = 4
	seccompFilter       = 2
	noRoot              = 1 | 2 // SECBIT_NOROOT, and locked

	rlimitNproc = 6
	oPath       = 0x200000
)

// prctl changes the calling thread.
func prctl(option, value uintptr) error {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, option, value, 0, 0, 0, 0); errno != 0 {
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

// restrict takes from the calling thread, and from what it starts, everything
// but what the program may do. It cannot be taken back.
//
// The library's own function for it changes all threads of a process, by means
// that spin for ever in a PID namespace whose /proc is that of another.
func (s *spec) restrict() error {
	if err := prctl(prSetNoNewPrivs, 1); err != nil {
		return fmt.Errorf("give up privileges: %w", err)
	}
	if err := prctl(prCapAmbient, capAmbientClearAll); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	if os.Geteuid() == 0 {
		// Root gets every capability back when it executes a program.
		if err := prctl(prSetSecurebits, noRoot); err != nil {
			return fmt.Errorf("give up root's capabilities: %w", err)
		}
	}
	if s.Means.Landlock > 0 {
		if err := s.restrictFiles(); err != nil {
			return err
		}
	}
	if s.Means.Filter {
		return s.filter()
	}
	return nil
}

// The rights on files, in the words of Landlock.
const (
	rightsToRun = landlock.AccessFSExecute | landlock.AccessFSReadFile
	rightsToUse = rightsToRun | landlock.AccessFSReadDir
	// A file can have these rights, a folder has the others too.
	rightsOfFiles = rightsToRun | landlock.AccessFSWriteFile | landlock.AccessFSTruncate | landlock.AccessFSIoctlDev
	// Nobody makes devices, or reaches others through a socket in a folder.
	rightsOfNobody = landlock.AccessFSMakeChar | landlock.AccessFSMakeBlock | landlock.AccessFSIoctlDev | landlock.AccessFSResolveUnix
)

// handled lists what a version of Landlock can restrict.
func handled(abi int, network bool) *landlock.RulesetAttr {
	attr := &landlock.RulesetAttr{HandledAccessFS: landlock.AccessFSRefer - 1}
	for version, right := range map[int]uint64{
		2: landlock.AccessFSRefer, 3: landlock.AccessFSTruncate, 5: landlock.AccessFSIoctlDev, 9: landlock.AccessFSResolveUnix,
	} {
		if abi >= version {
			attr.HandledAccessFS |= right
		}
	}
	if abi >= 6 {
		attr.Scoped = landlock.ScopeSignal
	}
	if network {
		attr.HandledAccessFS &^= landlock.AccessFSResolveUnix
		return attr
	}
	if abi >= 4 {
		attr.HandledAccessNet = landlock.AccessNetBindTCP | landlock.AccessNetConnectTCP
	}
	if abi >= 6 {
		attr.Scoped |= landlock.ScopeAbstractUnixSocket
	}
	if abi >= 10 {
		attr.HandledAccessNet |= landlock.AccessNetBindUDP | landlock.AccessNetConnectSendUDP
	}
	return attr
}

// restrictFiles leaves the readable folders to be read, scratch to be written,
// and no other file, no socket and no process outside.
func (s *spec) restrictFiles() error {
	attr := handled(s.Means.Landlock, s.Network)
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
	for _, path := range s.Readable {
		if err := allow(path, rightsToUse); err != nil {
			return err
		}
	}
	if err := allow("/dev/null", rightsToRun|landlock.AccessFSWriteFile|landlock.AccessFSTruncate); err != nil {
		return err
	}
	if err := allow(s.Scratch, attr.HandledAccessFS&^rightsOfNobody); err != nil {
		return err
	}
	if err := landlock.LandlockRestrictSelf(rules, 0); err != nil {
		return fmt.Errorf("restrict files: %w", err)
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
