package editor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
	"github.com/gavel-evals/gavel/cmd/internal/evonic"
)

// export returns the document of all definitions.
func (s *Store) export(ctx context.Context) ([]byte, error) {
	s, end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	settings, t, err := s.state(ctx)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range t.entries {
		if !slices.Contains(files, e.File) {
			files = append(files, e.File)
		}
	}
	doc, _, err := evonic.Export(s.files, settings.Definitions, files, s.cfg.Now())
	return doc, err
}

// An ImportResult counts the definitions of a document, and lists the ones that could not
// be imported.
type ImportResult struct {
	Domains    int      `json:"domains_imported"`
	Tests      int      `json:"tests_imported"`
	Evaluators int      `json:"evaluators_imported"`
	Tools      int      `json:"tools_imported"`
	Errors     []string `json:"errors"`
	Written
}

// An importMode says how a document is imported.
type importMode struct {
	// merge keeps the definitions that the document lacks.
	merge bool
	// versions are the versions that the caller has read, by path.
	versions map[string]string
}

// importing writes the definitions of a document. An imported definition replaces the
// definition with its id.
func (s *Store) importing(ctx context.Context, data []byte, as importMode) (ImportResult, error) {
	s, end, err := s.beginChange(ctx, modeSave)
	if err != nil {
		return ImportResult{}, err
	}
	defer end()
	out := ImportResult{Errors: []string{}}
	settings, t, err := s.state(ctx)
	if err != nil {
		return out, err
	}
	files, losses, err := evonic.Import(data, s.home(settings))
	if err != nil {
		return out, refuse("%v", err)
	}
	for _, l := range losses {
		out.Errors = append(out.Errors, l.String())
	}
	change, kept := Change{}, map[string]bool{}
	for _, f := range files {
		kind, id, _ := strings.Cut(f.About, " ")
		switch kind {
		case kindDomain:
			out.Domains++
		case kindTest:
			out.Tests++
		case kindEvaluator:
			out.Evaluators++
		case kindTool:
			out.Tools++
		}
		file, same := f.Path, false
		if old, ok := t.counterpart(kind, id, f.Path); ok && !old.Several {
			kept[old.File] = true
			if kind != kindTest || old.File == f.Path || path.Dir(old.File) == path.Dir(f.Path) {
				file, same = old.File, t.equalFields(old, []byte(f.Text))
			} else {
				change[old.File] = nil
			}
		}
		if kept[file] = true; !same {
			change[file] = []byte(f.Text)
		}
	}
	if !as.merge {
		for _, e := range t.entries {
			if !kept[e.File] {
				change[e.File] = nil
			}
		}
	}
	// A definition with errors is imported, too, so that people can correct it.
	out.Written, err = s.check(ctx, settings, change, as.versions)
	var wrong *refusal
	if errors.As(err, &wrong) && len(wrong.Problems) > 0 {
		for _, p := range wrong.Problems {
			out.Errors = append(out.Errors, fmt.Sprintf("%s:%d: %s", p.File, p.Line, problemText(p)))
		}
		err = nil
	}
	if err != nil {
		return out, err
	}
	out.Kept, err = s.write(ctx, change)
	return out, err
}

// counterpart returns the definition that an imported one replaces.
func (t *tree) counterpart(kind, id, file string) (Entry, bool) {
	for _, e := range t.entries {
		if e.Kind == kind && (e.ID == id || kind == kindLevel && path.Dir(e.File) == path.Dir(file)) {
			return e, true
		}
	}
	return Entry{}, false
}

// equalFields compares two definitions, ignoring empty fields and fields implied by the
// path. An export names the evaluator of the domain in each test.
func (t *tree) equalFields(old Entry, file []byte) bool {
	var other Fields
	if json.Unmarshal(file, &other) != nil {
		return false
	}
	if old.Kind == kindTest && definition.TextOf(old.Fields["evaluator_id"]) == "" {
		if domain, err := t.find(kindDomain, old.Domain); err == nil && definition.TextOf(domain.Fields["evaluator_id"]) == definition.TextOf(other["evaluator_id"]) {
			delete(other, "evaluator_id")
		}
	}
	return definition.SameJSON(definition.WithoutDefaults(storedFields(old.Fields)), definition.WithoutDefaults(storedFields(other)))
}
