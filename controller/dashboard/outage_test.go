package dashboard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/schema"
)

// outages are two runs of twelve cases of one level: two fail, and then one of them
// ends in an error, so that the mean of the judged ones rises from .833 to .909.
func outages(h *house, second ...*reporttest.Side) (first, next *report.Report) {
	of := func(sides ...*reporttest.Side) *report.Report {
		s := reporttest.New()
		s.In.Plan.Base = ""
		for i := range 12 - len(sides) {
			s.Add(fmt.Sprintf("math/level_1/sum_%02d", i), nil, reporttest.Pass(1), reporttest.Definition())
		}
		for i, side := range sides {
			s.Add(fmt.Sprintf("math/level_1/zero_%d", i), nil, side, reporttest.Definition())
		}
		return report.Compare(s.In)
	}
	first, next = of(reporttest.Fail(0, "wrong"), reporttest.Fail(0, "wrong")), of(second...)
	h.run("run-1", first)
	h.run("run-2", next)
	return first, next
}

// TestAnOutageDiffers: a case that ended in an error, or was not run, differs from one that
// was judged, whatever its verdict was, and so does a case that is skipped.
func TestAnOutageDiffers(t *testing.T) {
	failed := &reporttest.Side{Verdict: "error", Reason: "the target is down"}
	for _, tt := range []struct {
		name        string
		second      *reporttest.Side
		there, back string
	}{
		{"error", failed, "error here", "error before"},
		{"not run", &reporttest.Side{}, "not run here", "not run before"},
		{"skipped", &reporttest.Side{Skip: "enabled is false"}, "skipped here", "skipped before"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t)
			outages(h, reporttest.Fail(0, "wrong"), tt.second)
			site := h.site(dashboard.Config{})
			has(t, site, "/compare?a=run-1&b=run-2", tt.there+" <b>1</b>", "same <b>11</b>", "math/level_1/zero_1")
			has(t, site, "/compare?a=run-2&b=run-1", tt.back+" <b>1</b>", "same <b>11</b>")
			has(t, site, "/compare?a=run-2&b=run-2", "same <b>12</b>", "No case differs here.")
			has(t, site, "/api/compare?a=run-1&b=run-2", `"change": "`+tt.there+`"`)
		})
	}
}

// TestAnOutageIsNoProgress: if cases have no verdict, the pages say how many the score
// covers, and it is not compared with the score of other cases.
func TestAnOutageIsNoProgress(t *testing.T) {
	h := newHouse(t)
	outages(h, reporttest.Fail(0, "wrong"), &reporttest.Side{Verdict: "error", Reason: "the target is down"})
	site := h.site(dashboard.Config{})
	has(t, site, "/", `0.91 <span class="note small">of 11 of 12 cases</span>`, `data-name="score">0.83</td>`)
	has(t, site, "/compare?a=run-1&b=run-2", `0.909 <span class="note small">of 11 of 12 cases</span>`, `data-name="score">0.833</td>`)
	has(t, site, "/scores", "0 ended higher than they began, 0 lower, and 0 about the same. 2 are not compared, since not all of their cases have a verdict in two runs.",
		`<td class="n h9 part" title="1 case has no verdict">.91*</td>`, "* not all cases of the group have a verdict")
	if text := get(t, site, "/scores", 200); strings.Contains(text, " worse") {
		t.Error("a score of other cases is marked as lower")
	}
	// One of selected cases is not compared, and says so.
	some := scoredBy(t, 1, 0)
	some.Selected = true
	h.run("run-2a", some)
	has(t, site, "/scores", `<td class="n h10 part" title="only selected cases were run">1*</td>`, "or only some were selected")
	if text := get(t, site, "/scores", 200); strings.Contains(text, " worse") {
		t.Error("a score of selected cases is compared")
	}
	// A run of all cases later is compared with the first.
	h.run("run-3", scoredBy(t, 12, 3))
	has(t, site, "/scores", "0 ended higher than they began, 2 lower, and 0 about the same.", `<td class="n h7 worse">.75</td>`)
}

// scoredBy is a run of cases of one level, some of which fail.
func scoredBy(t *testing.T, cases, failing int) *report.Report {
	t.Helper()
	s := reporttest.New()
	s.In.Plan.Base = ""
	for i := range cases {
		side := reporttest.Pass(1)
		if i < failing {
			side = reporttest.Fail(0, "wrong")
		}
		s.Add(fmt.Sprintf("math/level_1/case_%02d", i), nil, side, reporttest.Definition())
	}
	if r := report.Compare(s.In); len(r.Groups) == 3 && r.Groups[0].Dialect == schema.DialectDomain {
		return r
	}
	t.Fatal("the report has no groups")
	return nil
}
