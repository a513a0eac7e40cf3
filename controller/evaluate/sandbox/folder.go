package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// folderPrefixes begin the names of the folders that are made for programs.
var folderPrefixes = []string{"gavel-scratch-", "gavel-canary-", "gavel-tree-", "gavel-workspace-"}

// A Folder is made for programs and removed after them. Where the process that
// made it was killed, the next one that opens a sandbox removes it.
type Folder struct {
	// Path is absolute, without links.
	Path string
	hold *os.File // locks the folder for as long as it is open
}

// NewFolder makes a folder in parent, or in the system's folder for temporary
// files. Kind is scratch, canary, tree or workspace.
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
	// Where folders cannot be locked, nobody takes one for abandoned.
	_ = lock(f.hold)
	return f, nil
}

// NewWorkspace makes a folder to make a workspace in. Another user that runs programs
// can reach what is in it, but not list it.
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

// Remove deletes the folder with all that is in it.
func (f *Folder) Remove() error {
	err := removeAll(f.Path, time.Now().Add(removalTime))
	if f.hold != nil {
		err = errors.Join(err, f.hold.Close())
	}
	return err
}

// freshness is how old a folder is at least that nobody holds: a younger one may
// be about to be held.
const freshness = time.Minute

// sweep removes the folders in parent that nobody holds any more.
func sweep(parent string, now time.Time) {
	if parent == "" {
		parent = os.TempDir()
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return // there is nothing that could be removed
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

// abandoned removes a folder unless somebody holds it.
func abandoned(path string) {
	hold, err := os.Open(path)
	if err != nil {
		return
	}
	defer hold.Close() //nolint:errcheck // it was only held
	if lock(hold) == nil {
		_ = removeAll(path, time.Now().Add(removalTime)) // the next one goes on
	}
}
