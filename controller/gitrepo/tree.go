package gitrepo

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/gavel-evals/gavel/controller/gitrepo/pack"
)

const (
	// MaxFile bounds the bytes of a file that is read as a whole.
	MaxFile = 64 << 20
	// maxDepth bounds the depth of a path.
	maxDepth = maxTreeDepth
	// maxTree bounds the bytes of a folder itself, about 300,000 entries.
	maxTree = 32 << 20
	// maxEntries bounds the decoded folder entries that are kept.
	maxEntries = 1 << 20
)

var (
	errLink      = errors.New("is a symbolic link, which is not followed")
	errSubmodule = errors.New("is a submodule, which is not entered")
	errTooLarge  = fmt.Errorf("has more than %d MiB", MaxFile>>20)
	errTooDeep   = ErrTooDeep
	errFolder    = errors.New("is a folder")
	errTree      = errors.New("the folder holds a name that no file can have")
)

// A FileSystem is the content of a commit or of the working tree, with git's hashes of
// the files.
type FileSystem interface {
	fs.ReadDirFS
	fs.ReadFileFS
	fs.StatFS
	// Hash returns the hash of the file's blob, as 40 hex digits; in a commit without
	// reading it. Equal hashes mean equal bytes.
	Hash(name string) (string, error)
}

// FS returns the tree of a commit, named by 40 hex digits. It does not check anything
// out; files are read on demand. Links show as [fs.ModeSymlink] and submodules as
// [fs.ModeIrregular], and neither can be read.
func (r *Repository) FS(commit string) (FileSystem, error) {
	root, err := r.rootTree(commit)
	if err != nil {
		return nil, err
	}
	return treeFS{repo: r, root: root, lost: new(atomic.Pointer[error])}, nil
}

// rootTree returns the hash of a commit's tree.
func (r *Repository) rootTree(commit string) (plumbing.Hash, error) {
	if !plumbing.IsHash(commit) {
		return plumbing.ZeroHash, fmt.Errorf("reading a commit: %q is not a commit's 40 hex digits", commit)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := plumbing.NewHash(commit)
	c, err := object.GetCommit(r.store, h)
	if err != nil && !errors.Is(err, plumbing.ErrObjectNotFound) {
		err = r.lose(h, err)
	}
	if err != nil {
		return plumbing.ZeroHash, r.missing(fmt.Errorf("reading commit %s: %w", commit, err))
	}
	return c.TreeHash, nil
}

// An entry is a name in a commit's folder.
type entry = treeEntry

// dir returns the entries of a tree, sorted by name. They are shared and must
// not be changed.
func (r *Repository) dir(h plumbing.Hash) ([]entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if entries, ok := r.dirs[h]; ok {
		return entries, nil
	}
	size, err := r.objectSize(h)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", h, err)
	}
	if size > maxTree {
		return nil, &pack.ExcessError{
			Path: ".", Message: fmt.Sprintf("the folder %s has a list of %d bytes; the bound is %d", h, size, maxTree), Hint: "spread its files over several folders",
		}
	}
	o, _, err := r.object(plumbing.TreeObject, h)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", h, err)
	}
	t, err := object.DecodeTree(r.store, o)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", h, r.lose(h, err))
	}
	entries := make([]entry, len(t.Entries))
	for i, e := range t.Entries {
		// A hand-made tree may contain names that lead out of the folder.
		if e.Name == "" || e.Name == "." || e.Name == ".." || strings.ContainsAny(e.Name, "/\x00") {
			return nil, fmt.Errorf("tree %s: %w", h, errTree)
		}
		entries[i] = entry{Name: e.Name, Mode: e.Mode, Hash: e.Hash}
	}
	// Git sorts a folder as if its name ended with a slash.
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	if r.entries += len(entries); r.entries > maxEntries {
		clear(r.dirs)
		r.entries = len(entries)
	}
	r.dirs[h] = entries
	return entries, nil
}

// blob reads a blob, and returns its size. The data are nil if it has more than most
// bytes, which are at most [MaxFile].
func (r *Repository) blob(h plumbing.Hash, most int64) (data []byte, size int64, err error) {
	if data, size, err = r.looseBlob(h, most); err == nil {
		return data, size, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if size, err = r.packedSize(h, err); err != nil || size > most {
		return nil, size, err
	}
	_, data, err = r.object(plumbing.BlobObject, h)
	return data, size, err
}

func (r *Repository) size(h plumbing.Hash) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objectSize(h)
}

// treeFS is the tree of a commit.
type treeFS struct {
	repo *Repository
	root plumbing.Hash
	lost *atomic.Pointer[error] // the first object that could not be read
}

// note keeps the error of the first object that could not be read.
func (t treeFS) note(name string, err error) {
	if lost, ok := errors.AsType[*LostError](err); ok && t.lost != nil {
		err = fmt.Errorf("%s: %w", name, lost)
		t.lost.CompareAndSwap(nil, &err)
	}
}

// Lost returns an error that wraps a [LostError] if an object could not be read. Some
// readers treat an error as a missing file; their results do not count then.
func (t treeFS) Lost() error {
	if t.lost == nil || t.lost.Load() == nil {
		return nil
	}
	return *t.lost.Load()
}

// Forget lets go of the objects that were read, whose memory is a multiple of small files.
// Reading them again takes longer.
func (t treeFS) Forget() {
	t.repo.mu.Lock()
	defer t.repo.mu.Unlock()
	t.repo.cache.Clear()
}

// find walks down to name.
func (t treeFS) find(op, name string) (entry, error) {
	at := entry{Name: ".", Mode: filemode.Dir, Hash: t.root}
	if !fs.ValidPath(name) {
		return at, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if name == "." {
		return at, nil
	}
	if strings.Count(name, "/") > maxDepth {
		return at, &fs.PathError{Op: op, Path: name, Err: errTooDeep}
	}
	for part := range strings.SplitSeq(name, "/") {
		if err := enterable(at); err != nil {
			return at, &fs.PathError{Op: op, Path: name, Err: fmt.Errorf("%s %w", at.Name, err)}
		}
		entries, err := t.repo.dir(at.Hash)
		if err != nil {
			t.note(name, err)
			return at, &fs.PathError{Op: op, Path: name, Err: err}
		}
		i, ok := slices.BinarySearchFunc(entries, part, func(e entry, s string) int { return cmp.Compare(e.Name, s) })
		if !ok {
			return at, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		at = entries[i]
	}
	return at, nil
}

// enterable returns the reason why an entry is not a folder.
func enterable(e entry) error {
	switch e.Mode {
	case filemode.Dir:
		return nil
	case filemode.Symlink:
		return errLink
	case filemode.Submodule:
		return errSubmodule
	}
	return fs.ErrNotExist
}

// file finds a regular file by name.
func (t treeFS) file(op, name string) (entry, error) {
	e, err := t.find(op, name)
	if err != nil {
		return e, err
	}
	if err := regular(treeInfo{entry: e}.Mode()); err != nil {
		return e, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return e, nil
}

// Open opens a file or folder.
func (t treeFS) Open(name string) (fs.File, error) {
	e, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	if e.IsDir() {
		entries, err := t.ReadDir(name)
		return &openDir{info: treeInfo{tree: t, entry: e}, rest: entries}, err
	}
	data, err := t.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &openFile{bytes.NewReader(data), treeInfo{tree: t, entry: e}}, nil
}

// ReadFile reads a regular file of at most [MaxFile] bytes.
func (t treeFS) ReadFile(name string) ([]byte, error) {
	e, err := t.file("open", name)
	if err != nil {
		return nil, err
	}
	data, size, err := t.read(name, e, MaxFile)
	if err == nil && size > MaxFile {
		err = &fs.PathError{Op: "read", Path: name, Err: errTooLarge}
	}
	return data, err
}

// ReadUpTo describes a file, and reads it if it is regular and has at most most bytes.
func (t treeFS) ReadUpTo(name string, most int64) ([]byte, fs.FileInfo, error) {
	e, err := t.find("open", name)
	if err != nil {
		return nil, nil, err
	}
	e.Name = path.Base(name)
	info := treeInfo{tree: t, entry: e}
	if !info.Mode().IsRegular() {
		return nil, info, nil
	}
	data, size, err := t.read(name, e, min(most, MaxFile))
	info.size = size
	return data, info, err
}

func (t treeFS) read(name string, e entry, most int64) ([]byte, int64, error) {
	data, size, err := t.repo.blob(e.Hash, most)
	if err != nil {
		t.note(name, err)
		return nil, 0, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return data, size, nil
}

// ReadDir lists a folder, sorted by name.
func (t treeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	e, err := t.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if err := enterable(e); err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	entries, err := t.repo.dir(e.Hash)
	if err != nil {
		t.note(name, err)
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	list := make([]fs.DirEntry, len(entries))
	for i, e := range entries {
		list[i] = treeInfo{tree: t, entry: e}
	}
	return list, nil
}

// Stat describes a file, folder, link or submodule itself.
func (t treeFS) Stat(name string) (fs.FileInfo, error) {
	e, err := t.find("stat", name)
	if err != nil {
		return nil, err
	}
	e.Name = path.Base(name)
	return treeInfo{tree: t, entry: e}.Info()
}

// Hash returns the tree's hash of a file.
func (t treeFS) Hash(name string) (string, error) {
	e, err := t.file("hash", name)
	if err != nil {
		return "", err
	}
	return e.Hash.String(), nil
}

// treeInfo describes an entry. Its size is known only after Info.
type treeInfo struct {
	tree  treeFS
	entry entry
	size  int64
}

func (i treeInfo) Name() string       { return i.entry.Name }
func (i treeInfo) IsDir() bool        { return i.entry.IsDir() }
func (i treeInfo) Type() fs.FileMode  { return i.Mode().Type() }
func (i treeInfo) Size() int64        { return i.size }
func (i treeInfo) ModTime() time.Time { return time.Time{} } // git keeps none
func (i treeInfo) Sys() any           { return nil }

func (i treeInfo) Mode() fs.FileMode {
	switch i.entry.Mode {
	case filemode.Dir:
		return fs.ModeDir | 0o755
	case filemode.Symlink:
		return fs.ModeSymlink | 0o777
	case filemode.Submodule:
		return fs.ModeIrregular
	case filemode.Executable:
		return 0o755
	}
	return 0o644
}

// Info adds the size, which takes a lookup in the object store.
func (i treeInfo) Info() (fs.FileInfo, error) {
	if !i.Mode().IsRegular() {
		return i, nil
	}
	size, err := i.tree.repo.size(i.entry.Hash)
	if err != nil {
		i.tree.note(i.entry.Name, err)
		return nil, &fs.PathError{Op: "stat", Path: i.entry.Name, Err: err}
	}
	i.size = size
	return i, nil
}

// openFile is a file with its content read.
type openFile struct {
	*bytes.Reader
	info treeInfo
}

func (f *openFile) Close() error { return nil }

func (f *openFile) Stat() (fs.FileInfo, error) {
	f.info.size = f.Reader.Size()
	return f.info, nil
}

// openDir is a folder that is being listed.
type openDir struct {
	info fs.FileInfo
	rest []fs.DirEntry
}

func (d *openDir) Close() error               { return nil }
func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.Name(), Err: errFolder}
}

func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		list := d.rest
		d.rest = nil
		return list, nil
	}
	if len(d.rest) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.rest))
	list := d.rest[:n]
	d.rest = d.rest[n:]
	return list, nil
}
