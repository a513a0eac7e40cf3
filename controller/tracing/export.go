package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// mostKept bounds the waiting spans, and mostSent the spans in one request.
	mostKept, mostSent = 4096, 512
	// sendEvery bounds a span's wait for others.
	sendEvery = 5 * time.Second
	// mostTries bounds the attempts to send spans that the collector temporarily
	// refuses.
	mostTries = 5
)

// A sender sends requests to a collector.
type sender struct {
	url     string
	header  http.Header
	timeout time.Duration
	gzip    bool
	client  http.Client
	encode  func([]*Span) []byte
}

// An unsentError reports whether the same spans may be accepted later.
type unsentError struct {
	message string
	again   bool
}

func (e *unsentError) Error() string { return e.message }

// send sends spans once. Its errors do not include the collector's reply: a proxy may
// quote the headers, which have credentials.
func (s *sender) send(ctx context.Context, spans []*Span) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	body := s.encode(spans)
	if s.gzip {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, err := w.Write(body)
		if err = errors.Join(err, w.Close()); err != nil {
			return err
		}
		body = packed.Bytes()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("send traces: %w", err)
	}
	req.Header = s.header.Clone()
	req.Header.Set("Content-Type", "application/x-protobuf")
	if s.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return &unsentError{"send traces: the collector cannot be reached", true}
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // so that the connection is reused
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &unsentError{"send traces: the collector answers " + resp.Status, true}
	}
	return &unsentError{"send traces: the collector refuses them with " + resp.Status, false}
}

// An exporter keeps spans until they are sent.
type exporter struct {
	send   *sender
	failed func(error)
	full   chan struct{} // signals that enough spans wait
	stop   chan context.Context
	done   chan struct{}

	mu   sync.Mutex
	kept []*Span // guarded by mu
}

func start(s *sender, failed func(error)) *exporter {
	e := &exporter{send: s, failed: failed, full: make(chan struct{}, 1), stop: make(chan context.Context, 1), done: make(chan struct{})}
	go e.run()
	return e
}

// enqueue queues an ended span. If too many wait it is dropped: an unavailable
// collector must not cost memory or time.
func (e *exporter) enqueue(s *Span) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.kept) < mostKept {
		e.kept = append(e.kept, s)
	}
	if len(e.kept) >= mostSent {
		select {
		case e.full <- struct{}{}:
		default:
		}
	}
}

// next returns up to as many spans as fit in one request.
func (e *exporter) next() []*Span {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(len(e.kept), mostSent)
	spans := e.kept[:n:n]
	e.kept = e.kept[n:]
	return spans
}

// A batch is a set of spans being sent.
type batch struct {
	*exporter
	spans []*Span
	tries int
	// broken is set while the collector accepts nothing.
	broken bool
}

// flush sends all waiting spans. Spans that the collector temporarily refuses are kept
// for the next time.
func (b *batch) flush(ctx context.Context) {
	for {
		if len(b.spans) == 0 {
			b.spans, b.tries = b.next(), 0
		}
		if len(b.spans) == 0 {
			return
		}
		err := b.send.send(ctx, b.spans)
		if err != nil != b.broken {
			b.broken = !b.broken
			b.failed(err)
		}
		var unsent *unsentError
		if b.tries++; errors.As(err, &unsent) && unsent.again && b.tries < mostTries {
			return
		}
		b.spans = nil
	}
}

// run sends spans until the exporter is closed.
func (e *exporter) run() {
	defer close(e.done)
	timer := time.NewTicker(sendEvery)
	defer timer.Stop()
	b := &batch{exporter: e}
	for {
		select {
		case <-timer.C:
			b.flush(context.Background())
		case <-e.full:
			b.flush(context.Background())
		case ctx := <-e.stop:
			b.flush(ctx)
			return
		}
	}
}

// close sends the waiting spans.
func (e *exporter) close(ctx context.Context) {
	e.stop <- ctx
	select {
	case <-e.done:
	case <-ctx.Done():
	}
}
