package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/report"
)

// TestResultsOfTheExample holds that a run and one that reuses its verdicts write
// the same results, a line for each case of the format.
func TestResultsOfTheExample(t *testing.T) {
	needsIsolation(t)
	dir := example(t, "evalcase")
	var first string
	for range 2 {
		results, summary := filepath.Join(t.TempDir(), "results.jsonl"), filepath.Join(t.TempDir(), "summary.json")
		stdout, stderr, _ := gavel(t, dir, "run", "--json", "--results", results, "--summary", summary)
		lines := map[string]map[string]any{}
		data, err := os.ReadFile(results)
		if err != nil {
			t.Fatalf("gavel ended with %v, want success; stderr: %s", err, stderr)
		}
		for line := range bytes.Lines(data) {
			var l map[string]any
			if err := json.Unmarshal(line, &l); err != nil {
				t.Fatal(err)
			}
			delete(l, "timestamp")
			lines[l["evalId"].(string)] = l
		}
		if len(lines) != 8 {
			t.Errorf("%d lines, want 8: %s", len(lines), data)
		}
		order, review := lines["where-is-my-order"], lines["code-review-security"]
		if order["dataset"] != "support" || order["verdict"] != "borderline" || order["candidateAnswer"] != "Your order A-1042 arrives on 5 March." || order["target"] != "assistant" {
			t.Errorf("the line is %v", order)
		}
		if trace, _ := order["traceSummary"].(map[string]any); trace["eventCount"] != 1.0 {
			t.Errorf("the trace is %v", order["traceSummary"])
		}
		text, err := json.Marshal(review["evaluatorResults"])
		if err != nil || !strings.Contains(string(text), `"aggregator":"safety_gate"`) || !strings.Contains(string(text), `"weight":3`) {
			t.Errorf("the results of the evaluators are %s", text)
		}
		var summaries []struct{ Suite string }
		if data, err := os.ReadFile(summary); err != nil || json.Unmarshal(data, &summaries) != nil || len(summaries) != 4 {
			t.Errorf("the summaries are %s (%v)", data, err)
		}
		checkEvaluators(t, stdout)
		all, err := json.Marshal(lines)
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(all)
		} else if first != string(all) {
			t.Errorf("reused verdicts have the results\n%s\nand had\n%s", all, first)
		}
	}
	_, stderr, code := gavel(t, dir, "run", "--results", "x.jsonl", "--results-format", "csv")
	if code != exitUsage || !strings.Contains(stderr, "write agentevals, promptfoo or skill") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// checkEvaluators looks for score and weight of each evaluator in a report.
func checkEvaluators(t *testing.T, stdout string) {
	t.Helper()
	var r report.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Cases {
		if row.Key != "support#where-is-my-order" {
			continue
		}
		got, err := json.Marshal(row.Evaluators)
		const want = `[{"name":"calls","type":"tool_trajectory","score":0.5,"weight":1,"pass":false},` +
			`{"name":"answer","type":"llm_judge","score":0.6,"weight":2,"pass":false},{"name":"effort","type":"execution_metrics","score":1,"weight":1,"pass":true}]`
		if err != nil || string(got) != want {
			t.Errorf("the evaluators are\n%s, want\n%s", got, want)
		}
	}
}

// TestResultsListSamples holds that the line of a case with several samples has each of them,
// also where the verdict is reused, and that lines say where a case went wrong.
func TestResultsListSamples(t *testing.T) {
	dir := t.TempDir()
	gittest.Init(t, dir, "master")
	gittest.Commit(t, dir, map[string]string{
		"gavel.yaml": "version: 1\ntargets: {bot: {provider: mock, replies: [{match: Hello, reply: Hello}]}}\n",
		"test_definitions/a.eval.yaml": `execution: {trials: {count: 2, strategy: mean}}
tests:
- {id: good, input: Hello, assertions: [{type: equals, value: Hello}]}
- {id: bad, input: Hello, assertions: [{type: equals, value: Bye}]}
- {id: unasked, input: Nothing, assertions: [{type: equals, value: Bye}]}
- {id: unmeasured, input: Hello, assertions: [{type: cost, threshold: 1, budget: 1}]}
`,
	})
	type outcome struct {
		Status string  `json:"execution_status"`
		Stage  string  `json:"failure_stage"`
		Code   string  `json:"failure_reason_code"`
		Score  float64 `json:"score"`
	}
	type line struct {
		outcome
		ID      string    `json:"test_id"`
		Samples []outcome `json:"samples"`
	}
	good, bad := outcome{Status: "ok", Score: 1}, outcome{Status: "quality_failure", Stage: "evaluator", Code: "threshold_not_met"}
	want := map[string]line{
		"good":       {good, "good", []outcome{good, good}},
		"bad":        {bad, "bad", []outcome{bad, bad}},
		"unasked":    {outcome{Status: "execution_error", Stage: "agent", Code: "provider_error"}, "unasked", nil},
		"unmeasured": {outcome{Status: "execution_error", Stage: "evaluator", Code: "evaluator_error"}, "unmeasured", nil},
	}
	for _, when := range []string{"first", "reused"} {
		file := filepath.Join(t.TempDir(), "results.jsonl")
		_, stderr, _ := gavel(t, dir, "run", "--results", file)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("no results: %v; stderr: %s", err, stderr)
		}
		got := map[string]line{}
		for raw := range bytes.Lines(data) {
			var l line
			if err := json.Unmarshal(raw, &l); err != nil {
				t.Fatal(err)
			}
			got[l.ID] = l
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(line{})); diff != "" {
			t.Errorf("the lines of the %s run (-want +got):\n%s", when, diff)
		}
	}
}
