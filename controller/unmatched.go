package controller

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/gavel-evals/gavel/controller/source"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// UnmatchedInputs warns about inputs of targets in a configuration that match no file and
// probably misspell a path: a change of the meant files would rerun nothing. The error is
// the context's.
func UnmatchedInputs(ctx context.Context, files fs.FS, file string) ([]schema.Problem, error) {
	doc, _ := document.Open(files, file)
	if doc == nil {
		return nil, nil
	}
	var found []schema.Problem
	for _, name := range doc.Keys("targets") {
		for i := range doc.Items("targets", name, "inputs") {
			at := []any{"targets", name, "inputs", i}
			glob := path.Clean(doc.Text(at...))
			matched, err := source.Matches(ctx, files, []string{glob})
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil || len(matched) > 0: // a malformed glob has its own error
				continue
			}
			near := similarPath(files, glob)
			if near == "" {
				continue // files to come
			}
			p := doc.Problem("unmatched-inputs", fmt.Sprintf("the inputs %q of the target %s match no file, so that no change reruns its cases", doc.Text(at...), name), suggest.Question(near), at...)
			p.Severity = schema.Warning
			found = append(found, p)
		}
	}
	return found, nil
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
