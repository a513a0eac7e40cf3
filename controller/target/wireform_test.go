package target

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEncodeSendsEachFieldOnce holds that a parameter replaces a field of its
// name, and that all JSON from outside is sent as it is written.
func TestEncodeSendsEachFieldOnce(t *testing.T) {
	request := messagesRequest{Model: "m", MaxTokens: 7, Messages: []messagesTurn{}}
	parameters := map[string]json.RawMessage{
		"max_tokens": json.RawMessage("12345678901234567890"), "seed": json.RawMessage("0.70"),
	}
	const plain = `{"model":"m","max_tokens":7,"messages":[]}`
	const replaced = `{"max_tokens":12345678901234567890,"messages":[],"model":"m","seed":0.70}`
	for _, tt := range []struct {
		parameters map[string]json.RawMessage
		want       string
	}{{nil, plain}, {parameters, replaced}} {
		got, err := encodeRequest(request, tt.parameters, 0)
		if err != nil || string(got) != tt.want {
			t.Errorf("encoded %s, %v; want %s", got, err, tt.want)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	tests := []struct {
		name       string
		request    any
		parameters map[string]json.RawMessage
		want       string
	}{
		{"a schema that is not JSON", wireTool{Parameters: json.RawMessage("{")}, nil, "unexpected end of JSON input"},
		{"a parameter that is not JSON", wireTool{}, map[string]json.RawMessage{"a": json.RawMessage("{")}, "unexpected end of JSON input"},
		{"a request that is not an object", "a", map[string]json.RawMessage{"a": json.RawMessage("1")}, "a request has to be an object"},
	}
	for _, tt := range tests {
		if body, err := encodeRequest(tt.request, tt.parameters, 0); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: encoded %s with error %v, want %q", tt.name, body, err, tt.want)
		}
	}
}

// TestDecodeTakesWhatServersSend holds that a field of another type than
// expected costs no other field of a reply.
func TestDecodeTakesWhatServersSend(t *testing.T) {
	type read struct {
		Model, Content, Arguments string
		Prompt, Completion        int64
	}
	tests := []struct {
		name, body string
		want       read
	}{
		{
			"as documented", `{"model":"m","choices":[{"message":{"content":"Hi.","tool_calls":[{"function":{"arguments":"{}"}}]}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
			read{"m", "Hi.", "{}", 1, 2},
		},
		{
			"arguments and content as JSON", `{"model":"m","choices":[{"message":{"content":[{"a": 1}],"tool_calls":[{"function":{"arguments":{"city": "Bern"}}}]}}]}`,
			read{"m", `[{"a": 1}]`, `{"city": "Bern"}`, 0, 0},
		},
		{
			"null and other types everywhere", `{"id":7,"model":null,"object":[],"choices":[{"index":"a","message":{"content":null,"tool_calls":[{"function":null}]},"finish_reason":1}],"usage":{"prompt_tokens":"12","completion_tokens":3.0,"total_tokens":{}}}`,
			read{"", "", "", 12, 3},
		},
		{
			"counts that cannot be", `{"choices":[{"message":{"content":"Hi.","tool_calls":[{}]}}],"usage":{"prompt_tokens":-5,"completion_tokens":1e300}}`,
			read{"", "Hi.", "", 0, 1 << 40},
		},
		{
			"a list of another type", `{"model":"m","choices":[{"message":{"content":"Hi.","tool_calls":[7]}}],"usage":[]}`,
			read{"m", "Hi.", "", 0, 0},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var reply chatReplyBody
			if err := decodeReply([]byte(tt.body), &reply); err != nil {
				t.Fatalf("decode: %v", err)
			}
			message, content := reply.Choices[0].Message, ""
			if message.Content != nil {
				content = string(*message.Content)
			}
			got := read{
				string(reply.Model), content, string(message.ToolCalls[0].Function.Arguments),
				int64(reply.Usage.Prompt), int64(reply.Usage.Completion),
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("read the reply wrongly (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{"", "EOF"},
		{"<!doctype", "invalid character '<'"},
		{`{"choices":[`, "unexpected EOF"},
		{`{"model":"a"}}`, ""},
		{`[]`, ""},
	} {
		err := decodeReply([]byte(tt.body), &chatReplyBody{})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want %q", tt.body, err, tt.want)
		}
	}
}

// TestBlocksGoBackAsTheyCame holds that what a model signed keeps every byte
// that counts, known or not.
func TestBlocksGoBackAsTheyCame(t *testing.T) {
	const came = `[{"type":"thinking","signature":"c2ln","new":{"z":1,"a":[]}},{"type":"hologram"}]`
	var blocks []messageBlock
	if err := json.Unmarshal([]byte(came), &blocks); err != nil {
		t.Fatalf("decode blocks: %v", err)
	}
	back, err := json.Marshal(blocks)
	if err != nil || string(back) != came {
		t.Errorf("encoded %s, %v; want %s", back, err, came)
	}
	for _, bad := range []string{`[7]`, `[null]`, `[[]]`, `{}`} {
		if err := json.Unmarshal([]byte(bad), &blocks); err == nil {
			t.Errorf("%s was decoded as blocks", bad)
		}
	}
}

// FuzzDecode reads what a hostile server answers: an error, or a reply whose
// counts are safe to add up.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"model":"m","choices":[{"message":{"content":"Hi."}}],"usage":{"prompt_tokens":1}}`))
	f.Add([]byte(`{"output":[{"type":"message","content":[{"text":"Hi."}]}],"usage":{"input_tokens":"9"}}`))
	f.Add([]byte(`{"content":[{"type":"text","text":"Hi."},7],"usage":{"input_tokens":1e999}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var chat chatReplyBody
		var responses responsesReplyBody
		var messages messagesReply
		for _, reply := range []any{&chat, &responses, &messages} {
			if err := decodeReply(body, reply); err != nil {
				return
			}
		}
		messages.Blocks()
		for _, n := range []wireCount{chat.Usage.Total, responses.Usage.Input, messages.Usage.CacheRead} {
			if n < 0 || n > 1<<40 {
				t.Errorf("%s: a count of %d", body, n)
			}
		}
	})
}

// TestFinish: the reasons of all providers by the names of one.
func TestFinish(t *testing.T) {
	for _, tt := range []struct{ reason, want looseText }{
		{"stop", "stop"}, {"length", "length"}, {"content_filter", "content_filter"}, {"tool_calls", "tool_calls"}, {"function_call", "tool_calls"},
		{"end_turn", "stop"}, {"stop_sequence", "stop"}, {"max_tokens", "length"}, {"MAX_TOKENS", "length"}, {"tool_use", "tool_calls"}, {"refusal", "refusal"},
		{"content_filter: SAFETY", "content_filter"}, {"", ""},
	} {
		if got := finishReason(tt.reason); got != string(tt.want) {
			t.Errorf("%q is %q, want %q", tt.reason, got, tt.want)
		}
	}
}

// TestSingle reads the replies of the APIs that make one value of a text.
func TestSingle(t *testing.T) {
	for _, tt := range []struct {
		name        string
		api         singleRequest
		reply, want string // empty for an error
	}{
		{"an embedding", embeddingsRequest(), `{"data": [{"embedding": [0.5, 1]}], "model": "e"}`, "[0.5,1]"},
		{"no embedding", embeddingsRequest(), `{"data": []}`, ""},
		{"nothing flagged", moderationsRequest(), `{"results": [{"flagged": false, "categories": {"hate": false}, "category_scores": {"hate": 0.2}}]}`, "{}"},
		{"harm", moderationsRequest(), `{"results": [{"categories": {"hate": true, "violence": false}, "category_scores": {"hate": 0.9, "violence": 0.1}}]}`, `{"hate":0.9}`},
		{"no results", moderationsRequest(), `{"error": "x"}`, ""},
		{"labels of one of several texts", classificationRequest(), `[[{"label": "a", "score": 0.9}, {"label": "b", "score": 0.1}]]`, `{"a":0.9,"b":0.1}`},
		{"labels of a text", classificationRequest(), `[{"label": "a", "score": 0.9}]`, `{"a":0.9}`},
		{"an error", classificationRequest(), `{"error": "loading"}`, ""},
		{"no labels", classificationRequest(), `[]`, ""},
	} {
		got, err := tt.api.Read([]byte(tt.reply))
		if got.Value != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q, %v, want %q", tt.name, got.Value, err, tt.want)
		}
	}
}

// TestRoom: a limit on the tokens of a reply is doubled, a configured one and a protocol's own; a
// request without one stays as it is.
func TestRoom(t *testing.T) {
	for _, tt := range []struct {
		request    any
		parameters map[string]json.RawMessage
		room       int
		want       string
	}{
		{map[string]any{"a": 1}, map[string]json.RawMessage{"max_tokens": json.RawMessage("100")}, 0, `{"a":1,"max_tokens":100}`},
		{map[string]any{"a": 1}, map[string]json.RawMessage{"max_tokens": json.RawMessage("100")}, 1, `{"a":1,"max_tokens":200}`},
		{map[string]any{"a": 1}, map[string]json.RawMessage{"max_output_tokens": json.RawMessage("100")}, 2, `{"a":1,"max_output_tokens":400}`},
		{map[string]any{"max_tokens": 4096}, nil, 1, `{"max_tokens":8192}`},
		{map[string]any{"a": 1}, nil, 2, `{"a":1}`},
	} {
		got, err := encodeRequest(tt.request, tt.parameters, tt.room)
		if err != nil || string(got) != tt.want {
			t.Errorf("with room %d the request is %s (%v), want %s", tt.room, got, err, tt.want)
		}
	}
}
