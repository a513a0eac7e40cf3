package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/domain"
)

var extensions = []string{".json", ".yaml", ".yml", ".jsonl", ".cue"}

// walk lists the files of a folder that may be definitions, sorted. Links and
// submodules are problems, not entered.
func (l *loader) walk(ctx context.Context, root string) ([]string, error) {
	var files []string
	err := fs.WalkDir(l.fsys, root, func(name string, d fs.DirEntry, err error) error {
		at := schema.Position{File: name, Line: 1, Column: 1}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist) && name == root:
			l.problem(at, "missing-folder", "the definitions folder does not exist", "create it, or set definitions: in gavel.yaml")
			return nil
		case err != nil:
			l.problem(at, "unreadable", "the folder cannot be read", "check its permissions")
			return nil
		case name != root && (ignored(d.Name()) || excluded(l.ignore, name, d.IsDir())):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() && strings.Count(name, "/") > maxFolders:
			l.problem(at, "too-deep", fmt.Sprintf("folders are nested more than %d deep", maxFolders), "move the definitions up")
			return fs.SkipDir
		case d.IsDir() || !slices.Contains(extensions, path.Ext(name)):
			return nil
		case !d.Type().IsRegular():
			l.problem(at, "not-a-file", "links and submodules are not followed", "put a plain file here")
			return nil
		case len(files) == maxFiles:
			l.problem(at, "too-many-files", fmt.Sprintf("there are more than %d definition files", maxFiles), "split the repository")
			return fs.SkipAll
		}
		files = append(files, name)
		return nil
	})
	return files, err
}

// ignored names are not looked at, wherever they stand.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "package.json" ||
		strings.HasPrefix(name, "tsconfig") || strings.HasSuffix(name, "_output.json") ||
		strings.HasSuffix(name, ".baseline.jsonl") || strings.HasSuffix(name, ".candidate.jsonl") ||
		strings.HasSuffix(name, ".checks.yaml")
}

// byDialect are the files of a folder, told apart.
type byDialect struct {
	domain   []string
	problems []schema.Problem
}

// sortByDialect tells the dialects apart. The domain dialect is known by where
// a file stands.
func sortByDialect(root string, files []string) byDialect {
	var out byDialect
	domains := map[string]bool{}
	for _, f := range files {
		if strings.TrimSuffix(path.Base(f), path.Ext(f)) == "domain" {
			domains[path.Dir(f)] = true
		}
	}
	for _, f := range files {
		switch dir := path.Dir(f); {
		case path.Ext(f) == ".cue" || path.Ext(f) == ".jsonl":
			out.problems = append(out.problems, unread(f))
		case below(dir, root, domains),
			dir == path.Join(root, "evaluators"), dir == path.Join(root, "tools"), domain.IsLevel(path.Base(dir)):
			out.domain = append(out.domain, f)
		default:
			out.problems = append(out.problems, unread(f))
		}
	}
	return out
}

func below(dir, root string, domains map[string]bool) bool {
	for ; len(dir) >= len(root) && dir != "."; dir = path.Dir(dir) {
		if domains[dir] {
			return true
		}
	}
	return false
}

// unread says that a file is of no dialect that is read.
func unread(file string) schema.Problem {
	return schema.Problem{
		Position: schema.Position{File: file, Line: 1, Column: 1}, Severity: schema.Warning, Rule: "not-read",
		Message: "the file is of no dialect that is read, and its cases are not run",
		Hint:    "the domain dialect is read: put a domain.json above it, or name the file in .gavelignore",
	}
}
