package controller_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/gavel-evals/gavel/controller/evaluate/judgetest"
	"github.com/gavel-evals/gavel/controller/target"
)

// playedModels are a server that plays every target, user, judge and editor, and
// write down what each case sent to whom.
type playedModels struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string][]string // by sender, see tagged
}

func newModels(t *testing.T) *playedModels {
	s := &playedModels{asked: map[string][]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// senderHeader says which case of which run sends a request.
const senderHeader = "X-Sender"

type senderKey struct{}

// tagged is a target whose requests say who sends them.
type tagged struct {
	target.Target
	run string
}

func (t tagged) Respond(ctx context.Context, req target.Request) (target.Reply, error) {
	return t.Target.Respond(context.WithValue(ctx, senderKey{}, t.run+" "+req.Case), req)
}

// tagging writes the sender into the request.
type tagging struct{ http.RoundTripper }

func (t tagging) RoundTrip(r *http.Request) (*http.Response, error) {
	sender, _ := r.Context().Value(senderKey{}).(string)
	r = r.Clone(r.Context())
	r.Header.Set(senderHeader, sender)
	return t.RoundTripper.RoundTrip(r)
}

// An asking is a request in the form of either protocol.
type asking struct {
	Messages []struct {
		Role    string
		Content any
	}
	Tools          []struct{ Function struct{ Name string } }
	ResponseFormat struct {
		JSONSchema struct {
			Name   string
			Schema map[string]any
		} `json:"json_schema"`
	} `json:"response_format"`
}

// programAsks is the beginning of a program that asks a model.
const programAsks = "A program asks."

// role tells by the form of the wanted answer who is asked.
func (a asking) role() string {
	if len(a.Messages) > 0 && a.Messages[0].Content == programAsks {
		return "judge"
	}
	switch a.ResponseFormat.JSONSchema.Name {
	case "":
		return "target"
	case "user":
		return "simulator"
	case "prompt":
		return "editor"
	}
	return "judge"
}

// Two runs differ in the delimiters of judges and in how long calls take; an agent gets
// the case's key only for its logs.
var volatile = regexp.MustCompile(`[0-9a-f]{24}|("test_case_id":)"[^"]*"|(\\?"duration_?[mM]s\\?":)[0-9.e+-]+`)

func settled(text string) string { return volatile.ReplaceAllString(text, "${1}${2}_") }

func (s *playedModels) serve(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var req asking
	if err == nil {
		err = json.Unmarshal(raw, &req)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text := settled(string(raw))
	sender := r.Header.Get(senderHeader)
	s.mu.Lock()
	s.asked[sender] = append(s.asked[sender], req.role()+" "+r.URL.Path+" "+text)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	reply := modelReply
	if strings.HasPrefix(r.URL.Path, "/agent") {
		reply = agentReply
	}
	_ = json.NewEncoder(w).Encode(reply(req, text)) // the client shows a broken answer
}

// said depends on all of the request, so that a change of it is not lost.
func said(text string) string {
	return fmt.Sprintf("It is good, and says %x.", sha256.Sum256([]byte(text)))[:40]
}

func agentReply(_ asking, text string) any {
	call := map[string]any{"id": "1", "type": "function", "function": map[string]string{"name": "search", "arguments": "{}"}}
	return map[string]any{
		"messages": []any{
			map[string]any{"role": "assistant", "content": "", "tool_calls": []any{call}},
			map[string]any{"role": "tool", "tool_call_id": "1", "content": "found"},
			map[string]any{"role": "assistant", "content": said(text)},
		},
		"usage": map[string]int{"input_tokens": 1000, "output_tokens": 1000},
	}
}

func modelReply(req asking, text string) any {
	message := map[string]any{"role": "assistant", "content": req.answer(text)}
	last := ""
	if n := len(req.Messages); n > 0 {
		last = req.Messages[n-1].Role
	}
	if len(req.Tools) > 0 && last != "tool" {
		var calls []any
		for i, tool := range req.Tools {
			calls = append(calls, map[string]any{
				"id": fmt.Sprint(i), "type": "function",
				"function": map[string]string{"name": tool.Function.Name, "arguments": `{"order": 7}`},
			})
		}
		message = map[string]any{"role": "assistant", "content": nil, "tool_calls": calls}
	}
	return map[string]any{
		"id": "1", "object": "chat.completion", "model": "m", "created": 1,
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": message}},
		"usage":   map[string]int{"prompt_tokens": 1000, "completion_tokens": 1000, "total_tokens": 2000},
	}
}

// patience is after how many messages the user is done.
const patience = 3

func (a asking) answer(text string) string {
	var value any
	switch a.role() {
	case "target":
		return said(text)
	case "simulator":
		spoken := 0
		for _, m := range a.Messages {
			if m.Role == "assistant" {
				spoken++
			}
		}
		value = map[string]any{"message": fmt.Sprint("And then? ", spoken), "done": spoken >= patience}
	case "editor":
		value = map[string]any{"prompt": said(text)}
	default:
		// A test writes FAIL where the judge shall be strict.
		value = judgetest.Fitting(a.ResponseFormat.JSONSchema.Schema, !strings.Contains(text, "FAIL"), 1)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
