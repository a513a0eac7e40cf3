//go:build unix

package gitrepo

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// unrooted opens a folder again, which was opened in a root. Such a folder describes each of
// its entries in order to list them, which takes longer than everything else about a large
// one. The caller closes the result; dir stays open.
func unrooted(dir *os.File) (*os.File, error) {
	raw, err := dir.SyscallConn()
	if err != nil {
		return nil, err
	}
	var again int
	var failed error
	err = raw.Control(func(fd uintptr) { again, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err := errors.Join(err, failed); err != nil {
		return nil, &os.PathError{Op: "readdir", Path: dir.Name(), Err: err}
	}
	return os.NewFile(uintptr(again), dir.Name()), nil
}
