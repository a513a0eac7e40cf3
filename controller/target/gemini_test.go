package target

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// geminiReply is an answer of a model that thought first.
const geminiReply = `{"id":"g1","object":"chat.completion","created":1,"model":"small-1","choices":[{"index":0,"finish_reason":"stop",` +
	`"message":{"role":"assistant","content":"Hi.","extra_content":{"google":{"thought_signature":"c2ln"}}}}],` +
	`"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":52}}`

// geminiTarget is a target at a server that plays the given handler.
func geminiTarget(t testing.TB, cfg config.Target, handler http.HandlerFunc) Target {
	t.Helper()
	srv, env := serve(t, handler)
	cfg.Provider, cfg.Model = "gemini", "small-1"
	cfg.BaseURL, cfg.APIKeyEnv = srv.URL+"/v1beta/openai", testKeyEnv
	return openTest(t, cfg, env)
}

// TestGeminiSends holds that it gets the same requests as OpenAI, whose tests cover
// their content.
func TestGeminiSends(t *testing.T) {
	bodies := map[string]string{}
	record := func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer "+testKey {
			t.Errorf("%s with %q", r.URL.Path, got)
		}
		body, _ := io.ReadAll(r.Body)
		bodies[r.URL.Path] = canonical(t, body)
		io.WriteString(w, chatReply)
	}
	cfg := config.Target{Parameters: raw("reasoning_effort", `"low"`)}
	req := conversation()
	req.Messages = append([]schema.Message{looks(schema.RoleUser)}, req.Messages...)
	for _, target := range []Target{geminiTarget(t, cfg, record), openAITarget(t, cfg, record)} {
		if _, err := target.Respond(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	if len(bodies) != 2 || bodies["/v1/chat/completions"] != bodies["/v1beta/openai/chat/completions"] {
		t.Errorf("sent %v", bodies)
	}
}

func TestGeminiReads(t *testing.T) {
	got, err := geminiTarget(t, config.Target{}, status(200, geminiReply)).Respond(t.Context(), user("Hello"))
	if err != nil {
		t.Fatal(err)
	}
	want := Reply{
		Messages: []schema.Message{{Role: schema.RoleAssistant, Content: "Hi."}},
		Model:    "small-1", Finish: "stop", Traced: true, Usage: verdict.Usage{Calls: 1, InputTokens: 9, OutputTokens: 43},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestGeminiErrors(t *testing.T) {
	google := func(code, message, details string) string {
		return `[{"error":{"code":` + code + `,"message":"` + message + `","status":"X","details":[` + details + `]}}]`
	}
	const retry = `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"39.5s"}`
	quota := func(id string) string {
		return `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"m","quotaId":"` + id + `"}]},` + retry
	}
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    Error // Message is a part of the whole
	}{
		{"429, a minute's quota", status(429, google("429", "slow down", quota("GenerateRequestsPerMinutePerProjectPerModel"))), Error{Status: 429, Retry: true, After: 39500 * time.Millisecond, Message: "429 Too Many Requests: slow down" + askLess}},
		{"429, a day's quota", status(429, google("429", "used up", quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"))), Error{Status: 429, Message: "used up"}},
		{"429, a header and a detail", status(429, google("429", "slow down", retry), "Retry-After", "7"), Error{Status: 429, Retry: true, After: 7 * time.Second, Message: "slow down"}},
		{"429, far away", status(429, google("429", "slow down", `{"retryDelay":"900000s"}`)), Error{Status: 429, Retry: true, After: 24 * time.Hour, Message: "slow down"}},
		{"429, details of another form", status(429, google("429", "slow down", `"later"`)), Error{Status: 429, Retry: true, Message: "429 Too Many Requests: slow down" + askLess}},
		{"500", status(500, google("500", "An internal error has occurred.", "")), Error{Status: 500, Retry: true, Message: "500 Internal Server Error: An internal error has occurred."}},
		{"malformed JSON", status(200, geminiReply[:60]), Error{Message: "unexpected EOF"}},
		{"not JSON", status(200, "<!doctype html>"), Error{Message: "is base_url right?"}},
		{"refused", status(200, choice(`{"content":""}`, "content_filter: SAFETY")), Error{Message: "content filter"}},
		{"503", status(503, google("503", "The model is overloaded.", "")), Error{Status: 503, Retry: true, Message: "The model is overloaded."}},
		{"400", status(400, google("400", "API key not valid.", "")), Error{Status: 400, Message: "400 Bad Request: API key not valid."}},
		{"an empty list", status(400, "[]"), Error{Status: 400, Message: "400 Bad Request: []"}},
		{"held back without a message", status(200, `{"choices":[{"index":0,"finish_reason":"content_filter: PROHIBITED_CONTENT"}],"model":"m"}`), Error{Message: "content filter"}},
		{"a call that cannot be read", status(200, choice(`{"role":"assistant","extra_content":{"google":{}}}`, "function_call_filter: MALFORMED_FUNCTION_CALL")), Error{Retry: true, Message: "a call that its provider cannot read: function_call_filter: MALFORMED_FUNCTION_CALL"}},
		{"cut in mid-body", cut, Error{Retry: true, Message: "read the reply: unexpected EOF"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := geminiTarget(t, config.Target{}, tt.handler).Respond(t.Context(), user("Hello"))
			checkError(t, err, tt.want)
		})
	}
}
