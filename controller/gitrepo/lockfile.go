package gitrepo

import (
	"errors"
	"io/fs"
	"os"
)

// A fileLock is a lock of one of git's files, as git takes it: a file next to it, with its
// new content, that takes its place.
type fileLock struct {
	file string
	f    *os.File
}

// lockFile takes the lock of a file. The caller drops it.
func lockFile(file string) (*fileLock, error) {
	f, err := os.OpenFile(file+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec // as git makes it; the umask applies
	if errors.Is(err, fs.ErrExist) {
		return nil, refuseCommit("git is at work in this repository: try again; if no git runs any more, remove %s.lock", file)
	}
	if err != nil {
		return nil, err
	}
	return &fileLock{file, f}, nil
}

// write writes the new content to the disk.
func (l *fileLock) write(data []byte) error {
	_, err := l.f.Write(data)
	if err == nil {
		err = l.f.Sync()
	}
	return errors.Join(err, l.f.Close())
}

// place gives the file its new content, which ends the lock.
func (l *fileLock) place() error {
	err := os.Rename(l.file+".lock", l.file)
	if err == nil {
		l.f = nil
	}
	return err
}

// drop ends the lock. The file keeps its content if it was not placed.
func (l *fileLock) drop() {
	if l.f != nil {
		_ = l.f.Close() // it may be closed
		_ = os.Remove(l.file + ".lock")
	}
}
