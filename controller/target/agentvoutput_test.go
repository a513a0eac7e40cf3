package target

import (
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/verdict"
)

// TestAgentVMeasures: the cost of a call in a program's output is the call's; an
// impossible cost is an error, and a negative one counts as missing.
func TestAgentVMeasures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		said    string
		usage   verdict.Usage
		latency time.Duration
		wrong   string
	}{
		{`"token_usage": {"input": 3, "output": 4, "cached": 1}, "cost_usd": 0, "duration_ms": 1.5`, verdict.Usage{Calls: 1, InputTokens: 3, OutputTokens: 4, Told: 1}, 1500 * time.Microsecond, ""},
		{`"cost_usd": -1, "duration_ms": -1`, verdict.Usage{Calls: 1}, 0, ""},
		{`"cost_usd": 1e300`, verdict.Usage{}, 0, "cost_usd is 1e+300, which no call comes to"},
		{`"duration_ms": 1e300`, verdict.Usage{}, 0, "duration_ms is 1e+300, which no call comes to"},
		{`"token_usage": {"input": 1e300, "output": 1}`, verdict.Usage{}, 0, "token_usage.input is 1e+300, which no call comes to"},
	} {
		got, err := agentvReply([]byte(`{"text": "hi", ` + tt.said + `}`))
		switch {
		case tt.wrong != "":
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s: the error is %v, want one with %q", tt.said, err, tt.wrong)
			}
		case err != nil || got.Usage != tt.usage || got.Latency != tt.latency:
			t.Errorf("%s: %+v in %v (%v), want %+v in %v", tt.said, got.Usage, got.Latency, err, tt.usage, tt.latency)
		}
	}
}

// TestAgentVOutputThatIsText: JSON of another form is the answer itself, as AgentV has it.
func TestAgentVOutputThatIsText(t *testing.T) {
	t.Parallel()
	for _, printed := range []string{
		`{"answer": 1}`, `[1]`, `null`, `"text"`, `{"output": []}`, `{"output": "x"}`, `{"output": [{"content": "no role"}]}`,
		`{"output": [{"role": "assistant", "tool_calls": [{"name": "no tool"}]}]}`, `{"text": "x", "cost_usd": null}`,
		`{"text": "x", "token_usage": {"input": 1}}`, `{"text": "x", "duration_ms": "1"}`, `{"Text": "x"}`, `{"text": "x"} and more`,
		"hello\n", " hello \r\n\n", " \n", "",
	} {
		got, err := agentvReply([]byte(printed))
		if err != nil || len(got.Messages) != 1 || got.Messages[0].Content != printed || got.Traced || got.Usage != (verdict.Usage{Calls: 1}) {
			t.Errorf("%s is read as %+v (%v), want the text", printed, got, err)
		}
	}
}

// TestAgentVMessageWithCalls has a text that comes with calls of tools: one message, whose
// text is the answer and follows the results.
func TestAgentVMessageWithCalls(t *testing.T) {
	t.Parallel()
	calls := `"tool_calls": [{"tool": "get", "input": {}, "output": "x"}]`
	for said, want := range map[string]string{
		`{"role": "assistant", "content": "hi", ` + calls + `}`:                                                          "assistant, tool, assistant hi with these calls",
		`{"role": "assistant", "content": "", ` + calls + `}, {"role": "assistant", "content": "hi"}`:                    "assistant, tool, assistant hi",
		`{"role": "assistant", "content": "wait", ` + calls + `}, {"role": "assistant", "content": "hi", ` + calls + `}`: "assistant wait, tool, assistant, tool, assistant hi with these calls",
	} {
		got, err := agentvReply([]byte(`{"output": [` + said + `]}`))
		if err != nil {
			t.Fatalf("%s: %v", said, err)
		}
		var parts []string
		for _, m := range got.Messages {
			part := m.Role
			if m.Role == "assistant" && m.Content != "" {
				part += " " + m.Content
			}
			if m.Rest {
				part += " with these calls"
			}
			parts = append(parts, part)
		}
		if is := strings.Join(parts, ", "); is != want {
			t.Errorf("%s: %s, want %s", said, is, want)
		}
	}
}
