// Package ignore reads .gavelignore, which lists ignored files in the syntax of
// .gitignore.
package ignore

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// File is in the repository root. Its patterns reuse the globs of keys: a library
// would bring another meaning of ** into the program.
const File = ".gavelignore"

// Rules are the lines of the file, in their order.
type Rules []rule

type rule struct {
	glob    string
	negated bool
	folder  bool // matches folders only
}

// longestPattern leaves room for the **/ that is put before it.
const longestPattern = wildcard.MaxPattern - len("**/")

// A PatternError is a pattern that is longer than a glob may be.
type PatternError struct {
	Line int // 1-based
}

// Error names the bound of a pattern.
func (p *PatternError) Error() string {
	return fmt.Sprintf("a pattern has more than %d bytes", longestPattern)
}

// Read returns the rules of the repository; a missing file has none. A pattern that is
// too long is a [*PatternError].
func Read(fsys fs.FS) (Rules, error) {
	data, err := schema.ReadFile(fsys, File, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", File, err)
	}
	var rules Rules
	for i, line := range strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n") {
		line = trimmed(strings.TrimSuffix(line, "\r"))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(line) > longestPattern {
			return nil, &PatternError{i + 1}
		}
		var r rule
		line, r.negated = strings.CutPrefix(line, "!")
		line, r.folder = strings.CutSuffix(line, "/")
		line = strings.ReplaceAll(line, "[!", "[^") // in the syntax of wildcard.Match
		// A pattern without a slash in it matches at any depth.
		if rooted, ok := strings.CutPrefix(line, "/"); ok {
			r.glob = rooted
		} else if strings.Contains(line, "/") {
			r.glob = line
		} else {
			r.glob = "**/" + line
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// trimmed leaves out the spaces that a line ends with, but for one behind a
// backslash.
func trimmed(line string) string {
	short := strings.TrimRight(line, " ")
	slashes := len(short) - len(strings.TrimRight(short, `\`))
	if slashes%2 == 1 && short != line {
		short += " "
	}
	return short
}

// Matcher reads .gavelignore and returns a function that reports whether it
// excludes a path, or a folder above it.
func Matcher(fsys fs.FS) (func(name string, isFolder bool) bool, error) {
	rules, err := Read(fsys)
	if err != nil || len(rules) == 0 {
		return func(string, bool) bool { return false }, err
	}
	return func(name string, isFolder bool) bool {
		return rules.Exclude(Path{name, isFolder}) || rules.ExcludeAbove(name)
	}, nil
}

// ExcludeAbove reports whether a parent folder of a path is excluded: its content
// cannot be included again.
func (rules Rules) ExcludeAbove(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if rules.Exclude(Path{dir, true}) {
			return true
		}
	}
	return false
}

// A Path is a file or a folder of the repository.
type Path struct {
	Name     string
	IsFolder bool
}

// Exclude applies the rules to a path; the last one that matches decides.
func (rules Rules) Exclude(p Path) bool {
	out := false
	for _, r := range rules {
		if r.folder && !p.IsFolder {
			continue
		}
		if wildcard.Match(r.glob, p.Name) {
			out = !r.negated
		}
	}
	return out
}
