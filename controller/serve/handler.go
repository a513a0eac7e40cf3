package serve

import (
	"fmt"
	"net/http"

	"github.com/gavel-evals/gavel/controller/forge"
)

// A HandlerConfig says what is answered over HTTP.
type HandlerConfig struct {
	// Ready reports whether all repositories were looked through.
	Ready   func() bool
	Metrics http.Handler
	// Path is where deliveries arrive. Defaults to nowhere.
	Path    string
	Webhook forge.WebhookConfig
}

// NewHandler answers deliveries, /healthz, /readyz and /metrics. It refuses
// what [forge.NewWebhook] refuses.
func NewHandler(cfg HandlerConfig) (http.Handler, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !cfg.Ready() {
			http.Error(w, "not every repository was looked through yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.Handle("GET /metrics", cfg.Metrics)
	if cfg.Path == "" {
		return mux, nil
	}
	hook, err := forge.NewWebhook(cfg.Webhook)
	if err != nil {
		return nil, err
	}
	// The path is the operator's, and no pattern.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == cfg.Path {
			hook.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}), nil
}
