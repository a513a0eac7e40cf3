package codingagent_test

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gavel-evals/gavel/controller/target/codingagent"
)

// TestMeter: the tokens of replies, in the forms of the APIs' documentation.
func TestMeter(t *testing.T) {
	const begins = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":5,\"cache_creation_input_tokens\":20,\"cache_read_input_tokens\":300,\"output_tokens\":1}}}\n\n"
	for name, test := range map[string]struct {
		stream bool
		body   string
		want   codingagent.Tokens
		known  bool
	}{
		"Messages": {body: `{"content":[],"usage":{"input_tokens":5,"cache_read_input_tokens":300,"output_tokens":7}}`, want: codingagent.Tokens{Input: 305, Output: 7}, known: true},
		"Messages, a stream": {
			stream: true, want: codingagent.Tokens{Input: 325, Output: 15}, known: true,
			body: begins + "event: ping\ndata: {\"type\":\"ping\"}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":15}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		},
		"Messages, a stream that is cut off": {stream: true, body: begins, want: codingagent.Tokens{Input: 325, Output: 1}},
		"Responses":                          {body: "{\n\"output\": [],\n\"usage\": {\"input_tokens\": 10, \"input_tokens_details\": {\"cached_tokens\": 4}, \"output_tokens\": 3}\n}", want: codingagent.Tokens{Input: 10, Output: 3}, known: true},
		"Responses, a stream": {
			stream: true, want: codingagent.Tokens{Input: 10, Output: 3}, known: true,
			body: "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"usage\":null}}\n\nevent: response.completed\r\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":10,\"output_tokens\":3}}}",
		},
		"Responses, a stream that is cut off": {stream: true, body: "data: {\"type\":\"response.created\",\"response\":{\"usage\":null}}\n\n"},
		"numbers that are none":               {body: `{"usage": {"input_tokens": -5, "cache_read_input_tokens": 9223372036854775807, "output_tokens": -1}}`, want: codingagent.Tokens{Input: 1 << 40}, known: true},
		"neither":                             {body: "the model heard you"},
	} {
		t.Run(name, func(t *testing.T) {
			ended := 0
			var tokens codingagent.Tokens
			var known bool
			m := codingagent.NewMeter(io.NopCloser(iotest.OneByteReader(strings.NewReader(test.body))), test.stream, func(got codingagent.Tokens, is bool) {
				ended++
				tokens, known = got, is
			})
			passed, err := io.ReadAll(m)
			if err != nil || string(passed) != test.body {
				t.Errorf("%q is passed on (%v), want %q", passed, err, test.body)
			}
			for range 2 {
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}
			if ended != 1 || tokens != test.want || known != test.known {
				t.Errorf("the tokens are %+v, known %v, said %d times; want %+v, known %v, once", tokens, known, ended, test.want, test.known)
			}
		})
	}
}

// TestMostOutput: the bound on a reply, in the requests of both APIs.
func TestMostOutput(t *testing.T) {
	for request, want := range map[string]int64{
		`{"max_tokens": 32000, "messages": []}`: 32000, `{"max_output_tokens": 7}`: 7, `{"input": []}`: 0, `no JSON`: 0, `{"max_tokens": 9223372036854775807}`: 1 << 24, `{"max_tokens": -5}`: 0,
	} {
		if got := codingagent.MostOutput([]byte(request)); got != want {
			t.Errorf("%s bounds its reply at %d, want %d", request, got, want)
		}
	}
}

// TestAPIs: where an agent finds the model, on its command line or in its environment.
func TestAPIs(t *testing.T) {
	for _, test := range []struct {
		agent, model string
		asks, says   string // asks is empty for an agent without an address
	}{
		{"claude-code", "", "/v1/messages", "ANTHROPIC_BASE_URL=here"},
		{"codex", "gpt-y", "/responses", "--config=model_providers.gavel.base_url=here"},
		{"copilot", "gpt-y", "", ""},
		{"opencode", "anthropic/claude-x", "/v1/messages", `"anthropic":{"options":{"baseURL":"here/v1"}}`},
		{"opencode", "openai/gpt-y", "/responses", `"openai":{"options":{"baseURL":"here"}}`},
		{"opencode", "groq/llama", "", ""},
	} {
		a := lookup(t, test.agent)
		api := a.API(test.model)
		if (api == nil) != (test.asks == "") || api != nil && api.Asks != test.asks {
			t.Errorf("%s with %q asks %+v, want the path %q", test.agent, test.model, api, test.asks)
			continue
		}
		for address, has := range map[string]bool{"here": api != nil, "": false} {
			s := codingagent.Settings{Model: test.model, Address: address}
			argv, _ := a.Argv(s, "x")
			all := strings.Join(append(argv, a.Environment(s)...), " ")
			if api != nil && strings.Contains(all, test.says) != has {
				t.Errorf("%s with the address %q gets %s; that it has %s is not %v", test.agent, address, all, test.says, has)
			}
		}
	}
}
