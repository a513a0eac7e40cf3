package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/explain"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/golden"
)

// TestPromptvalExample runs the example of the promptval dialect against its
// recordings.
func TestPromptvalExample(t *testing.T) {
	_, report := judgeExample(t, "promptval", map[string]string{
		"invoices/totals":      "fail 0.00 of 10 120 and 240 are 360 and not 380; the check does not see it.",
		"plans/no_hotel":       "fail 9.00 of 10 search_hotels was called once, expected never",
		"plans/rainy_day":      "pass 8.50 of 10 passed on attempt 2: Times and ways are there.",
		"plans/shorter_prompt": "pass 6.50 of 10 The opening hours are missing. (6 of 6 samples pass)",
		"plans/tone":           "pass 8.75 of 10 Friendly, and right for March. (2 of 2 samples pass)",
		"plans/weekend":        "pass 8.85 of 10 A plan that can be followed; nothing is said about dinner. (2 of 2 samples pass)",
	})
	samples := map[string]int{}
	for _, row := range report.Cases {
		samples[row.Key] = row.Samples
		switch row.Key {
		case "plans/no_hotel":
			if !row.NoThreshold {
				t.Error("a case without a threshold is not marked")
			}
		case "plans/shorter_prompt":
			if c := row.Comparison; c.Winner != "B" || c.Pairs != 6 || len(c.Criteria) != 2 {
				t.Errorf("contest %+v", c)
			}
		}
	}
	if diff := cmp.Diff(map[string]int{
		"invoices/totals": 1, "plans/no_hotel": 1, "plans/rainy_day": 1, "plans/shorter_prompt": 6, "plans/tone": 2, "plans/weekend": 2,
	}, samples); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

// TestPromptvalIsTold holds what people read of attempts and comparisons, on
// the terminal and in a comment.
func TestPromptvalIsTold(t *testing.T) {
	dir := example(t, "promptval")
	comment := filepath.Join(t.TempDir(), "comment.md")
	stdout, _, _ := gavel(t, dir, "run", "--markdown", comment)
	report, _, _ := strings.Cut(stdout, "\n\n")
	explained, _, _ := gavel(t, dir, "explain", "plans/rainy_day", "--prompts")
	golden.Compare(t, "testdata/promptval.txt", report+"\n\n"+explained)
	short, _, _ := gavel(t, dir, "explain", "plans/rainy_day")
	if strings.Contains(short, "\n    | ") || !strings.Contains(short, "--prompts adds what judges were asked") || len(short) >= len(explained) {
		t.Errorf("explain shows prompts that nobody asked for:\n%s", short)
	}
	data, err := os.ReadFile(comment)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"**9.00/10 (no threshold)**", "passed on attempt 2 with a prompt that was rewritten",
		"```diff\n+ You plan days for travellers.\n+ Give every stop a time", "| Hours | 4.00 | 9.00 | +5.00 | +4.57 … +5.43 |",
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the comment does not say %q:\n%s", want, data)
		}
	}
}

// TestPromptvalMessages holds the exact messages that the target, the judge and
// the editor are sent. The delimiters, which nobody can guess, are shown as ␀.
func TestPromptvalMessages(t *testing.T) {
	dir := example(t, "promptval")
	runExample(t, dir)
	golden.Compare(t, "testdata/promptval_messages.txt", messages(t, dir, "plans/rainy_day", "invoices/totals", "plans/tone"))
}

// messages are all that was sent and answered in cases that were run.
func messages(t *testing.T, dir string, keys ...string) string {
	t.Helper()
	var b strings.Builder
	for _, key := range keys {
		stdout, stderr, code := gavel(t, dir, "explain", key, "--json")
		var got explain.Case
		if err := json.Unmarshal([]byte(stdout), &struct {
			Calls *[]explain.Call `json:"calls"`
		}{&got.Calls}); err != nil || code != exitPass {
			t.Fatalf("%v, exit code %d, %s", err, code, stderr)
		}
		for _, call := range got.Calls {
			writeCall(t, &b, key, call)
		}
	}
	return strings.ReplaceAll(b.String(), target.Mark, "␀")
}

func writeCall(t *testing.T, b *strings.Builder, key string, call explain.Call) {
	t.Helper()
	var req struct {
		System   string           `json:"system"`
		Messages []schema.Message `json:"messages"`
		Tools    []schema.Tool    `json:"tools"`
	}
	var reply struct {
		Messages []schema.Message `json:"messages"`
		Usage    verdict.Usage    `json:"usage"`
	}
	for _, tt := range []struct {
		raw  *json.RawMessage
		into any
	}{{&call.Request, &req}, {&call.Reply, &reply}} {
		if err := json.Unmarshal(*tt.raw, tt.into); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Fprintf(b, "===== %s, %s: to the %s\n", key, explain.SampleName(call.Ordinal, call.Variant), call.Role)
	if req.System != "" {
		fmt.Fprintf(b, "--- system\n%s\n", req.System)
	}
	for _, tool := range req.Tools {
		var parameters bytes.Buffer
		if err := json.Compact(&parameters, tool.Parameters); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(b, "--- tool %s: %s %s\n", tool.Name, tool.Description, &parameters)
	}
	for _, m := range req.Messages {
		writeMessage(b, m.Role, m)
	}
	for _, m := range reply.Messages {
		writeMessage(b, "the reply, "+m.Role, m)
	}
	b.WriteString("\n")
}

func writeMessage(b *strings.Builder, title string, m schema.Message) {
	fmt.Fprintf(b, "--- %s\n", title)
	if m.Content != "" || len(m.ToolCalls) == 0 {
		fmt.Fprintln(b, m.Content)
	}
	for _, call := range m.ToolCalls {
		fmt.Fprintf(b, "calls %s %s\n", call.Function.Name, call.Function.Arguments)
	}
}
