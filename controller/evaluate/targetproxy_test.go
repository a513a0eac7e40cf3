package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A model answers with what it was asked.
type model struct {
	mu    sync.Mutex
	asked []string
	err   error
}

func (m *model) ask(_ context.Context, system, question string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, system+"|"+question)
	return "re: " + question, m.err
}

// send sends a request as a program does.
func send(t *testing.T, p *Proxy, method, path, token, body string) (int, map[string]any) {
	t.Helper()
	server := httptest.NewServer(p)
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatalf("%s %s answers %q: %v", method, path, raw, err)
	}
	return res.StatusCode, got
}

func TestInvoke(t *testing.T) {
	m := &model{}
	p := NewProxy("judge", 3, m.ask)
	status, got := send(t, p, http.MethodPost, "/invoke", p.Token(), `{"question":"How many?","systemPrompt":"Be brief.","evalCaseId":"proxy","attempt":1}`)
	said := []any{map[string]any{"role": "assistant", "content": "re: How many?"}}
	want := map[string]any{"rawText": "re: How many?", "output": said, "outputMessages": said}
	if diff := cmp.Diff(want, got); status != http.StatusOK || diff != "" {
		t.Errorf("%d (-want +got):\n%s", status, diff)
	}
	if diff := cmp.Diff([]string{"Be brief.|How many?"}, m.asked); diff != "" {
		t.Errorf("the model was asked (-want +got):\n%s", diff)
	}
	status, got = send(t, p, http.MethodPost, "/invokeBatch", p.Token(), `{"requests":[{"question":"a"},{"question":"b","target":"judge"}]}`)
	responses, _ := got["responses"].([]any)
	if status != http.StatusOK || len(responses) != 2 {
		t.Errorf("a batch gives %d %v, want an answer to each question", status, got)
	}
	if diff := cmp.Diff([]string{"Be brief.|How many?", "|a", "|b"}, m.asked); diff != "" {
		t.Errorf("the model was asked (-want +got):\n%s", diff)
	}
	_, got = send(t, p, http.MethodGet, "/info", p.Token(), "")
	if diff := cmp.Diff(map[string]any{"targetName": "judge", "maxCalls": 3.0, "callCount": 3.0, "availableTargets": []any{"judge"}}, got); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
}

// TestMaxCalls answers so many questions and then none, however they are asked.
func TestMaxCalls(t *testing.T) {
	m := &model{}
	p := NewProxy("judge", 2, m.ask)
	if status, _ := send(t, p, http.MethodPost, "/invokeBatch", p.Token(), `{"requests":[{"question":"a"},{"question":"b"},{"question":"c"}]}`); status != http.StatusTooManyRequests || len(m.asked) != 0 {
		t.Errorf("a batch of 3 where 2 are left: %d after %d calls, want 429 and none", status, len(m.asked))
	}
	var questions sync.WaitGroup
	for range 8 {
		questions.Go(func() { send(t, p, http.MethodPost, "/invoke", p.Token(), `{"question":"a"}`) })
	}
	questions.Wait()
	status, got := send(t, p, http.MethodPost, "/invoke", p.Token(), `{"question":"a"}`)
	if status != http.StatusTooManyRequests || !strings.Contains(got["error"].(string), "max_calls") || len(m.asked) != 2 {
		t.Errorf("%d %v after %d calls, want 429 that names max_calls, after 2", status, got, len(m.asked))
	}
	if p.Err() != nil {
		t.Errorf("the bound is an error of the model: %v", p.Err())
	}
}

func TestRefusals(t *testing.T) {
	m := &model{}
	p := NewProxy("judge", 9, m.ask)
	for _, tt := range []struct {
		name                      string
		method, path, token, body string
		status                    int
	}{
		{"no token", http.MethodPost, "/invoke", "", `{"question":"a"}`, http.StatusUnauthorized},
		{"another token", http.MethodPost, "/invoke", "x" + p.Token(), `{"question":"a"}`, http.StatusUnauthorized},
		{"no question", http.MethodPost, "/invoke", p.Token(), `{}`, http.StatusBadRequest},
		{"no JSON", http.MethodPost, "/invoke", p.Token(), `question`, http.StatusBadRequest},
		{"too long", http.MethodPost, "/invoke", p.Token(), `{"question":"` + strings.Repeat("a", 5<<20) + `"}`, http.StatusBadRequest},
		{"another target", http.MethodPost, "/invoke", p.Token(), `{"question":"a","target":"expensive"}`, http.StatusBadRequest},
		{"no requests", http.MethodPost, "/invokeBatch", p.Token(), `{"question":"a"}`, http.StatusBadRequest},
		{"a bad one of two", http.MethodPost, "/invokeBatch", p.Token(), `{"requests":[{"question":"a"},{}]}`, http.StatusBadRequest},
		{"another path", http.MethodGet, "/", p.Token(), "", http.StatusNotFound},
	} {
		if status, got := send(t, p, tt.method, tt.path, tt.token, tt.body); status != tt.status || got["error"] == nil {
			t.Errorf("%s: %d %v, want %d and an error", tt.name, status, got, tt.status)
		}
	}
	if len(m.asked) > 0 {
		t.Errorf("the model was asked %q", m.asked)
	}
}

// TestAModelThatFails is remembered, so that the score of the program is not taken.
func TestAModelThatFails(t *testing.T) {
	down := errors.New("provider is down")
	m := &model{err: down}
	p := NewProxy("judge", 9, m.ask)
	status, got := send(t, p, http.MethodPost, "/invoke", p.Token(), `{"question":"a"}`)
	if status != http.StatusBadGateway || got["error"] != down.Error() {
		t.Errorf("the program gets %d %v, want 502 and what is wrong", status, got)
	}
	if !errors.Is(p.Err(), down) {
		t.Errorf("the error is %v, want that of the model", p.Err())
	}
}
