package gitrepo

import (
	"errors"
	"io/fs"
	"path"
	"slices"
)

// A View extends the visible part of a working tree, which is the tracked and trackable
// files.
type View struct {
	// Shown are files and folders that are visible although git ignores them.
	Shown []string
	// Own are files and folders that are hidden although nothing ignores them, unless
	// Shown names them or something in them.
	Own []string
}

// gitFolder is hidden wherever it is.
const gitFolder = ".git"

// Hidden lists, sorted, the files and folders of a working tree that programs must not
// see: ignored untracked files, .git, nested repositories, and the View's own. A folder
// includes everything in it. A folder that cannot be read is hidden; an error means
// that the root or git's index cannot be read.
func Hidden(work NotedFS, v View) ([]string, error) {
	rules, tracked, err := ignoreRulesOf(work, work)
	if err != nil {
		return nil, err
	}
	h := hiddenCollector{work: work, own: v.Own, ignored: rules.match, tracked: map[string]bool{}}
	for _, name := range tracked {
		for ; name != "." && !h.tracked[name]; name = path.Dir(name) {
			h.tracked[name] = true
		}
	}
	list, err := fs.ReadDir(work, ".")
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(v.Shown, func(s string) bool { return Covers(gitFolder, s) }) {
		h.hidden = append(h.hidden, gitFolder)
	}
	h.entries(".", list, visibility{shown: v.Shown, open: slices.Contains(v.Shown, ".")})
	slices.Sort(h.hidden)
	return h.hidden, nil
}

// A hiddenCollector collects hidden paths.
type hiddenCollector struct {
	work    NotedFS
	own     []string
	ignored func(name string, isFolder bool) bool
	// tracked are the files in git's index, and the folders above them.
	tracked map[string]bool
	hidden  []string
}

// A visibility describes the treatment of a folder's entries.
type visibility struct {
	// shown are the names shown by request.
	shown []string
	// open means that the folder is one of those, closed that it is hidden except for
	// tracked or shown entries.
	open, closed bool
}

// visibilityOf returns the visibility of an entry.
func (h *hiddenCollector) visibilityOf(p visibility, name string, isFolder bool) visibility {
	if slices.Contains(h.own, name) {
		// Only names inside it are shown; a name that covers it is not kept.
		p.shown = slices.DeleteFunc(slices.Clone(p.shown), func(s string) bool { return !Covers(name, s) })
		p.open, p.closed = false, true
	}
	switch {
	case slices.ContainsFunc(p.shown, func(s string) bool { return Covers(s, name) }):
		p.open, p.closed = true, false
	case !p.open && !p.closed && (isFolder || !h.tracked[name]):
		p.closed = h.ignored(name, isFolder)
	}
	return p
}

func (h *hiddenCollector) entries(dir string, list []fs.DirEntry, above visibility) {
	for _, e := range list {
		name := path.Join(dir, e.Name())
		p := h.visibilityOf(above, name, e.IsDir())
		below := func(s string) bool { return Covers(name, s) }
		switch {
		case e.Type()&fs.ModeIrregular != 0: // a nested repository
			if !p.open && !slices.ContainsFunc(p.shown, below) {
				h.hidden = append(h.hidden, name)
			} else if git := name + "/" + gitFolder; !slices.ContainsFunc(p.shown, func(s string) bool { return Covers(git, s) }) {
				h.hidden = append(h.hidden, git)
			}
		case p.closed && !h.tracked[name] && !slices.ContainsFunc(p.shown, below):
			h.hidden = append(h.hidden, name)
		case e.IsDir() && (!p.open || slices.ContainsFunc(h.own, below)):
			h.folder(name, p)
		}
	}
}

func (h *hiddenCollector) folder(name string, p visibility) {
	list, err := fs.ReadDir(h.work, name)
	switch {
	case err == nil:
		h.entries(name, list, p)
	case !errors.Is(err, fs.ErrNotExist):
		h.hidden = append(h.hidden, name)
	}
}
