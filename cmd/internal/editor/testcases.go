package editor

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
	"github.com/gavel-evals/gavel/controller/explain"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/testcase"
)

// mostTestCases is how many an answer has at most, since the history of each is read.
const mostTestCases = 500

// testCases returns the cases of the first format, by tag, difficulty and status.
func (s *Store) testCases(ctx context.Context, r *http.Request) (any, error) {
	s, end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	for _, name := range []string{"difficulty", "status"} {
		if words, asked := document.Shapes()["#Testcase"].Fields[name].Enum, r.URL.Query().Get(name); asked != "" && !slices.Contains(words, asked) {
			return nil, refuse("%s %q: write one of %s", name, asked, strings.Join(words, ", "))
		}
	}
	_, found, err := s.definitions(ctx)
	if err != nil {
		return nil, err
	}
	q, list, total, read := r.URL.Query(), []Fields{}, 0, found.Reader.ForFiles(s.files)
	limit, page := definition.PageNumber(q.Get("limit"), 100, mostTestCases), definition.PageNumber(q.Get("page"), 1, 1_000_000)
	for _, c := range found.Cases {
		l := c.Labels
		if !matches(q.Get("difficulty"), l.Difficulty) || !matches(q.Get("status"), l.Status) || q.Has("tag") && !slices.Contains(l.Tags, q.Get("tag")) {
			continue
		}
		if total++; total > limit*(page-1) && len(list) < limit {
			fields, err := s.testCaseOf(ctx, read, c)
			if err != nil {
				return nil, err
			}
			list = append(list, fields)
		}
	}
	return map[string]any{"test_cases": list, "total": total}, nil
}

// testCase returns one of them, by its id.
func (s *Store) testCase(ctx context.Context, r *http.Request) (any, error) {
	s, end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	_, found, err := s.definitions(ctx)
	if err != nil {
		return nil, err
	}
	c, err := s.caseNamed(ctx, found.Cases, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return s.testCaseOf(ctx, found.Reader.ForFiles(s.files), c)
}

// definitions returns the settings of definitions, and what they have.
func (s *Store) definitions(ctx context.Context) (schema.Settings, *catalog, error) {
	settings, err := s.settings(ctx)
	if err != nil {
		return settings, nil, err
	}
	found, err := s.catalog(ctx, settings)
	return settings, found, err
}

// catalog returns the definitions in all formats.
func (s *Store) catalog(ctx context.Context, settings schema.Settings) (*catalog, error) {
	return remember(s, "catalog", func() (*catalog, error) { return s.catalogs.load(ctx, s.known, s.files, settings) })
}

// testCaseOf returns a case in the form of its file, with the fields that the format
// calls generated and the fields for its place.
func (s *Store) testCaseOf(ctx context.Context, read *testcase.Reader, c *schema.CaseInfo) (Fields, error) {
	out := read.Definition(c)
	for name, value := range map[string]any{
		"name": c.Labels.Name, "status": c.Labels.Status, "difficulty": c.Labels.Difficulty, "tags": append([]string{}, c.Labels.Tags...),
		"key": c.Key, "path": c.Origin.File, "line": c.Origin.Line,
	} {
		encoded, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		out[name] = encoded
	}
	text, err := schema.ReadFile(s.files, c.Origin.File, 0)
	if err != nil {
		return nil, err
	}
	if out["version"], err = json.Marshal(contentVersion(text)); err != nil {
		return nil, err
	}
	id, err := s.identity(ctx, c)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(id)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(encoded, &out)
}

// identity returns the identity of a case.
func (s *Store) identity(ctx context.Context, c *schema.CaseInfo) (*explain.Identity, error) {
	if s.cfg.Identity == nil {
		return explain.Identify(ctx, c, explain.History{Repository: s.cfg.Repository})
	}
	return s.cfg.Identity(ctx, s.files, &schema.Case{CaseInfo: *c})
}

// matches reports whether a value is the requested one; an empty request matches all.
func matches(ask, value string) bool { return ask == "" || ask == value }
