package verdict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

func TestThought(t *testing.T) {
	for _, tt := range []struct{ content, reasoning, thinking, answer string }{
		{"105", "", "", "105"},
		{"<think>15 × 7 is 106?</think>\n\n105", "", "15 × 7 is 106?", "105"},
		{" \n<THINK>\nhm\n</THINK>105 ", "", "hm", "105"},
		{"<think>a</think><think>b</think>c", "", "a\n\nb", "c"},
		{"<think>the answer is 105", "", "the answer is 105", ""},
		{"<think></think>105", "", "", "105"},
		{"105 <think>was it?</think>", "", "", "105 <think>was it?</think>"},
		{"<thinker> 105", "", "", "<thinker> 105"},
		{"105", "15 × 7", "15 × 7", "105"},
		{"<think>b</think>105", "a", "a\n\nb", "105"},
	} {
		thinking, answer := verdict.Thought(schema.Message{Role: schema.RoleAssistant, Content: tt.content, Reasoning: tt.reasoning})
		if thinking != tt.thinking || answer != tt.answer {
			t.Errorf("%q has the thinking %q and the answer %q, want %q and %q", tt.content, thinking, answer, tt.thinking, tt.answer)
		}
	}
	user := schema.Message{Role: schema.RoleUser, Content: "<think>What is this tag?"}
	if thinking, text := verdict.Thought(user); thinking != "" || text != user.Content {
		t.Errorf("a user's message has the thinking %q and the text %q, want it whole", thinking, text)
	}
}

// TestJudged keeps turns and the stored form, and an answer with nothing but thinking
// is empty, whatever came before.
func TestJudged(t *testing.T) {
	say := func(content string) schema.Message {
		return schema.Message{Role: schema.RoleAssistant, Content: content}
	}
	user := schema.Message{Role: schema.RoleUser, Content: "q"}
	stored := &verdict.Transcript{Messages: []schema.Message{user, say("first"), user, say("<think>second")}}
	judged := stored.Judged()
	if got := judged.Final(); got != "" || stored.Final() != "" {
		t.Errorf("the answer is %q, want it empty", got)
	}
	if len(judged.Messages) != 4 || judged.Messages[3].Content != "" || stored.Messages[3].Content != "<think>second" {
		t.Errorf("judged are %+v, stored are %+v", judged.Messages, stored.Messages)
	}
	if diff := cmp.Diff(judged, judged.Judged()); diff != "" {
		t.Errorf("judged twice (-once +twice):\n%s", diff)
	}
	plain := &verdict.Transcript{Messages: []schema.Message{user, say("first"), say("")}}
	if plain.Judged() != plain || plain.Final() != "first" {
		t.Errorf("a transcript without thinking is another, or its answer is %q", plain.Final())
	}
}

// TestCalls are the answer of a reply that says nothing besides, and a part of it next to a
// text, as promptfoo 0.123.1 gives it; what an example in the prompt said is not.
func TestCalls(t *testing.T) {
	call := schema.ToolCall{ID: "1", Type: "function", Function: schema.FunctionCall{Name: "search", Arguments: `{"q":"<b>"}`}}
	const calls = `[{"id":"1","type":"function","function":{"name":"search","arguments":"{\"q\":\"<b>\"}"}}]`
	for _, tt := range []struct{ content, reasoning, want string }{
		{"", "", calls},
		{"\n", "", calls},
		{"<think>which tool?</think>\n", "", calls},
		{"", "which tool?", calls},
		{"I <look>.", "", `{"role":"assistant","content":"I <look>.","tool_calls":` + calls + `}`},
		{"I look.", "which tool?", ""},
		{"<think>which tool?</think>I look.", "", ""},
	} {
		reply := schema.Message{Role: schema.RoleAssistant, Content: tt.content, Reasoning: tt.reasoning, ToolCalls: []schema.ToolCall{call}}
		tr := &verdict.Transcript{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: "an example"}, {Role: schema.RoleUser, Content: "q"}, reply}}
		if got := tr.Calls(); got != tt.want {
			t.Errorf("the calls next to %q are %q, want %q", tt.content, got, tt.want)
		}
	}
	silent := &verdict.Transcript{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: "x"}}}
	if got := silent.Calls(); got != "" {
		t.Errorf("a reply without calls has the calls %q", got)
	}
}
