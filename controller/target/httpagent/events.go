package httpagent

import (
	"bytes"
	"mime"
	"slices"
	"strings"
)

// An event is one part of a reply that is a stream.
type event struct{ name, data string }

// The media types of streams.
const (
	eventStream = "text/event-stream"
	ndjson      = "application/x-ndjson"
)

// isStream reports whether a Content-Type means a stream of events.
func isStream(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == eventStream || media == ndjson || media == "application/jsonl")
}

// LastWith returns the last event of a stream that is an object with this field. It
// returns a body unchanged that is not a stream or has no such event.
func LastWith(field, contentType string, body []byte) []byte {
	if !isStream(contentType) {
		return body
	}
	for _, e := range slices.Backward(events(contentType, body)) {
		if e.has(field) {
			return []byte(e.data)
		}
	}
	return body
}

// events cuts a stream into its events, without those that have no data and "[DONE]",
// which ends streams in OpenAI's protocol. Server-sent events are read by the HTML
// standard, except that the last one needs no empty line behind it.
func events(contentType string, body []byte) []event {
	if !strings.HasPrefix(contentType, eventStream) {
		var list []event
		for line := range bytes.Lines(body) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				list = append(list, event{data: string(line)})
			}
		}
		return list
	}
	text := strings.TrimPrefix(string(body), "\uFEFF")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	var list []event
	var now event
	var data []string
	dispatch := func() {
		now.data = strings.Join(data, "\n")
		if len(data) > 0 && now.data != "[DONE]" {
			list = append(list, now)
		}
		now, data = event{}, nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			dispatch()
		case field == "data":
			data = append(data, value)
		case field == "event":
			now.name = value
		}
	}
	dispatch()
	return list
}
