package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds are how much a folder may have that a program has written. A program can make
// folders deeper than any path, files that are all hole, and more names than memory has.
type Bounds struct {
	// Depth is how many folders may be inside of each other.
	Depth int
	// Files counts folders, too.
	Files int
	// Bytes is the sum of the sizes of files, holes included; 0 for no bound.
	Bytes int64
	// Names bounds the bytes of all paths together; 0 for no bound.
	Names int
}

// WorkspaceBounds are those of a workspace, which has more than what a program wrote.
func WorkspaceBounds() Bounds {
	return Bounds{Depth: maxDepth, Files: maxWorkspaceFiles, Bytes: maxWorkspace, Names: 16 << 20}
}

// maxDepth is more than people nest, and less than the descriptors of a process.
const maxDepth = 100

// An Exceeded error says which bound a folder passes.
type Exceeded struct{ What string }

// Error is what there is too much of.
func (e *Exceeded) Error() string { return e.What }

// An Entry is a file or folder below a folder that is walked.
type Entry struct {
	// Path has slashes, and begins below the folder.
	Path string
	// In is the folder that has it. It is open during the visit only.
	In   *os.Root
	Info fs.FileInfo
}

// Walk visits everything below a folder, each folder before what is in it.
// Folders are opened one in another, so that no path is too long, and no link leads out.
// A folder that visit answers with [fs.SkipDir] is not entered. A folder that passes a
// bound gives an [*Exceeded].
func Walk(ctx context.Context, dir string, within Bounds, visit func(Entry) error) error {
	top, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer top.Close() //nolint:errcheck // it was only read
	w := &walk{left: within, within: within, visit: visit}
	return w.top(ctx, top)
}

// A walk is one that goes on.
type walk struct {
	within, left Bounds
	visit        func(Entry) error
	// running says that the program goes on: what it takes away or closes meanwhile does
	// not end the walk, and folders that it has closed for its own user are opened.
	running bool
}

// batch is how many names of a folder are read at once.
const batch = 512

// top visits what is in the folder that is walked.
func (w *walk) top(ctx context.Context, at *os.Root) error {
	list, err := at.Open(".")
	if err != nil {
		return w.skip(err)
	}
	return w.folder(ctx, at, list, "", 0)
}

// folder visits what is in a folder, in order of the names, and closes its list.
func (w *walk) folder(ctx context.Context, at *os.Root, list *os.File, name string, depth int) error {
	entries, err := w.names(ctx, list)
	if err = errors.Join(err, list.Close()); err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.entry(ctx, at, path.Join(name, e.Name()), depth); err != nil {
			return err
		}
	}
	return nil
}

// names reads and counts the names of a folder, and refuses the first that is too much.
func (w *walk) names(ctx context.Context, list *os.File) (out []fs.DirEntry, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		entries, err := list.ReadDir(batch)
		out = append(out, entries...)
		if w.left.Files -= len(entries); w.left.Files < 0 {
			return nil, &Exceeded{fmt.Sprintf("there are more than %d files and folders", w.within.Files)}
		}
		if err == nil {
			continue
		}
		slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		return out, w.skip(err)
	}
}

// entry visits one name of a folder, and enters it.
func (w *walk) entry(ctx context.Context, at *os.Root, name string, depth int) error {
	info, err := at.Lstat(path.Base(name))
	if err != nil {
		return w.skip(err)
	}
	if err := w.count(name, info); err != nil {
		return err
	}
	err = w.visit(Entry{name, at, info})
	switch {
	case errors.Is(err, fs.SkipDir) && info.IsDir():
		return nil
	case err != nil || !info.IsDir():
		return err
	case depth == w.within.Depth:
		return &Exceeded{fmt.Sprintf("there are more than %d folders inside of each other, in %s", w.within.Depth, short(name))}
	}
	below, list, err := w.open(at, path.Base(name), info)
	if err != nil {
		return w.skip(err)
	}
	defer below.Close() //nolint:errcheck // it was only read
	return w.folder(ctx, below, list, name, depth+1)
}

// open opens a folder and its list. A running program that closed it even for its owner
// has it open for a moment.
func (w *walk) open(at *os.Root, base string, info fs.FileInfo) (*os.Root, *os.File, error) {
	below, list, err := open(at, base)
	if !w.running || !errors.Is(err, fs.ErrPermission) {
		return below, list, err
	}
	if err := at.Chmod(base, info.Mode().Perm()|0o500); err != nil {
		return nil, nil, err
	}
	below, list, err = open(at, base)
	_ = at.Chmod(base, info.Mode().Perm()) // where that fails it stays open
	return below, list, err
}

// open opens a folder of a folder, and its list.
func open(at *os.Root, base string) (below *os.Root, list *os.File, err error) {
	if below, err = at.OpenRoot(base); err != nil {
		return nil, nil, err
	}
	if list, err = below.Open("."); err != nil {
		return nil, nil, errors.Join(err, below.Close())
	}
	return below, list, nil
}

// count counts an entry, and refuses the first that is too much.
func (w *walk) count(name string, info fs.FileInfo) error {
	w.left.Names -= len(name)
	if info.Mode().IsRegular() {
		w.left.Bytes -= info.Size()
	}
	switch {
	case w.within.Names > 0 && w.left.Names < 0:
		return &Exceeded{fmt.Sprintf("the paths of its files are longer than %s together", size(int64(w.within.Names)))}
	case w.within.Bytes > 0 && w.left.Bytes < 0:
		return &Exceeded{fmt.Sprintf("its files have more than %s, holes included, up to %s", size(w.within.Bytes), short(name))}
	}
	return nil
}

// short is a path for people.
func short(name string) string {
	const most = 60
	if len(name) <= most {
		return strconv.Quote(name)
	}
	return strconv.Quote(name[:most]) + "…"
}

// skip ignores entries that are gone or closed.
func (w *walk) skip(err error) error {
	if w.running || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// folderSize returns the bytes that a folder takes of the disk while a program writes it.
// The error is an [*Exceeded] for a folder that passes a bound.
func folderSize(ctx context.Context, dir string, within Bounds) (bytes int64, err error) {
	top, err := os.OpenRoot(dir)
	if err != nil {
		return 0, nil //nolint:nilerr // what goes away meanwhile does not count
	}
	defer top.Close() //nolint:errcheck // it was only read
	w := &walk{left: within, within: within, running: true, visit: func(e Entry) error {
		bytes += occupied(e.Info)
		return nil
	}}
	if err := w.top(ctx, top); ctx.Err() == nil {
		return bytes, err
	}
	return bytes, nil
}

// removalTime bounds the removal of a folder. The next sandbox goes on with what is left.
const removalTime = time.Minute

// removeAll removes a folder however deep it is, also when a program took away the right
// to do so. Each folder in it is moved up before it is emptied, so that no path is long
// and few descriptors are open.
func removeAll(dir string, until time.Time) error {
	if err := os.Chmod(dir, 0o700); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	top, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	r := &removal{top: top, prefix: ".gavel-" + rand.Text() + "-", until: until}
	err = r.empty(top, ".")
	if err = errors.Join(err, top.Close()); err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	return os.Remove(dir)
}

// A removal is a folder that is being emptied.
type removal struct {
	top    *os.Root
	prefix string
	moved  int
	until  time.Time
}

// empty removes what is in the folder itself, and moves up the folders in one below it.
func (r *removal) empty(at *os.Root, name string) error {
	for {
		list, err := at.Open(".")
		if err != nil {
			return err
		}
		entries, err := list.ReadDir(batch)
		if err = errors.Join(err, list.Close()); len(entries) == 0 {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		for _, e := range entries {
			if time.Now().After(r.until) {
				return errors.New("it has too much for the time that there is; the next sandbox goes on")
			}
			if err := r.entry(at, name, e); err != nil {
				return err
			}
		}
	}
}

// entry removes or moves up one name.
func (r *removal) entry(at *os.Root, name string, e fs.DirEntry) error {
	if !e.IsDir() {
		return ignoreGone(at.Remove(e.Name()))
	}
	// Moving a folder changes what is in it.
	if err := at.Chmod(e.Name(), 0o700); err != nil {
		return ignoreGone(err)
	}
	if name != "." {
		r.moved++
		return ignoreGone(r.top.Rename(name+"/"+e.Name(), r.prefix+strconv.Itoa(r.moved)))
	}
	below, err := at.OpenRoot(e.Name())
	if err != nil {
		return ignoreGone(err)
	}
	err = r.empty(below, e.Name())
	if err = errors.Join(err, below.Close()); err != nil {
		return err
	}
	return ignoreGone(at.Remove(e.Name()))
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
