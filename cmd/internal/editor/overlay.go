package editor

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// newOverlay returns a tree of files with a change on top. It writes no file.
func newOverlay(below fs.FS, c Change) fs.FS { return overlay{below, c} }

// An overlay is a tree of files with a change on top.
type overlay struct {
	fs.FS
	files Change
}

// Open opens a changed file, or one that is as it was.
func (o overlay) Open(name string) (fs.File, error) {
	if data, changed := o.files[name]; changed {
		if data == nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		return &openFile{Reader: bytes.NewReader(data), info: fileInfo{path.Base(name), int64(len(data)), 0o644}}, nil
	}
	if o.isFolder(name) {
		list, err := o.ReadDir(name)
		if err != nil {
			return nil, err
		}
		found, err := o.Stat(name)
		return &openFolder{openFile{Reader: bytes.NewReader(nil), info: found}, list}, err
	}
	return o.FS.Open(name)
}

// Stat describes a file or folder.
func (o overlay) Stat(name string) (fs.FileInfo, error) {
	if data, changed := o.files[name]; changed {
		if data == nil {
			return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
		}
		return fileInfo{path.Base(name), int64(len(data)), 0o644}, nil
	}
	found, err := fs.Stat(o.FS, name)
	if err != nil && o.isFolder(name) {
		return fileInfo{path.Base(name), 0, fs.ModeDir | 0o755}, nil
	}
	return found, err
}

// ReadFile reads a file.
func (o overlay) ReadFile(name string) ([]byte, error) {
	if data, changed := o.files[name]; changed {
		if data == nil {
			return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
		}
		return bytes.Clone(data), nil
	}
	return fs.ReadFile(o.FS, name)
}

// ReadDir lists a folder.
func (o overlay) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(o.FS, name)
	if err != nil && !(errors.Is(err, fs.ErrNotExist) && o.isFolder(name)) {
		return nil, err
	}
	list = slices.DeleteFunc(slices.Clone(list), func(e fs.DirEntry) bool {
		_, changed := o.files[path.Join(name, e.Name())]
		return changed
	})
	for file, data := range o.files {
		rest, within := cutFolder(file, name)
		if !within || data == nil {
			continue
		}
		first, _, deeper := strings.Cut(rest, "/")
		if slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() == first }) {
			continue
		}
		entry := fileInfo{first, int64(len(data)), 0o644}
		if deeper {
			entry = fileInfo{first, 0, fs.ModeDir | 0o755}
		}
		list = append(list, fs.FileInfoToDirEntry(entry))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// isFolder reports whether a changed file is below a folder.
func (o overlay) isFolder(name string) bool {
	for file, data := range o.files {
		if _, within := cutFolder(file, name); within && data != nil {
			return true
		}
	}
	return false
}

// cutFolder returns the path of a file below a folder.
func cutFolder(file, folder string) (rest string, within bool) {
	if folder == "." {
		return file, true
	}
	return strings.CutPrefix(file, folder+"/")
}

// A fileInfo describes a file or a folder of an overlay.
type fileInfo struct {
	name string
	size int64
	mode fs.FileMode
}

func (i fileInfo) Name() string      { return i.name }
func (i fileInfo) Size() int64       { return i.size }
func (i fileInfo) Mode() fs.FileMode { return i.mode }
func (fileInfo) ModTime() time.Time  { return time.Time{} }
func (i fileInfo) IsDir() bool       { return i.mode.IsDir() }
func (fileInfo) Sys() any            { return nil }

// An openFile is an open changed file.
type openFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (*openFile) Close() error                 { return nil }

// An openFolder is an open folder with a changed file.
type openFolder struct {
	openFile
	left []fs.DirEntry
}

// ReadDir returns the next n entries, all for n ≤ 0.
func (f *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		out := f.left
		f.left = nil
		return out, nil
	}
	if len(f.left) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.left))
	out := f.left[:n]
	f.left = f.left[n:]
	return out, nil
}
