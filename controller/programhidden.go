package controller

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/gitrepo"
)

// hiddenIn returns the part of a working tree that programs do not see.
func (r *ProgramRunner) hiddenIn(s Checkout) (sandbox.Hidden, error) {
	work, ok := s.FS.(gitrepo.NotedFS)
	if !ok {
		return sandbox.Hidden{}, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.hidden[s.Dir]; ok {
		return known, nil
	}
	view := gitrepo.View{
		Shown: pathsInside(s.Dir, slices.Concat(r.cfg.Policy.Read, r.cfg.Policy.Path)), Own: []string{gitrepo.OwnFolder},
	}
	for _, name := range pathsInside(s.Dir, r.cfg.Own) {
		view.Own = append(view.Own, familyFiles(work, name)...)
	}
	names, err := gitrepo.Hidden(work, view)
	if err != nil {
		return sandbox.Hidden{}, err
	}
	hidden := sandbox.Hidden{Names: names, Hint: r.hint(names)}
	r.hidden[s.Dir] = hidden
	return hidden, nil
}

// pathsInside returns the paths in a folder, relative to it. A link counts at its own place
// and at its target; a folder that contains dir does not count.
func pathsInside(dir string, paths []string) []string {
	dir = realPath(dir)
	var names []string
	for _, p := range paths {
		for _, p := range []string{filepath.Join(realPath(filepath.Dir(p)), filepath.Base(p)), realPath(p)} {
			if name, err := filepath.Rel(dir, p); err == nil && filepath.IsLocal(name) {
				names = append(names, filepath.ToSlash(name))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// realPath resolves the links in the existing part of a path.
func realPath(p string) string {
	if out, err := filepath.EvalSymlinks(p); err == nil {
		return out
	}
	return filepath.Clean(p)
}

// familyFiles returns a file with related files next to it, such as a database's log.
func familyFiles(files fs.FS, name string) []string {
	out := []string{name}
	list, err := fs.ReadDir(files, path.Dir(name))
	if err != nil {
		return out // it is hidden itself, or missing
	}
	base := path.Base(name)
	for _, e := range list {
		if rest, ok := strings.CutPrefix(e.Name(), base); ok && rest != "" && strings.ContainsAny(rest[:1], "-.") {
			out = append(out, path.Join(path.Dir(name), e.Name()))
		}
	}
	return out
}

// hint explains which hidden files a failed program may miss; empty if only
// unrevealable files are hidden.
func (r *ProgramRunner) hint(names []string) string {
	const most = 3
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return name == ".git" || gitrepo.Covers(gitrepo.OwnFolder, name) || slices.ContainsFunc(r.cfg.Own, func(own string) bool {
			return strings.HasPrefix(path.Base(name), filepath.Base(own))
		})
	})
	if len(names) == 0 {
		return ""
	}
	which := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		which += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("files that git ignores are not there (%s); %s", which, r.cfg.Give)
}
