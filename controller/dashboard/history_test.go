package dashboard_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	dom "golang.org/x/net/html"

	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/schema"
)

// judgeSamples stores a decision on samples, each with a score of the criterion facts;
// the criterion tone is always met.
func (h *house) judgeSamples(name, digest string, facts ...float64) {
	h.Helper()
	h.now = h.now.Add(time.Minute)
	out := ledger.Outcome{
		Trust: ledger.Trust{Level: ledger.LevelOperator}, Digests: plan.Digests{E: "e " + digest, J: "j " + digest, D: digest}, Case: name,
	}
	var mean float64
	for i, score := range facts {
		mean += score / float64(len(facts))
		out.Executions = append(out.Executions, ledger.Execution{Ordinal: i, Transcript: verdict.Transcript{Messages: []schema.Message{
			{Role: schema.RoleUser, Content: "May I return it?"}, {Role: schema.RoleAssistant, Content: "Within 60 days."},
		}}})
		out.Samples = append(out.Samples, ledger.Judgement{Sample: verdict.Sample{Ordinal: i, Measurements: []verdict.Measurement{{
			Evaluator: "judge", Reason: "The promise is too long.", Criteria: []verdict.Criterion{
				{ID: "facts", Score: score, Note: "states 60 days", Turns: []int{2}}, {ID: "tone", Score: 1},
			},
		}}}})
	}
	score := (mean + 1) / 2
	out.Decision = &ledger.Decision{Samples: len(facts), Result: verdict.Result{
		Verdict: verdict.Fail, Score: &score, Samples: len(facts), Evaluators: []verdict.EvaluatorResult{
			{Name: "judge", Score: score, Criteria: []verdict.Criterion{{ID: "facts", Score: mean}, {ID: "tone", Score: 1}}},
		},
	}}
	if err := h.ledger.Save(h.Context(), out); err != nil {
		h.Fatal(err)
	}
}

// text is all text below an element.
func text(n *dom.Node) string {
	var out strings.Builder
	for d := range n.Descendants() {
		if d.Type == dom.TextNode {
			out.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// TestAMeasuredQuantity has no score, good or bad, before it is compared with its bounds.
func TestAMeasuredQuantity(t *testing.T) {
	h := newHouse(t)
	r := report.Compare(reporttest.FirstRun().In)
	row, score, took := &r.Cases[0], 1., 79.
	measured := verdict.Sample{Measurements: []verdict.Measurement{{Evaluator: "quick", Criteria: []verdict.Criterion{
		{ID: "latency", Value: &took, Note: "duration_ms 79"}, {ID: "tone", Score: 0},
	}}}}
	if err := h.ledger.Save(h.Context(), ledger.Outcome{
		Trust: ledger.Trust{Level: ledger.LevelOperator}, Digests: plan.Digests{E: "e", J: "j", D: row.Digest}, Case: "refund",
		Executions: []ledger.Execution{{Transcript: verdict.Transcript{Messages: []schema.Message{{Role: schema.RoleUser, Content: "May I?"}}}}},
		Samples:    []ledger.Judgement{{Sample: measured}},
		Decision:   &ledger.Decision{Samples: 1, Result: verdict.Result{Verdict: verdict.Pass, Score: &score, Samples: 1}},
	}); err != nil {
		t.Fatal(err)
	}
	h.run("run-1", r)
	page := strings.Join(strings.Fields(get(t, h.site(dashboard.Config{}), "/runs/run-1/case?name="+row.Name(), 200)), " ")
	for _, want := range []string{
		`<th scope="row">latency</th><td class="n">–</td>`,
		`<th scope="row">tone</th><td class="n worse">0.00</td>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

// TestCaseHistory shows each criterion over time, the interval of each score, the flake
// rate, and what a judge says at the turns that it cites.
func TestCaseHistory(t *testing.T) {
	h := newHouse(t)
	r := report.Compare(reporttest.FirstRun().In)
	row := &r.Cases[0]
	h.judgeSamples("refund", "earlier", 1)
	h.judgeSamples("refund", row.Digest, 0.25, 0.5, 0.75)
	h.run("run-1", r)
	page := get(t, h.site(dashboard.Config{}), "/runs/run-1/case?name="+row.Name(), 200)
	rows, cited, bars := map[string]string{}, map[string]string{}, []string{}
	walk(t, page, func(n *dom.Node, a map[string]string) {
		switch {
		case n.Data == "tr":
			var cells []string
			for c := range n.ChildNodes() {
				if c.Type == dom.ElementNode && c.Data == "td" {
					cells = append(cells, text(c))
				}
			}
			if c := n.FirstChild; c != nil && c.Data == "th" {
				rows[text(c)] = strings.Join(cells, " ")
			}
		case n.Data == "p" && strings.HasPrefix(a["class"], "cited"):
			turn := n.Parent.Parent
			cited[strings.Fields(text(turn))[0]] += a["class"] + ": " + text(n) + ";"
		case n.Data == "path" && a["class"] == "span":
			bars = append(bars, text(n))
		}
	})
	for _, tt := range []struct{ name, want string }{{"facts", "1 .50"}, {"tone", "1 1"}} {
		if rows[tt.name] != tt.want {
			t.Errorf("criterion %s has the scores %q, want %q", tt.name, rows[tt.name], tt.want)
		}
	}
	// Three samples are shown, each with its own remark at its second turn.
	if want := strings.Repeat("cited bad: facts: states 60 days;", 3); len(cited) != 1 || cited["2."] != want {
		t.Errorf("the turns have the remarks %q, want %q at turn 2 alone", cited, want)
	}
	if want := "95 % interval 0.44 to 1.00"; len(bars) != 1 || !strings.Contains(bars[0], want) {
		t.Errorf("the chart has the intervals %q, want %q alone", bars, want)
	}
	folded := strings.Join(strings.Fields(page), " ")
	scale := row.Scale()
	for _, want := range []string{
		fmt.Sprintf(`<td data-name="95 %% interval">%s to %s</td>`, shown(0.4395, scale), shown(1, scale)),
		"<b>Flake rate</b>: not known yet, because the current definition was judged 1 time.",
		"A bar is the 95 % interval of a score",
	} {
		if !strings.Contains(folded, want) {
			t.Errorf("the page should contain %q:\n%s", want, folded)
		}
	}
}

// shown is a score on a scale as the table of judgements writes it.
func shown(score, scale float64) string { return fmt.Sprintf("%.2f", score*scale) }

// TestFlakeRate counts the judgements of the current definition alone.
func TestFlakeRate(t *testing.T) {
	h := newHouse(t)
	r := report.Compare(reporttest.FirstRun().In)
	digests := plan.Digests{E: "e", J: "j", D: r.Cases[0].Digest}
	h.judge("refund", "earlier", 0, "earlier")
	for i, v := range []verdict.Verdict{verdict.Pass, verdict.Fail, verdict.Pass} {
		score := 0.5
		err := h.ledger.Save(t.Context(), ledger.Outcome{
			Trust: ledger.Trust{Level: ledger.LevelOperator}, Digests: digests, Case: "refund",
			Executions: []ledger.Execution{{Ordinal: i}}, Samples: []ledger.Judgement{{Sample: verdict.Sample{Ordinal: i}}},
			Decision: &ledger.Decision{Samples: 1, Result: verdict.Result{Verdict: v, Score: &score, Samples: 1}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	h.run("run-1", r)
	has(t, h.site(dashboard.Config{}), "/runs/run-1/case?name="+r.Cases[0].Name(),
		"<b>Flake rate</b>: 33 % of 3 judgements of the current definition differ from the usual verdict.")
}

// TestHistoryOfAMovedCase: a judgement is at the case's name before it was moved, and the
// link to it leads there.
func TestHistoryOfAMovedCase(t *testing.T) {
	h := newHouse(t)
	before := report.Compare(reporttest.FirstRun().In)
	h.run("before", before)
	h.now = h.now.Add(-90 * time.Second)
	h.judge("\n"+before.Cases[0].Key, before.Cases[0].Digest, 0.25, "Within 60 days.")
	after := report.Compare(reporttest.FirstRun().In)
	was := before.Cases[0].Name()
	after.Cases[0].Key = "returns/moved"
	h.run("after", after)
	site, links := h.site(dashboard.Config{}), 0
	walk(t, get(t, site, "/runs/after/case?name=returns/moved", 200), func(n *dom.Node, a map[string]string) {
		if n.Data != "a" || !strings.HasPrefix(a["href"], "/runs/before/case") {
			return
		}
		links++
		has(t, site, a["href"], "<h1>"+was)
	})
	if links == 0 {
		t.Error("no link leads to the judgement")
	}
	get(t, site, "/runs/before/case?name=returns/moved", 404)
}
