package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// Hidden are files and folders of a tree that programs do not see.
type Hidden struct {
	// Names are relative to the tree, with slashes. None of them is in another.
	Names []string
	// Hint tells people of a program that failed why files are missing and how
	// to give them to it.
	Hint string
	// Missed says of a program that looked for a file which is hidden from it what to do,
	// by what it wrote; it is empty for others. It is asked before a program is started,
	// too, which may be known from before. It is nil where nobody knows.
	Missed func(p Program, stderr, stdout string) string
}

// Hiding is the sandbox for programs whose trees have hidden files. Where there
// are mounts of its own they are absent. Elsewhere, Landlock refuses to read
// them, and only their names show. Without a sandbox nothing is hidden.
func (b *Box) Hiding(h Hidden) *Box {
	if b.mode == Off || len(h.Names) == 0 {
		return b
	}
	out := *b
	out.hidden = h
	return &out
}

// hides reports whether a file of a tree is hidden.
func (b *Box) hides(file, tree string) bool {
	return slices.ContainsFunc(b.hidden.Names, func(name string) bool {
		return isWithin(file, filepath.Join(tree, filepath.FromSlash(name)))
	})
}

// hint is what is added to the fault of a program.
func (h Hidden) hint() string {
	if h.Hint == "" {
		return ""
	}
	return "; " + h.Hint
}

// visible lists files and folders that hold all of root but what is hidden, and
// the folders above hidden ones. Both kinds are found when a program starts: a
// file may have been replaced since another one did.
func visible(root string, hidden []string, list func(dir string) ([]string, error)) (whole, mixed []string) {
	switch {
	case slices.ContainsFunc(hidden, func(h string) bool { return isWithin(root, h) }):
		return nil, nil
	case !slices.ContainsFunc(hidden, func(h string) bool { return isWithin(h, root) }):
		return []string{root}, nil
	}
	names, err := list(root)
	if err != nil {
		return nil, nil // what cannot be listed is not shown
	}
	mixed = []string{root}
	// By the name below root that they are or that they are in: a view hides thousands.
	below := map[string][]string{}
	for _, h := range hidden {
		if rest, ok := strings.CutPrefix(h, strings.TrimSuffix(root, "/")+"/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			below[name] = append(below[name], h)
		}
	}
	for _, name := range names {
		w, m := visible(strings.TrimSuffix(root, "/")+"/"+name, below[name], list)
		whole, mixed = append(whole, w...), append(mixed, m...)
	}
	return whole, mixed
}
