package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/report"
)

// TestResultsOfTheExample holds that a run and one that reuses its verdicts write
// the same results, a line for each case of the format.
func TestResultsOfTheExample(t *testing.T) {
	needsIsolation(t)
	dir := repositoryOf(t, "evalcase")
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
	if code != exitUsage || !strings.Contains(stderr, "write agentevals or promptfoo") {
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
