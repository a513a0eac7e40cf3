package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A View is a program's view of a tree.
type View struct {
	// Files are the visible files, relative to the tree, with slashes.
	Files []string
	// Folders are visible even without visible files in them.
	Folders []string
	// List is the list where people add files to the view.
	List string
}

// Views compute the hidden files of a tree for programs that see a part of it.
type Views interface {
	// Hidden returns what is hidden outside of a view.
	Hidden(v View) (Hidden, error)
}

// Having returns the sandbox for the programs of a tree that each see a part of it.
func (b *Box) Having(v Views) *Box {
	out := *b
	out.views = v
	return &out
}

// Showing returns the sandbox for a program that sees a view of the tree. Without a
// sandbox, and for trees without views, nothing more is hidden.
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

// Besides lists, sorted, a tree's entries outside of a view and of the requested files:
// files, and folders without visible files.
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
