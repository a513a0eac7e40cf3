package dashboard_test

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/dashboard/access"
	"github.com/gavel-evals/gavel/controller/dashboard/browsertest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/reporttest"
)

// TestBrowserAbuseHostileTexts holds that hostile names, replies and definitions run nothing in a
// browser, ask no other server, and push nothing out of the window.
func TestBrowserAbuseHostileTexts(t *testing.T) {
	h := newHouse(t)
	texts := append(reporttest.HostileTexts(), strings.Repeat("W", 5000), "<img src=x onerror=document.title='run'>", "</pre><script>document.title='run'</script>")
	r := report.Compare(reporttest.Hostile(texts).In)
	for i := range r.Cases {
		h.judge(r.Cases[i].Key, "d"+r.Cases[i].Digest, 1, texts[i%len(texts)])
		h.judge(r.Cases[i].Key, r.Cases[i].Digest, 0.2, texts[(i+1)%len(texts)])
	}
	h.run("run-1", report.Compare(reporttest.Regressions().In))
	h.run("run-2", r)
	h.run("run-ab", hostileAB(texts))
	targets, timed := targetsReport(), report.Report{Gate: report.Gate{Result: "pass"}}
	for i := range targets.Cases {
		c := &targets.Cases[i]
		c.Key, c.Target = texts[len(c.Key)]+c.Key, map[string]string{"old": texts[0], "new": texts[2]}[c.Target]
	}
	targets.Targets[0].Target, targets.Targets[1].Target = texts[0], texts[2]
	h.run("run-targets", targets)
	for i, text := range texts {
		h.judge(text, fmt.Sprint("timed ", i), 1, text)
		timed.Cases = append(timed.Cases, report.Row{Key: text, Target: texts[0], Action: plan.Run, Digest: fmt.Sprint("timed ", i), DurationMS: 60_000})
		h.now = h.now.Add(-time.Minute) // all in the minute of the run
	}
	h.now = h.now.Add(2*time.Minute - time.Hour)
	h.run("run-timed", &timed)
	srv := httptest.NewServer(access.Guard{}.Handler(h.site(dashboard.Config{Files: definitions(r, strings.Join(texts, "\n")).open, Title: texts[0]})))
	defer srv.Close()
	b := browsertest.Open(t, srv.URL)
	paths := []string{"/", "/runs/run-2", "/runs/run-2/targets", "/runs/run-2/timeline", "/runs/run-2/ab", "/runs/run-2/judges", "/compare?a=run-1&b=run-2", "/scores", "/costs", "/runs/none",
		"/runs/run-ab/ab", "/runs/run-ab/judges", "/runs/run-targets/targets", "/runs/run-timed/timeline",
		"/compare?" + url.Values{"a": {"run-targets"}, "b": {"run-targets"}, "target_a": {texts[0]}, "target_b": {texts[2]}}.Encode(),
		"/runs/run-2?" + url.Values{"text": {texts[0]}}.Encode(),
	}
	for _, i := range []int{0, len(r.Cases) / 2, len(r.Cases) - 1} {
		paths = append(paths, "/runs/run-2/case?"+url.Values{"name": {r.Cases[i].Name()}}.Encode())
	}
	for i, path := range paths {
		b.Visit(path)
		b.Check(fmt.Sprintf("hostile-%d", i))
		if title := browsertest.Eval[string](b, "document.title"); title == "run" || !strings.HasSuffix(title, "Gavel") {
			t.Errorf("%s has the title %q", path, title)
		}
	}
}

// hostileAB is a report with A/B tests and evaluators whose names and reasons are texts.
func hostileAB(texts []string) *report.Report {
	r := abReport()
	for i := range r.Cases {
		c := &r.Cases[i]
		c.Key = texts[i] + c.Key
		for n := range c.Evaluators {
			c.Evaluators[n].Name = texts[n] + c.Evaluators[n].Name
		}
		if c.Comparison != nil {
			c.Comparison.Error = texts[(i+3)%len(texts)]
			c.Comparison.Criteria = []verdict.Difference{{Evaluator: texts[0], ID: texts[i+1], A: 0.2, B: 0.9, Delta: 0.7}}
		}
	}
	return r
}

// TestBrowserPages looks at the pages of an ordinary repository: nothing is wider than
// the window, and axe-core finds nothing.
func TestBrowserPages(t *testing.T) {
	h := newHouse(t)
	r := report.Compare(reporttest.Regressions().In)
	refund := caseNamed(t, r, "support/3/refund_window")
	for i := range 9 {
		h.judgeSamples("refund", fmt.Sprintf("earlier %d", i/4), 1, float64(i%4)/4, 0.75)
		h.run(fmt.Sprintf("run-%d", i), scored([]string{"pass", "fail"}[i%2], float64(i%5)/5, 0.3+float64(i)/15))
	}
	h.judgeSamples("refund", refund.Digest, 0.25, 0.5, 0.75)
	h.run("run-before", report.Compare(reporttest.FirstRun().In))
	h.run("run-now", r)
	h.run("run-green", powerful())
	h.timedRun("run-timed", 30)
	h.run("run-ab", abReport())
	h.run("run-targets", targetsReport())
	srv := httptest.NewServer(access.Guard{}.Handler(h.site(dashboard.Config{Files: definitions(r, "{\n  \"id\": 1\n}").open, Title: "octo/demo"})))
	defer srv.Close()
	b := browsertest.Open(t, srv.URL)
	for _, tt := range []struct{ name, path string }{
		{"runs", "/"}, {"run", "/runs/run-now"}, {"power", "/runs/run-green"}, {"compare", "/compare?a=run-before&b=run-now"}, {"scores", "/scores"}, {"costs", "/costs"},
		{"timeline", "/runs/run-timed/timeline"}, {"ab", "/runs/run-ab/ab"}, {"judges", "/runs/run-ab/judges"},
		{"targets", "/runs/run-targets/targets"}, {"compare-targets", "/compare?a=run-targets&b=run-targets&target_a=old&target_b=new"},
		{"case", "/runs/run-now/case?" + url.Values{"name": {refund.Name()}}.Encode()},
	} {
		b.Visit(tt.path)
		b.Check("dashboard-" + tt.name)
	}
}

// caseNamed is the row of a case of a report.
func caseNamed(t *testing.T, r *report.Report, key string) *report.Row {
	for i := range r.Cases {
		if r.Cases[i].Key == key {
			return &r.Cases[i]
		}
	}
	t.Fatalf("case %s is not in the report", key)
	return nil
}
