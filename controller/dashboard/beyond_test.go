package dashboard_test

import (
	"fmt"
	"slices"
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

// TestGroupsBeyondAPage are counted below the table.
func TestGroupsBeyondAPage(t *testing.T) {
	h, s := newHouse(t), reporttest.New()
	for i := range 123 {
		s.Add(fmt.Sprintf("domain_%03d/1/a", i), nil, reporttest.Pass(1), reporttest.Definition())
	}
	h.run("run-1", report.Compare(s.In))
	has(t, h.site(dashboard.Config{}), "/runs/run-1", "domain_099", ">mean of the rows<", `<p class="note">and 23 more</p>`)
}

// TestTargetsBeyondAPage are counted below the table.
func TestTargetsBeyondAPage(t *testing.T) {
	h, r := newHouse(t), targetsReport()
	pass := verdict.Pass
	for i := range 25 {
		name := fmt.Sprintf("t%02d", i)
		r.Targets = append(r.Targets, report.TargetTally{Target: name, Score: pointer(1.0)})
		r.Cases = append(r.Cases, report.Row{Key: "a", Target: name, PerTarget: true, Action: plan.Run, Verdict: &pass, Score: pointer(1.0)})
	}
	h.run("run-1", r)
	has(t, h.site(dashboard.Config{}), "/runs/run-1/targets", "<p class=\"note\">and 7 more columns</p>")
}

// TestEvaluatorsBeyondAPage: a case with more of them than are compared is counted.
func TestEvaluatorsBeyondAPage(t *testing.T) {
	h, r := newHouse(t), abReport()
	for i := range 30 {
		r.Cases[0].Evaluators = append(r.Cases[0].Evaluators, report.EvaluatorScore{Name: fmt.Sprintf("e%d", i), Pass: true})
	}
	h.run("run-1", r)
	has(t, h.site(dashboard.Config{}), "/runs/run-1/judges", `Of 1 case only the first 24 evaluators are compared.`, "more</p>")
}

// TestACaseBeyondAPage: notes, criteria, calls, turns and samples that a page has no room for are
// counted on it.
func TestACaseBeyondAPage(t *testing.T) {
	h := newHouse(t)
	r := report.Compare(reporttest.Regressions().In)
	at := slices.IndexFunc(r.Cases, func(row report.Row) bool { return row.Key == "support/3/refund_window" })
	digest, score := r.Cases[at].Digest, 0.4
	var said verdict.Transcript
	for i := range 45 {
		said.Notes = append(said.Notes, fmt.Sprint("note ", i))
	}
	calls := slices.Repeat([]schema.ToolCall{{Function: schema.FunctionCall{Name: "f", Arguments: "{}"}}}, 107)
	said.Messages = append(said.Messages, schema.Message{Role: schema.RoleAssistant, Content: "x", ToolCalls: calls})
	for range 209 {
		said.Messages = append(said.Messages, schema.Message{Role: schema.RoleUser, Content: "x"})
	}
	var criteria []verdict.Criterion
	for i := range 108 {
		criteria = append(criteria, verdict.Criterion{ID: fmt.Sprint("c", i), Score: 1})
	}
	outcome := ledger.Outcome{
		Trust: ledger.Trust{Level: ledger.LevelOperator}, Digests: plan.Digests{E: "e", J: "j", D: digest}, Case: "refund",
		Decision: &ledger.Decision{Result: verdict.Result{Verdict: verdict.Fail, Score: &score, Samples: 13}, Samples: 13},
	}
	for i := range 13 {
		execution, judged := ledger.Execution{Ordinal: i}, ledger.Judgement{Sample: verdict.Sample{Ordinal: i}}
		if i == 12 { // the newest is shown first
			execution.Transcript, judged.Sample.Measurements = said, []verdict.Measurement{{Evaluator: "e", Criteria: criteria}}
		}
		outcome.Executions, outcome.Samples = append(outcome.Executions, execution), append(outcome.Samples, judged)
	}
	h.now = h.now.Add(time.Minute)
	if err := h.ledger.Save(t.Context(), outcome); err != nil {
		t.Fatal(err)
	}
	h.run("run-1", r)
	has(t, h.site(dashboard.Config{}), "/runs/run-1/case?name=support/3/refund_window",
		"and 5 more notes", "7 more calls are stored", "10 more turns are stored", "8 more criteria are stored", "3 more samples are stored")
}
