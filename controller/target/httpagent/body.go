package httpagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// A Conversation has the values for the holes of a body.
type Conversation struct {
	// Messages are the messages of the conversation so far, in the form of the
	// contract.
	Messages []json.RawMessage
	// Message is the text of the last one.
	Message string
	System  string
	Case    string
	Turn    int
	// Session is the same in each turn of a conversation, and another one in every
	// other conversation.
	Session string
}

// Holes are the names that a template may have in double braces. A text that is only a
// hole becomes its value; in a longer text the value is inserted as text. One of the
// first two has to be there for the conversation.
var Holes = []string{"messages", "message", "history", "system", "case", "turn", "session"}

// hole matches {{name}}.
var hole = lazyregexp.New(`\{\{\s*([^{}]*?)\s*\}\}`)

// value returns the value for a hole.
func (c Conversation) value(name string) any {
	switch name {
	case "messages":
		return slices.Clip(append([]json.RawMessage{}, c.Messages...))
	case "history":
		return slices.Clip(append([]json.RawMessage{}, c.Messages[:max(len(c.Messages)-1, 0)]...))
	case "message":
		return c.Message
	case "system":
		return c.System
	case "case":
		return c.Case
	case "session":
		return c.Session
	}
	return c.Turn
}

// text returns the text for a hole in a longer text.
func (c Conversation) text(name string) string {
	switch v := c.value(name).(type) {
	case string:
		return v
	case int:
		return fmt.Sprint(v)
	default:
		raw, err := json.Marshal(v)
		if err != nil {
			return "" // messages were encoded before
		}
		return string(raw)
	}
}

// Encode fills the template. It must have one, see [Codec.HasBody].
func (c *Codec) Encode(with Conversation) ([]byte, error) {
	raw, err := json.Marshal(fill(c.body, with))
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return raw, nil
}

func fill(template any, with Conversation) any {
	switch t := template.(type) {
	case map[string]any:
		out := make(map[string]any, len(t))
		for key, inner := range t {
			out[key] = fill(inner, with)
		}
		return out
	case []any:
		out := make([]any, len(t))
		for i, inner := range t {
			out[i] = fill(inner, with)
		}
		return out
	case string:
		if m := hole.FindStringSubmatch(t); m != nil && m[0] == t {
			return with.value(m[1])
		}
		return with.fill(t)
	}
	return template
}

// fill fills the holes of a text with texts.
func (c Conversation) fill(template string) string {
	return hole.ReplaceAllStringFunc(template, func(found string) string {
		return c.text(hole.FindStringSubmatch(found)[1])
	})
}

// walk visits all texts that are values.
func walk(value any, where []any, visit func(text string, where []any)) {
	below := func(key any) []any { return append(slices.Clip(where), key) }
	switch t := value.(type) {
	case map[string]any:
		for key, inner := range t {
			walk(inner, below(key), visit)
		}
	case []any:
		for i, inner := range t {
			walk(inner, below(i), visit)
		}
	case string:
		visit(t, where)
	}
}

// parse reads JSON with its numbers as they are written.
func parse(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, fmt.Errorf("there is more than one value")
	}
	return v, nil
}
