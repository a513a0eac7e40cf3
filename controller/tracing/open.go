package tracing

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Config describes the traced process. The environment selects the collector.
type Config struct {
	// LookupEnv looks up OpenTelemetry's exporter variables: see [Open].
	LookupEnv func(string) (string, bool)
	// Service names the program unless OTEL_SERVICE_NAME does; Version is its version.
	Service, Version string
	// Failed is called when spans could not be sent, and again after a success.
	// Defaults to nothing.
	Failed func(error)
	// Now defaults to [time.Now].
	Now func() time.Time
	// Transport carries the requests to the collector. Defaults to a new one.
	Transport http.RoundTripper
}

// A Tracer sends ended spans to a collector. It is safe for concurrent use, and so is
// nil, which traces nothing.
type Tracer struct {
	cfg     Config
	out     *exporter
	parents bool   // a parent's sampling decision applies
	least   uint64 // trace ids from here on are not sampled; see samples
	all     bool
}

// Open returns the Tracer configured by the environment, or nil without one.
// OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or
// OTEL_TRACES_EXPORTER=otlp requests one. These variables are read, too:
//
//   - OTEL_SDK_DISABLED, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
//   - OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG
//   - HEADERS, TIMEOUT, COMPRESSION, CERTIFICATE and PROTOCOL after
//     OTEL_EXPORTER_OTLP_TRACES_ or OTEL_EXPORTER_OTLP_
//
// The error names the variable with an unusable value. The caller must call
// [Tracer.Close].
func Open(cfg Config) (*Tracer, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Failed == nil {
		cfg.Failed = func(error) {}
	}
	env := environment(cfg.LookupEnv)
	endpoint, name, asked := env.endpoint()
	if !asked || strings.EqualFold(env.get("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	t := &Tracer{cfg: cfg}
	target, err := url.Parse(endpoint)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return nil, fmt.Errorf("%s: it must be an http or https URL, such as http://localhost:4318", name)
	}
	resource, err := env.resource(cfg)
	if err == nil {
		err = t.sampler(env)
	}
	if err != nil {
		return nil, err
	}
	send, err := env.sender(cfg, endpoint)
	if err != nil {
		return nil, err
	}
	send.encode = func(spans []*Span) []byte { return request(resource, cfg.Version, spans) }
	t.out = start(send, cfg.Failed)
	return t, nil
}

// Close sends ended spans until ctx ends, and drops the rest.
func (t *Tracer) Close(ctx context.Context) {
	if t != nil {
		t.out.close(ctx)
	}
}

func (t *Tracer) enqueue(s *Span) { t.out.enqueue(s) }

// samples decides about a trace by its id, so that every process decides the same.
func (t *Tracer) samples(trace [16]byte) bool {
	return t.all || binary.BigEndian.Uint64(trace[8:])>>1 < t.least
}

// sampler reads the sampling rule.
func (t *Tracer) sampler(env environment) error {
	name, arg := env.get("OTEL_TRACES_SAMPLER"), env.get("OTEL_TRACES_SAMPLER_ARG")
	kind, parents := strings.CutPrefix(name, "parentbased_")
	t.parents = parents || name == ""
	switch kind {
	case "", "always_on":
		t.all = true
	case "always_off":
	case "traceidratio":
		ratio, err := strconv.ParseFloat(arg, 64)
		if arg == "" {
			ratio, err = 1, nil
		}
		if err != nil || !(ratio >= 0 && ratio <= 1) {
			return errors.New("OTEL_TRACES_SAMPLER_ARG: it must be a number from 0 to 1, such as 0.1")
		}
		t.all, t.least = ratio == 1, uint64(ratio*math.MaxInt64)
	default:
		return errors.New("OTEL_TRACES_SAMPLER: it must be one of always_on, always_off, traceidratio, or one of them after parentbased_")
	}
	return nil
}

// An environment looks up variables.
type environment func(string) (string, bool)

// get returns the value of a variable, or an empty string.
func (env environment) get(name string) string {
	value, ok := env(name)
	if !ok {
		return ""
	}
	return strings.TrimSpace(value)
}

// exporter returns the value of an exporter variable, with its name.
func (env environment) exporter(name string) (value, full string) {
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"} {
		if value := env.get(prefix + name); value != "" {
			return value, prefix + name
		}
	}
	return "", ""
}

// endpoint returns the endpoint, the variable that sets it, and whether one does.
func (env environment) endpoint() (endpoint, name string, asked bool) {
	kinds := strings.Split(env.get("OTEL_TRACES_EXPORTER"), ",")
	if slices.Contains(kinds, "none") {
		return "", "", false
	}
	switch value, name := env.exporter("ENDPOINT"); name {
	case "":
		return "http://localhost:4318/v1/traces", "OTEL_TRACES_EXPORTER", slices.Contains(kinds, "otlp")
	case "OTEL_EXPORTER_OTLP_ENDPOINT":
		return strings.TrimRight(value, "/") + "/v1/traces", name, true
	default:
		return value, name, true
	}
}

// resource returns the attributes of the process.
func (env environment) resource(cfg Config) ([]attribute, error) {
	given, err := env.pairs("OTEL_RESOURCE_ATTRIBUTES")
	if err != nil {
		return nil, err
	}
	service := cfg.Service
	if name := env.get("OTEL_SERVICE_NAME"); name != "" {
		service = name
	} else if i := slices.IndexFunc(given, func(p [2]string) bool { return p[0] == "service.name" }); i >= 0 {
		service = given[i][1]
	}
	all := []attribute{{key: "service.name", kind: 's', text: service}}
	if cfg.Version != "" {
		all = append(all, attribute{key: "service.version", kind: 's', text: cfg.Version})
	}
	for _, p := range given {
		if !slices.ContainsFunc(all, func(a attribute) bool { return a.key == p[0] }) {
			all = append(all, attribute{key: p[0], kind: 's', text: p[1]})
		}
	}
	return all, nil
}

// pairs parses a variable of the form key=value,key=value, whose values may be
// percent-encoded.
func (env environment) pairs(name string) (all [][2]string, err error) {
	for _, pair := range strings.Split(env.get(name), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); !found || key == "" || err != nil {
			return nil, fmt.Errorf("%s: it must be a list such as key=value,other=value", name)
		}
		all = append(all, [2]string{key, value})
	}
	return all, nil
}

// sender returns a sender with the configured options of an endpoint.
func (env environment) sender(cfg Config, endpoint string) (*sender, error) {
	s := &sender{url: endpoint, header: http.Header{}, timeout: 10 * time.Second}
	if kind, name := env.exporter("PROTOCOL"); kind != "" && kind != "http/protobuf" {
		return nil, fmt.Errorf("%s: gavel sends http/protobuf only, which collectors take on port 4318", name)
	}
	if text, name := env.exporter("TIMEOUT"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("%s: it must be a number of milliseconds, such as 10000", name)
		}
		s.timeout = time.Duration(n) * time.Millisecond
	}
	switch kind, name := env.exporter("COMPRESSION"); kind {
	case "", "none":
	case "gzip":
		s.gzip = true
	default:
		return nil, fmt.Errorf("%s: it must be gzip or none", name)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		pairs, err := env.pairs(name)
		if err != nil {
			return nil, err
		}
		for _, p := range pairs {
			s.header.Set(p[0], p[1])
		}
	}
	var err error
	s.client.Transport = cfg.Transport
	if cfg.Transport == nil {
		s.client.Transport, err = env.transport()
	}
	return s, err
}

// transport returns a transport that trusts the configured certificate.
func (env environment) transport() (http.RoundTripper, error) {
	own := http.DefaultTransport.(*http.Transport).Clone()
	file, name := env.exporter("CERTIFICATE")
	if file == "" {
		return own, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: %s has no certificate in PEM", name, file)
	}
	own.TLSClientConfig = &tls.Config{RootCAs: roots}
	return own, nil
}
