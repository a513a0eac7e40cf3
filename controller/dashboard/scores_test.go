package dashboard_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dom "golang.org/x/net/html"

	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/report"
)

// scored is a run in which a domain has a score, and its level another.
func scored(gate string, domain, level float64) *report.Report {
	return &report.Report{
		Gate: report.Gate{Result: gate, Reason: "x"}, Summary: report.Summary{Score: &domain},
		Groups: []report.Group{
			{Dialect: "domain", Path: []string{}, Score: &domain},
			{Dialect: "domain", Path: []string{"math"}, Cases: 2, Score: &domain},
			{Dialect: "domain", Path: []string{"math", "level_1"}, Cases: 1, Score: &level},
			{Dialect: "domain", Path: []string{"<b>sql"}, Cases: 1},
		},
	}
}

// TestScores has a column for each run that has groups, the oldest first, and marks a
// score that is lower than the one before.
func TestScores(t *testing.T) {
	h := newHouse(t)
	site := h.site(dashboard.Config{})
	if text := get(t, site, "/scores", 200); !strings.Contains(text, "No run has domains") {
		t.Errorf("without runs the page is\n%s", text)
	}
	h.run("run-1", scored("pass", 0.9, 1))
	h.run("run-2", &report.Report{Gate: report.Gate{Result: "pass"}})
	h.run("run-3", scored("fail", 0.4, 1))
	text := get(t, site, "/scores", 200)
	var links, cells []string
	walk(t, text, func(n *dom.Node, a map[string]string) {
		if to := a["href"]; n.Data == "a" && strings.HasPrefix(to, "/runs/") {
			links = append(links, to)
		}
		if n.Data == "td" {
			cells = append(cells, strings.TrimSpace(a["class"])+" "+n.FirstChild.Data)
		}
	})
	if got := strings.Join(links, " "); got != "/runs/run-1 /runs/run-3" {
		t.Errorf("the columns lead to %s", got)
	}
	if got, want := strings.Join(cells, ", "), "n h9 .90, n h4 worse .40, n h10 1, n h10 1"; got != want {
		t.Errorf("the cells are %s, want %s", got, want)
	}
	if strings.Contains(text, "sql") {
		t.Error("a group without a score has a row")
	}
}

// TestBadge is a picture of the newest run without anything that a repository says.
func TestBadge(t *testing.T) {
	h := newHouse(t)
	site := h.site(dashboard.Config{})
	for _, want := range []string{"no run", "pass 0.90", "fail 0.40", "undetermined 0.10"} {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequest("GET", "/badge.svg", nil))
		text := w.Body.String()
		if w.Code != 200 || w.Header().Get("Content-Type") != "image/svg+xml" || !strings.Contains(text, ">"+want+"</text>") || !strings.Contains(text, "<title>Gavel: ") {
			t.Errorf("the badge is %d %v %s, want %s", w.Code, w.Header(), text, want)
		}
		switch want {
		case "no run":
			h.run("run-1", scored("pass", 0.9, 1))
		case "pass 0.90":
			h.run("run-2", scored("fail", 0.4, 1))
		case "fail 0.40":
			h.run("run-3", scored("<script>", 0.1, 1))
		}
	}
}

// TestHeatmap draws a cell for each score of a group in each run, with the color of the
// score, and a mark where it is lower than before. The table has the numbers.
func TestHeatmap(t *testing.T) {
	h := newHouse(t)
	site := h.site(dashboard.Config{})
	h.run("run-1", scored("pass", 0.9, 1))
	if strings.Contains(get(t, site, "/scores", 200), "heatmap") {
		t.Error("one run has a heat map")
	}
	h.run("run-2", scored("fail", 0.4, 1))
	var cells []string
	walk(t, get(t, site, "/scores", 200), func(n *dom.Node, a map[string]string) {
		if n.Data == "path" && n.Parent.FirstChild != nil && strings.Contains(a["d"], "M150") || a["class"] == "falls" {
			cells = append(cells, a["class"]+" "+a["d"])
		}
	})
	want := []string{
		"h9 M150.0 18h94.0v19h-94.0z", "h10 M150.0 38h94.0v19h-94.0zM245.0 38h94.0v19h-94.0z", "falls M268.8 33h46.5",
	}
	if diff := cmp.Diff(want, cells); diff != "" {
		t.Errorf("the cells differ (-want +got):\n%s", diff)
	}
	has(t, site, "/scores", `<path class="h4" d="M245.0 18h94.0v19h-94.0z"/>`,
		"2 groups over 2 runs, from 03-01 13:00 to 03-01 14:00. 0 ended higher than they began, 1 lower, and 1 about the same.",
		`<text class="inner" x="12" y="52">level_1</text>`)
}
