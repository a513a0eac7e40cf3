package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Named returns what arguments name: globs, and the folder that they are relative
// to where they are paths, itself relative to the repository root. An argument that
// is an absolute path is returned as one from that folder.
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

// real is a path without links, as far as it can be told.
func real(name string) string {
	if at, err := filepath.EvalSymlinks(name); err == nil {
		return at
	}
	return filepath.Clean(name)
}
