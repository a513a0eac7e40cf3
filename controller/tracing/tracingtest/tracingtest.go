// Package tracingtest provides a collector of traces in the test process, which reads
// OTLP with OpenTelemetry's types.
package tracingtest

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A Collector receives traces over HTTP. It is safe for concurrent use.
type Collector struct {
	// URL is its endpoint.
	URL     string
	answers []int

	mu sync.Mutex
	// The fields below are guarded by mu.
	requests []*collector.ExportTraceServiceRequest
	sent     []*http.Request
}

// New starts a Collector that ends with the test. It refuses the first requests with
// the statuses in answers.
func New(t *testing.T, answers ...int) *Collector {
	t.Helper()
	c := &Collector{answers: answers}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := read(r)
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(c.store(r, request))
	}))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

func read(r *http.Request) (*collector.ExportTraceServiceRequest, error) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		body = unpacked
	}
	data, err := io.ReadAll(body)
	request := &collector.ExportTraceServiceRequest{}
	return request, errors.Join(err, proto.Unmarshal(data, request))
}

// store keeps a request and returns the response's status.
func (c *Collector) store(r *http.Request, request *collector.ExportTraceServiceRequest) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, r)
	if n := len(c.sent); n <= len(c.answers) {
		return c.answers[n-1]
	}
	c.requests = append(c.requests, request)
	return http.StatusOK
}

// Sent returns all requests, refused ones included, without their bodies.
func (c *Collector) Sent() []*http.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sent)
}

// Requests returns the accepted requests.
func (c *Collector) Requests() []*collector.ExportTraceServiceRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// Spans returns the spans of all accepted requests.
func (c *Collector) Spans() []*tracepb.Span {
	var all []*tracepb.Span
	for _, request := range c.Requests() {
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				all = append(all, scope.Spans...)
			}
		}
	}
	return all
}
