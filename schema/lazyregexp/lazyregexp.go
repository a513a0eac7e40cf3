// Package lazyregexp compiles patterns when they are first used. A command uses few of
// the hundred patterns of the program, and compiling all of them would take a part of
// the time in which a short one ends.
//
// Callers declare a pattern with [New], in a variable of a package. A [Regexp] has those
// methods of a [regexp.Regexp] that are called, each with the same meaning.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// A Regexp is a pattern that is compiled once. It is safe for concurrent use.
type Regexp struct{ compiled func() *regexp.Regexp }

// tested reports whether the program is one of tests.
var tested = strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test")

// New returns a pattern. A pattern that cannot be compiled panics when it is first used,
// and at once in tests.
func New(pattern string) *Regexp {
	r := &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })}
	if tested {
		r.compiled()
	}
	return r
}

// Match reports whether b has a match.
func (r *Regexp) Match(b []byte) bool { return r.compiled().Match(b) }

// MatchString reports whether s has a match.
func (r *Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

// FindString returns the leftmost match.
func (r *Regexp) FindString(s string) string { return r.compiled().FindString(s) }

// FindStringIndex returns the place of the leftmost match.
func (r *Regexp) FindStringIndex(s string) []int { return r.compiled().FindStringIndex(s) }

// FindStringSubmatch returns the leftmost match and its groups.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

// FindStringSubmatchIndex returns the places of the leftmost match and its groups.
func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}

// FindAllString returns up to n matches.
func (r *Regexp) FindAllString(s string, n int) []string {
	return r.compiled().FindAllString(s, n)
}

// FindAllStringIndex returns the places of up to n matches.
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringIndex(s, n)
}

// FindAllStringSubmatch returns up to n matches and their groups.
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

// ReplaceAll replaces the matches, with $1 for a group.
func (r *Regexp) ReplaceAll(b, with []byte) []byte {
	return r.compiled().ReplaceAll(b, with)
}

// ReplaceAllString replaces the matches, with $1 for a group.
func (r *Regexp) ReplaceAllString(s, with string) string {
	return r.compiled().ReplaceAllString(s, with)
}

// ReplaceAllStringFunc replaces each match by the result of with.
func (r *Regexp) ReplaceAllStringFunc(s string, with func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, with)
}

// FindAllSubmatch returns up to n matches and their groups.
func (r *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.compiled().FindAllSubmatch(b, n)
}
