package dashboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/reporttest"
)

const (
	benchRuns     = 1000
	benchJudged   = 100     // cases of each of the runs
	benchCases    = 100_000 // of one more run
	benchVerdicts = 100     // of one case
)

// largeReport is a generated report: every seventh case failed, and each has two
// evaluators and belongs to one of 20 domains with 5 levels.
func largeReport(name string, cases int) *report.Report {
	score, cost := 0.8, 0.01
	r := &report.Report{Gate: report.Gate{Result: "pass", Reason: "every case passes"}, Summary: report.Summary{Score: &score, CostUSD: &cost}}
	for i := range cases {
		v, s := verdict.Pass, 0.9
		if i%7 == 0 {
			v, s = verdict.Fail, 0.2
		}
		domain, level := fmt.Sprintf("domain_%d", i%20), fmt.Sprintf("level_%d", i%5)
		r.Cases = append(r.Cases, report.Row{
			Key: fmt.Sprintf("%s/%s/case_%d", domain, level, i), Dialect: "domain", Target: "shop", File: "test_definitions/" + domain + "/case.json",
			Line: 1, Action: plan.Run, Verdict: &v, Score: &s, Digest: fmt.Sprintf("%s %d", name, i), DurationMS: int64(i % 5000), Calls: 2, CostUSD: &cost,
			VerdictReason: "The answer names the window of thirty days that the policy has.", Groups: []string{domain, level},
			Evaluators: []report.EvaluatorScore{{Name: "judge", Pass: i%7 != 0}, {Name: "keyword", Pass: i%5 != 0}},
		})
	}
	for i := range 20 {
		r.Groups = append(r.Groups, report.Group{Dialect: "domain", Path: []string{fmt.Sprintf("domain_%d", i)}, Cases: cases / 20, Score: &score})
		for level := range 5 {
			r.Groups = append(r.Groups, report.Group{Dialect: "domain", Path: []string{fmt.Sprintf("domain_%d", i), fmt.Sprintf("level_%d", level)}, Score: &score})
		}
	}
	return r
}

// BenchmarkPages serves every page from a ledger with 1,000 runs of 100 cases and one of
// 100,000. It reports the 95th percentile of the time, and how large the page is.
func BenchmarkPages(b *testing.B) {
	h := newHouse(b)
	for i := range benchRuns {
		h.now = h.now.Add(10 * time.Minute)
		r := largeReport(fmt.Sprint(i), benchJudged)
		r.Run = fmt.Sprintf("run-%d", i)
		body, err := json.Marshal(r)
		if err != nil {
			b.Fatal(err)
		}
		// The newest run of each pull request is kept.
		run := ledger.Run{ID: r.Run, Repository: "octo/demo", PullRequest: i + 1, Head: fmt.Sprintf("%040x", i), Started: h.now.Add(-time.Minute), Finished: h.now, Report: body}
		if err := h.ledger.SaveReport(b.Context(), run); err != nil {
			b.Fatal(err)
		}
	}
	large := largeReport("large", benchCases)
	for i := range benchVerdicts {
		h.judgeSamples("case", fmt.Sprintf("earlier %d", i), 1, float64(i%4)/4, 0.75)
	}
	h.judgeSamples("case", large.Cases[0].Digest, 0.25, 0.5, 0.75)
	h.run("large", large)
	site := h.site(dashboard.Config{})
	for _, page := range measuredPages("large", "run-500", "run-501", large.Cases[0].Name()) {
		b.Run(page.name, func(b *testing.B) { benchPage(b, site, page.path) })
	}
}

// A measured is a page that the benchmark serves.
type measured struct{ name, path string }

// measuredPages are all pages and requests of a large run, of two others, and of a case of
// the large one.
func measuredPages(large, one, other, name string) []measured {
	run, at := "/runs/"+large, "?"+url.Values{"name": {name}}.Encode()
	return []measured{
		{"runs", "/"}, {"runs of the last page", "/?page=20"}, {"run", "/runs/" + one}, {"large run", run},
		{"large run filtered", run + "?text=case_99&kind=fail&sort=score"}, {"case", run + "/case" + at},
		{"timeline", run + "/timeline"}, {"targets", run + "/targets"}, {"judges", run + "/judges"}, {"ab", run + "/ab"},
		{"compare", "/compare?a=" + one + "&b=" + other}, {"large comparison", "/compare?a=" + one + "&b=" + large}, {"scores", "/scores"}, {"costs", "/costs"},
		{"badge", "/badge.svg"}, {"events", "/api/events"}, {"api runs", "/api/runs"}, {"api run", "/api" + run}, {"api cases", "/api" + run + "/cases"},
		{"api compare", "/api/compare?a=" + one + "&b=" + large},
	}
}

// TestEveryEndpointIsMeasured holds that the benchmark sends every request for JSON, and
// that each page of it is served.
func TestEveryEndpointIsMeasured(t *testing.T) {
	h := newHouse(t)
	r := report.Compare(reporttest.Regressions().In)
	for _, run := range []string{"run-1", "run-2", "run-3"} {
		h.run(run, r)
	}
	site, mux, missing := h.site(dashboard.Config{}), http.NewServeMux(), map[string]bool{}
	for _, path := range dashboard.Requests() {
		mux.HandleFunc("GET "+path, http.NotFound)
		missing["GET "+path] = true
	}
	for _, page := range measuredPages("run-1", "run-2", "run-3", r.Cases[0].Name()) {
		w, ask := first(httptest.NewRequest("GET", page.path, nil))
		if site.ServeHTTP(w, ask); w.Code != http.StatusOK {
			t.Errorf("%s is answered with %d, want 200", page.path, w.Code)
		}
		_, pattern := mux.Handler(ask)
		delete(missing, pattern)
	}
	if len(missing) > 0 {
		t.Errorf("the benchmark does not send %v", slices.Sorted(maps.Keys(missing)))
	}
}

// An opening is an answer whose reader leaves after the first data, which ends a stream
// of events.
type opening struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
}

func (o opening) Flush() { o.leave() }

// first returns a request with such an answer.
func first(r *http.Request) (opening, *http.Request) {
	ctx, leave := context.WithCancel(r.Context())
	return opening{httptest.NewRecorder(), leave}, r.WithContext(ctx)
}

// benchPage asks for a page again and again, after once to have the run in memory.
func benchPage(b *testing.B, site http.Handler, path string) {
	var times []time.Duration
	size := 0
	do := func() time.Duration {
		w, ask := first(httptest.NewRequest("GET", path, nil))
		defer w.leave()
		began := time.Now()
		site.ServeHTTP(w, ask)
		size = w.Body.Len()
		return time.Since(began)
	}
	do()
	for b.Loop() {
		times = append(times, do())
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "p95-ms")
	b.ReportMetric(float64(size)/1000, "KB")
}
