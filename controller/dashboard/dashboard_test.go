package dashboard_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	dom "golang.org/x/net/html"

	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/dashboard/access"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/schema"
)

// pageLimit is how large a page may be.
const pageLimit = 150_000

// A house is a ledger whose runs are looked at.
type house struct {
	testing.TB
	ledger *ledger.Ledger
	now    time.Time
}

func newHouse(t testing.TB) *house {
	h := &house{TB: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	h.ledger = ledgertest.Open(t, ledger.Config{Now: func() time.Time { return h.now }})
	return h
}

// run stores a report an hour after the one before.
func (h *house) run(id string, r *report.Report) {
	h.Helper()
	h.now = h.now.Add(time.Hour)
	r.Run = id
	body, err := json.Marshal(r)
	if err != nil {
		h.Fatal(err)
	}
	head := "worktree"
	if r.Head != nil {
		head = *r.Head
	}
	err = h.ledger.SaveReport(h.Context(), ledger.Run{ID: id, Head: head, Started: h.now.Add(-time.Minute), Finished: h.now, Report: body})
	if err != nil {
		h.Fatal(err)
	}
}

// judge stores a conversation with its verdict.
func (h *house) judge(name, digest string, score float64, said string) {
	h.Helper()
	h.now = h.now.Add(time.Minute)
	v := verdict.Pass
	if score < 0.5 {
		v = verdict.Fail
	}
	err := h.ledger.Save(h.Context(), ledger.Outcome{
		Trust: ledger.Trust{Level: ledger.LevelOperator}, Digests: plan.Digests{E: "e " + digest, J: "j " + digest, D: digest}, Case: name,
		Executions: []ledger.Execution{{Transcript: verdict.Transcript{System: said, Notes: []string{said}, Messages: []schema.Message{
			{Role: schema.RoleUser, Content: said},
			{Role: schema.RoleAssistant, Content: said, ToolCalls: []schema.ToolCall{{Function: schema.FunctionCall{Name: said, Arguments: said}}}},
			{Role: schema.RoleTool, Name: said, Content: said},
		}}}},
		Samples: []ledger.Judgement{{Sample: verdict.Sample{Measurements: []verdict.Measurement{
			{Evaluator: said, Reason: said, Criteria: []verdict.Criterion{{ID: said, Score: score, Note: said, Expected: said, Actual: said, Turns: []int{2}}}},
		}}}},
		Decision: &ledger.Decision{Result: verdict.Result{Verdict: v, Score: &score, Samples: 1, Reason: said}, Samples: 1},
	})
	if err != nil {
		h.Fatal(err)
	}
}

func (h *house) site(cfg dashboard.Config) *dashboard.Site {
	cfg.Ledger = h.ledger
	return dashboard.New(cfg)
}

// get reads a page and checks what holds for every one.
func get(t testing.TB, site http.Handler, path string, status int) string {
	t.Helper()
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	text := w.Body.String()
	if w.Code != status {
		t.Fatalf("%s: status %d, want %d: %s", path, w.Code, status, text)
	}
	if len(text) > pageLimit {
		t.Errorf("%s has %d bytes, more than %d", path, len(text), pageLimit)
	}
	return text
}

// walk calls do for each element of a page with its attributes and its text.
func walk(t testing.TB, text string, do func(n *dom.Node, attributes map[string]string)) {
	t.Helper()
	root, err := dom.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type != dom.ElementNode {
			continue
		}
		attributes := map[string]string{}
		for _, a := range n.Attr {
			attributes[a.Key] = a.Val
		}
		do(n, attributes)
	}
}

// crawl follows every link from the first page, and calls see with each.
func crawl(t *testing.T, site http.Handler, from string, see func(path, text string)) {
	t.Helper()
	queue, seen := []string{from}, map[string]bool{from: true}
	for len(queue) > 0 && len(seen) < 2000 {
		path := queue[0]
		queue = queue[1:]
		text := get(t, site, path, 200)
		if strings.HasPrefix(path, "/static/") || strings.Contains(path, "/static/") {
			continue
		}
		see(path, text)
		here, err := url.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		walk(t, text, func(_ *dom.Node, a map[string]string) {
			for _, name := range []string{"href", "src", "action"} {
				to, ok := a[name]
				if !ok {
					continue
				}
				target, err := here.Parse(to)
				if err != nil || target.Host != "" || target.Scheme != "" {
					t.Errorf("%s leads to %q, which is not a page of this server", path, to)
					continue
				}
				target.Fragment = ""
				if next := target.String(); name != "action" && !seen[next] {
					seen[next] = true
					queue = append(queue, next)
				}
			}
		})
	}
}

// files has a definition for every case of the scenarios.
type files map[string]*fstest.MapFile

func (f files) open(context.Context, string) (fs.FS, error) { return fstest.MapFS(f), nil }

func definitions(r *report.Report, text string) files {
	out := files{}
	for i := range r.Cases {
		if file := r.Cases[i].File; fs.ValidPath(file) {
			out[file] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return out
}

// TestAbuseHostileTextsStayText holds that nothing that a repository or a model says
// becomes an element, an attribute that runs, or an address, on any page.
func TestAbuseHostileTextsStayText(t *testing.T) {
	h := newHouse(t)
	texts := reporttest.HostileTexts()
	before, r := report.Compare(reporttest.Regressions().In), report.Compare(reporttest.Hostile(texts).In)
	h.run("run-1", before)
	for i := range r.Cases {
		h.judge(r.Cases[i].Key, "d"+r.Cases[i].Digest, 1, texts[i%len(texts)])
		h.judge(r.Cases[i].Key, r.Cases[i].Digest, 0.2, texts[(i+1)%len(texts)])
	}
	h.run("run-2", r)
	site := h.site(dashboard.Config{Files: definitions(r, strings.Join(texts, "\n")).open, Title: texts[0]})
	pages := 0
	crawl(t, site, "/", func(path, text string) {
		pages++
		scripts := 0
		walk(t, text, func(n *dom.Node, a map[string]string) {
			switch n.Data {
			case "img", "iframe", "object", "embed", "base", "video", "audio", "style":
				t.Errorf("%s has an element <%s %v>", path, n.Data, a)
			case "script":
				scripts++
				if n.FirstChild != nil {
					t.Errorf("%s has an inline script, which its policy forbids", path)
				}
			}
			for key := range a {
				if strings.HasPrefix(key, "on") || key == "style" {
					t.Errorf("%s: <%s> has the attribute %s", path, n.Data, key)
				}
			}
		})
		if scripts != 1 {
			t.Errorf("%s has %d scripts, want its own one", path, scripts)
		}
		for _, c := range "\x1b\x00\u202e\u200b" {
			if strings.ContainsRune(text, c) {
				t.Errorf("%s contains the control character %U", path, c)
			}
		}
	})
	if pages < len(r.Cases) {
		t.Errorf("%d pages were looked at, want one for each of %d cases at least", pages, len(r.Cases))
	}
}

// TestAbuseSecretsAreHidden holds that a page leaves out texts that look like a secret,
// and known secrets.
func TestAbuseSecretsAreHidden(t *testing.T) {
	h := newHouse(t)
	key, known := "sk-ant-api03-"+strings.Repeat("aB3d", 24), "hunter2-hunter2"
	r := report.Compare(reporttest.FirstRun().In)
	r.Cases[0].VerdictReason, r.Gate.Reason = "it said "+key, "because of "+known
	h.judge("x", r.Cases[0].Digest, 1, key+" "+known)
	h.run("run-1", r)
	hide := func(s string) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, key, "[hidden]"), known, "[hidden]")
	}
	site := h.site(dashboard.Config{Hide: hide, Files: definitions(r, key).open})
	hidden := 0
	crawl(t, site, "/", func(path, text string) {
		if strings.Contains(text, key) || strings.Contains(text, known) {
			t.Errorf("%s has a secret", path)
		}
		hidden += strings.Count(text, "[hidden]")
	})
	for _, path := range []string{"/api/runs", "/api/runs/run-1", "/api/runs/run-1/cases"} {
		if text := get(t, site, path, 200); strings.Contains(text, key) || strings.Contains(text, known) {
			t.Errorf("%s has a secret", path)
		}
	}
	if hidden < 5 {
		t.Errorf("%d places have a secret hidden, want more: the test looks at the wrong pages", hidden)
	}
}

// TestAbuseSecretsAreHiddenBeforeTextsAreClipped has a secret across each place where a page
// may clip a text: no part of it may be left.
func TestAbuseSecretsAreHiddenBeforeTextsAreClipped(t *testing.T) {
	secret := strings.Repeat("Zq7x", 20)
	hide := func(s string) string { return strings.ReplaceAll(s, secret, "[hidden]") }
	for _, limit := range []int{60, 100, 120, 160, 200, 240, 400, 480, 1000} {
		h := newHouse(t)
		r := report.Compare(reporttest.FirstRun().In)
		text := strings.Repeat("ab ", (limit-20)/3) + secret + " end"
		r.Branch, r.Subject, r.Gate.Reason = "", text, text
		for i := range r.Cases {
			row := &r.Cases[i]
			row.VerdictReason, row.Reasons = text, append(row.Reasons, plan.Reason{Part: "definition", File: "x.json", Message: text})
			if i > 0 {
				row.Error = &text
			}
			h.judge(row.Key, row.Digest, 1, text)
		}
		for _, prompt := range []string{"long", "short"} {
			pass := verdict.Pass
			h.judge("caps#france/"+prompt, prompt, 1, text)
			r.Cases = append(r.Cases, report.Row{Key: "caps#france/" + prompt, Dialect: schema.DialectMatrix, Target: "bot", Prompt: prompt, Vars: text, Verdict: &pass, Digest: prompt})
		}
		r.Groups = append(r.Groups, report.Group{Path: []string{text}, Score: new(float64)})
		h.run("run-1", r)
		h.run("run-2", r)
		seen := 0
		crawl(t, h.site(dashboard.Config{Hide: hide, Files: definitions(r, text).open}), "/", func(path, page string) {
			if i := strings.Index(page, "Zq7"); i >= 0 {
				t.Errorf("limit %d: %s has a part of the secret: %q", limit, path, page[max(0, i-40):min(len(page), i+40)])
			}
			seen++
		})
		if seen < 8 {
			t.Errorf("%d pages were looked at", seen)
		}
	}
}

func regressions(t *testing.T) (*house, *dashboard.Site, *report.Report) {
	h := newHouse(t)
	r := report.Compare(reporttest.Regressions().In)
	h.judge("refund", "earlier", 1, "earlier")
	for i := range r.Cases {
		if r.Cases[i].Key == "support/3/refund_window" {
			h.judge("refund", r.Cases[i].Digest, 0.4, "within 60 days")
		}
	}
	h.run("run-1", report.Compare(reporttest.FirstRun().In))
	h.run("run-2", r)
	return h, h.site(dashboard.Config{Files: definitions(r, "{\n\"id\": 1\n}").open}), r
}

// has holds that a page has texts, after white space is folded.
func has(t *testing.T, site *dashboard.Site, path string, wants ...string) {
	t.Helper()
	text := strings.Join(strings.Fields(get(t, site, path, 200)), " ")
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%s should contain %q:\n%s", path, want, text)
		}
	}
}

func TestPages(t *testing.T) {
	_, site, _ := regressions(t)
	has(t, site, "/", `href="/runs/run-2"`, `<span class="gate-word fail">fail</span>`, `href="/compare?a=run-1&amp;b=run-2"`)
	has(t, site, "/runs/run-2", "2 regressions", "support/3/refund_window", "Promises 60 days; the policy says 30.", `href="?kind=regression#cases"`, "$0.0031")
	has(t, site, "/runs/run-2/case?name=support/3/refund_window", "within 60 days", "Judged by within 60 days", "2. assistant",
		"passed 1 of the last 2 times, 0 of 1 under the current definition", `<line class="changed"`, `<text x="34" y="166">2026-03-01 `, "test_definitions/support/3/refund_window.json")
	has(t, site, "/compare?a=run-1&b=run-2", "only here", "math/1/sum_1", "only before")
	has(t, site, "/costs", "2026-03-01", "$0.00")
}

// TestFilters holds that the table of cases is filtered by its query alone.
func TestFilters(t *testing.T) {
	_, site, r := regressions(t)
	for _, tt := range []struct {
		query string
		want  int
	}{
		{"", min(len(r.Cases), 50)},
		{"kind=regression", 2},
		{"kind=nonsense", 0},
		{"text=REFUND+window", 1},
		{"text=promises+60", 1},
		{"text=nowhere", 0},
		{"group=math", 15},
		{"group=math/1", 9},
		{"group=mat", 0},
		{"kind=regression&text=refund", 1},
		{"target=support-agent&kind=improvement", 1},
		{"target=other", 0},
	} {
		rows := 0
		walk(t, get(t, site, "/runs/run-2?"+tt.query, 200), func(n *dom.Node, a map[string]string) {
			if n.Data == "tr" && a["data-kind"] != "" {
				rows++
			}
		})
		if rows != tt.want {
			t.Errorf("?%s shows %d cases, want %d", tt.query, rows, tt.want)
		}
	}
}

// TestEveryCaseIsOnOnePage holds that a list over several pages has each case once.
func TestEveryCaseIsOnOnePage(t *testing.T) {
	h := newHouse(t)
	r := report.Compare(reporttest.ChangedCases(230).In)
	h.run("run-1", r)
	site := h.site(dashboard.Config{})
	seen := map[string]int{}
	path := "/runs/run-1?sort=name"
	for pages := 0; path != "" && pages < 10; pages++ {
		next := ""
		walk(t, get(t, site, path, 200), func(n *dom.Node, a map[string]string) {
			if strings.Contains(a["href"], "/case?") {
				seen[a["href"]]++
			}
			if a["rel"] == "next" {
				next = "/runs/run-1" + a["href"]
			}
		})
		path = next
	}
	if len(seen) != len(r.Cases) {
		t.Errorf("the pages have %d cases, want %d", len(seen), len(r.Cases))
	}
	for link, n := range seen {
		if n != 1 {
			t.Errorf("%s is there %d times", link, n)
		}
	}
}

func TestWhatIsNotThere(t *testing.T) {
	_, site, _ := regressions(t)
	for _, tt := range []struct {
		path   string
		status int
	}{
		{"/runs/none", 404}, {"/nowhere", 404}, {"/runs/run-2/case?name=none", 404}, {"/runs/run-2/case", 404},
		{"/compare", 400}, {"/compare?a=run-1&b=none", 404}, {"/runs/run-2?sort=colour", 400},
		{"/api/runs/none", 404}, {"/runs/run-2?page=99", 200}, {"/?page=-1", 200}, {"/?page=x", 200},
	} {
		get(t, site, tt.path, tt.status)
	}
	if text := get(t, newHouse(t).site(dashboard.Config{}), "/", 200); !strings.Contains(text, "gavel run") {
		t.Errorf("an empty ledger does not say what to do:\n%s", text)
	}
}

func TestAPI(t *testing.T) {
	_, site, r := regressions(t)
	decode := func(path string, into any) {
		t.Helper()
		if err := json.Unmarshal([]byte(get(t, site, path, 200)), into); err != nil {
			t.Fatalf("the answer of %s is not the JSON that was wanted: %v", path, err)
		}
	}
	var runs struct {
		Runs []struct {
			Run  string
			Gate struct{ Result string }
		}
		Total int
	}
	decode("/api/runs?limit=1", &runs)
	if runs.Total != 2 || len(runs.Runs) != 1 || runs.Runs[0].Run != "run-2" || runs.Runs[0].Gate.Result != "fail" {
		t.Errorf("the newest run is %+v, want run-2 of 2, which failed", runs)
	}
	var cases struct {
		Cases []struct{ Key string }
		Total int
	}
	decode("/api/runs/run-2/cases?kind=regression&limit=1", &cases)
	if cases.Total != 2 || len(cases.Cases) != 1 {
		t.Errorf("the regressions are %+v, want one of two", cases)
	}
	var one report.Report
	decode("/api/runs/run-2", &one)
	if one.Run != "run-2" || len(one.Cases) != 0 || one.Summary.Cases != r.Summary.Cases {
		t.Errorf("run-2 is %+v", one)
	}
	var diff struct {
		Changes []struct{ Case, Change string }
		Total   int
	}
	decode("/api/compare?a=run-1&b=run-2&limit=3", &diff)
	if diff.Total < 4 || len(diff.Changes) != 3 {
		t.Errorf("the comparison is %+v, want 3 of more", diff)
	}
}

// TestALargeRunIsSmall holds that a page of a run with many cases, problems and groups
// stays small.
func TestALargeRunIsSmall(t *testing.T) {
	h := newHouse(t)
	r := report.Compare(reporttest.ChangedCases(3000).In)
	for i := range 2000 {
		r.Problems = append(r.Problems, schema.Problem{Severity: schema.Error, Message: strings.Repeat("wrong ", 40)})
		r.Groups = append(r.Groups, report.Group{Dialect: schema.DialectDomain, Path: []string{fmt.Sprintf("domain_%d", i)}})
	}
	for i := range r.Cases {
		r.Cases[i].VerdictReason = strings.Repeat("a long reason ", 500)
	}
	h.judge("long", r.Cases[0].Digest, 1, strings.Repeat("words ", 100_000))
	h.run("run-1", r)
	site := h.site(dashboard.Config{Files: definitions(r, strings.Repeat("x: y\n", 10_000)).open})
	for _, path := range []string{"/", "/runs/run-1", "/runs/run-1?page=3", "/compare?a=run-1&b=run-1&kind=same"} {
		get(t, site, path, 200)
	}
	get(t, site, "/runs/run-1/case?"+url.Values{"name": {r.Cases[0].Name()}}.Encode(), 200)
}

// TestBelowARoot holds that every link stays below the path that the pages are at.
func TestBelowARoot(t *testing.T) {
	h := newHouse(t)
	h.run("run-1", report.Compare(reporttest.Regressions().In))
	mux := http.NewServeMux()
	mux.Handle("/r/shop/", http.StripPrefix("/r/shop", h.site(dashboard.Config{Root: "/r/shop"})))
	mux.Handle("/static/", dashboard.Assets())
	crawl(t, mux, "/r/shop/", func(path, _ string) {
		if !strings.HasPrefix(path, "/r/shop/") {
			t.Errorf("a link leads to %s", path)
		}
	})
}

// TestOtherRepositories holds that the pages of a repository show no run of another
// one, whose readers may be others.
func TestOtherRepositories(t *testing.T) {
	h := newHouse(t)
	h.run("run-1", report.Compare(reporttest.Regressions().In))
	site := h.site(dashboard.Config{Repository: "octo/demo"})
	for _, path := range []string{"/runs/run-1", "/runs/run-1/case?name=x", "/runs/run-1/targets", "/compare?a=run-1&b=run-1", "/api/runs/run-1", "/api/runs/run-1/cases"} {
		get(t, site, path, 404)
	}
}

// TestAbuseEvents: streams are bounded, and one that ends makes room.
func TestAbuseEvents(t *testing.T) {
	srv := httptest.NewServer(newHouse(t).site(dashboard.Config{Streams: &access.StreamLimit{All: 2, Each: 2}}))
	t.Cleanup(srv.Close) // after the bodies are closed
	follow := func() *http.Response {
		t.Helper()
		res, err := http.Get(srv.URL + "/api/events")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	first, second, third := follow(), follow(), follow()
	if first.StatusCode != 200 || second.StatusCode != 200 || third.StatusCode != 503 || third.Header.Get("Retry-After") == "" {
		t.Errorf("the streams are answered with %d, %d and %d, want 200, 200 and 503", first.StatusCode, second.StatusCode, third.StatusCode)
	}
	first.Body.Close()
	for follow().StatusCode != 200 { // until the server has seen it
		continue
	}
}

// TestEvents tells a list of runs of a newer run, and how far a commit is.
func TestEvents(t *testing.T) {
	h := newHouse(t)
	h.run("run-1", report.Compare(reporttest.Regressions().In))
	var b dashboard.Board
	srv := httptest.NewServer(h.site(dashboard.Config{Board: &b, Root: "/x"}))
	defer srv.Close()
	if text := get(t, srv.Config.Handler, "/", 200); !strings.Contains(text, `data-live="/x/api/events"`) || !strings.Contains(text, `<noscript><meta http-equiv="refresh"`) {
		t.Errorf("the list of runs is not live:\n%.1200s", text)
	}
	res, err := http.Get(srv.URL + "/api/events")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	read := func(want string) {
		t.Helper()
		for lines.Scan() {
			if lines.Text() == "data: "+want {
				return
			}
		}
		t.Fatalf("the stream ended before %s: %v", want, lines.Err())
	}
	read(`{"newest":"run-1","judging":[]}`)
	step, end := b.Track("abc")
	read(`{"newest":"run-1","judging":[{"head":"abc","done":0,"total":0,"again":0}]}`)
	step(1, 2, 0)
	read(`{"newest":"run-1","judging":[{"head":"abc","done":1,"total":2,"again":0}]}`)
	h.run("run-2", report.Compare(reporttest.Regressions().In))
	end()
	read(`{"newest":"run-2","judging":[]}`)
}
