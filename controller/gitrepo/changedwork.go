package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"golang.org/x/sync/errgroup"
)

// ChangedWork lists the files below the folders that differ between a commit and the
// working tree, untracked ones included. The list is sorted, or nil if nothing differs.
// Folders are relative to the root; "." means everything, and a file may take the place
// of a folder. Modes are not compared, since not every file system has them; a link
// only has to be one on both sides.
func (r *Repository) ChangedWork(ctx context.Context, base string, folders []string) ([]string, error) {
	found, err := r.Differences(ctx, base, folders)
	if len(found) == 0 {
		return nil, err
	}
	return slices.Sorted(maps.Keys(found)), err
}

// Differences returns the files that ChangedWork lists, with the hash that git would
// give to their current content as 40 hex digits: the zero hash for a missing file or
// one that is not regular. Git's index saves reading unchanged files. An empty base
// represents a commit without files.
func (r *Repository) Differences(ctx context.Context, base string, folders []string) (map[string]string, error) {
	work, err := r.WorkFS()
	if err != nil {
		return nil, err
	}
	return r.differences(ctx, base, work, folders)
}

// DifferencesAt is Differences for a few paths: it reads them rather than git's index
// of all files.
func (r *Repository) DifferencesAt(ctx context.Context, base string, paths []string) (map[string]string, error) {
	work, err := r.WorkFS()
	if err != nil {
		return nil, err
	}
	work.staged = func() staged { return staged{} }
	return r.differences(ctx, base, work, paths)
}

// differences compares folders and closes the working tree.
func (r *Repository) differences(ctx context.Context, base string, work *WorkTree, folders []string) (map[string]string, error) {
	defer work.Close()
	var root plumbing.Hash
	if base != "" {
		var err error
		if root, err = r.rootTree(base); err != nil {
			return nil, err
		}
	}
	d := workDiffer{commit: treeFS{repo: r, root: root}, work: work, found: map[string]string{}}
	d.group, d.ctx = errgroup.WithContext(ctx)
	d.group.SetLimit(runtime.GOMAXPROCS(0))
	// Reading git's index takes about as long as listing the folders.
	d.group.Go(func() error { work.staged(); return nil })
	var err error
	for _, folder := range folders {
		if err = d.start(path.Clean(folder)); err != nil {
			err = uncompared(folder, err)
			break
		}
	}
	if waited := d.group.Wait(); err == nil && waited != nil {
		err = uncompared(fmt.Sprintf("%.12s", base), waited)
	}
	return d.found, err
}

// uncompared reports a path that cannot be compared, and the repair for an unreadable
// file.
func uncompared(what string, err error) error {
	if denied, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(denied, fs.ErrPermission) {
		return fmt.Errorf("%s cannot be read: %w; allow it with chmod -R u+rX %[1]s", denied.Path, fs.ErrPermission)
	}
	return fmt.Errorf("comparing %s with the working tree: %w", what, err)
}

// A workDiffer walks a commit's tree and the working tree in parallel, several folders
// at a time.
type workDiffer struct {
	commit treeFS
	work   *WorkTree
	group  *errgroup.Group
	ctx    context.Context // the group's, while ChangedWork runs

	mu    sync.Mutex
	found map[string]string // guarded by mu
}

// start compares one folder or file. A path that is missing on a side, or behind
// a link, does not exist on that side.
func (d *workDiffer) start(name string) error {
	var was entry
	if !d.commit.root.IsZero() { // without a commit there is nothing to compare with
		var err error
		if was, err = d.commit.find("open", name); err != nil {
			was = entry{}
		}
		if _, lost := errors.AsType[*LostError](err); lost {
			return err
		}
	}
	is, err := d.work.Stat(name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errLink) && !errors.Is(err, errSubmodule) {
			return err
		}
		is = nil
	}
	return d.pair(name, was, is)
}

// pair compares both entries of a name. A file that became a folder is a removed file
// and added ones.
func (d *workDiffer) pair(name string, was entry, is fs.FileInfo) error {
	if !fs.ValidPath(name) {
		// Its bytes are not text and cannot be requested; loading it reports that.
		d.add(name, plumbing.ZeroHash)
		return nil
	}
	wasFile, isFile := was.Mode != filemode.Empty && !was.IsDir(), is != nil && !is.IsDir()
	if wasFile || isFile {
		if err := d.file(name, was, is); err != nil {
			return err
		}
	}
	if (wasFile || was.Mode == filemode.Empty) && (isFile || is == nil) {
		return nil
	}
	var tree plumbing.Hash
	if was.IsDir() {
		tree = was.Hash
	}
	compare := func() error { return d.folder(name, tree, is != nil && is.IsDir()) }
	if d.group.TryGo(compare) {
		return nil
	}
	return compare()
}

// file compares a file that exists on one side or both.
func (d *workDiffer) file(name string, was entry, is fs.FileInfo) error {
	var now plumbing.Hash
	kind := (treeInfo{entry: was}).Mode().Type()
	differs := was.Mode == filemode.Empty || is == nil || is.Mode().Type() != kind
	if is != nil && is.Mode().IsRegular() {
		var err error
		if now, err = d.work.hash(name, is); err != nil {
			return err
		}
		differs = differs || now != was.Hash
	}
	if differs {
		d.add(name, now)
	}
	return nil
}

// add records a differing file with its hash in the working tree.
func (d *workDiffer) add(name string, now plumbing.Hash) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.found[name] = now.String()
}

// folder compares the entries of a folder, which may be missing on one side.
func (d *workDiffer) folder(name string, tree plumbing.Hash, there bool) error {
	if strings.Count(name, "/") > maxDepth {
		return fmt.Errorf("%s %w", name, errTooDeep)
	}
	var was []entry
	if !tree.IsZero() {
		var err error
		if was, err = d.commit.repo.dir(tree); err != nil {
			return err
		}
	}
	var is []fs.DirEntry
	if there {
		var err error
		if is, err = d.work.ReadDir(name); err != nil {
			return err
		}
	}
	for len(was) > 0 || len(is) > 0 {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		a, b := next(&was, &is)
		base := a.Name
		var info fs.FileInfo
		if b != nil {
			base = b.Name()
			var err error
			if info, err = b.Info(); errors.Is(err, fs.ErrNotExist) {
				info = nil // removed since the listing
			} else if err != nil {
				return err
			}
		}
		if err := d.pair(path.Join(name, base), a, info); err != nil {
			return err
		}
	}
	return nil
}

// next takes the next name from the front of both lists; a side without it gives
// nothing.
func next(was *[]entry, is *[]fs.DirEntry) (a entry, b fs.DirEntry) {
	order := 0
	switch {
	case len(*was) == 0:
		order = 1
	case len(*is) == 0:
		order = -1
	default:
		order = strings.Compare((*was)[0].Name, (*is)[0].Name())
	}
	if order <= 0 {
		a, *was = (*was)[0], (*was)[1:]
	}
	if order >= 0 {
		b, *is = (*is)[0], (*is)[1:]
	}
	return a, b
}
