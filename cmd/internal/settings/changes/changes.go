// Package changes has files that are changed, before and after they are written.
package changes

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
)

// A Set is what is written, by file: nil removes a file.
type Set map[string][]byte

// Write writes a change to the files of a folder: all of it or nothing. Where a file
// cannot be written those before it are put back.
func Write(dir string, c Set) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is left to be written
	names := slices.Sorted(maps.Keys(c))
	for i, file := range names {
		if err := stage(root, file, c[file]); err != nil {
			for _, other := range names[:i+1] {
				_ = root.Remove(draftOf(other)) // it is not there where nothing was written
			}
			return fmt.Errorf("write %s: %w", file, err)
		}
	}
	was := Set{}
	for _, file := range names {
		before, err := root.ReadFile(file)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			was[file] = before
			err = put(root, file, c[file])
		}
		if err != nil {
			return errors.Join(fmt.Errorf("write %s: %w", file, err), restore(root, names, was))
		}
	}
	return nil
}

// draftOf is where a file is before it takes its place.
func draftOf(file string) string {
	return path.Join(path.Dir(file), "."+path.Base(file)+".gavel-draft")
}

// stage writes a file next to its place.
func stage(root *os.Root, file string, data []byte) error {
	if data == nil {
		found, err := root.Lstat(file)
		if err == nil && found.IsDir() {
			return errors.New("is a folder")
		}
		return err
	}
	if err := root.MkdirAll(path.Dir(file), 0o755); err != nil {
		return err
	}
	if found, err := root.Lstat(file); err == nil && found.IsDir() {
		return errors.New("is a folder")
	}
	return root.WriteFile(draftOf(file), data, 0o644)
}

// put gives a staged file its place, or removes one. No link leads it out of the
// folder, and a reader sees the old text or the new one.
func put(root *os.Root, file string, data []byte) error {
	if data == nil {
		return root.Remove(file)
	}
	return root.Rename(draftOf(file), file)
}

// restore puts files back as they were, and removes what is staged of the others.
func restore(root *os.Root, names []string, was Set) error {
	var errs []error
	for _, file := range names {
		before, written := was[file]
		switch {
		case !written || before == nil:
			_ = root.Remove(draftOf(file)) // it is not there where it has its place
			if written {
				_ = root.Remove(file) // nor this where it was not written
			}
		default:
			errs = append(errs, stage(root, file, before), put(root, file, before))
		}
	}
	return errors.Join(errs...)
}
