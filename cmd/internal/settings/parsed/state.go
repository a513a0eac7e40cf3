package parsed

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/ignore"
)

// A state is what files and settings a catalog is made of.
type state struct {
	settings string
	names    []string // in the order in which they were found
	files    map[string]noted
}

// A noted is the mark of a file. It is settled where each later change has another mark.
type noted struct {
	mark
	isSettled bool
}

// state are the settings and the files that definitions are in.
func (m *Memory) state(fsys fs.FS, settings schema.Settings) *state {
	out := &state{settings: fmt.Sprintf("%+v", settings), files: map[string]noted{}}
	roots := append(slices.Clone(settings.RootFiles), ignore.File)
	for _, root := range append(roots, settings.Definitions...) {
		_ = fs.WalkDir(fsys, path.Clean(root), func(name string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				now, settled := m.markOf(fsys, name, e)
				out.names, out.files[name] = append(out.names, name), noted{now, settled}
			}
			return nil // what is not there or cannot be read has no mark
		})
	}
	return out
}

// since are the files that may be other ones than in an earlier state, or are gone. ok is
// false where the states cannot be compared.
func (s *state) since(old *state) (changed []string, ok bool) {
	if old == nil || old.settings != s.settings {
		return nil, false
	}
	for _, name := range s.names {
		now, was := s.files[name], old.files[name]
		if !now.isSettled || !was.isSettled || !now.equal(was.mark) {
			changed = append(changed, name)
		}
	}
	for _, name := range old.names {
		if _, there := s.files[name]; !there {
			changed = append(changed, name)
		}
	}
	return changed, true
}

// isEqual reports whether two states have the same marks, as far as these tell.
func (s *state) isEqual(other *state) bool {
	return s.settings == other.settings && slices.Equal(s.names, other.names) &&
		!slices.ContainsFunc(s.names, func(name string) bool { return !s.files[name].equal(other.files[name].mark) })
}
