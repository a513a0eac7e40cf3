package controller

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/source"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/suggest"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// UnmatchedGlobs warns about globs of a configuration that match no file: about dialects,
// which are for files that exist, and about inputs of targets and programs that probably
// misspell a path, where a change of the meant files would rerun nothing. The error is the
// context's.
func UnmatchedGlobs(ctx context.Context, files fs.FS, file string) ([]schema.Problem, error) {
	doc, _ := document.Open(files, file)
	if doc == nil {
		return nil, nil
	}
	var globs []namedGlob
	for _, glob := range doc.Keys("dialects") {
		globs = append(globs, namedGlob{
			rule: "unmatched-dialects", text: glob, isWritten: true, at: []any{"dialects", glob}, otherwise: "correct it, or remove it",
			message: fmt.Sprintf("%q matches no file, so that it decides no format", glob),
		})
	}
	inputs := func(of string, at ...any) {
		for i := range doc.Items(at...) {
			at := append(slices.Clip(at), i)
			message := fmt.Sprintf("the inputs %q of %s match no file, so that no change of them reruns a case", doc.Text(at...), of)
			globs = append(globs, namedGlob{rule: "unmatched-inputs", text: doc.Text(at...), message: message, at: at})
		}
	}
	inputs("programs", "programs", "inputs")
	for _, name := range doc.Keys("targets") {
		inputs("the target "+name, "targets", name, "inputs")
	}
	var found []schema.Problem
	for _, glob := range globs {
		if hint := glob.hint(ctx, files); hint != "" {
			p := doc.Problem(glob.rule, glob.message, hint, glob.at...)
			p.Severity = schema.Warning
			found = append(found, p)
		}
	}
	return found, ctx.Err()
}

// A namedGlob is a glob of a configuration, and the warning if it matches no file.
type namedGlob struct {
	rule, text, message string
	// isWritten says that paths are compared with the glob as it is written: ./a is not a.
	isWritten bool
	// otherwise is the hint where no path is similar; empty to warn of nothing, since the
	// files may be to come.
	otherwise string
	at        []any
}

// hint returns the repair of a glob that matches no file; empty for no warning. A malformed
// glob has its own error.
func (g namedGlob) hint(ctx context.Context, files fs.FS) string {
	glob := path.Clean(g.text)
	matched, err := source.Matches(ctx, files, []string{glob})
	switch {
	case err != nil:
		return ""
	case len(matched) == 0:
		if near := similarPath(files, glob); near != "" {
			return suggest.Question(near)
		}
		return g.otherwise
	case g.isWritten && !slices.ContainsFunc(matched, func(file string) bool { return wildcard.Match(g.text, file) }):
		return suggest.Question(glob)
	}
	return ""
}

// similarPath returns the glob with its first unknown folder or file replaced by one with
// a similar name; empty without one.
func similarPath(files fs.FS, glob string) string {
	parts := strings.Split(glob, "/")
	for i, part := range parts {
		if strings.ContainsAny(part, `*?[\`) {
			return ""
		}
		folder := path.Join(append([]string{"."}, parts[:i]...)...)
		entries, err := fs.ReadDir(files, folder)
		if err != nil {
			return ""
		}
		var names []string
		for _, e := range entries {
			if e.Name() == part {
				names = nil
				break
			}
			names = append(names, e.Name())
		}
		if near := suggest.Nearest(part, names); near != "" {
			return strings.Join(append(append(append([]string{}, parts[:i]...), near), parts[i+1:]...), "/")
		}
	}
	return ""
}
