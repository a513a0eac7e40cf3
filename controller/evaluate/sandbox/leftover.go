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

// Bounds limit a folder that a program has written. A program can create folders deeper
// than any path, files that consist of holes, and more names than memory holds.
type Bounds struct {
	// Depth bounds the nesting of folders.
	Depth int
	// Files counts folders, too.
	Files int
	// Bytes bounds the sum of the files' sizes, holes included; 0 for no bound.
	Bytes int64
	// Names bounds the bytes of all paths together; 0 for no bound.
	Names int
}

// WorkspaceBounds returns the bounds of a workspace, which has more files than the
// program wrote.
func WorkspaceBounds() Bounds {
	return Bounds{Depth: maxDepth, Files: maxWorkspaceFiles, Bytes: maxWorkspace, Names: 16 << 20}
}

// maxDepth exceeds what people nest, and is below a process's number of descriptors.
const maxDepth = 100

// An Exceeded error names the bound that a folder exceeds.
type Exceeded struct{ What string }

// Error describes the excess.
func (e *Exceeded) Error() string { return e.What }

// An Entry is a file or folder found by a walk.
type Entry struct {
	// Path has slashes, and is relative to the walked folder.
	Path string
	// In is the parent folder. It is open only during the visit.
	In   *os.Root
	Info fs.FileInfo
}

// Walk visits everything below a folder, parents first. It opens folders relative to
// their parents, so that no path is too long and no link leads out. If visit returns
// [fs.SkipDir], the folder is not entered. A folder that exceeds a bound gives an
// [*Exceeded].
func Walk(ctx context.Context, dir string, within Bounds, visit func(Entry) error) error {
	top, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer top.Close() //nolint:errcheck // it was only read
	w := &walk{left: within, within: within, visit: visit}
	return w.top(ctx, top)
}

// A walk is a walk in progress.
type walk struct {
	within, left Bounds
	visit        func(Entry) error
	// running means that the program is still running: entries that it removes or
	// closes meanwhile do not end the walk, and folders that it closed for its own user
	// are opened.
	running bool
}

// batch is the number of names read from a folder at once.
const batch = 512

// top visits the entries of the walked folder.
func (w *walk) top(ctx context.Context, at *os.Root) error {
	list, err := at.Open(".")
	if err != nil {
		return w.skip(err)
	}
	return w.folder(ctx, at, list, "", 0)
}

// folder visits a folder's entries in order of their names, and closes its list.
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

// names reads and counts a folder's names, and fails at the first one beyond a bound.
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

// entry visits one entry of a folder, and enters it.
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

// open opens a folder and its list. If a running program closed it even for its owner,
// it is opened for a moment.
func (w *walk) open(at *os.Root, base string, info fs.FileInfo) (*os.Root, *os.File, error) {
	below, list, err := open(at, base)
	if !w.running || !errors.Is(err, fs.ErrPermission) {
		return below, list, err
	}
	if err := at.Chmod(base, info.Mode().Perm()|0o500); err != nil {
		return nil, nil, err
	}
	below, list, err = open(at, base)
	_ = at.Chmod(base, info.Mode().Perm()) // if this fails, it stays open
	return below, list, err
}

// open opens a subfolder and its list.
func open(at *os.Root, base string) (below *os.Root, list *os.File, err error) {
	if below, err = at.OpenRoot(base); err != nil {
		return nil, nil, err
	}
	if list, err = below.Open("."); err != nil {
		return nil, nil, errors.Join(err, below.Close())
	}
	return below, list, nil
}

// count counts an entry, and fails at the first one beyond a bound.
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

// short shortens a path for people.
func short(name string) string {
	const most = 60
	if len(name) <= most {
		return strconv.Quote(name)
	}
	return strconv.Quote(name[:most]) + "…"
}

// skip ignores errors about entries that were removed or closed.
func (w *walk) skip(err error) error {
	if w.running || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// folderSize returns the disk space of a folder while a program writes to it. A folder
// that exceeds a bound gives an [*Exceeded].
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

// removalTime bounds the removal of a folder. The next sandbox continues with the rest.
const removalTime = time.Minute

// removeAll removes a folder of any depth, even if a program removed the permissions.
// Each subfolder is moved up before it is emptied, so that no path is long and few
// descriptors are open.
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

// empty removes the entries of a folder, and moves its grandchildren up.
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
	// Moving a folder changes its contents.
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
