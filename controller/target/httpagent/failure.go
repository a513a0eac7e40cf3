package httpagent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// ErrorText returns the text of an error that a reply has in a field; empty for a value that
// means none, such as null, false, an empty text, or an object of such values.
func ErrorText(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	var value any
	if len(raw) == 0 || json.Unmarshal(raw, &value) == nil && isZero(value) {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strings.TrimSpace(text)
	}
	var object struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &object) == nil && object.Message != "" {
		return object.Message
	}
	return string(raw)
}

// isZero reports whether a JSON value consists of null, false, 0 and empty texts alone.
func isZero(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, field := range v {
			if !isZero(field) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(v, func(element any) bool { return !isZero(element) })
	}
	return value == false || value == 0.0 || value == ""
}

// failure returns the error that an event reports; empty for none.
func (e event) failure() string {
	var object struct {
		Type  any             `json:"type"`
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal([]byte(e.data), &object) != nil {
		return ""
	}
	if text := ErrorText(object.Error); text != "" {
		return text
	}
	if object.Type == "error" {
		return e.data
	}
	return ""
}

// StreamError returns the error of a stream whose reply is the last event with a field: an
// event of the name error, or an error behind the reply. It is empty for none, and for a body
// that is not a stream.
func StreamError(field, contentType string, body []byte) string {
	if !isStream(contentType) {
		return ""
	}
	failed := ""
	for _, e := range events(contentType, body) {
		switch {
		case e.name == "error":
			return e.data
		case e.has(field):
			failed = ""
		case e.failure() != "":
			failed = e.failure()
		}
	}
	return failed
}

// has reports whether an event is an object with a field.
func (e event) has(field string) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(e.data), &object) == nil && object[field] != nil
}
