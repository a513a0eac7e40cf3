package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes a file at a user's path, with its folders, or replaces it as a whole.
// In a git work tree it follows the rules of a [Folder]. Elsewhere a link or a device
// is intended, and is written to.
func Replace(path string, mode fs.FileMode, write func(*os.File) error) error {
	f, name, err := enclosing(path)
	if err != nil {
		return err
	}
	if f != nil {
		defer f.Close()
		return f.Replace(name, mode, write)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	found, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && found.Mode().IsRegular()) {
		own, err := Open(filepath.Dir(path))
		if err == nil {
			defer own.Close()
			name, draft := filepath.Base(path), DraftOf(filepath.Base(path))
			if err = own.Draft(name, draft, mode, write); err == nil {
				return own.Place(draft, name)
			}
		}
		if !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	return errors.Join(write(to), to.Close())
}

// Probe creates the folders of a file and checks whether [Replace] could write it, so
// that paid work does not end at an unwritable path. It does not change file contents.
func Probe(path string) error {
	f, name, err := enclosing(path)
	if err != nil {
		return err
	}
	if f != nil {
		defer f.Close()
		draft := DraftOf(name)
		if err := f.Draft(name, draft, 0o600, func(*os.File) error { return nil }); err != nil {
			return err
		}
		return f.Remove(draft)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	_, err = os.Lstat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	err = out.Close()
	if isNew {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// WriteFile is [Replace] with the content of the file.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	return Replace(path, mode, func(to *os.File) error {
		_, err := to.Write(data)
		return err
	})
}

// Check refuses a path that [Replace] and [OpenFile] would refuse. It writes nothing.
func Check(path string) error {
	f, name, err := enclosing(path)
	if err != nil || f == nil {
		return err
	}
	defer f.Close()
	return f.Check(name)
}

// OpenFile is [os.OpenFile] for files that are locked or grow. It follows the rules of
// [Replace].
func OpenFile(path string, flag int, mode fs.FileMode) (*os.File, error) {
	f, name, err := enclosing(path)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return os.OpenFile(path, flag, mode)
	}
	defer f.Close()
	return f.openFile(name, flag, mode)
}

// MkdirAll is [os.MkdirAll]. It follows the rules of [Replace].
func MkdirAll(path string, mode fs.FileMode) error {
	f, name, err := enclosing(filepath.Join(path, "x"))
	if err != nil {
		return err
	}
	if f == nil {
		return os.MkdirAll(path, mode)
	}
	defer f.Close()
	if name == "x" {
		return nil
	}
	return f.Mkdir(filepath.ToSlash(filepath.Dir(filepath.FromSlash(name))), mode)
}

// enclosing opens the git work tree that contains a path, and returns the file's name
// in it. The folder is nil without one. The caller closes it.
func enclosing(path string) (f *Folder, name string, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, "", err
	}
	top := workTree(path)
	if top == "" {
		// A link outside of all work trees may lead into one.
		real, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return nil, "", nil //nolint:nilerr // the folder does not exist, so no link is there
		}
		path = filepath.Join(real, filepath.Base(path))
		top = workTree(path)
	}
	if top == "" {
		return nil, "", nil
	}
	name, err = filepath.Rel(top, path)
	if err != nil {
		return nil, "", err
	}
	f, err = Open(top)
	return f, filepath.ToSlash(name), err
}

// workTree returns the nearest folder above a path that has a .git; empty for none.
func workTree(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}
