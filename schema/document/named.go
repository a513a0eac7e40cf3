package document

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/gavel-evals/gavel/schema"
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
