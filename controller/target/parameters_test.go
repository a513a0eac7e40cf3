package target

import (
	"encoding/json"
	"testing"
)

// TestParametersOfTools are sent only with tools.
func TestParametersOfTools(t *testing.T) {
	parameters := map[string]json.RawMessage{"tool_choice": json.RawMessage(`"required"`), "seed": json.RawMessage("1")}
	for _, tt := range []struct {
		request chatRequestBody
		want    string
	}{
		{chatRequestBody{Model: "m"}, `{"messages":null,"model":"m","seed":1}`},
		{chatRequestBody{Model: "m", Tools: []chatTool{{Type: "function", Function: wireTool{Name: "a"}}}}, `{"messages":null,"model":"m","seed":1,"tool_choice":"required","tools":[{"type":"function","function":{"name":"a"}}]}`},
	} {
		got, err := encodeRequest(tt.request, parameters, 0)
		if err != nil || string(got) != tt.want {
			t.Errorf("the request is %s, %v, want %s", got, err, tt.want)
		}
	}
}
