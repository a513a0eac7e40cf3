package target

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
)

// TestAgentsDescribeThemselves reads an agent's own description, in the forms that
// agents use; other forms are not its tools.
func TestAgentsDescribeThemselves(t *testing.T) {
	get := []schema.Tool{{Name: "get", Description: "Gets.", Parameters: json.RawMessage(`{"type":"object"}`)}}
	for _, tt := range []struct {
		metadata string
		want     Reply
	}{
		{`{}`, Reply{}},
		{`{"system_prompt":"Be kind.","tools":[{"name":"get","description":"Gets.","parameters":{"type":"object"}}]}`, Reply{System: "Be kind.", Tools: get}},
		{`{"tools":[{"type":"function","function":{"name":"get","description":"Gets.","parameters":{"type":"object"}}}]}`, Reply{Tools: get}},
		{`{"tools":["get","put"]}`, Reply{Tools: []schema.Tool{{Name: "get"}, {Name: "put"}}}},
		{`{"system_prompt":null,"tools":null}`, Reply{}},
		{`{"system_prompt":["a","b"],"tools":{}}`, Reply{System: `["a","b"]`}},
		{`{"tools":[1]}`, Reply{}},
		{`{"tools":[{"description":"without name"}]}`, Reply{}},
		{`{"tools":"get"}`, Reply{}},
	} {
		got, err := agentReply([]byte(`{"messages":[{"role":"assistant","content":"Hi."}],"metadata":` + tt.metadata + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, Reply{System: got.System, Tools: got.Tools}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.metadata, diff)
		}
	}
}

// TestScrubbedLeavesNoSecret puts one into every text of a reply.
func TestScrubbedLeavesNoSecret(t *testing.T) {
	reply := Reply{
		Model: "s3cret", Revision: "s3cret", System: "a s3cret",
		Tools: []schema.Tool{{Name: "s3cret", Description: "s3cret", Parameters: json.RawMessage(`{"a":"s3cret"}`)}},
		Messages: []schema.Message{{
			Role: "assistant", Content: "s3cret", Name: "s3cret", ToolCallID: "s3cret", Opaque: json.RawMessage(`"s3cret"`),
			ToolCalls: []schema.ToolCall{{ID: "s3cret", Function: schema.FunctionCall{Name: "s3cret", Arguments: "s3cret"}}},
		}},
	}
	clean := reply.Scrubbed(func(s string) string { return strings.ReplaceAll(s, "s3cret", "-") })
	raw, err := json.Marshal(clean)
	if err != nil || strings.Contains(string(raw), "s3cret") {
		t.Errorf("read %s, %v, want it without the secret", raw, err)
	}
	if raw, _ := json.Marshal(reply); strings.Count(string(raw), "s3cret") != 13 {
		t.Errorf("the reply itself was changed: %s", raw)
	}
}
