package schema

import (
	"path"
	"slices"
	"strings"
)

// MatchGlob reports whether a key or a path matches a glob: as path.Match
// within a segment, and ** for any number of segments. A malformed glob
// matches only itself.
func MatchGlob(glob, name string) bool {
	return glob == name || matchSegments(strings.Split(glob, "/"), strings.Split(name, "/"))
}

func matchSegments(glob, name []string) bool {
	i := slices.Index(glob, "**")
	if i < 0 {
		return len(glob) == len(name) && matchEach(glob, name)
	}
	if len(name) < i || !matchEach(glob[:i], name[:i]) {
		return false
	}
	for from := i; from <= len(name); from++ {
		if matchSegments(glob[i+1:], name[from:]) {
			return true
		}
	}
	return false
}

func matchEach(glob, name []string) bool {
	for i, g := range glob {
		if ok, err := path.Match(g, name[i]); err != nil || !ok {
			return false
		}
	}
	return true
}
