package dashboard_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/schema"
)

// TestCostsOfDays holds that what has no price is not shown as free, and that the chart
// says when its days are and which one was the dearest.
func TestCostsOfDays(t *testing.T) {
	h := newHouse(t)
	tokens := int64(0)
	cost := func(id string, calls int, usd *float64) {
		r := &report.Report{Gate: report.Gate{Result: "pass"}}
		r.Summary.Calls, r.Summary.CostUSD, r.Summary.Tokens = calls, usd, tokens
		h.run(id, r)
	}
	price, nothing := 0.25, 0.0
	const repair = "Write <code>price: {input: …, output: …}</code>"
	cost("zeroth", 1, &price)
	if page := get(t, h.site(dashboard.Config{}), "/costs", 200); strings.Contains(page, repair) {
		t.Errorf("a priced run is told how to price:\n%s", page)
	}
	h = newHouse(t)
	cost("silent", 3, nil)
	if page := get(t, h.site(dashboard.Config{}), "/costs", 200); strings.Contains(page, repair) || !strings.Contains(page, "their targets report no tokens") {
		t.Errorf("targets without tokens are told how to price them:\n%s", page)
	}
	h, tokens = newHouse(t), 100
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
	for _, tt := range []struct{ path, want string }{{"/none", "<p>This page does not exist."}, {"/runs/none", "gavel ledger gc may have removed it."}} {
		page := get(t, site, tt.path, 404)
		if !strings.Contains(page, tt.want) || !strings.Contains(page, `<a href="/r/octo/demo/">To the runs</a>`) {
			t.Errorf("%s says\n%s", tt.path, page)
		}
	}
}

// TestTitles: the list of runs, a run, and the choice of runs to compare it with have the
// branch and the subject of the commit, and runs of one minute have different times.
func TestTitles(t *testing.T) {
	h := newHouse(t)
	for i, subject := range []string{"Shorten <b>", "Lengthen"} {
		r := reporttest.Stored(t, "regressions")
		r.Branch, r.Subject = "main", subject
		h.run(fmt.Sprint("run-", i), r)
		h.now = h.now.Add(20*time.Second - time.Hour)
	}
	site := h.site(dashboard.Config{})
	has(t, site, "/", `<div class="small">main · Shorten &lt;b&gt;</div>`, `<div class="small">main · Lengthen</div>`, "2026-03-01 13:00:00", "2026-03-01 13:00:20")
	has(t, site, "/runs/run-1", `<p class="note">main · Lengthen</p>`, "main · Shorten &lt;b&gt; (3 fail · 36 pass)</option>")
}

// TestGridOfARun has the stored answers of a matrix, each at its test and prompt.
func TestGridOfARun(t *testing.T) {
	h, pass := newHouse(t), verdict.Pass
	r := &report.Report{Gate: report.Gate{Result: "pass"}}
	for _, prompt := range []string{"long", "short"} {
		h.judge("france/"+prompt, prompt, 1, "Paris, "+prompt+" <i>")
		r.Cases = append(r.Cases, report.Row{Key: "caps#france/" + prompt, Dialect: schema.DialectMatrix, Target: "bot", Prompt: "The " + prompt + " one", Vars: "country: France", Verdict: &pass, Digest: prompt})
	}
	h.run("run-1", r)
	site := h.site(dashboard.Config{})
	has(t, site, "/runs/run-1", `<a href="/runs/run-1/targets">Tests and prompts</a>`)
	has(t, site, "/runs/run-1/targets", "<h1>Tests and prompts</h1>", `<th scope="col">The long one</th><th scope="col">The short one</th>`,
		`<th scope="row">france<div class="vars">country: France</div></th>`, `<div class="answer">Paris, long &lt;i&gt;</div></td><td data-kind="pass" data-column="The short one">`, `href="/runs/run-1/case?name=caps%23france%2Fshort"`, "Paris, short &lt;i&gt;")
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

// TestExpectedNextToActual: the page of a case shows the texts that a criterion compared. It
// repeats no reason at the only criterion, and draws no curve of one judgement.
func TestExpectedNextToActual(t *testing.T) {
	h := newHouse(t)
	r := report.Compare(reporttest.FirstRun().In)
	h.judge("x", r.Cases[0].Digest, 0, "60 <b>days</b>")
	h.run("r", r)
	page := "/runs/r/case?name=" + url.QueryEscape(r.Cases[0].Name())
	has(t, h.site(dashboard.Config{}), page, "Judged once",
		`<p class="reason">60 &lt;b&gt;days&lt;/b&gt;</p>`, `<td class="note"><dl class="contrast"><div><dt>expected</dt><dd>60 &lt;b&gt;days&lt;/b&gt;</dd></div><div><dt>actual</dt><dd>60 &lt;b&gt;days&lt;/b&gt;</dd></div></dl></td>`)
	if text := get(t, h.site(dashboard.Config{}), page, 200); strings.Contains(text, "<svg") || strings.Contains(text, "Each criterion over time") {
		t.Errorf("one judgement has a curve:\n%s", text)
	}
}

// TestSampleThatDiffers: of several samples, the page of a case unfolds the newest that is
// not as expected and says which one it is, however many are newer.
func TestSampleThatDiffers(t *testing.T) {
	for _, tt := range []struct{ samples, wrong, open, more int }{{3, 1, 1, 0}, {3, -1, 2, 0}, {14, 2, 2, 4}, {14, 12, 12, 4}} {
		h := newHouse(t)
		r := report.Compare(reporttest.FirstRun().In)
		digest, zero := r.Cases[0].Digest, 0.0
		out := ledger.Outcome{
			Trust: ledger.Trust{Level: ledger.LevelOperator}, Digests: plan.Digests{E: "e", J: "j", D: digest}, Case: "x",
			Decision: &ledger.Decision{Result: verdict.Result{Verdict: verdict.Fail, Score: &zero, Samples: tt.samples}, Samples: tt.samples},
		}
		for i := range tt.samples {
			c := verdict.Criterion{ID: "a", Score: 1}
			if i == tt.wrong {
				c = verdict.Criterion{ID: "a", Expected: "Rome", Actual: "Paris"}
			}
			out.Executions = append(out.Executions, ledger.Execution{Ordinal: i, Transcript: verdict.Transcript{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: "x"}}}})
			out.Samples = append(out.Samples, ledger.Judgement{Sample: verdict.Sample{Ordinal: i, Measurements: []verdict.Measurement{{Evaluator: "e", Criteria: []verdict.Criterion{c}}}}})
		}
		if err := h.ledger.Save(t.Context(), out); err != nil {
			t.Fatal(err)
		}
		h.run("r", r)
		want := fmt.Sprintf("<details class=\"sample\" open>\n<summary><h2>Sample %d of %d", tt.open+1, tt.samples)
		if tt.wrong >= 0 {
			want += ": not as expected"
		}
		page := get(t, h.site(dashboard.Config{}), "/runs/r/case?name="+url.QueryEscape(r.Cases[0].Name()), 200)
		if !strings.Contains(page, want+"</h2>") || strings.Count(page, `<details class="sample" open>`) != 1 || strings.Contains(page, "more samples are stored") != (tt.more > 0) {
			t.Errorf("%+v: the page lacks %q:\n%s", tt, want, page)
		}
	}
}

// TestRunsOfAWorkingTree holds that runs of a working tree are told apart by branch, commit and
// selection, and that each is compared first with the last one before it of the same cases.
func TestRunsOfAWorkingTree(t *testing.T) {
	h := newHouse(t)
	run := func(id, branch, subject string, isSelected bool, cases int) {
		zero := 0.0
		h.run(id, &report.Report{
			Branch: branch, Subject: subject, Selected: isSelected, Gate: report.Gate{Result: "pass"},
			Summary: report.Summary{Verdicts: report.Verdicts{Cases: cases, Pass: cases}, CostUSD: &zero},
			Groups:  []report.Group{{Dialect: schema.DialectDomain, Path: []string{"math"}, Cases: cases}},
		})
	}
	run("one", "main", "First", false, 9)
	run("two", "greet", "Greets", true, 1)
	run("three", "greet", "Greets", false, 9)
	run("four", "greet", "Greets more", true, 1)
	run("five", "", "", false, 9)
	site := h.site(dashboard.Config{})
	page := get(t, site, "/", 200)
	for _, want := range []string{
		"<code>main</code>", "<code>greet</code>", "<code>worktree</code>", `<div class="small">Greets more</div>`, `1 pass <span class="note small">selected cases</span>`,
		`href="/compare?a=three&amp;b=five"`, `href="/compare?a=two&amp;b=four"`, `href="/compare?a=one&amp;b=three"`, `href="/compare?a=one&amp;b=two"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the list of runs lacks %s:\n%s", want, page)
		}
	}
	has(t, site, "/compare?a=one&b=three", "<code>main</code>", "<code>greet</code>")
	if strings.Contains(page, "$0") || strings.Count(page, "<code>worktree</code>") != 1 {
		t.Errorf("the list has a cost of nothing, or a head without its branch:\n%s", page)
	}
	for run, want := range map[string]string{"five": "three", "four": "two", "three": "one", "two": "one"} {
		page := get(t, site, "/runs/"+run, 200)
		if !strings.Contains(page, `<option value="`+want+`" selected>`) || strings.Count(page, " selected>") != 1 {
			t.Errorf("run %s is not compared with %s first:\n%s", run, want, page)
		}
	}
	if page := get(t, site, "/runs/one", 200); strings.Contains(page, " selected>") {
		t.Errorf("the first run is compared with a later one:\n%s", page)
	}
}

// TestErrorPages begin words with a capital letter, and no path or name.
func TestErrorPages(t *testing.T) {
	h := newHouse(t)
	site := h.site(dashboard.Config{})
	if page := get(t, site, "/runs/none", 404); !strings.Contains(page, "<p>The ledger does not have this run") {
		t.Errorf("the page begins with a small letter:\n%s", page)
	}
	h.run("r", report.Compare(reporttest.FirstRun().In))
	if page := get(t, site, "/runs/r?sort=colour", 400); !strings.Contains(page, "<p>sort=colour is unknown") {
		t.Errorf("the name of a parameter has a capital letter:\n%s", page)
	}
}
