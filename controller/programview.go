package controller

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/gitrepo"
)

// A view decides which files of a checkout programs see.
type view struct {
	runner   *ProgramRunner
	checkout Checkout
	// dir has the files, and hidden are the ones that no program sees.
	dir    string
	hidden sandbox.Hidden
}

// A viewKey identifies the visible part of a folder.
type viewKey struct {
	dir   string
	shown [sha256.Size]byte
}

// shownView returns the sandbox for a program that sees its source files and its input
// files.
func shownView(box *sandbox.Box, start evaluate.Start) (*sandbox.Box, error) {
	if start.Built == nil {
		return box, nil
	}
	return box.Showing(sandbox.View{Files: append(start.Built.Paths(), start.Sent...), Folders: []string{path.Clean(start.Dir)}})
}

// Hidden returns the paths hidden from a program that sees some files. It is computed
// once.
func (v view) Hidden(what sandbox.View) (sandbox.Hidden, error) {
	key := viewKey{v.dir, sha256.Sum256(fmt.Appendf(nil, "%q %q %s", what.Files, what.Folders, what.List))}
	r := v.runner
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.views[key]; ok {
		return known, nil
	}
	requested := pathsInside(v.dir, slices.Concat(r.cfg.Policy.Read, r.cfg.Policy.Path))
	names, err := sandbox.Besides(v.dir, what, requested)
	if err != nil {
		return sandbox.Hidden{}, fmt.Errorf("find the files that a program sees: %w", err)
	}
	out := sandbox.Hidden{Names: slices.Clip(names), Hint: v.hidden.Hint}
	for _, name := range v.hidden.Names {
		if !slices.ContainsFunc(names, func(dir string) bool { return gitrepo.Covers(dir, name) }) {
			out.Names = append(out.Names, name)
		}
	}
	slices.Sort(out.Names)
	out.Missed = v.missed(what)
	r.views[key] = out
	return out, nil
}

// missed returns the line to add for a program that looks for an invisible file, and
// remembers it.
func (v view) missed(what sandbox.View) func(p sandbox.Program, stderr, stdout string) string {
	l := looking{files: v.checkout.FS, tree: v.dir, shown: map[string]bool{}, hidden: v.hidden.Names}
	if real, err := filepath.EvalSymlinks(v.dir); err == nil {
		l.tree = real
	}
	for _, name := range what.Files {
		l.shown[name] = true
	}
	var mu sync.Mutex
	known := map[string]string{} // by program
	return func(p sandbox.Program, stderr, stdout string) string {
		mu.Lock()
		defer mu.Unlock()
		l := l
		if dir, err := filepath.Rel(l.tree, p.Dir); err == nil && filepath.IsLocal(dir) {
			l.dir = filepath.ToSlash(dir)
		} else {
			l.dir = "."
		}
		program := l.name(p.Argv)
		file := ""
		if known[program] == "" {
			file = l.missed(stderr, stdout)
		}
		if file == "" {
			return known[program]
		}
		if info, err := fs.Stat(l.files, file); err == nil && info.IsDir() {
			file += "/**"
		}
		known[program] = program + " reads " + file + "; add it to " + cmp.Or(what.List, "programs.inputs")
		return known[program]
	}
}

// name returns the file that a command line starts, or else the command.
func (l looking) name(argv []string) string {
	for _, word := range argv {
		if file := path.Join(l.dir, filepath.ToSlash(word)); l.shown[file] {
			return file
		}
		if rel, err := filepath.Rel(l.tree, word); err == nil && l.shown[filepath.ToSlash(rel)] {
			return filepath.ToSlash(rel)
		}
	}
	return argv[0]
}
