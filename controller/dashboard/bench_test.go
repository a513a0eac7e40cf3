package dashboard_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
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
	name := "?name=" + large.Cases[0].Name()
	for _, page := range []struct{ name, path string }{
		{"runs", "/"}, {"runs of the last page", "/?page=20"}, {"run", "/runs/run-500"}, {"large run", "/runs/large"},
		{"large run filtered", "/runs/large?text=case_99&kind=fail&sort=score"}, {"case", "/runs/large/case" + name},
		{"timeline", "/runs/large/timeline"}, {"targets", "/runs/large/targets"}, {"judges", "/runs/large/judges"}, {"ab", "/runs/large/ab"},
		{"compare", "/compare?a=run-500&b=run-501"}, {"large comparison", "/compare?a=run-500&b=large"}, {"scores", "/scores"}, {"costs", "/costs"},
		{"badge", "/badge.svg"}, {"api runs", "/api/runs"}, {"api run", "/api/runs/large"}, {"api cases", "/api/runs/large/cases"},
		{"api compare", "/api/compare?a=run-500&b=large"},
	} {
		b.Run(page.name, func(b *testing.B) { benchPage(b, site, page.path) })
	}
}

// benchPage asks for a page again and again, after once to have the run in memory.
func benchPage(b *testing.B, site http.Handler, path string) {
	size := len(get(b, site, path, 200))
	var times []time.Duration
	for b.Loop() {
		began := time.Now()
		site.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "p95-ms")
	b.ReportMetric(float64(size)/1000, "KB")
}
