package schema

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
)

// MaxFile is the largest size of a definition in bytes.
const MaxFile = 256 << 10

// A File is an input whose bytes are needed when the case runs or is judged.
type File struct {
	// Path is relative to the repository root.
	Path string
	Data []byte
}

// ReadFile reads a plain file of at most so many bytes; 0 means MaxFile. A
// link, a folder, a file that is too large and a pointer of Git LFS are errors;
// fs.ErrNotExist means that nothing is there.
func ReadFile(fsys fs.FS, file string, most int64) ([]byte, error) {
	if most == 0 {
		most = MaxFile
	}
	data, info, err := ReadUpTo(fsys, file, most)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, ErrNotRegular
	case info.Size() > most:
		return nil, FileTooLargeError{info.Size(), most}
	case bytes.HasPrefix(data, []byte(lfsPointer)):
		return nil, ErrLFSPointer
	}
	return data, nil
}

// ReadUpTo describes a file, and reads it if it is regular and has at most most bytes.
// A file system that has a method of this name looks at the file once for both.
func ReadUpTo(fsys fs.FS, file string, most int64) ([]byte, fs.FileInfo, error) {
	if once, ok := fsys.(interface {
		ReadUpTo(file string, most int64) ([]byte, fs.FileInfo, error)
	}); ok {
		return once.ReadUpTo(file, most)
	}
	info, err := fs.Stat(fsys, file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return nil, info, err
	}
	data, err := fs.ReadFile(fsys, file)
	return data, info, err
}

// faults are not about the file at which they are met.
var faults = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO}

// IsFault reports whether an error says nothing about the file or folder at which it was
// met: this process cannot read files as it should, or a part of the repository is lost, so
// that everything else that was read is incomplete.
func IsFault(err error) bool {
	lost, ok := errors.AsType[interface {
		error
		Lost() bool
	}](err)
	return ok && lost.Lost() || slices.ContainsFunc(faults, func(kind error) bool { return errors.Is(err, kind) })
}

// ErrNotRegular is the error of [ReadFile] about a link, a folder or a submodule.
var ErrNotRegular = errors.New("not a regular file; symlinks and submodules are not followed")

// lfsPointer begins each pointer, see
// https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md.
const lfsPointer = "version https://git-lfs.github.com/spec/v1\n"

// ErrLFSPointer is the error of [ReadFile] about a file whose content is in Git LFS.
var ErrLFSPointer = errors.New("it is a pointer of Git LFS, and its content is not in git")

// KeepInGit is the repair of an [ErrLFSPointer].
const KeepInGit = "take it out of LFS (git lfs untrack), and commit the file itself"

// A FileTooLargeError is the error of [ReadFile] about a file that is larger than it may be.
type FileTooLargeError struct{ Size, Most int64 }

// Error names both sizes.
func (e FileTooLargeError) Error() string {
	return fmt.Sprintf("it has %d bytes and may have %d", e.Size, e.Most)
}
