package store

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// The locks of Linux that belong to an open file and not to a process, so that
// two ledgers in one process see each other's. Package syscall does not name
// them.
const (
	getFileLock = 36 // F_OFD_GETLK
	setFileLock = 37 // F_OFD_SETLK
)

func lockByte(f *os.File, at int64) error {
	return syscall.FcntlFlock(f.Fd(), setFileLock, section(syscall.F_WRLCK, at))
}

// byteTaken locks a byte unless another process has it. If locks are not available,
// none has.
func byteTaken(f *os.File, at int64) bool {
	err := lockByte(f, at)
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES)
}

func unlockByte(f *os.File, at int64) {
	// The lock ends with the file, even if this fails.
	_ = syscall.FcntlFlock(f.Fd(), setFileLock, section(syscall.F_UNLCK, at))
}

// byteLocked reports whether another process has locked a byte. A byte counts as locked
// if that cannot be determined.
func byteLocked(f *os.File, at int64) bool {
	asked := section(syscall.F_WRLCK, at)
	return syscall.FcntlFlock(f.Fd(), getFileLock, asked) != nil || asked.Type != syscall.F_UNLCK
}

func section(kind int16, at int64) *syscall.Flock_t {
	return &syscall.Flock_t{Type: kind, Whence: io.SeekStart, Start: at, Len: 1}
}
