package dashboard_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dom "golang.org/x/net/html"

	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// timedRun stores a run of n cases against two targets, one judged each minute, each of
// which took 90 seconds. The run reused the last case.
func (h *house) timedRun(id string, n int) {
	h.Helper()
	start := h.now
	cost, pass := 0.25, verdict.Pass
	r := &report.Report{Run: id, Summary: report.Summary{CostUSD: &cost}, Gate: report.Gate{Result: "pass"}}
	for i := range n {
		digest := fmt.Sprintf("%s %d", id, i)
		h.judge(digest, digest, 1, "said")
		r.Cases = append(r.Cases, report.Row{
			Key: fmt.Sprintf("case_%d", i), Target: []string{"shop", "desk"}[i/max(1, n-2)%2], Action: plan.Run, Verdict: &pass,
			Digest: digest, DurationMS: 90_000, Calls: 2, CostUSD: &cost,
		})
	}
	r.Cases[n-1].Action = plan.Reuse
	h.now = h.now.Add(time.Minute)
	body, err := json.Marshal(r)
	if err != nil {
		h.Fatal(err)
	}
	if err := h.ledger.SaveReport(h.Context(), ledger.Run{ID: id, Head: "worktree", Started: start, Finished: h.now, Report: body}); err != nil {
		h.Fatal(err)
	}
}

// TestTimeline draws the cases that a run judged itself: when each began and ended, in
// places in which no two overlap.
func TestTimeline(t *testing.T) {
	h := newHouse(t)
	h.timedRun("run-1", 5)
	site := h.site(dashboard.Config{})
	has(t, site, "/runs/run-1", `<a href="/runs/run-1/timeline">Timeline</a>`)
	page := get(t, site, "/runs/run-1/timeline", 200)
	var bars, rows []string
	walk(t, page, func(n *dom.Node, a map[string]string) {
		switch {
		case n.Data == "rect":
			bars = append(bars, fmt.Sprintf("%s %s+%s at %s: %s", a["class"], a["x"], a["width"], a["y"], text(n)))
		case n.Data == "tr" && a["data-kind"] != "":
			var cells []string
			for c := range n.ChildNodes() {
				cells = append(cells, text(c))
			}
			rows = append(rows, strings.Join(cells, "|"))
		}
	})
	wantBars := []string{
		"pass 266.7+160.0 at 44: case_3: +2 min 30 s to +4 min 0 s",
		"pass 0.0+106.7 at 86: case_0: start to +1 min 0 s",
		"pass 53.3+160.0 at 98: case_1: +30 s to +2 min 0 s",
		"pass 160.0+160.0 at 86: case_2: +1 min 30 s to +3 min 0 s",
	}
	if diff := cmp.Diff(wantBars, bars); diff != "" {
		t.Errorf("the drawing differs (-want +got):\n%s", diff)
	}
	wantRows := []string{
		"✓ pass|case_1|shop|2|+30 s|1 min 30 s|$0.25",
		"✓ pass|case_2|shop|1|+1 min 30 s|1 min 30 s|$0.25",
		"✓ pass|case_3|desk|1|+2 min 30 s|1 min 30 s|$0.25",
		"✓ pass|case_0|shop|1|start|1 min 0 s|$0.25",
	}
	if diff := cmp.Diff(wantRows, rows); diff != "" {
		t.Errorf("the table differs (-want +got):\n%s", diff)
	}
	for _, want := range []string{"desk: 1 case, at most 1 at a time", "shop: 3 cases, at most 2 at a time", "The run took 6 min 0 s and cost $0.25."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page should contain %q:\n%s", want, page)
		}
	}
}

// TestTimelineOfALargeRun stays small, and says which cases it draws.
func TestTimelineOfALargeRun(t *testing.T) {
	h := newHouse(t)
	h.timedRun("run-1", 401)
	has(t, h.site(dashboard.Config{}), "/runs/run-1/timeline", "The drawing has 300 of 400 judged cases, those that took longest.", "1–50 of 400")
}

// TestTimelineOfNothing says why there is nothing to draw.
func TestTimelineOfNothing(t *testing.T) {
	h := newHouse(t)
	h.timedRun("run-1", 1)
	has(t, h.site(dashboard.Config{}), "/runs/run-1/timeline", "This run judged no case itself")
}
