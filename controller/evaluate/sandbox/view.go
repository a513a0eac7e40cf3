package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A View is what a program sees of a tree.
type View struct {
	// Files are those that are shown, relative to the tree, with slashes.
	Files []string
	// Folders are there even if nothing in them is shown.
	Folders []string
	// List is where a person adds files to the view.
	List string
}

// Views say of a tree what is hidden from the programs that see a part of it.
type Views interface {
	// Hidden returns what is hidden besides the files of a view.
	Hidden(v View) (Hidden, error)
}

// Having is the sandbox for the programs of a tree that see a part of it each.
func (b *Box) Having(v Views) *Box {
	out := *b
	out.views = v
	return &out
}

// Showing is the sandbox for a program that sees a view of the tree. Without a sandbox,
// and for trees whose views are not known, nothing more is hidden.
func (b *Box) Showing(v View) (*Box, error) {
	if b.mode == Off || b.views == nil {
		return b, nil
	}
	hidden, err := b.views.Hidden(v)
	if err != nil {
		return nil, err
	}
	return b.Hiding(hidden), nil
}

// Besides lists, sorted, what a tree has besides the files of a view and what is shown by
// request: files, and folders in which nothing is shown.
func Besides(tree string, v View, requested []string) ([]string, error) {
	shown, above := map[string]bool{}, map[string]bool{".": true}
	climb := func(name string) {
		for dir := name; dir != "." && !above[dir]; {
			above[dir] = true
			if i := strings.LastIndexByte(dir, '/'); i >= 0 {
				dir = dir[:i]
			} else {
				dir = "."
			}
		}
	}
	for _, name := range v.Files {
		shown[name] = true
		climb(name)
	}
	for _, name := range slices.Concat(v.Folders, requested) {
		climb(name)
	}
	for _, name := range requested {
		shown[name] = true
	}
	if shown["."] {
		return nil, nil
	}
	var hidden []string
	var walk func(dir string) error
	walk = func(dir string) error {
		list, err := os.ReadDir(filepath.Join(tree, filepath.FromSlash(dir)))
		if err != nil {
			return err
		}
		for _, e := range list {
			name := strings.TrimPrefix(dir+"/"+e.Name(), "./")
			switch {
			case shown[name]:
			case !above[name]:
				hidden = append(hidden, name)
			case e.IsDir():
				if err := walk(name); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := walk("."); err != nil {
		return nil, err
	}
	slices.Sort(hidden)
	return hidden, nil
}
