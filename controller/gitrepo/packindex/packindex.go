// Package packindex has the indexes of packs read in large parts.
package packindex

import (
	"bufio"
	"io/fs"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
)

// FS is a file system whose indexes of packs are read in large parts. go-git
// reads the first kilobyte of each in 256 calls, and all of them for the first object that
// is looked up; a repository that is fetched into has one per fetch.
type FS struct{ *osfs.BoundOS }

// Open opens a file to be read.
func (s FS) Open(name string) (billy.File, error) {
	f, err := s.BoundOS.Open(name)
	opened, ok := f.(statFile)
	if err != nil || !ok || !strings.HasSuffix(name, ".idx") {
		return f, err
	}
	return bufferedFile{opened, bufio.NewReaderSize(opened, 64<<10)}, nil
}

// A statFile knows its size, which go-git holds an index to.
type statFile interface {
	billy.File
	Stat() (fs.FileInfo, error)
}

// A bufferedFile is read from its beginning to its end.
type bufferedFile struct {
	statFile
	from *bufio.Reader
}

// Read reads the next bytes.
func (f bufferedFile) Read(p []byte) (int, error) { return f.from.Read(p) }
