package load

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// passShareOf returns the share that a map by globs has for a key: the key
// itself wins, then the longest glob, then the first by name. It reports false if none
// matches.
func passShareOf(shares map[string]schema.PassShare, key string) (schema.PassShare, bool) {
	matching := slices.DeleteFunc(slices.Collect(maps.Keys(shares)), func(glob string) bool { return !wildcard.Match(glob, key) })
	if len(matching) == 0 {
		return schema.PassShare{}, false
	}
	glob := slices.MinFunc(matching, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	if _, named := shares[key]; named {
		glob = key
	}
	return shares[glob], true
}
