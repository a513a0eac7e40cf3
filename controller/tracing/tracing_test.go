package tracing

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"

	"github.com/gavel-evals/gavel/controller/tracing/tracingtest"
)

// byName are the spans that were taken, by name.
func byName(r *tracingtest.Collector) map[string]*tracepb.Span {
	all := map[string]*tracepb.Span{}
	for _, s := range r.Spans() {
		all[s.Name] = s
	}
	return all
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

func open(t *testing.T, env map[string]string) *Tracer {
	t.Helper()
	tracer, err := Open(Config{LookupEnv: lookup(env), Service: "gavel", Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

// TestACollectorReadsATrace decodes the sent data with the types of OpenTelemetry.
func TestACollectorReadsATrace(t *testing.T) {
	r := tracingtest.New(t)
	tracer := open(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL + "/", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20key, x=y",
		"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test,service.name=other",
	})
	ctx, root := tracer.Root(t.Context(), "root", "")
	root.Kind(Server).Text("text", "a").Text("none", "").Int("number", -3)
	inner, step := Start(ctx, "step")
	_, deeper := Start(inner, "deeper")
	deeper.End(errors.New("a secret of the reply"))
	step.End(nil)
	root.End(nil)
	root.End(errors.New("twice"))
	tracer.Close(t.Context())
	all := byName(r)
	top, mid, low := all["root"], all["step"], all["deeper"]
	if top == nil || mid == nil || low == nil || len(all) != 3 {
		t.Fatalf("the spans are %v", all)
	}
	if string(mid.ParentSpanId) != string(top.SpanId) || string(low.ParentSpanId) != string(mid.SpanId) || len(top.ParentSpanId) != 0 {
		t.Errorf("the parents are wrong: %v", all)
	}
	if string(top.TraceId) != string(low.TraceId) || len(top.TraceId) != 16 || len(top.SpanId) != 8 {
		t.Errorf("the ids are wrong: %v", all)
	}
	if top.Kind != tracepb.Span_SPAN_KIND_SERVER || mid.Kind != tracepb.Span_SPAN_KIND_INTERNAL || top.Status != nil {
		t.Errorf("the kinds are %v and %v, the status is %v", top.Kind, mid.Kind, top.Status)
	}
	if low.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || low.Status.Message != "" {
		t.Errorf("a failed step has the status %v, want an error without a text", low.Status)
	}
	a := top.Attributes
	if len(a) != 2 || a[0].Value.GetStringValue() != "a" || a[1].Value.GetIntValue() != -3 {
		t.Errorf("the attributes are %v", a)
	}
	if top.StartTimeUnixNano == 0 || top.EndTimeUnixNano < low.EndTimeUnixNano {
		t.Errorf("the times are %v", all)
	}
	resource := map[string]string{}
	for _, kv := range r.Requests()[0].ResourceSpans[0].Resource.Attributes {
		resource[kv.Key] = kv.Value.GetStringValue()
	}
	if len(resource) != 3 || resource["service.name"] != "other" || resource["service.version"] != "v1" || resource["deployment.environment.name"] != "test" {
		t.Errorf("the resource is %v", resource)
	}
	if h := r.Sent()[0].Header; r.Sent()[0].URL.Path != "/v1/traces" || h.Get("Authorization") != "Bearer key" || h.Get("X") != "y" || h.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("%s has the headers %v", r.Sent()[0].URL.Path, h)
	}
}

// TestOffCostsNothing counts what a step without a trace allocates.
func TestOffCostsNothing(t *testing.T) {
	if tracer := open(t, nil); tracer != nil {
		t.Fatal("a program that nobody asked traces")
	}
	for _, env := range []map[string]string{
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"},
	} {
		if open(t, env) != nil {
			t.Errorf("%v traces", env)
		}
	}
	var tracer *Tracer
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		root, top := tracer.Root(ctx, "root", "")
		_, span := Start(root, "step")
		span.Kind(Client).Text("k", "v").Int("n", 1).End(nil)
		top.End(nil)
		_ = Parent(root)
	}); n != 0 {
		t.Errorf("a step without a trace allocates %v times", n)
	}
	tracer.Close(ctx)
}

// TestAnotherProcess continues a trace, and an agent gets its id.
func TestAnotherProcess(t *testing.T) {
	r := tracingtest.New(t)
	tracer := open(t, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": r.URL + "/here"})
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx, span := tracer.Root(t.Context(), "job", parent)
	var got, own string
	agent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		got, own = req.Header.Get("Traceparent"), own+req.Header.Get("X")
	}))
	defer agent.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, agent.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := Transport{http.DefaultTransport}.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if want := Parent(ctx); got != want || !strings.HasPrefix(got, parent[:36]) || got == parent || len(req.Header) != 0 {
		t.Errorf("the agent was sent %q, want %q of the trace of %q", got, want, parent)
	}
	span.End(nil)
	tracer.Close(t.Context())
	if s := byName(r)["job"]; s == nil || string(s.ParentSpanId) != "\xb7\xad\x6b\x71\x69\x20\x33\x31" || r.Sent()[0].URL.Path != "/here" {
		t.Errorf("the span is %v at %v", s, r.Sent()[0].URL)
	}
}

func TestParents(t *testing.T) {
	for _, tt := range []struct {
		header string
		want   bool
	}{
		{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", true},
		{"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later", true},
		{"", false},
		{"00", false},
		{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x", false},
		{"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false},
		{"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false},
		{"00-00000000000000000000000000000000-b7ad6b7169203331-01", false},
		{"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false},
		{"00-0af7651916cd43dd8448eb211c8031-b7ad6b7169203331-01", false},
		{"00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01", false},
	} {
		if _, _, _, ok := parse(tt.header); ok != tt.want {
			t.Errorf("%q is a parent: %v, want %v", tt.header, ok, tt.want)
		}
	}
}

// TestSamplers counts the traces that are sent. A trace that is not sent is still
// told to agents, as one that is not.
func TestSamplers(t *testing.T) {
	for _, tt := range []struct {
		sampler, arg, parent string
		least, most          int
	}{
		{"", "", "", 1000, 1000},
		{"always_off", "", "", 0, 0},
		{"traceidratio", "0.5", "", 400, 600},
		{"parentbased_always_off", "", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", 1000, 1000},
		{"parentbased_always_on", "", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", 0, 0},
		{"always_on", "", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", 1000, 1000},
	} {
		tracer := open(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", "OTEL_TRACES_SAMPLER": tt.sampler, "OTEL_TRACES_SAMPLER_ARG": tt.arg})
		n := 0
		for range 1000 {
			ctx, root := tracer.Root(t.Context(), "root", tt.parent)
			_, step := Start(ctx, "step")
			if root.sampled != step.sampled || root.sampled != strings.HasSuffix(Parent(ctx), "-01") {
				t.Fatal("a trace is sent in part")
			}
			if root.sampled {
				n++
			}
		}
		if n < tt.least || n > tt.most {
			t.Errorf("%s %s sends %d of 1000 traces, want %d to %d", tt.sampler, tt.arg, n, tt.least, tt.most)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		tracer.Close(ended)
	}
}

// TestWhatCannotBeFollowed names the variable.
func TestWhatCannotBeFollowed(t *testing.T) {
	for _, tt := range []struct{ name, value string }{
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "localhost:4318"}, {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s"}, {"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "zstd"}, {"OTEL_EXPORTER_OTLP_HEADERS", "a"},
		{"OTEL_EXPORTER_OTLP_CERTIFICATE", "/none"}, {"OTEL_TRACES_SAMPLER", "some"}, {"OTEL_RESOURCE_ATTRIBUTES", "=x"},
	} {
		_, err := Open(Config{LookupEnv: lookup(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318", tt.name: tt.value})})
		if err == nil || !strings.HasPrefix(err.Error(), tt.name+": ") {
			t.Errorf("%s=%s is the error %v", tt.name, tt.value, err)
		}
	}
}

// TestACollectorThatIsAway gets the spans when it is back, and what it refuses is
// not sent again.
func TestACollectorThatIsAway(t *testing.T) {
	r := tracingtest.New(t, http.StatusServiceUnavailable, http.StatusBadRequest)
	var failures []error
	env := environment(lookup(nil))
	s, err := env.sender(Config{}, r.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.encode = func(spans []*Span) []byte { return request(nil, "", spans) }
	e := &exporter{send: s, failed: func(err error) { failures = append(failures, err) }, full: make(chan struct{}, 1), stop: make(chan context.Context, 1), done: make(chan struct{})}
	b := &batch{exporter: e}
	e.enqueue(&Span{name: "first"})
	b.flush(t.Context()) // away
	b.flush(t.Context()) // refused
	e.enqueue(&Span{name: "second"})
	b.flush(t.Context())
	if all := byName(r); len(all) != 1 || all["second"] == nil || len(r.Sent()) != 3 {
		t.Errorf("%d requests brought %v, want 3 and the second span", len(r.Sent()), all)
	}
	if len(failures) != 2 || failures[0] == nil || failures[1] != nil {
		t.Errorf("the failures are %v, want one and its end", failures)
	}
	for range 2 * mostKept {
		e.enqueue(&Span{name: "more"})
	}
	if n := len(e.kept); n != mostKept {
		t.Errorf("%d spans wait, want %d", n, mostKept)
	}
}
