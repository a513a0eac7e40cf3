package target

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"mime"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/controller/target/codingagent"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// maxPassedOn bounds a request that is passed on; the APIs take no longer ones.
const maxPassedOn = 32 << 20

// A passage is the [http.Handler] for the requests of one run of a coding agent. It passes
// them on to the agent's API with the key, which the program never has, and pays for each of
// them before.
type passage struct {
	coder *coder
	token string // what the program has in place of the key
	pay   func(ctx context.Context, in, out int64) (Paid, error)
	stop  context.CancelCauseFunc // ends the run

	mu      sync.Mutex
	refused error         // why a request was not paid for; guarded by mu
	used    verdict.Usage // guarded by mu
}

// Refused returns why a request was not paid for, after which the agent was ended.
func (p *passage) Refused() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// Used returns what the requests took, as far as replies told it.
func (p *passage) Used() verdict.Usage {
	if p == nil {
		return verdict.Usage{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}

// ServeHTTP passes a request on, if it has the token and a path that asks the model.
func (p *passage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	api := p.coder.api
	has := cmp.Or(r.Header.Get("X-Api-Key"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	switch {
	case has != p.token:
		http.Error(w, "the key of this run is needed", http.StatusUnauthorized)
		return
	case r.Method != http.MethodPost || r.URL.RawPath != "" || r.URL.Path != api.Asks && (r.URL.Path != api.Counts || api.Counts == ""):
		http.Error(w, "only requests to the model are passed on", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPassedOn))
	if err != nil {
		http.Error(w, "the request is too long, or was cut off", http.StatusRequestEntityTooLarge)
		return
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	paid := Paid(func(verdict.Usage, bool) {})
	if r.URL.Path == api.Asks && p.pay != nil {
		if paid, err = p.pay(r.Context(), int64(len(body)), codingagent.MostOutput(body)); err != nil {
			if r.Context().Err() != nil {
				return // nobody waits for it any more
			}
			p.refuse(err)
			// No agent repeats a request that is wrong.
			http.Error(w, "the budget of this run is used up", http.StatusBadRequest)
			return
		}
	}
	p.proxy(paid).ServeHTTP(w, r)
}

func (p *passage) refuse(err error) {
	p.mu.Lock()
	p.refused = cmp.Or(p.refused, err)
	p.mu.Unlock()
	p.stop(err)
}

// proxy returns what passes one request on. It calls pay once.
func (p *passage) proxy(pay Paid) *httputil.ReverseProxy {
	var once sync.Once
	paid := func(u verdict.Usage, known bool) { once.Do(func() { pay(u, known) }) }
	return &httputil.ReverseProxy{
		Transport: p.coder.transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(p.coder.base)
			// Without it, the transport unpacks the reply, which is read on its way.
			r.Out.Header.Del("Accept-Encoding")
			r.Out.Header.Del("Upgrade") // to what nobody could count
			r.Out.Header.Del("Connection")
			for _, header := range []string{"X-Api-Key", "Authorization"} {
				if had := r.In.Header.Get(header); had != "" {
					r.Out.Header.Set(header, strings.Replace(had, p.token, string(p.coder.key), 1))
				}
			}
		},
		ModifyResponse: func(resp *http.Response) error {
			if resp.StatusCode/100 != 2 {
				paid(verdict.Usage{}, true) // a refused request costs nothing
				return nil
			}
			kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
			resp.Body = codingagent.NewMeter(resp.Body, kind == "text/event-stream", func(t codingagent.Tokens, known bool) {
				u := verdict.Usage{InputTokens: t.Input, OutputTokens: t.Output}
				p.mu.Lock()
				p.used = p.used.Add(u)
				p.used.Calls = 1 // all of them are one call of the agent
				p.mu.Unlock()
				paid(u, known)
			})
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			paid(verdict.Usage{}, false) // it may have been answered
			http.Error(w, "the model cannot be reached", http.StatusBadGateway)
		},
		FlushInterval: -1, // replies are streams
	}
}
