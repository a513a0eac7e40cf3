package editor

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
)

// OpenAPI describes the requests of all pages: those that [Store.Routes] answers, the
// dashboard's and a server's.
//
//go:embed openapi.json
var OpenAPI []byte

// A route is one request that is answered.
type route struct {
	method, path string
	answer       func(context.Context, *http.Request) (any, error)
}

// plural has the names of the kinds in paths.
var plural = map[string]string{kindDomain: "domains", kindTest: "tests", kindEvaluator: "evaluators", kindTool: "tools"}

// routes returns all routes.
func (s *Store) routes() []route {
	out := []route{
		{"GET", "/api/settings/export", func(ctx context.Context, _ *http.Request) (any, error) {
			doc, err := s.export(ctx)
			return json.RawMessage(doc), err
		}},
		{"POST", "/api/settings/import", s.postImport},
		{"GET", "/api/settings/levels/{domain}/{level}", s.getLevel},
		{"PUT", "/api/settings/levels/{domain}/{level}", s.putLevel},
		{"GET", "/api/settings/levels", s.getLevels},
		{"DELETE", "/api/settings/levels/{domain}/{level}", s.deleteLevel},
		{"POST", "/api/settings/levels/{domain}/{level}/move", s.moveLevel},
		{"POST", "/api/settings/tests/{id}/move", s.move},
		{"GET", "/api/test-cases", s.testCases},
		{"GET", "/api/test-cases/{id}", s.testCase},
		{"POST", "/api/test-cases", s.postTestCase},
		{"PUT", "/api/test-cases/{id}", s.putTestCase},
		{"DELETE", "/api/test-cases/{id}", s.deleteTestCase},
		{"GET", "/api/openapi.json", func(context.Context, *http.Request) (any, error) { return json.RawMessage(OpenAPI), nil }},
	}
	for kind, name := range plural {
		if kind != kindTest {
			out = append(out, route{"POST", "/api/settings/" + name + "/{id}/move", func(ctx context.Context, r *http.Request) (any, error) { return s.moveNamed(ctx, kind, r) }})
		}
		one := "/api/settings/" + name + "/{id}"
		out = append(out,
			route{"GET", "/api/settings/" + name, func(ctx context.Context, r *http.Request) (any, error) { return s.getAll(ctx, kind, r) }},
			route{"POST", "/api/settings/" + name, func(ctx context.Context, r *http.Request) (any, error) { return s.save1(ctx, edit{kind: kind}, r) }},
			route{"GET", one, func(ctx context.Context, r *http.Request) (any, error) {
				e, err := s.get(ctx, kind, r.PathValue("id"))
				return e.document(), err
			}},
			route{"PUT", one, func(ctx context.Context, r *http.Request) (any, error) {
				return s.save1(ctx, edit{kind: kind, id: r.PathValue("id")}, r)
			}},
			route{"DELETE", one, func(ctx context.Context, r *http.Request) (any, error) {
				written, err := s.remove(ctx, kind, r.PathValue("id"), r.URL.Query().Get("version"), modeSave)
				return written.answer(nil), err
			}},
		)
	}
	return out
}

// Requests returns the methods and paths that [Store.Routes] adds, in order.
func Requests() []string {
	var out []string
	for _, r := range new(Store).routes() {
		out = append(out, r.method+" "+r.path)
	}
	slices.Sort(out)
	return out
}

// Routes adds the requests to a mux. The caller guards it.
func (s *Store) Routes(mux *http.ServeMux) {
	for _, route := range s.routes() {
		mux.HandleFunc(route.method+" "+route.path, func(w http.ResponseWriter, r *http.Request) {
			body, err := route.answer(r.Context(), r)
			if err != nil {
				writeError(w, err)
				return
			}
			writeAnswer(w, http.StatusOK, body)
		})
	}
}

// getAll returns the definitions of a kind.
func (s *Store) getAll(ctx context.Context, kind string, r *http.Request) (any, error) {
	w := wish{domain: r.URL.Query().Get("domain"), kind: kind}
	if level := r.URL.Query().Get("level"); level != "" {
		var err error
		if w.level, err = strconv.Atoi(level); err != nil || w.level < 1 {
			return nil, refuse("level=%s: write a whole number from 1, or leave it out for all levels", level)
		}
	}
	entries, err := s.list(ctx, w)
	if err != nil {
		return nil, err
	}
	list := []map[string]any{}
	for _, e := range entriesOf(entries, kind) {
		doc := e.document()
		if kind == kindDomain {
			addLevels(doc, entries, e.ID)
		}
		list = append(list, doc)
	}
	return map[string]any{plural[kind]: list}, nil
}

// addLevels counts the tests of a domain by level.
func addLevels(doc map[string]any, entries []Entry, domain string) {
	levels, total := map[string]map[string]any{}, 0
	at := func(n int) map[string]any {
		name := strconv.Itoa(n)
		if levels[name] == nil {
			levels[name] = map[string]any{"test_count": 0, "has_system_prompt": false}
		}
		return levels[name]
	}
	for n := range levelCount {
		at(n + 1)
	}
	for _, e := range entries {
		switch {
		case e.Domain != domain:
		case e.Kind == kindTest:
			level := at(e.Level)
			count, _ := level["test_count"].(int)
			level["test_count"] = count + 1
			total++
		case e.Kind == kindLevel:
			at(e.Level)["has_system_prompt"] = definition.TextOf(e.Fields["system_prompt"]) != ""
		}
	}
	doc["levels"], doc["total_tests"] = levels, total
}

func (s *Store) getLevel(ctx context.Context, r *http.Request) (any, error) {
	domain, number, err := levelNamed(r)
	if err != nil {
		return nil, err
	}
	e, err := s.level(ctx, domain, number)
	return map[string]any{"success": true, "level": e.document()}, err
}

func (s *Store) putLevel(ctx context.Context, r *http.Request) (any, error) {
	domain, number, err := levelNamed(r)
	if err != nil {
		return nil, err
	}
	return s.save1(ctx, edit{kind: kindLevel, id: levelID(domain, number)}, r)
}

// move moves a test to the domain and level that a request names. They default to the
// present ones.
func (s *Store) move(ctx context.Context, r *http.Request) (any, error) {
	e := edit{kind: kindTest, id: r.PathValue("id"), only: []string{"domain_id", "level", "version"}}
	return s.save1(ctx, e, r)
}

// save1 writes the definition of a request.
func (s *Store) save1(ctx context.Context, e edit, r *http.Request) (any, error) {
	var err error
	if _, e.fields, err = fieldsOf(r); err != nil {
		return nil, err
	}
	for name := range e.fields {
		if e.only != nil && !slices.Contains(e.only, name) {
			return nil, refuse("`%s`: write only %s here", name, strings.Join(e.only, ", "))
		}
	}
	entry, written, err := s.save(ctx, e)
	if err != nil {
		return nil, err
	}
	return written.answer(map[string]any{e.kind: entry.locate().document()}), nil
}

// answer adds a written change to the answer of a request.
func (w Written) answer(to map[string]any) map[string]any {
	out := map[string]any{"success": true, "files": w.Files, "versions": w.Versions, "diff": w.Diff, "warnings": w.Warnings}
	if w.Branch != "" {
		out["branch"], out["pull_request"] = w.Branch, w.PullRequest
	}
	maps.Copy(out, to)
	return out
}

// locate returns the entry with the domain and level of its file.
func (e Entry) locate() Entry {
	if parts := strings.Split(e.File, "/"); e.Kind == kindTest && len(parts) > 2 {
		e.Domain = parts[len(parts)-3]
		if number := levelFolder.FindStringSubmatch(parts[len(parts)-2]); number != nil {
			e.Level, _ = strconv.Atoi(number[1]) // digits, by the pattern
		}
	}
	return e
}

// fieldsOf returns the body of a request and the fields of its JSON object.
func fieldsOf(r *http.Request) (body []byte, fields Fields, err error) {
	if body, err = readBody(r); err != nil {
		return nil, nil, err
	}
	if fields, err = definition.DecodeObject(body); err != nil {
		return nil, nil, refuse("%v", err)
	}
	return body, fields, nil
}

// postImport imports a document, which may be the body or its field data.
func (s *Store) postImport(ctx context.Context, r *http.Request) (any, error) {
	body, fields, err := fieldsOf(r)
	if err != nil {
		return nil, err
	}
	as := importMode{merge: true}
	for _, own := range []struct {
		name, hint string
		to         any
	}{{"merge", "write true or false", &as.merge}, {"versions", "write the version of each file that was read, by its path", &as.versions}} {
		value, ok := fields[own.name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(value, own.to); err != nil {
			return nil, refuse("%s: %s", own.name, own.hint)
		}
		delete(fields, own.name)
		if body, err = json.Marshal(fields); err != nil {
			return nil, err
		}
	}
	if inner, ok := fields["data"]; ok && bytes.HasPrefix(bytes.TrimSpace(inner), []byte("{")) {
		body = inner
	}
	return s.importing(ctx, body, as)
}
