package files_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/files"
	"github.com/gavel-evals/gavel/schema"
)

// TestPromptfoo covers a metric of two assertions, a case that nobody judged, a row that is
// not known any more, and cases that are left out.
func TestPromptfoo(t *testing.T) {
	pass, fail, skipped, down, half, three := verdict.Pass, verdict.Fail, verdict.Skipped, "the judge is down", 0.5, 3.0
	of := func(key string, v *verdict.Verdict) report.Row {
		return report.Row{Key: key, File: "m.yaml", Dialect: schema.DialectMatrix, Target: "bot", Verdict: v, Result: &report.Result{}}
	}
	first := of("m#a/p", &fail)
	first.Score, first.VerdictReason = &half, "too long"
	first.Result.Row = &schema.Row{Test: "a", Label: "p", Prompt: "{{q}}", Vars: map[string]json.RawMessage{"q": json.RawMessage(`"x"`)}, Asserts: []schema.RowAssertion{
		{Type: "contains", Metric: "words", Weight: &three}, {Type: "llm-rubric", Metric: "words"},
	}}
	first.Result.Evaluators = []verdict.EvaluatorResult{{Name: "words", Type: "assertion", Score: 1, Pass: true}, {Name: "words 2", Type: "llm-rubric", Reason: "too long"}}
	broken := of("m#b/p", nil)
	broken.Error = &down
	broken.Result.Row = &schema.Row{Test: "b", Label: "p", Prompt: "{{q}}"}
	broken.File = "tests/more.csv" // of the same definition
	other := of("x", &pass)
	other.Dialect = schema.DialectDomain
	r := &report.Report{Run: "r1", Cases: []report.Row{first, broken, of("m#gone", &pass), of("m#off", &skipped), other}}
	var out bytes.Buffer
	if err := files.WritePromptfoo(&out, r, time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		EvalID  string
		Results struct {
			Prompts []json.RawMessage
			Results []struct {
				PromptIdx, TestIdx, FailureReason int
				Success                           bool
				Score                             float64
				NamedScores                       map[string]float64
				Error                             string
			}
			Stats struct{ Successes, Failures, Errors int }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(doc.EvalID, " ", len(doc.Results.Prompts), " ", doc.Results.Results, " ", doc.Results.Stats)
	const want = "eval-r1-2026-03-05T12:00:00 2 [{0 0 1 false 0.5 map[words:0.75] too long} {0 1 2 false 0 map[] the judge is down} {1 2 0 true 0 map[] }] {1 1 1}"
	if got != want {
		t.Errorf("the document says\n%s, want\n%s", got, want)
	}
	if n := files.PromptfooLeftOut(r); n != 1 {
		t.Errorf("%d cases of other formats, want 1", n)
	}
}

// TestPromptfooAnswersThatAreCalls are written as the calls, as assertions were given them.
func TestPromptfooAnswersThatAreCalls(t *testing.T) {
	pass := verdict.Pass
	call := schema.ToolCall{ID: "1", Type: "function", Function: schema.FunctionCall{Name: "search", Arguments: "{}"}}
	c := report.Row{Key: "m#a", File: "m.yaml", Dialect: schema.DialectMatrix, Target: "bot", Verdict: &pass, Result: &report.Result{Row: &schema.Row{Test: "a", Prompt: "q"}}}
	c.Result.Transcript = &verdict.Transcript{Messages: []schema.Message{{Role: schema.RoleUser, Content: "q"}, {Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{call}}}}
	var out bytes.Buffer
	if err := files.WritePromptfoo(&out, &report.Report{Run: "r1", Cases: []report.Row{c}}, time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Results struct {
			Results []struct{ Response struct{ Output string } }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	const want = `[{"id":"1","type":"function","function":{"name":"search","arguments":"{}"}}]`
	if got := doc.Results.Results[0].Response.Output; got != want {
		t.Errorf("the output is %s, want %s", got, want)
	}
}
