package editor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/dashboard/access"
	"github.com/gavel-evals/gavel/schema"
)

// A size says how many definitions a tree has.
type size struct {
	domains, tests int // tests of each of the five levels of a domain, each in a file
	lists, cases   int // cases of the testcase format in each list
}

// large are 100,000 cases.
var large = size{domains: 20, tests: 200, lists: 100, cases: 800}

// benchTree writes the definitions.
func benchTree(tb testing.TB, of size) string {
	dir := tb.TempDir()
	put := func(name, text string) {
		name = filepath.Join(dir, "test_definitions", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	for d := range of.domains {
		put(fmt.Sprintf("domain_%d/domain.json", d), fmt.Sprintf(`{"id": "domain_%d", "name": "Domain %d", "evaluator_id": "two_pass"}`, d, d))
		for l := 1; l <= 5; l++ {
			for n := range of.tests {
				id := fmt.Sprintf("test_%d_%d_%d", d, l, n)
				put(fmt.Sprintf("domain_%d/level_%d/%s.json", d, l, id), fmt.Sprintf(`{"id": %q, "name": "Sum %d", "prompt": "%d + 1?", "expected": {"answer": "%d"}}`, id, n, n, n+1))
			}
		}
	}
	put("empty/domain.json", `{"id": "empty", "name": "Without tests"}`)
	for i := range of.lists {
		var list strings.Builder
		for n := range of.cases {
			fmt.Fprintf(&list, "- name: Case %d %d\n  initial_message: Where is parcel %d?\n  difficulty: %s\n", i, n, n, []string{"easy", "hard"}[n%2])
		}
		put(fmt.Sprintf("parcels_%d.yaml", i), list.String())
	}
	put("one.json", `{"name": "One", "id": "`+oneID+`", "initial_message": "Hi"}`)
	put("evaluators/polite.json", `{"id": "polite", "name": "Polite", "type": "custom", "eval_prompt": "Is it polite?"}`)
	put("tools/clock.json", `{"id": "clock", "name": "Clock", "description": "The time", "function": {"name": "clock", "parameters": {"type": "object", "properties": {}}}}`)
	return dir
}

// The ids of two cases of the testcase format: one that is there, and one that is made.
const (
	oneID  = "5b8e3a52-6d0f-4c57-9a0e-3d1f9f4a7c10"
	nextID = "0c4a6a5e-1f43-4a52-8a76-0e3f7b1e2d11"
)

// benchSite serves the pages and the requests of a tree.
func benchSite(dir string) http.Handler {
	mux := http.NewServeMux()
	store := New(Config{
		Open: func(context.Context) (fs.FS, func() error, error) {
			return os.DirFS(dir), func() error { return nil }, nil
		},
		Write: Folder(dir), Now: time.Now,
		Settings: func(context.Context, fs.FS) (schema.Settings, error) {
			return schema.Settings{Definitions: []string{"test_definitions"}}, nil
		},
	})
	store.Routes(mux)
	store.Pages(mux, func(w http.ResponseWriter, _ *http.Request, f dashboard.Page) {
		w.WriteHeader(f.Status)
		fmt.Fprint(w, f.Body)
	})
	return access.Guard{}.Handler(mux)
}

// An ask is a request.
type ask struct{ method, path, body string }

// send asks a site, and returns how long that took and how large the answer is.
func (a ask) send(tb testing.TB, site http.Handler) (took time.Duration, size int) {
	tb.Helper()
	r := httptest.NewRequest(a.method, "http://localhost:8080"+a.path, strings.NewReader(a.body))
	if a.method != http.MethodGet {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	began := time.Now()
	site.ServeHTTP(w, r)
	took = time.Since(began)
	if w.Code != http.StatusOK {
		tb.Fatalf("%s %s is answered with %d, want 200: %.2000s", a.method, a.path, w.Code, w.Body)
	}
	return took, w.Body.Len()
}

// A round is a request with those that make it possible and that put back what it changed.
type round struct{ before, ask, after ask }

// do sends the requests, and returns how long the one in the middle took.
func (r round) do(tb testing.TB, site http.Handler) (took time.Duration, size int) {
	tb.Helper()
	if r.before.method != "" {
		r.before.send(tb, site)
	}
	took, size = r.ask.send(tb, site)
	if r.after.method != "" {
		r.after.send(tb, site)
	}
	return took, size
}

// rounds are the requests of the OpenAPI document that this package answers.
func rounds() map[string]round {
	out := map[string]round{}
	for _, r := range []struct{ name, path, body string }{
		{"GET /api/openapi.json", "", ""}, {"GET /api/settings/export", "", ""},
		{"POST /api/settings/import", "", `{"domains": [], "evaluators": [], "tools": [], "version": "1.0"}`},
		{"GET /api/settings/levels", "/api/settings/levels?domain=domain_3", ""},
		{"GET /api/settings/tests", "/api/settings/tests?domain=domain_1&level=2", ""},
		{"GET /api/test-cases", "/api/test-cases?difficulty=hard", ""},
	} {
		out[r.name] = round{ask: ask{path: r.path, body: r.body}}
	}
	const level, other = "/api/settings/levels/empty/1", "/api/settings/levels/empty/2"
	put, remove := ask{"PUT", level, `{"system_prompt": "Be brief."}`}, ask{"DELETE", level, ""}
	out["GET /api/settings/levels/{domain}/{level}"] = round{put, ask{path: level}, remove}
	out["PUT /api/settings/levels/{domain}/{level}"] = round{ask: put, after: remove}
	out["DELETE /api/settings/levels/{domain}/{level}"] = round{before: put, ask: remove}
	out["POST /api/settings/levels/{domain}/{level}/move"] = round{put, ask{path: level + "/move", body: `{"level": 2}`}, ask{"DELETE", other, ""}}
	for _, r := range []struct{ path, id, next, body, change, from, to string }{
		{"/api/settings/tests", "test_1_1_1", "fresh", `"domain_id": "domain_1", "level": 1, "name": "Fresh", "prompt": "7 + 1?", "expected": {"answer": "8"}`, `{"weight": 2}`, `{"level": 1}`, `{"level": 2}`},
		{"/api/settings/domains", "domain_0", "fresh", `"name": "Fresh", "evaluator_id": "two_pass"`, `{"description": "Sums"}`, `{"id": "fresh"}`, `{"id": "moved"}`},
		{"/api/settings/evaluators", "polite", "fresh", `"name": "Fresh", "type": "custom", "eval_prompt": "Is it fresh?"`, `{"description": "Manners"}`, `{"id": "fresh"}`, `{"id": "moved"}`},
		{"/api/settings/tools", "clock", "fresh", `"name": "Fresh", "description": "A tool", "function": {"name": "fresh", "parameters": {"type": "object", "properties": {}}}`, `{"description": "Now"}`, `{"id": "fresh"}`, `{"id": "moved"}`},
		{"/api/test-cases", oneID, nextID, `"name": "Fresh", "initial_message": "Hi"`, `{"initial_message": "Hello?"}`, "", ""},
	} {
		one, next := r.path+"/"+r.id, r.path+"/"+r.next
		post, remove := ask{"POST", r.path, `{"id": "` + r.next + `", ` + r.body + "}"}, ask{"DELETE", next, ""}
		if _, has := out["GET "+r.path]; !has {
			out["GET "+r.path] = round{}
		}
		out["POST "+r.path], out["DELETE "+r.path+"/{id}"] = round{ask: post, after: remove}, round{before: post, ask: remove}
		out["GET "+r.path+"/{id}"], out["PUT "+r.path+"/{id}"] = round{ask: ask{path: one}}, round{ask: ask{path: one, body: r.change}}
		if r.to == "" {
			continue
		}
		gone := ask{"DELETE", strings.TrimSuffix(next, r.next) + "moved", ""}
		if strings.Contains(r.to, "level") {
			gone = remove // a test keeps its id
		}
		out["POST "+r.path+"/{id}/move"] = round{post, ask{path: next + "/move", body: r.to}, gone}
	}
	for name, r := range out {
		method, path, _ := strings.Cut(name, " ")
		r.ask.method, r.ask.path = method, cmp.Or(r.ask.path, path)
		out[name] = r
	}
	return out
}

// TestEveryEndpointIsMeasured holds that the benchmark sends every request of the OpenAPI
// document that this package answers, and that each works.
func TestEveryEndpointIsMeasured(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(OpenAPI, &doc); err != nil {
		t.Fatal(err)
	}
	var documented []string
	for path, methods := range doc.Paths {
		for method := range methods {
			if name := strings.ToUpper(method) + " " + path; slices.Contains(Requests(), name) {
				documented = append(documented, name)
			}
		}
	}
	slices.Sort(documented)
	measured := rounds()
	if diff := gocmp.Diff(documented, slices.Sorted(maps.Keys(measured))); diff != "" {
		t.Errorf("the requests (-documented +measured):\n%s", diff)
	}
	site := benchSite(benchTree(t, size{domains: 4, tests: 3, lists: 2, cases: 5}))
	for _, name := range documented {
		t.Run(name, func(t *testing.T) {
			measured[name].do(t, site)
			measured[name].do(t, site) // the first one has put everything back
		})
	}
}

// BenchmarkPages serves every page of the settings and every request for JSON from a
// folder with 100,000 cases. It reports the 95th percentile of the time, and how large the
// answer is.
func BenchmarkPages(b *testing.B) {
	site := benchSite(benchTree(b, large))
	time.Sleep(2500 * time.Millisecond) // a file that was just written is not remembered
	file := url.QueryEscape("test_definitions/domain_1/level_1/test_1_1_7.json")
	all := rounds()
	for _, page := range []struct{ name, path string }{
		{"settings", "/settings"}, {"settings of a domain", "/settings?domain=domain_3"}, {"settings of a level", "/settings?domain=domain_3&level=2"},
		{"edit", "/settings/edit?kind=test&id=test_1_1_7"}, {"edit a new one", "/settings/edit?kind=test&domain=domain_1&level=1"},
		{"files", "/settings/file"}, {"file", "/settings/file?path=" + file}, {"tests of all levels", "/api/settings/tests"},
		{"form", "/settings/form?format=testcase&path=" + url.QueryEscape("test_definitions/one.json")},
	} {
		all[page.name] = round{ask: ask{"GET", page.path, ""}}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.Run(strings.ReplaceAll(name, "/", "|"), func(b *testing.B) {
			all[name].do(b, site)
			var times []time.Duration
			var size int
			for b.Loop() {
				var took time.Duration
				took, size = all[name].do(b, site)
				times = append(times, took)
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "p95-ms")
			b.ReportMetric(float64(size)/1000, "KB")
		})
	}
}
