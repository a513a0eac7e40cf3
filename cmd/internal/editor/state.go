package editor

import (
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/ignore"
)

// A state is what files and settings a catalog is made of.
type repositoryState struct {
	settings string
	files    []markedFile // in the order in which they were found
}

// A markedFile is a file with its mark. It is settled where each later change has another mark.
type markedFile struct {
	name string
	fileMark
	isSettled bool
}

// state are the settings and the files that definitions are in. A file that is gone or
// cannot be read is not in it.
func (m *memory) state(fsys fs.FS, settings schema.Settings) *repositoryState {
	out := &repositoryState{settings: fmt.Sprintf("%+v", settings)}
	var folders []string
	for _, root := range slices.Concat(settings.RootFiles, []string{ignore.File}, settings.Definitions) {
		_ = fs.WalkDir(fsys, path.Clean(root), func(name string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
			case !e.IsDir():
				out.files = append(out.files, m.note(fsys, name, e))
			case name != path.Clean(root):
				folders = append(folders, name)
				return fs.SkipDir
			}
			return nil
		})
	}
	found := make([][]markedFile, len(folders))
	var walking errgroup.Group
	walking.SetLimit(runtime.GOMAXPROCS(0))
	for i, folder := range folders {
		walking.Go(func() error {
			return fs.WalkDir(fsys, folder, func(name string, e fs.DirEntry, err error) error {
				if err == nil && !e.IsDir() {
					found[i] = append(found[i], m.note(fsys, name, e))
				}
				return nil
			})
		})
	}
	_ = walking.Wait() // no walk returns an error
	out.files = append(out.files, slices.Concat(found...)...)
	return out
}

func (m *memory) note(fsys fs.FS, name string, e fs.DirEntry) markedFile {
	now, isSettled := m.markOf(fsys, name, e)
	return markedFile{name, now, isSettled}
}

// isSame reports whether two files are the same one, and unchanged as far as a mark tells.
func (n markedFile) isSame(other markedFile) bool { return n.name == other.name && n.equal(other.fileMark) }

// changedSince returns the files that may have changed since an earlier state, or are gone. ok is
// false where the states cannot be compared.
func (s *repositoryState) changedSince(old *repositoryState) (changed []string, ok bool) {
	if old == nil || old.settings != s.settings {
		return nil, false
	}
	was := old.files
	if !slices.EqualFunc(s.files, was, func(a, b markedFile) bool { return a.name == b.name }) {
		was = old.arranged(s, &changed)
	}
	for i, now := range s.files {
		if !now.isSettled || !was[i].isSettled || !now.isSame(was[i]) {
			changed = append(changed, now.name)
		}
	}
	return changed, true
}

// arranged are the files of a state in the order of another one, with an empty one for each
// that the state does not have. It adds those that the other one does not have to gone.
func (s *repositoryState) arranged(as *repositoryState, gone *[]string) []markedFile {
	at := make(map[string]int, len(as.files))
	for i, f := range as.files {
		at[f.name] = i
	}
	out := make([]markedFile, len(as.files))
	for _, f := range s.files {
		if i, there := at[f.name]; there {
			out[i] = f
		} else {
			*gone = append(*gone, f.name)
		}
	}
	return out
}

// isEqual reports whether two states have the same marks, as far as these tell.
func (s *repositoryState) isEqual(other *repositoryState) bool {
	return s.settings == other.settings && slices.EqualFunc(s.files, other.files, markedFile.isSame)
}
