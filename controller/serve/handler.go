package serve

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/forge"
)

// A HandlerConfig says what is answered over HTTP.
type HandlerConfig struct {
	// Ready reports whether all repositories were looked through.
	Ready   func() bool
	Metrics http.Handler
	// Hosts are names under which the server is asked, in addition to addresses and
	// localhost.
	Hosts []string
	// Path is where deliveries arrive. Defaults to nowhere.
	Path    string
	Webhook forge.WebhookConfig
	// Pages answers all other requests. Defaults to 404.
	Pages http.Handler
	// Apart says that [NewProbes] answers /healthz, /readyz and /metrics elsewhere.
	Apart bool
}

// NewProbes answers /healthz, /readyz and /metrics, and nothing else.
func NewProbes(cfg HandlerConfig) http.Handler {
	mux := http.NewServeMux()
	cfg.probes(mux)
	return cfg.checkHost(mux)
}

// probes adds what those who watch over the server ask.
func (cfg HandlerConfig) probes(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !cfg.Ready() {
			http.Error(w, "not every repository was polled yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.Handle("GET /metrics", cfg.Metrics)
}

// NewHandler answers deliveries, pages and what [NewProbes] does. It refuses
// what [webhook.New] refuses.
func NewHandler(cfg HandlerConfig) (http.Handler, error) {
	mux := http.NewServeMux()
	if !cfg.Apart {
		cfg.probes(mux)
	}
	if cfg.Pages != nil {
		mux.Handle("/", cfg.Pages)
	}
	named := cfg.checkHost(mux)
	if cfg.Path == "" {
		return named, nil
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
		named.ServeHTTP(w, r)
	}), nil
}

// checkHost refuses requests that name another host. A page whose name its
// owner lets lead here (DNS rebinding) would else read with the browser of
// somebody who may. Deliveries need no such care: they are signed.
func (cfg HandlerConfig) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		_, err := netip.ParseAddr(strings.Trim(host, "[]"))
		known := func(name string) bool { return strings.EqualFold(name, host) }
		if err != nil && !known("localhost") && !slices.ContainsFunc(cfg.Hosts, known) {
			http.Error(w, "this server is not asked under that name; the operator's file lists its names under hosts", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
