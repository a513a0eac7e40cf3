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

// A NotedFS is a working tree that knows what git noted of it.
type NotedFS interface {
	fs.FS
	// Noted returns the files that are tracked, and the path of a file with the
	// patterns that are ignored in this repository alone.
	Noted() (tracked []string, excludes string, err error)
}

// ErrTooMany means that a folder has more files than were asked for.
var ErrTooMany = program.ErrTooMany

// listOptions say what is listed.
type listOptions struct {
	// Skip leaves files, and folders with all that they have, out. nil skips
	// nothing.
	Skip func(name string, isFolder bool) bool
	// Most is how many files and folders are looked at.
	Most int
	// Ended is the error with which to end; nil never ends.
	Ended func() error
}

// List returns the regular files in the folders and below, sorted. A folder that
// is not there has none. List of a commit count whatever its .gitignore says.
// The error is [ErrTooMany] if there are more entries than listOptions.Most.
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

// Known is what git says of a working tree, read once. It is safe for use by several
// goroutines.
type Known struct {
	work    NotedFS
	mu      sync.Mutex // guards rules, which remember
	rules   *ignoreRules
	tracked []string // sorted
}

// know reads what git says of a working tree.
func know(work NotedFS) (*Known, error) {
	rules, tracked, err := ignoreRulesOf(work, work)
	if err != nil {
		return nil, err
	}
	slices.Sort(tracked)
	return &Known{work: work, rules: rules, tracked: tracked}, nil
}

// Files is the function of that name.
func (k *Known) Files(folders []string, o listOptions) ([]string, error) {
	return listFiles(k.work, folders, o, k)
}

// match reports whether git ignores a file or folder.
func (k *Known) match(name string, isFolder bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.rules.match(name, isFolder)
}

// below are the tracked files of a folder.
func (k *Known) below(folder string) []string {
	if folder == "." {
		return k.tracked
	}
	from, _ := slices.BinarySearch(k.tracked, folder+"/")
	to, _ := slices.BinarySearch(k.tracked, folder+"0") // which follows the slash
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
			return nil // gone since it was listed
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

// tracked adds the files that count although git would ignore them.
func (w *listWalk) tracked(names []string) error {
	for _, name := range names {
		if w.found[name] || w.skips(name) {
			continue
		}
		info, err := fs.Stat(w.fsys, name)
		if err != nil || !info.Mode().IsRegular() {
			continue // deleted, or behind a link by now
		}
		if err := w.count(name); err != nil {
			return err
		}
		w.found[name] = true
	}
	w.seen = 0 // the walk meets them again
	return nil
}

// skips reports whether a file or a folder that it is in is left out.
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

// rules say what git ignores of a working tree. They remember each .gitignore as
// it was when it was first asked for.
type ignoreRules struct {
	fsys    fs.FS
	general []gitignore.Pattern
	folders map[string][]gitignore.Pattern // with those of the folders above
}

// Ignored returns what git says of a file or folder of the working tree: that it
// ignores it, folders above it aside. The files called .gitignore are read from
// files, which may stay open for longer. The function is for one goroutine.
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

// patternsOf reads a file of patterns that hold everywhere.
func patternsOf(file string) []gitignore.Pattern {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return parseIgnore(string(data), nil)
}

// match reports whether git ignores a file or folder. That a folder above it is
// ignored is asked of that one.
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
