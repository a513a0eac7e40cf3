package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/serve"
)

// TestAbuseUnknownPaths answers each path for what it is, and says when it is ready.
func TestAbuseUnknownPaths(t *testing.T) {
	ready := false
	handler, err := serve.NewHandler(serve.HandlerConfig{
		Ready:   func() bool { return ready },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics") }),
		Path:    "/{id}/hooks", // no pattern
		Webhook: forge.WebhookConfig{Secrets: []forge.Token{"a-secret-of-the-webhook"}, Take: func(forge.Hint) error { return nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		ready        bool
		method, path string
		want         int
		says         string
	}{
		{false, "GET", "/healthz", http.StatusOK, "ok"},
		{false, "GET", "/readyz", http.StatusServiceUnavailable, "not every repository was polled yet"},
		{true, "GET", "/readyz", http.StatusOK, "ready"},
		{true, "GET", "/metrics", http.StatusOK, "metrics"},
		{true, "POST", "/healthz", http.StatusMethodNotAllowed, ""},
		{true, "POST", "/{id}/hooks", http.StatusUnsupportedMediaType, ""}, // which only a webhook says
		{true, "POST", "/7/hooks", http.StatusNotFound, ""},
		{true, "GET", "/", http.StatusNotFound, ""},
	} {
		ready = tt.ready
		rec := httptest.NewRecorder()
		req := httptest.NewRequest(tt.method, "http://127.0.0.1/", nil)
		req.URL.Path = tt.path
		handler.ServeHTTP(rec, req)
		if rec.Code != tt.want || !strings.Contains(rec.Body.String(), tt.says) {
			t.Errorf("%s %s = %d %q, want %d %q", tt.method, tt.path, rec.Code, rec.Body, tt.want, tt.says)
		}
	}
}

// TestAbuseDNSRebinding: a page whose name leads here reads nothing, and a
// delivery arrives under any name.
func TestAbuseDNSRebinding(t *testing.T) {
	handler, err := serve.NewHandler(serve.HandlerConfig{
		Ready:   func() bool { return true },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics") }),
		Hosts:   []string{"gavel.example"},
		Path:    "/hooks",
		Webhook: forge.WebhookConfig{Secrets: []forge.Token{"a-secret-of-the-webhook"}, Take: func(forge.Hint) error { return nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		host string
		want int
	}{
		{"127.0.0.1:8080", http.StatusOK}, {"10.1.2.3", http.StatusOK}, {"[::1]:8080", http.StatusOK}, {"[::1]", http.StatusOK},
		{"localhost:8080", http.StatusOK}, {"Gavel.example:443", http.StatusOK},
		{"evil.example:8080", http.StatusMisdirectedRequest}, {"127.0.0.1.evil.example", http.StatusMisdirectedRequest},
		{"gavel.example.evil.example", http.StatusMisdirectedRequest}, {"", http.StatusMisdirectedRequest},
	} {
		for _, path := range []string{"/metrics", "/readyz", "/healthz"} {
			rec := httptest.NewRecorder()
			req := httptest.NewRequest("GET", path, nil)
			req.Host = tt.host
			handler.ServeHTTP(rec, req)
			if rec.Code != tt.want {
				t.Errorf("%s of %q = %d, want %d", path, tt.host, rec.Code, tt.want)
			}
		}
	}
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, httptest.NewRequest("POST", "http://hooks.example/hooks", nil))
	if rec.Code != http.StatusUnsupportedMediaType {
		t.Errorf("a delivery under another name = %d", rec.Code)
	}
}

// TestAHandlerWithoutASecret is refused.
func TestAHandlerWithoutASecret(t *testing.T) {
	if _, err := serve.NewHandler(serve.HandlerConfig{Path: "/hooks", Metrics: http.NotFoundHandler()}); err == nil {
		t.Error("anybody may send")
	}
}

// TestProbesApart answer at their own address and nowhere else.
func TestProbesApart(t *testing.T) {
	ready := false
	cfg := serve.HandlerConfig{
		Ready: func() bool { return ready }, Apart: true,
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "metrics") }),
		Pages:   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "a page", http.StatusTeapot) }),
	}
	open, err := serve.NewHandler(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		handler    http.Handler
		host, path string
		want       int
	}{
		{open, "127.0.0.1", "/healthz", 418}, {open, "127.0.0.1", "/readyz", 418}, {open, "127.0.0.1", "/metrics", 418},
		{serve.NewProbes(cfg), "10.0.0.7:8081", "/healthz", 200}, {serve.NewProbes(cfg), "10.0.0.7:8081", "/readyz", 503},
		{serve.NewProbes(cfg), "10.0.0.7:8081", "/metrics", 200}, {serve.NewProbes(cfg), "10.0.0.7:8081", "/", 404},
		{serve.NewProbes(cfg), "evil.example", "/metrics", 421},
	} {
		r := httptest.NewRequest("GET", tt.path, nil)
		r.Host = tt.host
		w := httptest.NewRecorder()
		if tt.handler.ServeHTTP(w, r); w.Code != tt.want {
			t.Errorf("%s%s is answered with %d, want %d", tt.host, tt.path, w.Code, tt.want)
		}
	}
}
