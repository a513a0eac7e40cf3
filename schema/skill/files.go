package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/program"
)

// files reads the files that an eval names: each is laid into the workspace at the path
// that is written, and at its base name if the prompt names only that.
func (e *eval) files() {
	for _, item := range e.List("files") {
		e.Budget.Spend(document.Parts, 1)
		name := strings.TrimSpace(item.Text())
		if name == "" {
			e.problems = append(e.problems, item.Problem("wrong-type", "an item of `files` must be the path of a file", "write a path below the folder of the skill"))
			continue
		}
		to := strings.TrimLeft(path.Clean(name), "./")
		if strings.HasPrefix(path.Base(to), ".") || strings.HasPrefix(path.Clean(name), ".") && !strings.HasPrefix(path.Clean(name), "..") {
			to = path.Clean(name) // a dot file
		}
		if from, ok := e.look(item, name); ok {
			e.place(item, from, to)
			if base := path.Base(to); base != to && strings.Contains(e.Text("prompt"), base) && !strings.Contains(e.Text("prompt"), to) {
				e.place(item, from, base)
			}
		}
	}
	slices.SortFunc(e.staged, func(a, b schema.StagedFile) int { return strings.Compare(a.Path, b.Path) })
}

// workspace reads the folder whose contents are laid into the workspace.
func (e *eval) workspace() {
	item := e.Sub("workspace")
	if name := strings.TrimSpace(item.Text()); name != "" {
		if from, ok := e.look(item, name); ok {
			e.place(item, from, ".")
		}
		slices.SortFunc(e.staged, func(a, b schema.StagedFile) int { return strings.Compare(a.Path, b.Path) })
	}
}

// look finds a file or folder in the folder of the skill, in the folder of the evals, or
// in the root. One that is in none of them is a warning: often it is the name of a thing
// that the prompt speaks of.
func (e *eval) look(item document.Place, name string) (string, bool) {
	warn := func(rule, message, hint string) {
		p := item.Problem(rule, message, hint)
		p.Severity = schema.Warning
		e.problems = append(e.problems, p)
	}
	switch {
	case strings.HasPrefix(name, "/") || len(name) > 1 && name[1] == ':' || strings.HasPrefix(name, "~"):
		warn("missing-file", fmt.Sprintf("the path %q is one of a single machine, and no file is laid out for it", name), "write the path below the folder of the skill, of the evals or of the repository")
		return "", false
	case strings.ContainsAny(name, "\\\x00"):
		warn("path-backslash", fmt.Sprintf("the path %q has a backslash, which separates no folders here", name), "write "+strings.ReplaceAll(name, `\`, "/"))
		return "", false
	}
	var tried []string
	for _, dir := range []string{e.skill.dir, path.Dir(e.doc.File), "."} {
		full := path.Join(dir, name)
		if !fs.ValidPath(full) || full == "." || slices.Contains(tried, full) {
			continue
		}
		if _, err := fs.Stat(e.FS, full); err == nil {
			return full, true
		}
		tried = append(tried, full)
		e.own = append(e.own, schema.Input{File: full, Role: role, Absent: true})
	}
	if len(tried) == 0 {
		warn("path-escapes", fmt.Sprintf("the path %q leaves the repository, and no file is laid out for it", name), "name a file inside it")
		return "", false
	}
	warn("missing-file", fmt.Sprintf("the file %q is in none of the three places in which it is looked for: %s; the case runs without it", name, strings.Join(tried, ", ")),
		"add it, correct the path, or remove it where it is only the name of something")
	return "", false
}

// place puts a file, or the files of a folder, into the workspace.
func (e *eval) place(item document.Place, from, to string) {
	fail := func(err error) {
		hint := "make it a plain file of the repository"
		if errors.Is(err, schema.ErrLFSPointer) {
			hint = schema.KeepInGit
		}
		e.problems = append(e.problems, item.Problem("unreadable", fmt.Sprintf("%s cannot be laid out: %v", from, err), hint))
	}
	info, err := fs.Stat(e.FS, from)
	if err != nil {
		fail(err)
		return
	}
	names := []string{from}
	if info.IsDir() {
		e.own = append(e.own, schema.Input{File: from, Role: role})
		names, err = program.ListFiles(e.FS, []string{from}, e.isNoFile, mostLooked)
		e.Budget.Go()
		if err == nil && len(names)+len(e.staged) > maxFiles {
			err = errBounds
		}
		if err != nil {
			fail(err)
			return
		}
	}
	for _, name := range names {
		within := strings.TrimPrefix(strings.TrimPrefix(name, from), "/")
		if err := e.stage(name, path.Join(to, within)); err != nil {
			fail(err)
			return
		}
	}
}

// isNoFile reports whether a file or folder is never laid out.
func (e *eval) isNoFile(name string, isFolder bool) bool {
	return path.Base(name) == ".git" || name == e.doc.File || e.ignored(name, isFolder) || e.Programs != nil && e.Programs.Ended != nil && e.Programs.Ended() != nil
}

// stage puts one file into the workspace. The evals themselves, which have the answers,
// are never laid out.
func (e *eval) stage(from, to string) error {
	switch {
	case from == e.doc.File:
		return errors.New("it has the answers")
	case !fs.ValidPath(to) || to == "." || slices.Contains(strings.Split(to, "/"), ".git"):
		return fmt.Errorf("a workspace has no file %q", to)
	case slices.ContainsFunc(e.staged, func(f schema.StagedFile) bool { return f.Path == to }):
		return nil // named twice
	}
	file, _, err := e.content(from, maxBytes)
	if err != nil {
		return err
	}
	file.Path = to
	e.staged = append(e.staged, schema.StagedFile{WorkspaceFile: file, From: from})
	e.own = append(e.own, schema.Input{File: from, Role: role})
	return nil
}
