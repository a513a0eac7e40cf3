package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A server plays the agent, its user and the judge of every conversation, in
// OpenAI's protocol. Its replies depend only on the requests.
type server struct {
	*httptest.Server
	// latency is how long a model takes.
	latency time.Duration

	mu    sync.Mutex
	moved *sync.Cond
	// begun counts the requests, busy those that are not answered. Both are
	// guarded by mu.
	begun, busy int
	// senders are the keys that each request came with; guarded by mu.
	senders map[string][]string
}

func newServer() *server {
	s := &server{senders: map[string][]string{}}
	s.moved = sync.NewCond(&s.mu)
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

func (s *server) count(begun, busy int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun += begun
	s.busy += busy
	s.moved.Broadcast()
}

// sent notes who sent a request.
func (s *server) sent(body []byte, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.senders[string(body)] = append(s.senders[string(body)], key)
}

// repeated counts the requests that came more than once, by who sent them first.
func (s *server) repeated() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int{}
	for _, keys := range s.senders {
		for i := range keys[1:] {
			out[keys[i]]++
		}
	}
	return out
}

// forget begins to note senders again.
func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.senders)
}

// received is how many requests came, once all are answered.
func (s *server) received() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.busy > 0 {
		s.moved.Wait()
	}
	return s.begun
}

// until returns when n requests came, or when over is closed.
func (s *server) until(n int, over <-chan struct{}) {
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-over:
		case <-done:
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.moved.Broadcast()
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.begun < n {
		select {
		case <-over:
			return
		default:
			s.moved.Wait()
		}
	}
}

var order = regexp.MustCompile(`A-(\d+)`)

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Model    string `json:"model"`
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // its sender was killed before it was sent
	}
	s.sent(body, r.Header.Get("Authorization"))
	s.count(1, 1)
	defer s.count(0, -1)
	time.Sleep(s.latency)
	if err := json.Unmarshal(body, &asked); err != nil || !order.Match(body) {
		http.Error(w, "this is not a request", http.StatusBadRequest)
		return
	}
	number := order.FindStringSubmatch(string(body))[1]
	turn := len(asked.Messages)
	var text string
	switch asked.Model {
	case "agent":
		text = fmt.Sprintf("Step %d for A-%s.", turn, number)
	case "user":
		text = fmt.Sprintf(`{"message": "And then, for A-%s, after %d?", "done": false}`, number, turn)
		if bytes.Contains(body, []byte(worse)) {
			text = strings.Replace(text, "And then", worse+": and then", 1) // which the judge reads
		}
	default:
		text = opinion(number, bytes.Contains(body, []byte(worse)))
	}
	w.Header().Set("Content-Type", "application/json")
	err = json.NewEncoder(w).Encode(map[string]any{
		"id": "1", "object": "chat.completion", "model": asked.Model,
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": text}}},
		"usage":   map[string]any{"prompt_tokens": len(body), "completion_tokens": len(text), "total_tokens": len(body) + len(text)},
	})
	if err != nil {
		return // its sender was killed
	}
}

// opinion differs from case to case, so that no verdict can replace another. Every fifth
// case passes, unless it got worse.
func opinion(number string, isWorse bool) string {
	n, err := strconv.Atoi(number)
	if err != nil {
		n = 0
	}
	var metrics []string
	for i, name := range []string{
		"tool_routing", "parameter_extraction", "result_interpretation", "grounding_fidelity", "instruction_compliance",
		"information_gathering", "conversation_management", "response_delivery",
	} {
		score := 1 + (n/(i+1)+i)%5
		switch {
		case isWorse:
			score = 1
		case n%5 == 1:
			score = 5
		}
		metrics = append(metrics, fmt.Sprintf(`%q: {"score": %d}`, name, score))
	}
	met := !isWorse && (n%3 > 0 || n%5 == 1)
	return fmt.Sprintf(`{"metrics": {%s}, "outcomes": [{"outcome": 1, "met": %v, "reasoning": "Case %d.", "turns": [2]}], "comparisons": [], "summary": "Case %d."}`,
		strings.Join(metrics, ", "), met, n, n)
}
