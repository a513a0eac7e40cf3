package wildcard

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// IgnoreFile is the name of the file in the repository root that excludes paths, in the syntax of
// .gitignore. Its patterns reuse the globs of keys, since a library would bring a second meaning of
// ** into the program.
const IgnoreFile = ".gavelignore"

// IgnoreRules are the rules of .gavelignore, in the order of its lines.
type IgnoreRules []ignoreRule

type ignoreRule struct {
	glob    string
	negated bool
	folder  bool // matches folders only
}

// longestPattern leaves room for the **/ that is put before it.
const longestPattern = MaxPattern - len("**/")

// A PatternError is the error about a pattern that is longer than a glob may be.
type PatternError struct {
	Line int // 1-based
}

// Error names the limit.
func (p *PatternError) Error() string {
	return fmt.Sprintf("a pattern has more than %d bytes", longestPattern)
}

// ReadIgnore returns the rules of the repository. Without a file there are none. A pattern that is too
// long is a [*PatternError].
func ReadIgnore(fsys fs.FS) (IgnoreRules, error) {
	data, err := schema.ReadFile(fsys, IgnoreFile, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", IgnoreFile, err)
	}
	var rules IgnoreRules
	for i, line := range strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n") {
		line = trimmed(strings.TrimSuffix(line, "\r"))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(line) > longestPattern {
			return nil, &PatternError{i + 1}
		}
		var r ignoreRule
		line, r.negated = strings.CutPrefix(line, "!")
		line, r.folder = strings.CutSuffix(line, "/")
		line = strings.ReplaceAll(line, "[!", "[^") // as Match writes it
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

// trimmed removes the spaces at the end of a line, except one after a backslash.
func trimmed(line string) string {
	short := strings.TrimRight(line, " ")
	slashes := len(short) - len(strings.TrimRight(short, `\`))
	if slashes%2 == 1 && short != line {
		short += " "
	}
	return short
}

// IgnoreMatcher reads .gavelignore and returns a function that reports whether it
// excludes a path, or a folder above it.
func IgnoreMatcher(fsys fs.FS) (func(name string, isFolder bool) bool, error) {
	rules, err := ReadIgnore(fsys)
	if err != nil || len(rules) == 0 {
		return func(string, bool) bool { return false }, err
	}
	return func(name string, isFolder bool) bool {
		return rules.Exclude(Path{name, isFolder}) || rules.ExcludeAbove(name)
	}, nil
}

// ExcludeAbove reports whether a folder above a path is excluded. Rules for the path itself cannot undo
// that.
func (rules IgnoreRules) ExcludeAbove(name string) bool {
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

// Exclude reports whether a path is excluded. The last rule that matches decides.
func (rules IgnoreRules) Exclude(p Path) bool {
	out := false
	for _, r := range rules {
		if r.folder && !p.IsFolder {
			continue
		}
		if Match(r.glob, p.Name) {
			out = !r.negated
		}
	}
	return out
}
