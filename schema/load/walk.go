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
	"github.com/gavel-evals/gavel/schema/wildcard"
)

var extensions = []string{".json", ".yaml", ".yml", ".jsonl", ".cue"}

// configFile is not a definition if the definitions folder is the repository.
const configFile = "gavel.yaml"

// walk lists the files of a folder that may be definitions, sorted. Links and
// submodules are problems, not entered.
func (l *loader) walk(ctx context.Context, root string) ([]string, error) {
	var files []string
	err := fs.WalkDir(l.fsys, root, func(name string, d fs.DirEntry, err error) error {
		at := schema.Position{File: name, Line: 1, Column: 1}
		l.seen++
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case l.seen == l.fsys.most.entries:
			l.problem(at, "too-many-entries", fmt.Sprintf("the definitions folders have more than %d files and folders", l.fsys.most.entries), "split the repository")
			return fs.SkipAll
		case errors.Is(err, fs.ErrNotExist) && name == root && l.hasRootFile():
			return nil
		case errors.Is(err, fs.ErrNotExist) && name == root:
			l.problem(at, "missing-folder", "the definitions folder does not exist", withoutFolder(l.fsys))
			return nil
		case err != nil:
			l.unreadable(name)
			return nil
		case name != root && l.ignored(root, name, d.IsDir()):
			if d.IsDir() {
				return fs.SkipDir
			}
			l.overlooked(root, name)
			return nil
		case d.IsDir() && strings.Count(name, "/") > maxFolders:
			l.problem(at, "too-deep", fmt.Sprintf("folders are nested more than %d deep", maxFolders), "move the definitions up")
			return fs.SkipDir
		case !d.IsDir() && !d.Type().IsRegular():
			l.linked(name, d.Type())
			return nil
		case d.IsDir():
			return nil
		case !slices.Contains(extensions, path.Ext(name)):
			l.overlooked(root, name)
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

// unreadable reports a folder with unknown content.
func (l *loader) unreadable(folder string) {
	l.problem(schema.Position{File: folder, Line: 1, Column: 1}, "unreadable-folder", "the folder cannot be read", "check its permissions")
}

// hasRootFile reports whether there are definitions outside of the folders.
func (l *loader) hasRootFile() bool {
	return len(l.skills) > 0 || slices.ContainsFunc(l.opts.Settings.RootFiles, func(file string) bool { return exists(l.fsys, file) })
}

// linked reports a link or submodule that is not followed. It is an error where it may
// hide definitions: a submodule, and a link with the name of a definition or of a folder.
func (l *loader) linked(name string, mode fs.FileMode) {
	p := schema.Problem{
		Position: schema.Position{File: name, Line: 1, Column: 1}, Severity: schema.Error, Rule: "not-a-file",
		Message: "links and submodules are not followed", Hint: "put a plain file here",
	}
	if ext := path.Ext(name); !slices.Contains(extensions, ext) {
		if ext != "" && mode&fs.ModeSymlink != 0 {
			p.Severity = schema.Warning
		}
		p.Message += ", so that no definition behind this one is read"
		p.Hint = "put the files themselves here, add their folder to definitions: in gavel.yaml, or name the link in .gavelignore"
	}
	l.out.Problems = append(l.out.Problems, p)
}

// draftSuffix ends the names of files that the forms write before they have their places.
const draftSuffix = ".gavel-draft"

// overlooked warns about leftover drafts, and about files that nobody would miss:
// checks without a definition of their name, and definitions with an extension in
// capitals.
func (l *loader) overlooked(root, file string) {
	p := schema.Problem{Position: schema.Position{File: file, Line: 1, Column: 1}, Severity: schema.Warning, Rule: schema.RuleNoDefinition}
	ext := path.Ext(file)
	switch small := strings.ToLower(ext); {
	case l.ignore.Exclude(wildcard.Path{Name: file, IsFolder: false}):
		return
	case strings.HasSuffix(file, draftSuffix):
		p.Message = "this is a draft: a change was ended before all of its files had their places"
		p.Hint = "start gavel ui, which finishes the change or undoes it; where the file stays, compare the folder with git diff, and move it to its place or remove it"
	case l.isLonely(file):
		p.Message, p.Hint = "there is not a definition of this name, and the checks are not run", "name the file after the definition next to it"
	case ext != small && slices.Contains(extensions, small) && !l.ignored(root, file, false):
		p.Message = "the file is not read, since its extension is in capitals"
		p.Hint = "rename it to " + path.Base(stem(file)) + small + ", or name it in .gavelignore"
	default:
		return
	}
	l.out.Problems = append(l.out.Problems, p)
}

// isLonely reports whether a file holds checks and has no definition next to it.
func (l *loader) isLonely(file string) bool {
	files := definitionsOf(file)
	return len(files) > 0 && !slices.ContainsFunc(files, func(file string) bool { return exists(l.fsys, file) })
}

// ignored reports paths that are not examined, by their name or by .gavelignore.
func (l *loader) ignored(root, name string, isFolder bool) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, ".") || base == "node_modules" || base == "package.json" || name == configFile ||
		strings.HasPrefix(base, "tsconfig") || strings.HasSuffix(base, "_output.json") ||
		strings.HasSuffix(base, ".baseline.jsonl") || strings.HasSuffix(base, ".candidate.jsonl") ||
		strings.HasSuffix(base, checksSuffix) ||
		path.Ext(base) == ".cue" && path.Dir(name) == path.Join(root, "schema") || // the team's own constraints
		l.ignore.Exclude(wildcard.Path{Name: name, IsFolder: isFolder})
}

// wantedFiles lists the wanted files that are in a folder and would be
// found there, with the files that they share with others.
func (l *loader) wantedFiles(ctx context.Context, root string) ([]string, error) {
	wanted := map[string]bool{}
	for _, file := range l.opts.Files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if l.looksAt(root, file) {
			wanted[file] = true
		}
		if _, err := fs.Stat(l.fsys, file); err == nil && strings.HasPrefix(file, root+"/") && !l.inIgnored(root, file) {
			l.overlooked(root, file)
		}
	}
	if len(wanted) == 0 && !offersTools(l.opts.Settings) {
		return nil, nil
	}
	for _, dir := range []string{path.Join(root, "evaluators"), path.Join(root, "tools")} {
		entries, err := fs.ReadDir(l.fsys, dir)
		if errors.Is(err, fs.ErrPermission) {
			l.unreadable(dir)
		}
		if err != nil {
			continue // it need not be there
		}
		for _, e := range entries {
			if name := path.Join(dir, e.Name()); l.looksAt(root, name) {
				wanted[name] = true
			}
		}
	}
	for dir := range foldersOf(root, wanted) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, ext := range extensions {
			domain, level := path.Join(dir, "domain"+ext), path.Join(dir, "level"+ext)
			if l.looksAt(root, domain) {
				wanted[domain] = true
			}
			if l.looksAt(root, level) {
				wanted[level] = true
			}
		}
	}
	return sortedKeys(wanted), nil
}

// foldersOf returns the folders of files, up to the root.
func foldersOf(root string, files map[string]bool) map[string]bool {
	seen := map[string]bool{}
	for file := range files {
		for dir := path.Dir(file); !seen[dir] && len(dir) >= len(root) && dir != "."; dir = path.Dir(dir) {
			seen[dir] = true
		}
	}
	return seen
}

// inIgnored reports whether a file is in an ignored folder.
func (l *loader) inIgnored(root, file string) bool {
	for at := path.Dir(file); len(at) > len(root) && at != "."; at = path.Dir(at) {
		if l.ignored(root, at, true) {
			return true
		}
	}
	return false
}

// looksAt reports whether walk would list a file.
func (l *loader) looksAt(root, file string) bool {
	if file != root && !strings.HasPrefix(file, root+"/") && root != "." || strings.Count(file, "/") > maxFolders {
		return false
	}
	if l.ignored(root, file, false) || l.inIgnored(root, file) {
		return false
	}
	info, err := fs.Lstat(l.fsys, file)
	if err != nil || info.IsDir() {
		return false
	}
	if !info.Mode().IsRegular() {
		l.linked(file, info.Mode())
		return false
	}
	return slices.Contains(extensions, path.Ext(file))
}

// folderFiles are the files of a folder, sorted by dialect if their path reveals it.
type folderFiles struct {
	domain []string
	// rest are of the dialect that gavel.yaml says, or of the one that is
	// found in them.
	rest []string
}

// sortByPlace takes out the domain dialect, which is known by the path of a file.
func (l *loader) sortByPlace(root string, files []string) folderFiles {
	var out folderFiles
	domains := map[string]bool{}
	for _, f := range files {
		if path.Base(stem(f)) == "domain" {
			domains[path.Dir(f)] = true
		}
	}
	for _, f := range files {
		dir := path.Dir(f)
		isDomain := belongsTo(dir, root, domains) || dir == path.Join(root, "evaluators") || dir == path.Join(root, "tools") || domain.IsLevel(path.Base(dir))
		if pin := pinned(l.opts.Settings.Dialects, f); pin != "" {
			isDomain = pin == schema.DialectDomain
		}
		if isDomain {
			out.domain = append(out.domain, f)
		} else {
			out.rest = append(out.rest, f)
		}
	}
	return out
}

func belongsTo(dir, root string, domains map[string]bool) bool {
	for ; len(dir) >= len(root) && dir != "."; dir = path.Dir(dir) {
		if domains[dir] {
			return true
		}
	}
	return false
}

// pinned returns the dialect that gavel.yaml says a file is of. If several globs
// match, the longest wins, which is likely the narrowest.
func pinned(pins map[string]string, file string) string {
	best := ""
	for glob := range pins {
		if wildcard.Match(glob, file) && (len(glob) > len(best) || len(glob) == len(best) && glob < best) {
			best = glob
		}
	}
	return pins[best]
}

// stem is a path without its extension.
func stem(file string) string { return strings.TrimSuffix(file, path.Ext(file)) }
