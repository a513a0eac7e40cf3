package wildcard

import "strings"

// maxAlternatives bounds the patterns that one with sets in braces means.
const maxAlternatives = 256

// IsGlob reports whether a name means files by a pattern: it has *, ?, [ or a set in braces such as
// {a,b}. A name with {{ is a template and no pattern, unless one of the signs is in it.
func IsGlob(name string) bool {
	if strings.ContainsAny(name, "*?[") {
		return true
	}
	_, isSet := nextSet(name)
	return isSet
}

// Alternatives returns the patterns without sets in braces that a pattern means: a/{b,c}.md means
// a/b.md and a/c.md. It reports false if there are too many.
func Alternatives(pattern string) (all []string, ok bool) {
	all = []string{pattern}
	for i := 0; i < len(all); {
		s, isSet := nextSet(all[i])
		if !isSet {
			i++
			continue
		}
		var out []string
		for _, member := range s.members {
			out = append(out, all[i][:s.start]+member+all[i][s.end:])
		}
		if len(all)+len(out) > maxAlternatives+1 || len(out[0]) > MaxPattern {
			return nil, false
		}
		all = append(all[:i], append(out, all[i+1:]...)...)
	}
	return all, true
}

// A braceSet is a set in braces within a pattern, with its members.
type braceSet struct {
	start, end int
	members    []string
}

// nextSet returns the first set in braces that has a comma. Braces around one name mean themselves.
func nextSet(pattern string) (found braceSet, ok bool) {
	if len(pattern) > MaxPattern || strings.Contains(pattern, "{{") {
		return found, false
	}
	for start := 0; start < len(pattern); start++ {
		if pattern[start] != '{' {
			continue
		}
		if found, ok = setAt(pattern, start); ok {
			return found, true
		}
	}
	return found, false
}

// setAt returns the set that begins at an opening brace.
func setAt(pattern string, start int) (found braceSet, ok bool) {
	found.start = start
	depth, from := 0, start+1
	for i := start; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '{':
			depth++
		case c == ',' && depth == 1:
			found.members, from = append(found.members, pattern[from:i]), i+1
		case c == '}':
			if depth--; depth > 0 {
				continue
			}
			found.members, found.end = append(found.members, pattern[from:i]), i+1
			return found, len(found.members) > 1
		}
	}
	return found, false
}
