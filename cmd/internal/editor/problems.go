package editor

import (
	"context"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// A locator returns the path from a definition to a place, by names and numbers, and the length
// of the path to the object that begins there; -1 for none.
type locator = func(schema.Position) (path []string, begins int)

// placed returns a problem with its line and column.
func placed(p schema.Problem) string {
	if p.Line == 0 {
		return problemText(p)
	}
	return fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, problemText(p))
}

// showErrors adds the errors that the stored file has to the sheet. locate makes the locator
// of its text; nil for a sheet without fields.
func (s *Store) showErrors(ctx context.Context, v *sheet, locate func(text []byte) locator) error {
	s, end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	text, err := schema.ReadFile(s.files, v.File, maxText)
	if err != nil {
		return nil //nolint:nilerr // a file that cannot be read has no places to show
	}
	settings, err := s.settings(ctx)
	if err != nil {
		return err
	}
	found, err := load.Load(ctx, s.files, load.Options{Settings: settings, Files: []string{v.File}, Brief: true})
	if err != nil {
		return err
	}
	v.TextFormat = formatsOf(found)[v.File]
	var wrong []schema.Problem
	for _, p := range found.Snapshot().Problems() {
		if p.File == v.File && p.Severity == schema.Error {
			wrong = append(wrong, p)
		}
	}
	var at locator
	if locate != nil {
		at = locate(text)
	}
	v.Errors = append(v.Errors, attachProblems(v.Fields, wrong, at)...)
	return nil
}

// A trouble is a field with a problem, for the list at the top of a form.
type trouble struct{ Name, Label, Text string }

// Troubles returns the fields with problems.
func (v *sheet) Troubles() []trouble {
	var out []trouble
	walk(v.Fields, func(f *formField) {
		if first, _, _ := strings.Cut(f.Problem, "\n"); first != "" {
			out = append(out, trouble{f.Path, f.title(), textfmt.Clip(first, 120)})
		}
	})
	return out
}
