package serve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/forge"
)

// A HandlerConfig describes the server's answers over HTTP.
type HandlerConfig struct {
	// Ready reports whether all repositories were looked through.
	Ready   func() bool
	Metrics http.Handler
	// Warning returns why the server does not judge although it lives, such as a missing
	// worker, which /healthz adds; empty for nothing. Defaults to no warning.
	Warning func(context.Context) string
	// Hosts are names of the server, in addition to addresses and localhost.
	Hosts []string
	// Path is where deliveries arrive. Empty for none.
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

// probes adds the requests of monitoring.
func (cfg HandlerConfig) probes(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "ok") // whatever else is wrong: starting this process again would not help
		if cfg.Warning == nil {
			return
		}
		if why := cfg.Warning(r.Context()); why != "" {
			fmt.Fprintln(w, "warning: "+why)
		}
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !cfg.Ready() {
			http.Error(w, "not every repository was polled yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.Handle("GET /metrics", cfg.Metrics)
}

// NewHandler answers deliveries, pages and the requests of [NewProbes]. It returns the
// errors of [forge.NewWebhook].
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
	// The path comes from the operator and is not a pattern.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == cfg.Path {
			hook.ServeHTTP(w, r)
			return
		}
		named.ServeHTTP(w, r)
	}), nil
}

// checkHost refuses requests that name another host. Otherwise a page whose owner
// points its name at this server (DNS rebinding) could read with the browser of an
// authorized person. Deliveries need no such protection: they are signed.
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
