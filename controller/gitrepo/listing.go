package gitrepo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/gavel-evals/gavel/schema/program"
)

// A NotedFS is a working tree with access to git's index.
type NotedFS interface {
	fs.FS
	// Noted returns the tracked files, and the path of the file with this repository's
	// own ignore patterns.
	Noted() (tracked []string, excludes string, err error)
}

// ErrTooMany reports more files than the limit.
var ErrTooMany = program.ErrTooMany

// listOptions are the options of a listing.
type listOptions struct {
	// Skip excludes files, and folders with everything in them. nil skips nothing.
	Skip func(name string, isFolder bool) bool
	// Most bounds the files and folders that are looked at.
	Most int
	// Ended returns an error to stop with; nil never stops.
	Ended func() error
}

// List returns the regular files in the folders and below, sorted. A missing folder has
// none. In a commit all files count, whatever its .gitignore. The error is [ErrTooMany]
// if there are more entries than listOptions.Most.
func List(fsys fs.FS, folders []string, o listOptions) ([]string, error) {
	if work, ok := fsys.(NotedFS); ok {
		known, err := know(work)
		if err != nil {
			return nil, err
		}
		return known.Files(folders, o)
	}
	return listFiles(fsys, folders, o, nil)
}

// Known is git's view of a working tree, read once. It is safe for concurrent use.
type Known struct {
	work    NotedFS
	mu      sync.Mutex // guards rules, which cache
	rules   *ignoreRules
	tracked []string // sorted
}

// know reads git's view of a working tree.
func know(work NotedFS) (*Known, error) {
	rules, tracked, err := ignoreRulesOf(work, work)
	if err != nil {
		return nil, err
	}
	slices.Sort(tracked)
	return &Known{work: work, rules: rules, tracked: tracked}, nil
}

// Files lists files as [List] does.
func (k *Known) Files(folders []string, o listOptions) ([]string, error) {
	return listFiles(k.work, folders, o, k)
}

// match reports whether git ignores a file or folder.
func (k *Known) match(name string, isFolder bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.rules.match(name, isFolder)
}

// below returns the tracked files of a folder.
func (k *Known) below(folder string) []string {
	if folder == "." {
		return k.tracked
	}
	from, _ := slices.BinarySearch(k.tracked, folder+"/")
	to, _ := slices.BinarySearch(k.tracked, folder+"0") // '0' follows the slash
	return k.tracked[from:to]
}

func listFiles(fsys fs.FS, folders []string, o listOptions, known *Known) ([]string, error) {
	if o.Skip == nil {
		o.Skip = func(string, bool) bool { return false }
	}
	w := listWalk{fsys: fsys, listOptions: o, found: map[string]bool{}}
	ignored := func(string, bool) bool { return false }
	if known != nil {
		ignored = known.match
		for _, folder := range folders {
			if err := w.tracked(known.below(folder)); err != nil {
				return nil, err
			}
		}
	}
	for _, folder := range folders {
		if err := w.folder(folder, ignored); err != nil {
			return nil, err
		}
	}
	names := make([]string, 0, len(w.found))
	for name := range w.found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

type listWalk struct {
	fsys fs.FS
	listOptions
	seen  int
	found map[string]bool
}

func (w *listWalk) count(name string) error {
	if w.Ended != nil && w.Ended() != nil {
		return w.Ended()
	}
	if w.seen++; w.seen > w.Most {
		return fmt.Errorf("%s: %w: more than %d", name, ErrTooMany, w.Most)
	}
	return nil
}

func (w *listWalk) folder(folder string, ignored func(string, bool) bool) error {
	return fs.WalkDir(w.fsys, folder, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed since the listing
		case err != nil:
			return err
		case d.IsDir() && name != folder && (w.Skip(name, true) || ignored(name, true)):
			return fs.SkipDir
		}
		if err := w.count(folder); err != nil {
			return err
		}
		if d.Type().IsRegular() && !w.found[name] && !w.Skip(name, false) && !ignored(name, false) {
			w.found[name] = true
		}
		return nil
	})
}

// tracked adds tracked files that git would otherwise ignore.
func (w *listWalk) tracked(names []string) error {
	for _, name := range names {
		if w.found[name] || w.skips(name) {
			continue
		}
		info, err := fs.Stat(w.fsys, name)
		if err != nil || !info.Mode().IsRegular() {
			continue // deleted, or now behind a link
		}
		if err := w.count(name); err != nil {
			return err
		}
		w.found[name] = true
	}
	w.seen = 0 // the walk counts them again
	return nil
}

// skips reports whether a file or one of its parents is excluded.
func (w *listWalk) skips(name string) bool {
	for i, c := range name {
		if c == '/' && w.Skip(name[:i], true) {
			return true
		}
	}
	return w.Skip(name, false)
}

// Covers reports whether name is dir or is in it.
func Covers(dir, name string) bool {
	return dir == "." || dir == name || strings.HasPrefix(name, dir+"/")
}

// ignoreRules are the ignore patterns of a working tree. They cache each .gitignore at
// its first use.
type ignoreRules struct {
	fsys    fs.FS
	general []gitignore.Pattern
	folders map[string][]gitignore.Pattern // including the parents' patterns
}

// Ignored returns a function that reports whether a pattern matches the path itself,
// not a parent. The .gitignore files are read from files, which may stay open for
// longer. The function is not safe for concurrent use.
func Ignored(work NotedFS, files fs.FS) (func(name string, isFolder bool) bool, error) {
	rules, _, err := ignoreRulesOf(work, files)
	if err != nil {
		return nil, err
	}
	return rules.match, nil
}

func ignoreRulesOf(work NotedFS, files fs.FS) (*ignoreRules, []string, error) {
	tracked, excludes, err := work.Noted()
	if err != nil {
		return nil, nil, err
	}
	r := &ignoreRules{fsys: files, folders: map[string][]gitignore.Pattern{}}
	// An unreadable file ignores nothing: more files count than necessary.
	if dir, err := os.UserConfigDir(); err == nil {
		r.general = append(r.general, patternsOf(filepath.Join(dir, "git", "ignore"))...)
	}
	if own, err := gitignore.LoadGlobalPatterns(osfs.New("/")); err == nil {
		r.general = append(r.general, own...)
	}
	r.general = append(r.general, patternsOf(excludes)...)
	return r, tracked, nil
}

// patternsOf reads a file of global patterns.
func patternsOf(file string) []gitignore.Pattern {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return parseIgnore(string(data), nil)
}

// match reports whether git ignores a file or folder itself. Ignored parents are the
// caller's concern.
func (r *ignoreRules) match(name string, isFolder bool) bool {
	parts := strings.Split(name, "/")
	return gitignore.NewMatcher(r.patternsFor(parts[:len(parts)-1])).Match(parts, isFolder)
}

// patternsFor returns the patterns that apply in a folder.
func (r *ignoreRules) patternsFor(folder []string) []gitignore.Pattern {
	dir := strings.Join(folder, "/")
	if known, ok := r.folders[dir]; ok {
		return known
	}
	patterns := r.general
	file := ".gitignore"
	if len(folder) > 0 {
		patterns = r.patternsFor(folder[:len(folder)-1])
		file = dir + "/" + file
	}
	if data, err := fs.ReadFile(r.fsys, file); err == nil {
		patterns = append(slices.Clip(patterns), parseIgnore(string(data), folder)...)
	}
	r.folders[dir] = patterns
	return patterns
}

func parseIgnore(text string, folder []string) []gitignore.Pattern {
	var out []gitignore.Pattern
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			out = append(out, gitignore.ParsePattern(line, folder))
		}
	}
	return out
}
