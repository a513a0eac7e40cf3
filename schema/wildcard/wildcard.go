// Package wildcard matches keys and paths against globs, and reads .gavelignore, whose patterns are
// globs, too.
//
// Most callers want [Match] or [IgnoreMatcher].
package wildcard

import (
	"path"
	"strings"
)

// MaxPattern is how many bytes a glob may have; a longer one matches only itself.
const MaxPattern = 4 << 10

// Match reports whether a key or a path matches a glob: as path.Match
// within a segment, and ** for any number of segments. A malformed glob
// matches only itself. It takes no longer than all segments of the glob held
// against all of the name.
func Match(glob, name string) bool {
	return glob == name || len(glob) <= MaxPattern && matchSegments(strings.Split(glob, "/"), strings.Split(name, "/"))
}

// matchSegments lets ** match as few segments as it can. If the rest does not
// match, only the last ** is given one more: what an earlier one could take
// besides, the last one can take, too.
func matchSegments(glob, name []string) bool {
	g, n := 0, 0
	last, taken := -1, 0 // the last ** of the glob, and where what it took ends
	for n < len(name) {
		switch {
		case g < len(glob) && glob[g] == "**":
			last, taken = g, n
			g++
		case g < len(glob) && matchOne(glob[g], name[n]):
			g++
			n++
		case last >= 0:
			taken++
			g, n = last+1, taken
		default:
			return false
		}
	}
	for g < len(glob) && glob[g] == "**" {
		g++
	}
	return g == len(glob)
}

func matchOne(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return ok && err == nil
}
