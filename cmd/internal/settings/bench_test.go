package settings

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/dashboard/guard"
	"github.com/gavel-evals/gavel/controller/dashboard/shell"
	"github.com/gavel-evals/gavel/schema"
)

// The definitions of the benchmarks: 100,000 cases.
const (
	benchDomains = 20
	benchLevels  = 5
	benchTests   = 200 // of each level, each in a file
	benchLists   = 100
	benchList    = 800 // cases of the testcase format in each list
)

// benchTree writes the definitions.
func benchTree(b *testing.B) string {
	dir := b.TempDir()
	put := func(name, text string) {
		name = filepath.Join(dir, "test_definitions", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for d := range benchDomains {
		put(fmt.Sprintf("domain_%d/domain.json", d), fmt.Sprintf(`{"id": "domain_%d", "name": "Domain %d", "evaluator_id": "two_pass"}`, d, d))
		for l := 1; l <= benchLevels; l++ {
			for n := range benchTests {
				id := fmt.Sprintf("test_%d_%d_%d", d, l, n)
				put(fmt.Sprintf("domain_%d/level_%d/%s.json", d, l, id), fmt.Sprintf(`{"id": %q, "name": "Sum %d", "prompt": "%d + 1?", "expected": {"answer": "%d"}}`, id, n, n, n+1))
			}
		}
	}
	for i := range benchLists {
		var list strings.Builder
		for n := range benchList {
			fmt.Fprintf(&list, "- name: Case %d %d\n  initial_message: Where is parcel %d?\n  difficulty: %s\n", i, n, n, []string{"easy", "hard"}[n%2])
		}
		put(fmt.Sprintf("parcels_%d.yaml", i), list.String())
	}
	put("one.json", `{"name": "One", "initial_message": "Hi"}`)
	return dir
}

// BenchmarkPages serves every page of the settings and every request for JSON from a
// folder with 100,000 cases. It reports the 95th percentile of the time, and how large the
// answer is.
func BenchmarkPages(b *testing.B) {
	dir := benchTree(b)
	cfg := Config{
		Open: func(context.Context) (fs.FS, func() error, error) {
			return os.DirFS(dir), func() error { return nil }, nil
		},
		Write: Folder(dir), Now: time.Now,
		Settings: func(context.Context, fs.FS) (schema.Settings, error) {
			return schema.Settings{Definitions: []string{"test_definitions"}}, nil
		},
	}
	mux := http.NewServeMux()
	store := New(cfg)
	time.Sleep(2500 * time.Millisecond) // a file that was just written is not remembered
	store.Routes(mux)
	store.Pages(mux, func(w http.ResponseWriter, _ *http.Request, f shell.Framed) {
		w.WriteHeader(f.Status)
		fmt.Fprint(w, f.Body)
	})
	site := guard.Config{}.Handler(mux)
	const inJSON = "application/json"
	const test = `"name": "Sum 7", "prompt": "7 + 1?", "expected": {"answer": "8"}`
	file := url.QueryEscape("test_definitions/domain_1/level_1/test_1_1_7.json")
	for _, ask := range []struct{ name, method, path, kind, body string }{
		{"settings", "GET", "/settings", "", ""}, {"settings of a domain", "GET", "/settings?domain=domain_3", "", ""},
		{"settings of a level", "GET", "/settings?domain=domain_3&level=2", "", ""},
		{"edit", "GET", "/settings/edit?kind=test&id=test_1_1_7", "", ""}, {"edit a new one", "GET", "/settings/edit?kind=test&domain=domain_1&level=1", "", ""},
		{"files", "GET", "/settings/file", "", ""}, {"file", "GET", "/settings/file?path=" + file, "", ""}, {"form", "GET", "/settings/form?format=testcase&path=" + url.QueryEscape("test_definitions/one.json"), "", ""},
		{"tests of a level", "GET", "/api/settings/tests?domain=domain_3&level=2", "", ""}, {"tests", "GET", "/api/settings/tests", "", ""},
		{"test", "GET", "/api/settings/tests/test_1_1_7", "", ""}, {"domains", "GET", "/api/settings/domains", "", ""}, {"levels", "GET", "/api/settings/levels?domain=domain_3", "", ""},
		{"evaluators", "GET", "/api/settings/evaluators", "", ""}, {"tools", "GET", "/api/settings/tools", "", ""}, {"export", "GET", "/api/settings/export", "", ""},
		{"put a test", "PUT", "/api/settings/tests/test_1_1_7", inJSON, "{" + test + "}"},
		{"move a test", "POST", "/api/settings/tests/test_1_1_7/move", inJSON, `{"domain_id": "domain_1", "level": 1}`},
		{"import", "POST", "/api/settings/import", inJSON, `{"domains": [], "evaluators": [], "tools": [], "version": "1.0"}`},
		{"put a test case", "PUT", "/api/test-cases/" + firstCase(b, site), inJSON, `{"initial_message": "Hello?"}`},
		{"test case", "GET", "/api/test-cases/" + firstCase(b, site), "", ""}, {"test cases", "GET", "/api/test-cases?difficulty=hard", "", ""}, {"openapi", "GET", "/api/openapi.json", "", ""},
	} {
		b.Run(ask.name, func(b *testing.B) {
			size := 0
			do := func() time.Duration {
				r := httptest.NewRequest(ask.method, "http://localhost:8080"+ask.path, strings.NewReader(ask.body))
				if ask.kind != "" {
					r.Header.Set("Content-Type", ask.kind)
				}
				w := httptest.NewRecorder()
				began := time.Now()
				site.ServeHTTP(w, r)
				took := time.Since(began)
				if size = w.Body.Len(); w.Code != http.StatusOK {
					b.Fatalf("%s %s is answered with %d, want 200: %s", ask.method, ask.path, w.Code, w.Body)
				}
				return took
			}
			do()
			var times []time.Duration
			for b.Loop() {
				times = append(times, do())
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "p95-ms")
			b.ReportMetric(float64(size)/1000, "KB")
		})
	}
}

// firstCase is the id of the first case of the testcase format.
func firstCase(b *testing.B, site http.Handler) string {
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost:8080/api/test-cases?limit=1", nil))
	var answer struct {
		Cases []struct{ ID string } `json:"test_cases"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Cases) != 1 {
		b.Fatalf("the first case is %s (%v), want one case", w.Body, err)
	}
	return answer.Cases[0].ID
}
