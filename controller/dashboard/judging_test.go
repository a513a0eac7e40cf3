package dashboard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dom "golang.org/x/net/html"

	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
)

func pointer[T any](x T) *T { return &x }

// tableRows are the cells of every row of a page that has a heading of its own.
func tableRows(t *testing.T, page string) []string {
	var rows []string
	walk(t, page, func(n *dom.Node, _ map[string]string) {
		if n.Data != "tr" || n.Parent.Data != "tbody" {
			return
		}
		var cells []string
		for c := range n.ChildNodes() {
			if c.Type == dom.ElementNode {
				cells = append(cells, text(c))
			}
		}
		rows = append(rows, strings.Join(cells, "|"))
	})
	return rows
}

// abReport has two A/B tests and a case without one, with two evaluators each.
func abReport() *report.Report {
	pass, fail := verdict.Pass, verdict.Fail
	evaluators := func(judge, keyword bool) []report.EvaluatorScore {
		return []report.EvaluatorScore{{Name: "judge", Type: "llm_judge", Pass: judge}, {Name: "keyword", Type: "keyword", Pass: keyword}}
	}
	return &report.Report{Gate: report.Gate{Result: "pass"}, Cases: []report.Row{
		{Key: "greeting", Dialect: "promptval", Action: plan.Run, Verdict: &pass, Evaluators: evaluators(true, true), Comparison: &verdict.Comparison{
			Pairs: 8, Winner: "B", Score: &verdict.Difference{A: 0.5, B: 0.75, Delta: 0.25, Low: pointer(0.1), High: pointer(0.4)},
			Criteria: []verdict.Difference{{Evaluator: "judge", ID: "tone", A: 0.2, B: 0.9, Delta: 0.7}},
		}},
		{Key: "farewell", Action: plan.Run, Verdict: &fail, Evaluators: evaluators(true, false), Comparison: &verdict.Comparison{
			Pairs: 3, Preferences: &verdict.Preferences{A: 1, B: 1, Ties: 1, P: 1}, Errors: 2, Error: "the model did not answer",
		}},
		{Key: "other", Action: plan.Run, Verdict: &pass, Evaluators: evaluators(false, false)},
	}}
}

// TestABResults has each A/B test with its difference, interval and preferences.
func TestABResults(t *testing.T) {
	h := newHouse(t)
	h.run("run-1", abReport())
	site := h.site(dashboard.Config{})
	has(t, site, "/runs/run-1", `<a href="/runs/run-1/ab">A/B results</a>`, `<a href="/runs/run-1/judges">Agreement of evaluators</a>`)
	page := get(t, site, "/runs/run-1/ab", 200)
	scale := pointer(abReport().Cases[0]).Scale()
	shown := func(x float64) string { return fmt.Sprintf("%+.2f", x*scale) }
	want := []string{
		fmt.Sprintf("B|greetingCriteriatone: %s → %s (%s)|%s|%s|%s|%s to %s||8",
			outOf(0.2, scale), outOf(0.9, scale), shown(0.7), outOf(0.5, scale), outOf(0.75, scale), shown(0.25), shown(0.1), shown(0.4)),
		"no clear winner|farewell2 pairs not judged: the model did not answer|||||A 1, B 1, 1 tie, p = 1.000|3",
	}
	if diff := cmp.Diff(want, tableRows(t, page)); diff != "" {
		t.Errorf("the table differs (-want +got):\n%s", diff)
	}
	// 0.25 of the half width of 56 pixels right of the middle.
	has(t, site, "/runs/run-1/ab", `<path class="span" d="M65.6 7H82.4"/>`, `<circle cx="74.0"`, "A is better: <b>0</b> · B is better: <b>1</b> · no clear winner: <b>1</b>")
}

func outOf(x, scale float64) string {
	if scale == 1 {
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.2f/%v", x*scale, scale)
}

// TestAgreement has the evaluators that measured the same cases, and where they disagree.
func TestAgreement(t *testing.T) {
	h := newHouse(t)
	h.run("run-1", abReport())
	site := h.site(dashboard.Config{})
	want := []string{"judge llm_judgekeyword keyword|3|67 %|+0.40|1|1|1|0|farewell"}
	if diff := cmp.Diff(want, tableRows(t, get(t, site, "/runs/run-1/judges", 200))); diff != "" {
		t.Errorf("the table differs (-want +got):\n%s", diff)
	}
	has(t, site, "/runs/run-1/judges", `<a href="/runs/run-1/case?name=farewell">farewell</a>`)
	h.run("run-2", scored("pass", 1, 1))
	has(t, site, "/runs/run-2/judges", "No case of this run has two evaluators")
	has(t, site, "/runs/run-2/ab", "No case of this run compares two prompts.")
	if strings.Contains(get(t, site, "/runs/run-2", 200), "A/B results") {
		t.Error("a run without A/B tests has a link to their results")
	}
}

// targetsReport has three cases against two targets.
func targetsReport() *report.Report {
	r := &report.Report{Gate: report.Gate{Result: "fail"}, Targets: []report.TargetTally{
		{Target: "old", Verdicts: report.Verdicts{Pass: 2, Fail: 1}, Score: pointer(0.6)}, {Target: "new", Verdicts: report.Verdicts{Pass: 2}, Score: pointer(0.85)},
	}}
	for _, c := range []struct {
		key, target string
		score       float64
	}{{"a", "old", 0.2}, {"a", "new", 0.8}, {"b", "old", 0.9}, {"b", "new", 0.9}, {"c", "old", 0.7}} {
		v := verdict.Pass
		if c.score < 0.5 {
			v = verdict.Fail
		}
		r.Cases = append(r.Cases, report.Row{Key: c.key, Target: c.target, PerTarget: true, Action: plan.Run, Verdict: &v, Score: &c.score})
	}
	return r
}

// TestCompareTargets sets what two targets of a run did against each other.
func TestCompareTargets(t *testing.T) {
	h := newHouse(t)
	h.run("run-1", targetsReport())
	site := h.site(dashboard.Config{})
	has(t, site, "/runs/run-1/targets", `<select name="target_a"><option value="old">old</option><option value="new">new</option></select>`, `<option value="new" selected>new</option>`)
	path := "/compare?a=run-1&b=run-1&target_a=old&target_b=new"
	has(t, site, path, "<h1>Comparison of two targets</h1>", "0.300 on average over 2 cases with a score on both sides",
		`href="?a=run-1&amp;b=run-1&amp;kind=better&amp;target_a=old&amp;target_b=new"`, `<input type="hidden" name="target_b" value="new">`)
	rows := tableRows(t, get(t, site, path, 200))
	want := []string{"better|a|fail 0.20|pass 0.80|+0.60", "only before|c|pass 0.70|–|"}
	if len(rows) < 2 || cmp.Diff(want, rows[2:]) != "" || !strings.Contains(rows[0], "|old||") || !strings.Contains(rows[1], "2 pass|0.850") {
		t.Errorf("the tables have the rows\n%s\nwant two targets and\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
	if text := get(t, site, "/compare?a=run-1&b=run-1&target_a=old&target_b=young", 400); !strings.Contains(text, "write one of old, new") {
		t.Errorf("an unknown target gets %s", text)
	}
	if text := get(t, site, "/api/compare?a=run-1&b=run-1&target_a=old&target_b=new", 200); !strings.Contains(text, `"total":2`) && !strings.Contains(text, `"total": 2`) {
		t.Errorf("the API says %s", text)
	}
}
