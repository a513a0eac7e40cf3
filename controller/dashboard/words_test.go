package dashboard_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/schema"
)

// TestCostsOfDays holds that what has no price is not shown as free, and that the chart
// says when its days are and which one was the dearest.
func TestCostsOfDays(t *testing.T) {
	h := newHouse(t)
	cost := func(id string, calls int, usd *float64) {
		r := &report.Report{Gate: report.Gate{Result: "pass"}}
		r.Summary.Calls, r.Summary.CostUSD = calls, usd
		h.run(id, r)
	}
	price, nothing := 0.25, 0.0
	const repair = "Write <code>price: {input: …, output: …}</code>"
	cost("zeroth", 1, &price)
	if page := get(t, h.site(dashboard.Config{}), "/costs", 200); strings.Contains(page, repair) {
		t.Errorf("a priced run is told how to price:\n%s", page)
	}
	h = newHouse(t)
	cost("first", 3, nil)
	has(t, h.site(dashboard.Config{}), "/costs", repair)
	page := get(t, h.site(dashboard.Config{}), "/costs", 200)
	if !strings.Contains(page, `data-name="cost">price unknown<`) || strings.Contains(page, "<svg class=\"chart\"") {
		t.Errorf("calls without a price are shown as\n%s", page)
	}
	h.now = h.now.Add(24 * time.Hour)
	cost("second", 1, &price)
	cost("third", 2, nil)
	h.now = h.now.Add(24 * time.Hour)
	cost("fourth", 0, &nothing)
	has(t, h.site(dashboard.Config{}), "/costs", `data-name="cost">price unknown<`, `data-name="cost">at least $0.25<`, `data-name="cost">$0<`,
		"The most was paid on 2026-03-02: at least $0.25. The table below has the numbers.", `<text x="34" y="166">2026-03-01</text>`, `text-anchor="end">2026-03-03</text>`)
}

// TestWhyThereIsNoVerdict holds that a case which a change does not affect says why it
// has no verdict.
func TestWhyThereIsNoVerdict(t *testing.T) {
	h := newHouse(t)
	h.run("run-1", &report.Report{Gate: report.Gate{Result: "pass"}, Cases: []report.Row{{Key: "math/sum", Action: plan.Reuse}}})
	has(t, h.site(dashboard.Config{}), "/runs/run-1", "no verdict", "not affected, and no verdict is stored")
}

// TestPagesOfErrors holds that what cannot be shown is a sentence with a way back.
func TestPagesOfErrors(t *testing.T) {
	site := newHouse(t).site(dashboard.Config{Root: "/r/octo/demo"})
	for _, tt := range []struct{ path, want string }{{"/none", "there is no such page."}, {"/runs/none", "gavel ledger gc may have removed it."}} {
		page := get(t, site, tt.path, 404)
		if !strings.Contains(page, tt.want) || !strings.Contains(page, `<a href="/r/octo/demo/">To the runs</a>`) {
			t.Errorf("%s says\n%s", tt.path, page)
		}
	}
}

// TestWhatBaseSaid holds that a case whose answer differs from base's shows both.
func TestWhatBaseSaid(t *testing.T) {
	h := newHouse(t)
	r := reporttest.Stored(t, "regressions")
	r.Cases[0].Detail = &report.Detail{
		Messages:  []schema.Message{{Role: schema.RoleAssistant, Content: "60 days"}},
		BaseReply: &schema.Message{Role: schema.RoleAssistant, Content: "<think>The policy.</think>30 <b>days</b>"},
	}
	h.run("r", r)
	page := get(t, h.site(dashboard.Config{}), "/runs/r/case?name="+url.QueryEscape(r.Cases[0].Name()), 200)
	if !strings.Contains(page, `<h2>What base said</h2><div class="said">30 &lt;b&gt;days&lt;/b&gt;</div>`) || !strings.Contains(page, "60 days") {
		t.Errorf("the page does not show both answers:\n%s", page)
	}
}
