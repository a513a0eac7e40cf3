package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// folderPrefixes begin the names of folders created for programs.
var folderPrefixes = []string{"gavel-scratch-", "gavel-canary-", "gavel-tree-", "gavel-workspace-"}

// A Folder is created for programs and removed after them. If its process was killed,
// the next process that opens a sandbox removes it.
type Folder struct {
	// Path is absolute, without links.
	Path string
	hold *os.File // locks the folder for as long as it is open
}

// NewFolder creates a folder in parent, or in the system's temporary folder. Kind is
// scratch, canary, tree or workspace.
func NewFolder(parent, kind string) (*Folder, error) {
	made, err := os.MkdirTemp(parent, "gavel-"+kind+"-")
	if err != nil {
		return nil, err
	}
	f := &Folder{Path: made}
	if f.Path, err = filepath.EvalSymlinks(made); err == nil {
		f.hold, err = os.Open(f.Path)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(made))
	}
	// Without locks, no folder counts as abandoned.
	_ = lock(f.hold)
	return f, nil
}

// NewWorkspace creates a folder for a workspace. Another user that runs programs can
// reach its entries, but not list it.
func (b *Box) NewWorkspace() (*Folder, error) {
	f, err := NewFolder(b.policy.Scratch, "workspace")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(f.Path, 0o711); err != nil { //nolint:gosec // see above
		return nil, errors.Join(err, f.Remove())
	}
	return f, nil
}

// Remove deletes the folder with its contents.
func (f *Folder) Remove() error {
	err := removeAll(f.Path, time.Now().Add(removalTime))
	if f.hold != nil {
		err = errors.Join(err, f.hold.Close())
	}
	return err
}

// freshness is the minimum age of an abandoned folder: a younger one may be about to be
// locked.
const freshness = time.Minute

// sweep removes the folders in parent that no process holds.
func sweep(parent string, now time.Time) {
	if parent == "" {
		parent = os.TempDir()
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return // there is nothing to remove
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.IsDir() || !isOwn(info) || now.Sub(info.ModTime()) < freshness {
			continue
		}
		for _, prefix := range folderPrefixes {
			if strings.HasPrefix(e.Name(), prefix) {
				abandoned(filepath.Join(parent, e.Name()))
			}
		}
	}
}

// abandoned removes a folder unless a process holds it.
func abandoned(path string) {
	hold, err := os.Open(path)
	if err != nil {
		return
	}
	defer hold.Close() //nolint:errcheck // it was only held
	if lock(hold) == nil {
		_ = removeAll(path, time.Now().Add(removalTime)) // the next process continues
	}
}
