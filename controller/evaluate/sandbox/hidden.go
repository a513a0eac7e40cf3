package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// Hidden are a tree's files and folders that are invisible to programs.
type Hidden struct {
	// Names are relative to the tree, with slashes. None of them is in another.
	Names []string
	// Hint explains to the users of a failed program why files are missing and how to
	// make them visible.
	Hint string
	// Missed returns advice for a program that looked for a hidden file, judging by its
	// output; empty for other programs. It is also asked before a program starts, since
	// an earlier run may have shown it. It may be nil.
	Missed func(p Program, stderr, stdout string) string
}

// Hiding returns the sandbox for programs whose trees have hidden files. With separate
// mounts the files are absent. Otherwise Landlock refuses to read them, and only their
// names show. Without a sandbox nothing is hidden.
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

// hint returns the text added to a program's failure.
func (h Hidden) hint() string {
	if h.Hint == "" {
		return ""
	}
	return "; " + h.Hint
}

// visible lists the files and folders that make up root without the hidden ones, and
// the parents of hidden ones. It looks at the tree at each start of a program, since a
// file may have been replaced since the last one.
func visible(root string, hidden []string, list func(dir string) ([]string, error)) (whole, mixed []string) {
	switch {
	case slices.ContainsFunc(hidden, func(h string) bool { return isWithin(root, h) }):
		return nil, nil
	case !slices.ContainsFunc(hidden, func(h string) bool { return isWithin(h, root) }):
		return []string{root}, nil
	}
	names, err := list(root)
	if err != nil {
		return nil, nil // an unlistable folder is not shown
	}
	mixed = []string{root}
	// Grouped by the entry of root that contains them: a view hides thousands.
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
