package target

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/target/codingagent"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// passageTo returns a passage to an API, with what was paid for.
func passageTo(t *testing.T, api http.HandlerFunc, pay func(context.Context, int64, int64) (Paid, error)) (*passage, context.Context) {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	agent, _ := codingagent.Lookup("claude-code")
	run, stop := context.WithCancelCause(t.Context())
	return &passage{coder: &coder{key: "the key", api: agent.API(""), base: base}, token: "t", pay: pay, stop: stop}, run
}

// send sends a request of the program.
func send(ctx context.Context, p *passage, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/messages", strings.NewReader(`{"max_tokens": 7}`))
	r.Header.Set("X-Api-Key", "t")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

// TestAPassageAsksForNoOtherProtocol: nobody could count what is said in it. A reply is paid
// for once.
func TestAPassageAsksForNoOtherProtocol(t *testing.T) {
	times, asked := 0, http.Header{}
	p, _ := passageTo(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header
		w.Header().Set("Upgrade", "other")
		w.Header().Set("Connection", "Upgrade")
		w.WriteHeader(http.StatusSwitchingProtocols)
	}, func(context.Context, int64, int64) (Paid, error) {
		return func(verdict.Usage, bool) { times++ }, nil
	})
	w := send(t.Context(), p, "Connection", "Upgrade", "Upgrade", "other")
	if w.Code != http.StatusBadGateway || times != 1 || asked.Get("Upgrade") != "" || asked.Get("X-Api-Key") != "the key" {
		t.Errorf("the program gets %d, the request is paid for %d times, and the API sees %v", w.Code, times, asked)
	}
}

// TestAProgramThatHangsUp while its request waits for its budget has not used the budget up.
func TestAProgramThatHangsUp(t *testing.T) {
	p, run := passageTo(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") },
		func(ctx context.Context, _, _ int64) (Paid, error) { <-ctx.Done(); return nil, ctx.Err() })
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	if send(ctx, p); p.Refused() != nil || run.Err() != nil {
		t.Errorf("the run ends with %v, %v", p.Refused(), run.Err())
	}
	short := errors.New("the budget is not enough")
	p.pay = func(context.Context, int64, int64) (Paid, error) { return nil, short }
	if w := send(t.Context(), p); w.Code != http.StatusBadRequest || !errors.Is(p.Refused(), short) || !errors.Is(context.Cause(run), short) {
		t.Errorf("without a budget the program gets %d, and the run ends with %v", w.Code, context.Cause(run))
	}
}

// TestAnAgentGivesItselfNoCredit: numbers below 0 count as 0.
func TestAnAgentGivesItselfNoCredit(t *testing.T) {
	usd := -5.0
	if got, want := usageOf(codingagent.Turn{InputTokens: -1, OutputTokens: -2, CostUSD: &usd}), (verdict.Usage{Calls: 1, Told: 1}); got != want {
		t.Errorf("the usage is %+v, want %+v", got, want)
	}
}
