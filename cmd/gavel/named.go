package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Named converts arguments to globs, and returns the folder that paths are relative to,
// itself relative to the repository root. An absolute path is converted to one relative
// to that folder.
func (a *App) Named(w *workspace, args []string) (globs []string, folder string) {
	here, root := real(a.Dir), real(w.Repo.Root())
	if rel, err := filepath.Rel(root, here); err == nil && filepath.IsLocal(rel) {
		folder = filepath.ToSlash(rel)
	}
	for _, arg := range args {
		if filepath.IsAbs(arg) {
			if rel, err := filepath.Rel(here, real(arg)); err == nil {
				arg = rel
			}
		}
		globs = append(globs, strings.TrimPrefix(filepath.ToSlash(arg), "./"))
	}
	return globs, path.Clean(folder)
}

// isPath reports whether an argument, as [App.Named] returns it, is a file or a folder.
func (a *App) isPath(glob string) bool {
	_, err := os.Stat(a.Path(filepath.FromSlash(glob)))
	return err == nil
}

// real resolves links in a path, if possible.
func real(name string) string {
	if at, err := filepath.EvalSymlinks(name); err == nil {
		return at
	}
	return filepath.Clean(name)
}
