package target

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
)

// TestAgentsDescribeThemselves reads what an agent says of itself, in the forms
// that agents use; what is in none of them is not its tools.
func TestAgentsDescribeThemselves(t *testing.T) {
	get := []schema.Tool{{Name: "get", Description: "Gets.", Parameters: json.RawMessage(`{"type":"object"}`)}}
	for metadata, want := range map[string]Reply{
		`{}`: {},
		`{"system_prompt":"Be kind.","tools":[{"name":"get","description":"Gets.","parameters":{"type":"object"}}]}`:     {System: "Be kind.", Tools: get},
		`{"tools":[{"type":"function","function":{"name":"get","description":"Gets.","parameters":{"type":"object"}}}]}`: {Tools: get},
		`{"tools":["get","put"]}`:                    {Tools: []schema.Tool{{Name: "get"}, {Name: "put"}}},
		`{"system_prompt":null,"tools":null}`:        {},
		`{"system_prompt":["a","b"],"tools":{}}`:     {System: `["a","b"]`},
		`{"tools":[1]}`:                              {},
		`{"tools":[{"description":"without name"}]}`: {},
		`{"tools":"get"}`:                            {},
	} {
		got, err := agentReply([]byte(`{"messages":[{"role":"assistant","content":"Hi."}],"metadata":` + metadata + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, Reply{System: got.System, Tools: got.Tools}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", metadata, diff)
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
