package evaluate

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/gavel-evals/gavel/schema"
)

// The environment variables by which a program finds the proxy.
const (
	URLVariable   = "AGENTV_TARGET_PROXY_URL"
	TokenVariable = "AGENTV_TARGET_PROXY_TOKEN" //nolint:gosec // the name of one
)

// maxBody bounds the size of a program's request.
const maxBody = 4 << 20

// A proxyAsk puts a question to the model and returns its answer.
type proxyAsk func(ctx context.Context, system, question string) (string, error)

// A Proxy is an [http.Handler] for one run of a program. It asks one question at a
// time, so that their order is the same in each run of a sequential program.
type Proxy struct {
	// Name is the model's name, as shown to the program.
	Name  string
	ask   proxyAsk
	most  int
	token string
	mux   *http.ServeMux

	mu    sync.Mutex
	calls int   // guarded by mu
	err   error // guarded by mu
}

// NewProxy returns a proxy that asks at most the given number of questions.
func NewProxy(name string, most int, ask proxyAsk) *Proxy {
	p := &Proxy{Name: name, ask: ask, most: most, token: rand.Text(), mux: http.NewServeMux()}
	p.mux.HandleFunc("GET /info", p.info)
	p.mux.HandleFunc("POST /invoke", p.invoke)
	p.mux.HandleFunc("POST /invokeBatch", p.invokeBatch)
	p.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "there are /invoke, /invokeBatch and /info")
	})
	return p
}

// Token returns the token that a program must present.
func (p *Proxy) Token() string { return p.token }

// Err returns the reason why the model could not be asked, or nil if every question has
// an answer. After an error, a score that the program still gives is worthless.
func (p *Proxy) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// ServeHTTP answers requests that carry the token.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+p.token)) != 1 {
		refuse(w, http.StatusUnauthorized, "the bearer token is that of "+TokenVariable)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	p.mux.ServeHTTP(w, r)
}

// A request is one question. Its other fields are for people who read the traffic.
type request struct {
	Question     string `json:"question"`
	SystemPrompt string `json:"systemPrompt"`
	Target       string `json:"target"`
}

// A response has the answer as text and, for either generation of clients, as messages.
type response struct {
	RawText        string           `json:"rawText"`
	Output         []schema.Message `json:"output"`
	OutputMessages []schema.Message `json:"outputMessages"`
}

func (p *Proxy) info(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	write(w, http.StatusOK, map[string]any{
		"targetName": p.Name, "maxCalls": p.most, "callCount": p.calls, "availableTargets": []string{p.Name},
	})
}

func (p *Proxy) invoke(w http.ResponseWriter, r *http.Request) {
	var asked request
	if !decode(w, r, &asked) {
		return
	}
	answers, refusal := p.answer(r.Context(), []request{asked})
	if refusal != nil {
		refuse(w, refusal.status, refusal.text)
		return
	}
	write(w, http.StatusOK, answers[0])
}

func (p *Proxy) invokeBatch(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Requests []request `json:"requests"`
	}
	if !decode(w, r, &asked) {
		return
	}
	if asked.Requests == nil {
		refuse(w, http.StatusBadRequest, "the field requests is missing")
		return
	}
	answers, refusal := p.answer(r.Context(), asked.Requests)
	if refusal != nil {
		refuse(w, refusal.status, refusal.text)
		return
	}
	write(w, http.StatusOK, map[string]any{"responses": answers})
}

// A refusal is the reason why questions are not answered.
type refusal struct {
	status int
	text   string
}

// answer asks all questions, or none if one of them cannot be asked.
func (p *Proxy) answer(ctx context.Context, questions []request) ([]response, *refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range questions {
		switch {
		case q.Question == "":
			return nil, &refusal{http.StatusBadRequest, "the field question is missing"}
		case q.Target != "" && q.Target != p.Name:
			return nil, &refusal{http.StatusBadRequest, fmt.Sprintf("the target %s is not asked here: the evaluator names the one that is", q.Target)}
		}
	}
	if p.calls+len(questions) > p.most {
		return nil, &refusal{http.StatusTooManyRequests, fmt.Sprintf("the program may ask %d times; set target.max_calls", p.most)}
	}
	answers := make([]response, 0, len(questions))
	for _, q := range questions {
		p.calls++
		text, err := p.ask(ctx, q.SystemPrompt, q.Question)
		if err != nil {
			p.fail(ctx, err)
			return nil, &refusal{http.StatusBadGateway, err.Error()}
		}
		said := []schema.Message{{Role: schema.RoleAssistant, Content: text}}
		answers = append(answers, response{RawText: text, Output: said, OutputMessages: said})
	}
	return answers, nil
}

// fail keeps the first error that does not come from a program which stopped waiting.
func (p *Proxy) fail(ctx context.Context, err error) {
	if p.err == nil && (ctx.Err() == nil || !errors.Is(err, context.Canceled)) {
		p.err = err
	}
}

// decode parses a program's request, or replies with an error.
func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		refuse(w, http.StatusBadRequest, "the request is not the JSON of a question: "+err.Error())
		return false
	}
	return true
}

func refuse(w http.ResponseWriter, status int, text string) {
	write(w, status, map[string]string{"error": text})
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // an ended program does not read it
}
