package schema

import (
	"errors"
	"fmt"
	"io/fs"
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
// link, a folder and a file that is too large are errors; fs.ErrNotExist means
// that nothing is there.
func ReadFile(fsys fs.FS, file string, most int64) ([]byte, error) {
	if most == 0 {
		most = MaxFile
	}
	info, err := fs.Stat(fsys, file)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file; symlinks and submodules are not followed")
	case info.Size() > most:
		return nil, FileTooLargeError{info.Size(), most}
	}
	return fs.ReadFile(fsys, file)
}

// A FileTooLargeError is the error of [ReadFile] about a file that is larger than it may be.
type FileTooLargeError struct{ Size, Most int64 }

// Error names both sizes.
func (e FileTooLargeError) Error() string {
	return fmt.Sprintf("it has %d bytes and may have %d", e.Size, e.Most)
}
