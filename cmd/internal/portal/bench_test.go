package portal

import (
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/cmd/internal/editor"
	"github.com/gavel-evals/gavel/cmd/internal/editor/openapitest"
	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/dashboard/access"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/serve"
	"github.com/gavel-evals/gavel/reporters/reporttest"
)

// manyPages are the pages of repositories, each with some open pull requests that were judged.
func manyPages(tb testing.TB, repositories, pulls int) http.Handler {
	tb.Helper()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	store := ledgertest.Open(tb, ledger.Config{Now: func() time.Time { return at }})
	body, err := json.Marshal(report.Compare(reporttest.Regressions().In))
	if err != nil {
		tb.Fatal(err)
	}
	var watched []serve.RepositoryView
	for i := range repositories {
		w := serve.RepositoryView{ID: int64(i + 1), Name: forge.Repo{Owner: "octo", Name: fmt.Sprintf("shop%d", i)}, Branch: "main", WebURL: "https://forge.example"}
		w.Known = w.Name.String()
		for n := range pulls + 1 {
			at = at.Add(time.Minute)
			head := fmt.Sprintf("%020x%020x", i, n)
			run := ledger.Run{ID: fmt.Sprintf("run-%d-%d", i, n), Repository: w.Known, PullRequest: n, Head: head, Started: at, Finished: at, Report: body}
			if err := store.SaveReport(tb.Context(), run); err != nil {
				tb.Fatal(err)
			}
			if n > 0 { // the first is of the branch
				w.Pulls = append(w.Pulls, forge.Pull{Number: n, Title: "Kinder words", Author: "ada", HeadSHA: head})
			}
		}
		watched = append(watched, w)
	}
	return New(Config{
		Server: watching(watched), Ledger: store, Gate: access.NewGate(access.GateConfig{}),
		Hide: func(s string) string { return s },
	})
}

// measured are the requests that a server alone answers, and its pages.
var measured = []string{"/", "/costs", "/sign-in", repositoriesPath, "/r/octo/shop1/pulls", "/r/octo/shop1" + pullsPath}

// TestEveryEndpointIsMeasured holds that every request of the OpenAPI document which neither
// the dashboard nor the settings measure is measured here, and that each is answered.
func TestEveryEndpointIsMeasured(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(editor.OpenAPI, &doc); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(doc.Paths, func(path string, _ map[string]json.RawMessage) bool {
		return slices.Contains(editor.Requests(), "GET "+path) || slices.Contains(editor.Requests(), "POST "+path) || slices.Contains(dashboard.Requests(), path)
	})
	for path := range doc.Paths {
		if !slices.Contains(measured, path) && !slices.Contains(measured, "/r/octo/shop1"+path) {
			t.Errorf("%s is not measured", path)
		}
	}
	site := manyPages(t, 2, 2)
	for _, path := range measured {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+path, nil))
		if w.Code != http.StatusOK {
			t.Errorf("%s is answered with %d, want 200: %s", path, w.Code, w.Body)
		}
	}
	document := openapitest.Parse(t, editor.OpenAPI)
	for _, path := range []string{repositoriesPath, pullsPath, "/api/runs", "/api/runs/run-1-0", "/api/runs/run-1-0/cases", "/api/compare?a=run-1-0&b=run-1-1", "/api/runs/none"} {
		asked := path
		if path != repositoriesPath {
			asked = "/r/octo/shop1" + path
		}
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+asked, nil))
		if w.Code == http.StatusOK {
			document.Check(t, "GET", path, w.Code, w.Body.Bytes())
		} else if path != "/api/runs/none" {
			t.Errorf("%s is answered with %d: %s", asked, w.Code, w.Body)
		}
	}
}

// TestRepositoriesListTheNewestPulls holds that the first page lists the newest pull
// requests of a repository alone, with the result of their heads, and leads to the others.
func TestRepositoriesListTheNewestPulls(t *testing.T) {
	site := manyPages(t, 1, firstPulls+2)
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/", nil))
	page := w.Body.String()
	if got := strings.Count(page, "Kinder words"); got != firstPulls || !strings.Contains(page, `<a href="/r/octo/shop0/pulls">2 more open pull requests</a>`) {
		t.Errorf("the page lists %d pull requests, want %d and a link to 2 more:\n%s", got, firstPulls, page)
	}
	if !strings.Contains(page, `<a href="/r/octo/shop0/runs/run-0-1">#1 Kinder words</a>`) {
		t.Errorf("the page does not lead to the run of a head:\n%s", page)
	}
}

// TestAHeadThatWaits holds what the pages and the request say of a head that waits for its
// turn, of one whose cases wait for a worker, of one that is being judged, and of some that
// were judged and are looked at again.
func TestAHeadThatWaits(t *testing.T) {
	shown, at := &dashboard.Board{}, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	store, result := ledgertest.Open(t, ledger.Config{}), report.Compare(reporttest.Regressions().In)
	body, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	w := serve.RepositoryView{ID: 1, Name: forge.Repo{Owner: "octo", Name: "shop"}, Known: "octo/shop", Branch: "main", WebURL: "https://forge.example", Client: &forge.Client{}}
	rows := []struct {
		head, state, reason    string
		waiting                controller.WaitingCases
		queued, runs, wasKnown bool
	}{
		{"1111111a", "waiting", "waits for its turn behind other heads", controller.WaitingCases{}, true, false, false},
		{"2222222a", "judging", "2 cases wait for a worker; none is running", controller.WaitingCases{Cases: 2}, false, true, false},
		{"3333333a", "judging", "1 case waits for a worker; the 2 that are running are busy", controller.WaitingCases{Cases: 1, Workers: 2}, false, true, false},
		{"4444444a", "judging", "", controller.WaitingCases{}, false, true, false},
		{"5555555a", "judging", "", controller.WaitingCases{}, false, false, false},
		{"6666666a", "judging", "", controller.WaitingCases{}, false, true, true},
		{"7777777a", "fail", result.Gate.Reason, controller.WaitingCases{}, false, false, true},
		{"8888888a", "fail", result.Gate.Reason, controller.WaitingCases{}, true, false, true},
	}
	for i, row := range rows {
		w.Pulls = append(w.Pulls, forge.Pull{Number: i + 1, Title: "Kinder words", Author: "ada", HeadSHA: row.head})
		if row.wasKnown {
			run := ledger.Run{ID: "run-" + row.head, Repository: w.Known, PullRequest: i + 1, Head: row.head, Started: at, Finished: at, Report: body}
			if err := store.SaveReport(t.Context(), run); err != nil {
				t.Fatal(err)
			}
		}
		if row.queued {
			w.Queued = append(w.Queued, row.head)
			continue
		}
		w.Judging = append(w.Judging, row.head)
		if row.runs {
			_, end := shown.Track(row.head)
			defer end()
			shown.Waits(row.head, row.waiting.Cases, row.waiting.String())
		}
	}
	site := New(Config{
		Server: watching{w}, Ledger: store,
		Gate: access.NewGate(access.GateConfig{}), Hide: func(s string) string { return s }, Board: shown,
	})
	get := func(path string) string {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+path, nil))
		return w.Body.String()
	}
	var listed struct {
		Pulls []pullRow `json:"pull_requests"`
	}
	if err := json.Unmarshal([]byte(get("/r/octo/shop"+pullsPath)), &listed); err != nil || len(listed.Pulls) != len(rows) {
		t.Fatalf("%d pull requests are listed, error %v", len(listed.Pulls), err)
	}
	for i, row := range rows {
		if got := listed.Pulls[i]; got.State != row.state || got.Reason != row.reason {
			t.Errorf("%s is %q because %q, want %q because %q", row.head, got.State, got.Reason, row.state, row.reason)
		}
	}
	for _, path := range []string{"/", "/r/octo/shop/pulls"} {
		page := get(path)
		for i, row := range rows {
			_, from, _ := strings.Cut(page, "<tr><td>")
			cells, rest, _ := strings.Cut(from, "</tr>")
			page = rest
			state := ">" + row.state + "</span></td>"
			if !strings.Contains(cells, state) || !strings.Contains(cells, fmt.Sprintf("#%d Kinder words", i+1)) ||
				row.reason != "" && !strings.Contains(cells, `<div class="note small">`+html.EscapeString(row.reason)+"</div>") || row.reason == "" && strings.Contains(cells, "<div") {
				t.Errorf("%s: the row of %s does not say %q and %q:\n%s", path, row.head, row.state, row.reason, cells)
			}
		}
	}
}

// BenchmarkPages serves the pages and requests of a server with 20 repositories, whose 50
// open pull requests each were judged. It reports the 95th percentile of the time, and how
// large the answer is.
func BenchmarkPages(b *testing.B) {
	site := manyPages(b, 20, 50)
	for _, path := range measured {
		b.Run(path, func(b *testing.B) {
			var times []time.Duration
			size := 0
			for b.Loop() {
				w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "http://localhost"+path, nil)
				began := time.Now()
				site.ServeHTTP(w, r)
				times = append(times, time.Since(began))
				size = w.Body.Len()
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "p95-ms")
			b.ReportMetric(float64(size)/1000, "KB")
		})
	}
}
