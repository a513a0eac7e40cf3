package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// An Export selects files of a commit to write to a folder.
type Export struct {
	// Match chooses files by their path; nil chooses all.
	Match func(path string) bool
	// MaxFiles and MaxBytes bound the whole output; 0 allows nothing.
	MaxFiles int
	MaxBytes int64
	// LeaveOut skips entries that are not regular files or have a special name in git;
	// otherwise such an entry is an error.
	LeaveOut bool
}

// ErrQuota reports an export beyond its bounds.
var ErrQuota = errors.New("the export is larger than it may be")

// Export writes a commit's files below dir, which exists and is empty, for programs
// that need them on a disk. A link, a submodule or a special name of git is an error
// unless LeaveOut is set: a program with a missing file would do something else. Files
// already written remain after an error; the caller removes the folder in any case.
func (r *Repository) Export(ctx context.Context, commit, dir string, what Export) error {
	files, err := r.FS(commit)
	if err != nil {
		return err
	}
	if err := ExportFiles(ctx, files, dir, what); err != nil {
		return fmt.Errorf("exporting %.12s: %w", commit, err)
	}
	return nil
}

// ExportFiles is [Repository.Export] for files that are already open.
func ExportFiles(ctx context.Context, files fs.FS, dir string, what Export) error {
	into, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer into.Close()
	return fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case e.IsDir() || what.Match != nil && !what.Match(name):
			return nil
		}
		return what.write(into, files, name, e)
	})
}

// write exports one file and subtracts it from the quota.
func (what *Export) write(into *os.Root, files fs.FS, name string, e fs.DirEntry) error {
	odd := exportable(name)
	if err := regular(e.Type()); err != nil {
		odd = fmt.Errorf("%s %w", name, err)
	}
	if odd != nil && what.LeaveOut {
		return nil
	}
	if odd != nil {
		return odd
	}
	info, err := e.Info()
	if err != nil {
		return err
	}
	what.MaxFiles--
	what.MaxBytes -= info.Size()
	if what.MaxFiles < 0 || what.MaxBytes < 0 {
		return fmt.Errorf("%s: %w", name, ErrQuota)
	}
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	local := filepath.FromSlash(name)
	if err := into.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o755); err != nil {
		return err
	}
	// Two names that differ only in case collide here if the disk folds case.
	f, err := into.OpenFile(local, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// exportable refuses names that a file system might read as git's folder or as another
// path.
func exportable(name string) error {
	for part := range strings.SplitSeq(name, "/") {
		plain := strings.TrimRight(strings.ToLower(part), ". ")
		if plain == gitDirName || strings.HasPrefix(plain, "git~") || strings.ContainsAny(part, `\:`) {
			return fmt.Errorf("%s has a name that is not exported", name)
		}
	}
	return nil
}
