// Package safefile writes the files that Gavel leaves in a repository. A branch
// controls the content of the work tree, so a name in it may be a link to a git hook or
// to a file elsewhere: nothing is written through a link or below .git, and only a
// regular file is replaced.
//
// Most callers want [Replace] or [OpenFile] for a user's path, and [Open] for files of
// a folder.
package safefile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// A Refusal is the reason why a file is not written. The user must name another one, or
// remove the existing one.
type Refusal struct{ Path, Why string }

// Error returns the path with the reason.
func (e *Refusal) Error() string { return e.Path + " " + e.Why }

// DraftSuffix ends the name of each file that has not replaced its target yet.
const DraftSuffix = ".gavel-draft"

// CheckName refuses a name, with slashes, that is not below a folder or is below .git.
func CheckName(name string) error {
	if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\\x00") {
		return &Refusal{name, "is not a path below the folder"}
	}
	for part := range strings.SplitSeq(name, "/") {
		if isGit(part) {
			return &Refusal{name, "belongs to git; name a file outside of .git"}
		}
	}
	return nil
}

// isGit reports whether a file system may treat a name as .git.
func isGit(part string) bool {
	part, _, _ = strings.Cut(strings.ToLower(part), ":") // a stream of NTFS
	part = strings.Map(func(r rune) rune {
		if (r >= 0x200c && r <= 0x200f) || (r >= 0x202a && r <= 0x202e) || (r >= 0x206a && r <= 0x206f) || r == 0xfeff {
			return -1 // ignored by HFS+
		}
		return r
	}, part)
	part = strings.TrimRight(part, " .")
	return part == ".git" || part == "git~1"
}

// A Folder is a folder for writing files. Its own path may lead through links.
type Folder struct{ root *os.Root }

// Open opens a folder. The caller closes it.
func Open(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Folder{root}, nil
}

// Close releases the folder.
func (f *Folder) Close() error { return f.root.Close() }

// ReadFile reads a regular file that is not reached through links.
func (f *Folder) ReadFile(name string) (data []byte, err error) {
	dir, base, err := f.parent(name, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if _, err := regular(dir, name, base); err != nil {
		return nil, err
	}
	return dir.ReadFile(base)
}

// parent opens the folder of a file. Missing folders are created with the mode, unless
// it is 0.
func (f *Folder) parent(name string, mode fs.FileMode) (dir *os.Root, base string, err error) {
	if err := CheckName(name); err != nil {
		return nil, "", err
	}
	dir, err = f.root.OpenRoot(".")
	if err != nil {
		return nil, "", err
	}
	folders, base := path.Split(name)
	for part := range strings.SplitSeq(strings.TrimSuffix(folders, "/"), "/") {
		if part == "" {
			break
		}
		below, err := enter(dir, part, name, mode)
		_ = dir.Close() // it was only read
		if err != nil {
			return nil, "", err
		}
		dir = below
	}
	return dir, base, nil
}

// enter opens a subfolder, and refuses a link.
func enter(dir *os.Root, part, name string, mode fs.FileMode) (*os.Root, error) {
	found, err := dir.Lstat(part)
	if errors.Is(err, fs.ErrNotExist) && mode != 0 {
		if err := dir.Mkdir(part, mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		found, err = dir.Lstat(part)
	}
	switch {
	case err != nil:
		return nil, err
	case found.Mode()&fs.ModeSymlink != 0:
		return nil, &Refusal{name, fmt.Sprintf("leads through the link %s; remove the link, or name the place that it leads to", part)}
	case !found.IsDir():
		return nil, &Refusal{name, fmt.Sprintf("cannot be written: %s is a file, not a folder", part)}
	}
	below, err := dir.OpenRoot(part)
	if err != nil {
		return nil, err
	}
	if now, err := below.Stat("."); err != nil || !os.SameFile(found, now) {
		return nil, errors.Join(&Refusal{name, fmt.Sprintf("leads through %s, which was replaced meanwhile", part)}, err, below.Close())
	}
	return below, nil
}

// regular describes a file of a folder, and refuses one that is not regular.
func regular(dir *os.Root, name, base string) (fs.FileInfo, error) {
	found, err := dir.Lstat(base)
	switch {
	case err != nil:
		return nil, err
	case found.Mode()&fs.ModeSymlink != 0:
		return nil, &Refusal{name, "is a link; remove it, or name the file that it leads to"}
	case found.IsDir():
		return nil, &Refusal{name, "is a folder"}
	case !found.Mode().IsRegular():
		return nil, &Refusal{name, "is not a regular file"}
	}
	return found, nil
}

// Check refuses a file that may not be written. A missing one may be.
func (f *Folder) Check(name string) error {
	dir, base, err := f.parent(name, 0)
	if err == nil {
		_, err = regular(dir, name, base)
		_ = dir.Close() // it was only read
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Mkdir creates a folder with its parents, and refuses links among them, too.
func (f *Folder) Mkdir(name string, mode fs.FileMode) error {
	dir, _, err := f.parent(name+"/x", mode)
	if err != nil {
		return err
	}
	return dir.Close()
}

// Create writes a new file; the error is [fs.ErrExist] if it exists.
func (f *Folder) Create(name string, data []byte, mode fs.FileMode) error {
	dir, base, err := f.parent(name, 0o755)
	if err != nil {
		return err
	}
	defer dir.Close()
	to, err := dir.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = to.Write(data)
	return errors.Join(err, to.Close())
}

// DraftOf returns an unpredictable name next to a file.
func DraftOf(name string) string {
	dir, base := path.Split(name)
	return dir + "." + strings.ToValidUTF8(base[:min(len(base), 120)], "") + "-" + rand.Text() + DraftSuffix
}

// Draft writes a file under a name of [DraftOf], with its folders.
func (f *Folder) Draft(name, draft string, mode fs.FileMode, write func(*os.File) error) error {
	dir, base, err := f.parent(name, 0o755)
	if err != nil {
		return err
	}
	defer dir.Close()
	found, err := regular(dir, name, base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	to, err := dir.OpenFile(path.Base(draft), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = write(to)
	if err == nil && found != nil {
		err = to.Chmod(found.Mode().Perm())
	}
	if err = errors.Join(err, to.Close()); err != nil {
		_ = dir.Remove(path.Base(draft)) // the rest of it is useless
	}
	return err
}

// Place moves a draft to its place: a reader sees the old text or the new one.
func (f *Folder) Place(draft, name string) error {
	dir, base, err := f.parent(name, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	if _, err := regular(dir, name, base); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return dir.Rename(path.Base(draft), base)
}

// Remove removes a regular file.
func (f *Folder) Remove(name string) error {
	dir, base, err := f.parent(name, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	if _, err := regular(dir, name, base); err != nil {
		return err
	}
	return dir.Remove(base)
}

// RemoveEmpty removes the folder of a removed file and the folders around it, as long as they
// are empty and in another folder.
func (f *Folder) RemoveEmpty(name string) {
	for name = path.Dir(name); strings.Contains(name, "/"); name = path.Dir(name) {
		dir, base, err := f.parent(name, 0)
		if err != nil {
			return
		}
		found, err := dir.Lstat(base)
		if err == nil && found.IsDir() {
			err = dir.Remove(base) // the system refuses a folder with files
		}
		_ = dir.Close() // it was only read
		if err != nil {
			return
		}
	}
}

// Replace writes a file with its folders, or replaces it as a whole.
func (f *Folder) Replace(name string, mode fs.FileMode, write func(*os.File) error) error {
	draft := DraftOf(name)
	if err := f.Draft(name, draft, mode, write); err != nil {
		return err
	}
	if err := f.Place(draft, name); err != nil {
		return errors.Join(err, f.Remove(draft))
	}
	return nil
}

// openFile opens a file as [os.OpenFile] does, without [os.O_TRUNC].
func (f *Folder) openFile(name string, flag int, mode fs.FileMode) (*os.File, error) {
	folders := fs.FileMode(0)
	if flag&os.O_CREATE != 0 {
		folders = 0o755
	}
	dir, base, err := f.parent(name, folders)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for try := 0; ; try++ {
		found, err := regular(dir, name, base)
		as := flag &^ os.O_CREATE
		switch {
		case errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0:
			as = flag | os.O_EXCL
		case err != nil:
			return nil, err
		}
		out, err := dir.OpenFile(base, as, mode)
		if (errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist)) && try < 10 {
			continue // created or removed meanwhile
		}
		if err != nil || found == nil {
			return out, err
		}
		if now, err := out.Stat(); err != nil || !os.SameFile(found, now) {
			return nil, errors.Join(&Refusal{name, "was replaced meanwhile"}, err, out.Close())
		}
		return out, nil
	}
}
