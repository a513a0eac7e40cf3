package editor

import (
	"io/fs"
	"path"
	"slices"
	"sync"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/program"
)

// An outsideFS notes the files outside of some folders that are looked at, and the folders
// whose entries are listed, with a slash at their end.
type outsideFS struct {
	fs.FS
	within []string

	mu    sync.Mutex
	names map[string]bool // guarded by mu
}

func (o *outsideFS) note(name string) {
	for _, folder := range o.within {
		folder = path.Clean(folder)
		if _, is := cutFolder(name, folder); is || name == folder+"/" {
			return
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.names == nil {
		o.names = map[string]bool{}
	}
	o.names[name] = true
}

// sorted returns the noted files and some others.
func (o *outsideFS) sorted(others []string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := slices.Clone(others)
	for name := range o.names {
		all = append(all, name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Open opens a file or folder.
func (o *outsideFS) Open(name string) (fs.File, error) {
	o.note(name)
	return o.FS.Open(name)
}

// Stat describes a file or folder.
func (o *outsideFS) Stat(name string) (fs.FileInfo, error) {
	o.note(name)
	return fs.Stat(o.FS, name)
}

// Lstat describes a file, folder or link itself.
func (o *outsideFS) Lstat(name string) (fs.FileInfo, error) {
	o.note(name)
	return fs.Lstat(o.FS, name)
}

// ReadLink returns the target of a link.
func (o *outsideFS) ReadLink(name string) (string, error) { return fs.ReadLink(o.FS, name) }

// ReadDir lists a folder.
func (o *outsideFS) ReadDir(name string) ([]fs.DirEntry, error) {
	o.note(name + "/")
	return fs.ReadDir(o.FS, name)
}

// ReadFile reads a file.
func (o *outsideFS) ReadFile(name string) ([]byte, error) {
	o.note(name)
	return fs.ReadFile(o.FS, name)
}

// ReadUpTo describes a file, and reads it if it is regular and has at most most bytes.
func (o *outsideFS) ReadUpTo(name string, most int64) ([]byte, fs.FileInfo, error) {
	o.note(name)
	return schema.ReadUpTo(o.FS, name, most)
}

// Hash returns git's hash of a file's content.
func (o *outsideFS) Hash(name string) (string, error) {
	o.note(name)
	return program.Hash(o.FS, name)
}

// ListFiles lists the files of folders that git has or would take.
func (o *outsideFS) ListFiles(folders []string, skip func(name string, isFolder bool) bool, most int) ([]string, error) {
	return program.ListFiles(o.FS, folders, skip, most)
}
