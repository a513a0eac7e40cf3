package load

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// ignoreFile stands in the repository root and says in gitignore's syntax
// what is not looked at. Its patterns reuse the globs of keys: a library would
// bring another meaning of ** into the program.
const ignoreFile = ".gavelignore"

// An ignoreRule is one line of the file.
type ignoreRule struct {
	glob    string
	negated bool
	folder  bool // matches folders only
}

// longestPattern leaves room for the **/ that is put before it.
const longestPattern = schema.MaxGlob - len("**/")

// A patternError is a pattern that is longer than a glob may be, by its line.
type patternError struct{ line int }

// Error says how long a pattern may be.
func (p *patternError) Error() string {
	return fmt.Sprintf("a pattern has more than %d bytes", longestPattern)
}

// readIgnore reads the rules; a file that is not there has none.
func readIgnore(fsys fs.FS) ([]ignoreRule, error) {
	data, err := schema.ReadFile(fsys, ignoreFile, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ignoreFile, err)
	}
	var rules []ignoreRule
	for i, line := range strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n") {
		line = trimmed(strings.TrimSuffix(line, "\r"))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(line) > longestPattern {
			return nil, &patternError{i + 1}
		}
		var r ignoreRule
		line, r.negated = strings.CutPrefix(line, "!")
		line, r.folder = strings.CutSuffix(line, "/")
		line = strings.ReplaceAll(line, "[!", "[^") // as MatchGlob has it
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

// Ignored reads .gavelignore and gives what it says of a path: that it, or a
// folder above it, is not looked at.
func Ignored(fsys fs.FS) (func(name string, isFolder bool) bool, error) {
	rules, err := readIgnore(fsys)
	if err != nil || len(rules) == 0 {
		return func(string, bool) bool { return false }, err
	}
	return func(name string, isFolder bool) bool {
		return excluded(rules, name, isFolder) || excludedAbove(rules, name)
	}, nil
}

// excludedAbove reports whether a folder that a path is in is excluded: what is
// in it cannot be taken back.
func excludedAbove(rules []ignoreRule, name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if excluded(rules, dir, true) {
			return true
		}
	}
	return false
}

// excluded applies the rules to a path; the last one that matches decides.
func excluded(rules []ignoreRule, name string, isFolder bool) bool {
	out := false
	for _, r := range rules {
		if r.folder && !isFolder {
			continue
		}
		if schema.MatchGlob(r.glob, name) {
			out = !r.negated
		}
	}
	return out
}
