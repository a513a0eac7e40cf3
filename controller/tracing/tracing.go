// Package tracing sends an OpenTelemetry collector the steps from a webhook to a
// verdict, with their durations.
//
// A program opens a [Tracer] with [Open] and begins traces with [Tracer.Root]. Every
// other package calls [Start], which adds a [Span] to the trace of its context. Without
// a trace it does nothing: a step then costs one context lookup.
//
// Spans have ids, numbers, digests and names from the operator or base's configuration.
// They never contain text of a definition, a request, a reply or an error.
package tracing

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// A Kind is a span's role towards the other side of a message.
type Kind int

// The kinds, with the numbers of OTLP.
const (
	Internal Kind = iota + 1
	Server
	Client
	Producer
	Consumer
)

// An attribute is a text or a number, depending on kind.
type attribute struct {
	key  string
	kind byte // 's' or 'i'
	text string
	n    int64
}

// A Span is one step of a trace. It is not safe for concurrent use. A nil Span ignores
// everything.
type Span struct {
	tracer       *Tracer
	trace        [16]byte
	id, parent   [8]byte
	sampled      bool
	name         string
	kind         Kind
	begun, ended time.Time
	attributes   []attribute
	failed, over bool
}

type contextKey struct{}

// fromContext returns the span of a context, or nil.
func fromContext(ctx context.Context) *Span {
	s, _ := ctx.Value(contextKey{}).(*Span)
	return s
}

// Start begins a step of ctx's trace, and returns the context for its inner steps.
// Without a trace the span is nil, and the context is ctx.
func Start(ctx context.Context, name string) (context.Context, *Span) {
	up := fromContext(ctx)
	if up == nil {
		return ctx, nil
	}
	s := up.tracer.begin(name, Internal)
	s.trace, s.parent, s.sampled = up.trace, up.id, up.sampled
	return context.WithValue(ctx, contextKey{}, s), s
}

// Root begins a trace, or continues the parent's, which has the form of a traceparent
// header. An empty or malformed parent is ignored. A nil Tracer begins nothing.
func (t *Tracer) Root(ctx context.Context, name, parent string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	s := t.begin(name, Internal)
	var known bool
	s.trace, s.parent, s.sampled, known = parse(parent)
	if !known {
		s.trace, s.parent = t.newTrace(), [8]byte{}
		s.sampled = t.samples(s.trace)
	} else if !t.parents {
		s.sampled = t.samples(s.trace)
	}
	return context.WithValue(ctx, contextKey{}, s), s
}

func (t *Tracer) begin(name string, kind Kind) *Span {
	return &Span{tracer: t, id: t.newID(), name: name, kind: kind, begun: t.cfg.Now()}
}

// newID returns 8 bytes that are not all zero.
func (t *Tracer) newID() (id [8]byte) {
	for id == [8]byte{} {
		fill(id[:])
	}
	return id
}

func (t *Tracer) newTrace() (id [16]byte) {
	for id == [16]byte{} {
		fill(id[:])
	}
	return id
}

// fill writes random bytes. Ids must differ but need not be secret.
func fill(to []byte) {
	for i := range to {
		if i%8 == 0 {
			n := rand.Uint64()
			for j := i; j < min(i+8, len(to)); j++ {
				to[j] = byte(n)
				n >>= 8
			}
		}
	}
}

// Kind sets the span's role towards the other side of a message. It defaults to
// [Internal].
func (s *Span) Kind(kind Kind) *Span {
	if s != nil {
		s.kind = kind
	}
	return s
}

// Text adds a text, unless it is empty. The text must be an id, a digest or a name.
func (s *Span) Text(key, value string) *Span {
	if s != nil && s.sampled && value != "" {
		s.attributes = append(s.attributes, attribute{key: key, kind: 's', text: value[:min(len(value), mostText)]})
	}
	return s
}

// mostText bounds an attribute in bytes.
const mostText = 200

// Int adds a number.
func (s *Span) Int(key string, value int64) *Span {
	if s != nil && s.sampled {
		s.attributes = append(s.attributes, attribute{key: key, kind: 'i', n: value})
	}
	return s
}

// End ends the step, which failed if err is not nil. The text of err may quote a
// definition or a reply, and is left out. Only the first call counts.
func (s *Span) End(err error) {
	if s == nil || s.over {
		return
	}
	s.over, s.failed, s.ended = true, err != nil, s.tracer.cfg.Now()
	if s.sampled {
		s.tracer.enqueue(s)
	}
}

// Parent returns the step of ctx in the form of a traceparent header, for another
// process that continues the trace. It is empty without a trace.
func Parent(ctx context.Context) string {
	s := fromContext(ctx)
	if s == nil {
		return ""
	}
	flags := "00"
	if s.sampled {
		flags = "01"
	}
	return "00-" + hex.EncodeToString(s.trace[:]) + "-" + hex.EncodeToString(s.id[:]) + "-" + flags
}

// parse parses a traceparent header of any version, as defined by W3C Trace Context.
func parse(header string) (trace [16]byte, id [8]byte, sampled, ok bool) {
	part := strings.Split(header, "-")
	if len(part) < 4 || len(part) > 4 && part[0] == "00" || part[0] == "ff" {
		return trace, id, false, false
	}
	var version, flags [1]byte
	ok = decode(version[:], part[0]) && decode(trace[:], part[1]) && decode(id[:], part[2]) && decode(flags[:], part[3])
	return trace, id, flags[0]&1 == 1, ok && trace != [16]byte{} && id != [8]byte{}
}

// decode decodes lower-case hex that exactly fills the destination.
func decode(to []byte, text string) bool {
	if len(text) != hex.EncodedLen(len(to)) || strings.ToLower(text) != text {
		return false
	}
	_, err := hex.Decode(to, []byte(text))
	return err == nil
}

// A Transport adds the traceparent of a request's context to its headers, unless the
// request has one.
type Transport struct{ Base http.RoundTripper }

// RoundTrip sends the request.
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if parent := Parent(req.Context()); parent != "" && req.Header.Get("Traceparent") == "" {
		req = req.Clone(req.Context())
		req.Header.Set("Traceparent", parent)
	}
	return t.Base.RoundTrip(req)
}
