package suggest

import (
	"slices"
	"strings"
)

// Case asks which keys of cases a name means, as the end of a message: at most three that
// have the name as their last part, or else the nearest key. It is "" when none is near.
func Case(name string, keys []string) string {
	const most = 3
	var same []string
	for _, key := range slices.Sorted(slices.Values(keys)) {
		if name != "" && key != name && lastPart(key) == name && !slices.Contains(same, key) {
			same = append(same, key)
		}
	}
	switch n := len(same); {
	case n == 1:
		return Question(same[0])
	case n > 1 && n <= most:
		return Question(strings.Join(same[:n-1], "`, `") + "` or `" + same[n-1])
	}
	return DidYouMean(name, keys)
}

// lastPart returns the part of a key behind its # or its last slash, without a target.
func lastPart(key string) string {
	key, _, _ = strings.Cut(key, " @ ")
	return key[strings.LastIndexAny(key, "#/")+1:]
}
