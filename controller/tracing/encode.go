package tracing

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// This file encodes opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest.
// The numbers are its fields' numbers. The generated types need gRPC, which is large.

// message appends a field with a message or a string.
func message[T string | []byte](to []byte, field protowire.Number, content T) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), []byte(content))
}

func number(to []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), n)
}

func fixed(to []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(to, field, protowire.Fixed64Type), n)
}

// request encodes the request that sends spans of one process.
func request(resource []attribute, version string, spans []*Span) []byte {
	var about []byte
	for _, a := range resource {
		about = message(about, 1, a.encode())
	}
	scope := message(message(nil, 1, "github.com/gavel-evals/gavel"), 2, version)
	all := message(nil, 1, scope)
	for _, s := range spans {
		all = message(all, 2, s.encode())
	}
	return message(nil, 1, slices.Concat(message(nil, 1, about), message(nil, 2, all)))
}

func (s *Span) encode() []byte {
	out := message(nil, 1, s.trace[:])
	out = message(out, 2, s.id[:])
	if s.parent != [8]byte{} {
		out = message(out, 4, s.parent[:])
	}
	out = number(message(out, 5, s.name), 6, uint64(s.kind))
	out = fixed(out, 7, uint64(s.begun.UnixNano()))
	out = fixed(out, 8, uint64(s.ended.UnixNano()))
	for _, a := range s.attributes {
		out = message(out, 9, a.encode())
	}
	if s.failed {
		out = message(out, 15, number(nil, 3, 2)) // STATUS_CODE_ERROR
	}
	return out
}

// encode encodes the attribute as a KeyValue.
func (a attribute) encode() []byte {
	value := message(nil, 1, a.text)
	if a.kind == 'i' {
		value = number(nil, 3, uint64(a.n))
	}
	return message(message(nil, 1, a.key), 2, value)
}
