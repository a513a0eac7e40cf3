package gitrepo

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
)

// gitFS is a folder that no path and no link can leave. go-git opens a file for each
// object and each reference, and looks for missing ones, too. [osfs.BoundOS] checks
// every part of every path for links; a gitFS does so once per folder. It is safe for
// concurrent use.
type gitFS struct {
	*osfs.BoundOS
	// folders are the paths known to be free of links.
	folders *sync.Map
}

// newGitFS returns the file system of a folder.
func newGitFS(dir string) gitFS {
	return gitFS{osfs.New(dir, osfs.WithBoundOS()).(*osfs.BoundOS), &sync.Map{}}
}

// errLinked reports a path over a link, or out of the folder.
var errLinked = errors.New("the path is not of folders alone")

// Open opens a file for reading.
func (s gitFS) Open(name string) (billy.File, error) {
	at, info, err := s.look(name)
	if errors.Is(err, errLinked) {
		return s.BoundOS.Open(name)
	}
	if err != nil {
		return nil, err
	}
	f, err := osfs.Default.Open(at)
	opened, sized := f.(statFile)
	if err != nil || !sized || !strings.HasSuffix(name, ".idx") {
		return f, err
	}
	return bufferedFile{opened, bufio.NewReaderSize(opened, int(min(info.Size(), 64<<10)))}, nil
}

// Stat describes a file.
func (s gitFS) Stat(name string) (fs.FileInfo, error) {
	_, info, err := s.look(name)
	if errors.Is(err, errLinked) {
		return s.BoundOS.Stat(name)
	}
	return info, err
}

// ReadDir lists a folder by name.
func (s gitFS) ReadDir(name string) ([]fs.FileInfo, error) {
	at, _, err := s.look(name)
	if errors.Is(err, errLinked) {
		return s.BoundOS.ReadDir(name)
	}
	if err != nil {
		return nil, err
	}
	return osfs.Default.ReadDir(at)
}

// look resolves a name without links. The error is errLinked if a link is in the way,
// and wraps [fs.ErrNotExist] if nothing is there.
func (s gitFS) look(name string) (at string, info fs.FileInfo, err error) {
	if !filepath.IsLocal(name) {
		return "", nil, errLinked
	}
	name = filepath.Clean(name)
	at = filepath.Join(s.Root(), name)
	if err := s.enter(filepath.Dir(name)); err != nil {
		return at, nil, err
	}
	if info, err = os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		err = errLinked
	}
	return at, info, err
}

// enter returns nil if a path leads to a folder without links. A positive result is
// remembered: only the folder's owner can create links in it.
func (s gitFS) enter(dir string) error {
	if _, known := s.folders.Load(dir); known || dir == "." {
		return nil
	}
	if err := s.enter(filepath.Dir(dir)); err != nil {
		return err
	}
	info, err := os.Lstat(filepath.Join(s.Root(), dir))
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errLinked
	}
	s.folders.Store(dir, nil)
	return nil
}

// A statFile knows its size, which go-git compares with an index.
type statFile interface {
	billy.File
	Stat() (fs.FileInfo, error)
}

// A bufferedFile is a pack's index, read in large parts. go-git reads the first
// kilobyte of each index in 256 calls, and all indexes for the first object that it
// looks up; a repository that is fetched into has one per fetch.
type bufferedFile struct {
	statFile
	from *bufio.Reader
}

// Read reads the next bytes.
func (f bufferedFile) Read(p []byte) (int, error) { return f.from.Read(p) }
