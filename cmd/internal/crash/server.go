package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
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
	// begun counts the requests, busy the unanswered ones. Both are guarded by mu.
	begun, busy int
	// senders are the keys that each request came with; guarded by mu.
	senders map[request][]string
	// unlucky is the first request to judge the case that fails once, and is answered so
	// however often it comes; guarded by mu.
	unlucky string
}

// A request is the digest of a body without the delimiters, which differ from ledger to
// ledger and from sample to sample.
type request [sha256.Size]byte

// delimiter separates foreign text in the prompt of a judge.
var delimiter = regexp.MustCompile(`[0-9a-f]{24}`)

func requestOf(body []byte) request { return sha256.Sum256(delimiter.ReplaceAll(body, nil)) }

func newServer() *server {
	s := &server{senders: map[request][]string{}}
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
	r := requestOf(body)
	s.senders[r] = append(s.senders[r], key)
}

// asked returns the keys that each request came with.
func (s *server) asked() map[request][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.senders)
}

// forget resets the count of requests, and makes the case that fails once fail again,
// as at the start.
func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.senders)
	s.unlucky = ""
}

// fails reports whether a request to judge is about a case that is worse than at base, or
// is the one that fails by chance.
func (s *server) fails(body []byte) bool {
	if bytes.Contains(body, []byte(worse)) {
		return true
	}
	if !bytes.Contains(body, []byte(chance)) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unlucky == "" {
		s.unlucky = string(body)
	}
	return s.unlucky == string(body)
}

// received returns how many requests came, once all are answered.
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
		for _, word := range []string{worse, chance} {
			if bytes.Contains(body, []byte(word)) {
				text = strings.Replace(text, "And then", word+": and then", 1) // which the judge reads
			}
		}
	default:
		text = opinion(number, s.fails(body))
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
// case passes, as does the one that fails by chance, unless it fails now.
func opinion(number string, fails bool) string {
	n, err := strconv.Atoi(number)
	if err != nil {
		n = 0
	}
	passes := n%5 == 1 || n == chanceCase
	var metrics []string
	for i, name := range []string{
		"tool_routing", "parameter_extraction", "result_interpretation", "grounding_fidelity", "instruction_compliance",
		"information_gathering", "conversation_management", "response_delivery",
	} {
		score := 1 + (n/(i+1)+i)%5
		switch {
		case fails:
			score = 1
		case passes:
			score = 5
		}
		metrics = append(metrics, fmt.Sprintf(`%q: {"score": %d}`, name, score))
	}
	met := !fails && (n%3 > 0 || passes)
	return fmt.Sprintf(`{"metrics": {%s}, "outcomes": [{"outcome": 1, "met": %v, "reasoning": "Case %d.", "turns": [2]}], "comparisons": [], "summary": "Case %d."}`,
		strings.Join(metrics, ", "), met, n, n)
}
