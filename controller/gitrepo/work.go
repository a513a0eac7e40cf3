package gitrepo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
)

// A WorkTree is the working tree as a file system, read on demand. As in a commit,
// links, submodules and nested repositories are not followed. The .git folder is
// hidden. It caches the real folders, so a WorkTree serves one look at the files, not a
// process's whole life.
type WorkTree struct {
	root *os.Root
	// real holds the folders that are neither links nor repositories.
	real sync.Map
	last folder
	// index returns git's index of the files, read at first use. staged returns the same,
	// or an empty one if files are read in any case.
	index, staged func() staged
	// conversions returns how git converts files, read at first use.
	conversions func() (*conversions, error)
	repo        *Repository
	// known returns git's tracked and ignored files, read at first use.
	known func() (*Known, error)
	// looking is the repository's.
	looking func(name string, lists bool)
}

// NoteLooks has looking called ahead of each look at a file or folder of the working tree,
// with lists for the list of a folder's entries. It concerns working trees that are opened
// afterwards, and is called before others use r.
func (r *Repository) NoteLooks(looking func(name string, lists bool)) { r.looking = looking }

// OwnFiles returns the files of git that decide how the working tree is read: which files
// are tracked or ignored, and how they are converted.
func (r *Repository) OwnFiles() []string {
	common, err := commonDir(r.gitIn)
	if err != nil {
		common = r.gitIn
	}
	return []string{
		filepath.Join(r.gitIn, "HEAD"), filepath.Join(r.gitIn, "index"), filepath.Join(common, "config"),
		filepath.Join(common, "info", "exclude"), filepath.Join(common, "info", "attributes"),
	}
}

// WorkFS opens the working tree. The caller closes it.
func (r *Repository) WorkFS() (*WorkTree, error) {
	if r.root == "" {
		return nil, fmt.Errorf("opening the working tree of %s: %w", r.gitIn, ErrBare)
	}
	root, err := os.OpenRoot(r.root)
	if err != nil {
		return nil, fmt.Errorf("opening the working tree: %w", err)
	}
	w := &WorkTree{root: root, index: sync.OnceValue(r.staged), repo: r, looking: r.looking}
	w.staged = w.index
	w.conversions = sync.OnceValues(func() (*conversions, error) { return newConversions(r, w) })
	w.known = sync.OnceValues(func() (*Known, error) { return know(w) })
	return w, nil
}

// Busy reports whether git is changing the working tree, during which it holds the lock
// of its index.
func (r *Repository) Busy() bool {
	_, err := os.Lstat(filepath.Join(r.gitIn, "index.lock"))
	return err == nil
}

// Close releases the folder.
func (w *WorkTree) Close() error { return errors.Join(w.last.close(), w.root.Close()) }

// A folder is the one whose file was opened last. To open a file, the root opens each
// folder above it, and most files have the folder of the file before.
type folder struct {
	mu   sync.Mutex
	name string   // guarded by mu
	root *os.Root // guarded by mu; nil before the first file and after close
}

// open opens a file of a folder below top.
func (f *folder) open(top *os.Root, name string) (fs.File, error) {
	dir, base := path.Split(name)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.root != nil && f.name == dir {
		if file, err := f.root.Open(base); err == nil {
			return file, nil
		}
		// Another folder may have its name by now.
	}
	root, err := top.OpenRoot(filepath.FromSlash(path.Clean(dir)))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: cause(err)}
	}
	if f.root != nil {
		_ = f.root.Close() // it was only read
	}
	f.name, f.root = dir, root
	file, err := root.Open(base)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: cause(err)}
	}
	return file, nil
}

func (f *folder) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.root == nil {
		return nil
	}
	root := f.root
	f.root = nil
	return root.Close()
}

// cause returns an error without the name that it was opened under.
func cause(err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		return of.Err
	}
	return err
}

// check refuses names that lead through links, submodules or .git.
func (w *WorkTree) check(op, name string) error {
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if strings.Count(name, "/") > maxDepth {
		return &fs.PathError{Op: op, Path: name, Err: errTooDeep}
	}
	w.look(name, op == "readdir")
	if strings.EqualFold(path.Base(name), gitDirName) {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	if err := w.enterable(path.Dir(name)); err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

func (w *WorkTree) look(name string, lists bool) {
	if w.looking != nil {
		w.looking(name, lists)
	}
}

// enterable returns the reason why a folder, or one above it, is not entered.
func (w *WorkTree) enterable(dir string) error {
	if dir == "." {
		return nil
	}
	if _, known := w.real.Load(dir); known {
		return nil
	}
	if err := w.enterable(path.Dir(dir)); err != nil {
		return err
	}
	w.look(dir, false)
	info, err := w.root.Lstat(filepath.FromSlash(dir))
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s %w", dir, errLink)
	case !info.IsDir() || strings.EqualFold(path.Base(dir), gitDirName):
		return fs.ErrNotExist
	case w.isRepository(dir):
		return fmt.Errorf("%s %w", dir, errSubmodule)
	}
	w.real.Store(dir, true)
	return nil
}

func (w *WorkTree) isRepository(dir string) bool {
	w.look(path.Join(dir, gitDirName), false)
	_, err := w.root.Lstat(filepath.Join(filepath.FromSlash(dir), gitDirName))
	return err == nil
}

// Stat describes a file or folder, and a link itself.
func (w *WorkTree) Stat(name string) (fs.FileInfo, error) {
	if err := w.check("stat", name); err != nil {
		return nil, err
	}
	// check has looked at the folders above; a link created there since could only
	// reveal a size. The root would open each folder again, which takes longer than
	// everything else for 100,000 files.
	info, err := os.Lstat(filepath.Join(w.root.Name(), filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	if info.IsDir() && name != "." && w.isRepository(name) {
		return submodule{info}, nil
	}
	return info, nil
}

// Open opens a regular file or a folder.
func (w *WorkTree) Open(name string) (fs.File, error) {
	info, err := w.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		list, err := w.ReadDir(name)
		return &openDir{info: info, rest: list}, err
	}
	if err := regular(info.Mode()); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return w.last.open(w.root, name)
}

// ReadFile reads a regular file of at most [MaxFile] bytes.
func (w *WorkTree) ReadFile(name string) ([]byte, error) {
	data, info, err := w.ReadUpTo(name, MaxFile)
	switch {
	case err != nil:
		return nil, err
	case info.Size() > MaxFile:
		return nil, &fs.PathError{Op: "read", Path: name, Err: errTooLarge}
	}
	if err := regular(info.Mode()); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return data, nil
}

// ReadUpTo describes a file, and reads it if it is regular and has at most most bytes.
func (w *WorkTree) ReadUpTo(name string, most int64) ([]byte, fs.FileInfo, error) {
	info, err := w.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return nil, info, err
	}
	f, err := w.last.open(w.root, name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data := make([]byte, info.Size()+1)
	n, err := io.ReadFull(f, data)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return data[:n], info, nil
	case err != nil:
		return nil, nil, err
	}
	// The file has grown since.
	rest, err := io.ReadAll(io.LimitReader(f, most-int64(n)+1))
	if err != nil {
		return nil, nil, err
	}
	if data = append(data, rest...); int64(len(data)) > most {
		info, err = f.Stat()
		return nil, info, err
	}
	return data, info, nil
}

// ReadDir lists a folder, sorted by name.
func (w *WorkTree) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := w.check("readdir", name); err != nil {
		return nil, err
	}
	if err := w.enterable(name); err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	list, err := w.list(name)
	kept := list[:0]
	for _, e := range list {
		if !strings.EqualFold(e.Name(), gitDirName) {
			kept = append(kept, w.entry(path.Join(name, e.Name()), e))
		}
	}
	return kept, err
}

// entry returns an entry of a list as callers see it: a submodule is not a folder. A folder
// that is unreadable stays one, so that reading it tells why.
func (w *WorkTree) entry(name string, e fs.DirEntry) fs.DirEntry {
	if e.IsDir() {
		if err := w.enterable(name); errors.Is(err, errSubmodule) || errors.Is(err, errLink) {
			if info, err := e.Info(); err == nil {
				return fs.FileInfoToDirEntry(submodule{info})
			}
		}
	}
	if w.looking != nil {
		return notedEntry{e, w, name}
	}
	return e
}

// list reads a folder. Its entries are described when somebody asks: a link that is created
// by then could only reveal a size, see [WorkTree.Stat].
func (w *WorkTree) list(name string) (list []fs.DirEntry, err error) {
	dir, err := w.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	plain, err := unrooted(dir)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	list, err = plain.ReadDir(-1)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}

// A notedEntry notes a look at its file.
type notedEntry struct {
	fs.DirEntry
	work *WorkTree
	name string
}

func (e notedEntry) Info() (fs.FileInfo, error) {
	e.work.look(e.name, false)
	return e.DirEntry.Info()
}

// Hash returns the hash of the content that git would store for the file: line ends are
// converted as git's configuration and attributes say. A file that git changes with a
// filter, ident or another encoding has the hash of its bytes, since only git makes the
// stored form. The file is read only if it may have changed since git recorded its hash.
func (w *WorkTree) Hash(name string) (string, error) {
	info, err := w.Stat(name)
	if err != nil {
		return "", err
	}
	hash, err := w.hash(name, info)
	if err != nil {
		return "", err
	}
	return hash.String(), nil
}

func (w *WorkTree) hash(name string, info fs.FileInfo) (plumbing.Hash, error) {
	c, err := w.conversions()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if hash, ok := w.staged().hash(name, info); ok {
		// The index has the hash of the stored form, which reading again must give, too.
		if unknown, err := c.unknown(name); err == nil && !unknown {
			return hash, nil
		}
	}
	data, err := w.ReadFile(name)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	data, err = c.stored(name, data, func() ([]byte, error) { return w.indexed(name) })
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return plumbing.ComputeHash(plumbing.BlobObject, data), nil
}

// indexed returns the content that git's index has for a file; nil if it has none.
func (w *WorkTree) indexed(name string) ([]byte, error) {
	e, ok := w.index().entries[name]
	if !ok {
		return nil, nil
	}
	data, _, err := w.repo.blob(e.Hash, MaxFile)
	return data, err
}

// Noted returns the files that git tracks, and the path of this repository's own ignore
// patterns, which need not exist.
func (w *WorkTree) Noted() (tracked []string, excludes string, err error) {
	w.repo.mu.Lock()
	defer w.repo.mu.Unlock()
	idx, err := w.repo.store.Index()
	if err != nil {
		return nil, "", fmt.Errorf("reading git's index: %w", err)
	}
	for _, e := range idx.Entries {
		tracked = append(tracked, e.Name)
	}
	common, err := commonDir(w.repo.gitIn)
	return tracked, filepath.Join(common, "info", "exclude"), err
}

// ListFiles returns the tracked and trackable regular files in the folders and below,
// sorted. skip excludes files, and folders with everything in them. The error is
// [program.ErrTooMany] if there are more entries than most.
func (w *WorkTree) ListFiles(folders []string, skip func(name string, isFolder bool) bool, most int) ([]string, error) {
	known, err := w.known()
	if err != nil {
		return nil, err
	}
	return known.Files(folders, listOptions{Skip: skip, Most: most})
}

// regular returns the reason why an entry cannot be read as a file.
func regular(m fs.FileMode) error {
	switch {
	case m.IsRegular():
		return nil
	case m&fs.ModeSymlink != 0:
		return errLink
	case m&fs.ModeIrregular != 0:
		return errSubmodule
	case m.IsDir():
		return errFolder
	}
	return errors.New("is a device, pipe or socket, which is not read")
}

// submodule presents a nested repository as a commit presents a submodule.
type submodule struct{ fs.FileInfo }

func (submodule) Mode() fs.FileMode { return fs.ModeIrregular }
func (submodule) IsDir() bool       { return false }
