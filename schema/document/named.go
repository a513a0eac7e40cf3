package document

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

const (
	// MaxNamed bounds the files that one name with wildcards, or of a folder, selects.
	MaxNamed = 1000
	// maxWalked bounds the files and folders that are looked at for such a name.
	maxWalked = 1_000_000
)

// A Selection describes the files that a name selects.
type Selection struct {
	// At is where the name is written.
	At   schema.Position
	Name string
	// Folder is the folder to walk; Fits selects its files.
	Folder string
	Fits   func(file string) bool
}

// Matching returns the files that a name with wildcards or sets in braces means, each once, as
// absolute paths of the repository. The folders are read again if a file is added to them.
func (s Source) Matching(at schema.Position, name string) (files, folders []string, problems []schema.Problem) {
	patterns, ok := wildcard.Alternatives(name)
	if !ok {
		return nil, nil, []schema.Problem{errorAt(at, "too-many-files", fmt.Sprintf("the braces of %q mean too many names", clip(name)), "use fewer sets in braces, or *")}
	}
	seen := map[string]bool{}
	for _, pattern := range patterns {
		pattern = s.fromRoot(at, pattern)
		if !fs.ValidPath(pattern) {
			return nil, nil, []schema.Problem{errorAt(at, "path-escapes", fmt.Sprintf("the path %q leaves the repository", clip(name)), "name files inside it; a leading / means the repository root")}
		}
		folder := path.Dir(pattern)
		for wildcard.IsGlob(folder) {
			folder = path.Dir(folder)
		}
		found, wrong := s.Select(Selection{At: at, Name: name, Folder: folder, Fits: func(file string) bool { return wildcard.Match(pattern, file) }})
		if len(wrong) > 0 {
			return nil, nil, wrong
		}
		for _, file := range found {
			if !seen[file] {
				seen[file], files = true, append(files, file)
			}
		}
		folders = append(folders, folder)
	}
	return files, folders, nil
}

// fromRoot returns a path that a definition names as one of the repository.
func (s Source) fromRoot(at schema.Position, name string) string {
	if rooted, ok := strings.CutPrefix(name, "/"); ok {
		return path.Clean(rooted)
	}
	return path.Join(path.Dir(at.File), name)
}

// Select returns the files of a selection, as absolute paths of the repository in the
// order of the folders. Too many files, an unreadable folder and a matching link are
// errors, and then there are no files.
func (s Source) Select(of Selection) ([]string, []schema.Problem) {
	var files []string
	var problems []schema.Problem
	fail := func(rule, message, hint string) {
		problems = append(problems, errorAt(of.At, rule, message, hint))
	}
	seen := 0
	_ = fs.WalkDir(s.FS, of.Folder, func(name string, d fs.DirEntry, err error) error {
		s.Budget.Go()
		seen++
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == of.Folder:
		case err != nil:
			fail("unreadable-folder", fmt.Sprintf("%s cannot be read, and %q may stand for files in it: %s", name, clip(of.Name), reason(err)), "check its permissions")
		case seen > maxWalked:
			fail("too-many-entries", fmt.Sprintf("more than %d files and folders would be looked at for %q", maxWalked, clip(of.Name)), "name a folder with fewer of them")
			return fs.SkipAll
		case d.IsDir() || !of.Fits(name):
		case !d.Type().IsRegular():
			fail("not-a-file", fmt.Sprintf("%q stands for %s, and links and submodules are not followed", clip(of.Name), name), "put a plain file there, or name the files otherwise")
		case len(files) == MaxNamed:
			fail("too-many-files", fmt.Sprintf("%q stands for more than %d files", clip(of.Name), MaxNamed), "put more tests into each file, or name a part of the files each time")
			return fs.SkipAll
		default:
			files = append(files, "/"+name)
		}
		return nil
	})
	if len(problems) > 0 {
		return nil, problems
	}
	return files, nil
}
