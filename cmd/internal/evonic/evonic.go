// Package evonic reads and writes the export document of Evonic, which has all
// domains, tests, evaluators and tools of an installation in one JSON object.
//
// [Import] makes definitions of a document, and [Export] a document of definitions.
// Both say what they could not carry over.
package evonic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// A Loss is something that could not be carried over.
type Loss struct {
	// File is its place, empty for the imported document; Line is 1-based, 0 for the
	// whole file.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// The setting, and why it is lost.
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// String returns the loss on one line, after the name of the document.
func (l Loss) String() string {
	if l.Line == 0 {
		return fmt.Sprintf("%s: %s", l.What, l.Reason)
	}
	return fmt.Sprintf("line %d: %s: %s", l.Line, l.What, l.Reason)
}

// The fields of each kind of file that both sides know, in the order of documents.
var (
	domainFields = []string{
		"id", "name", "description", "icon", "color", "evaluator_id", "system_prompt", "system_prompt_mode", "enabled",
		"created_at", "updated_at", "tool_ids",
	}
	testFields = []string{
		"id", "name", "description", "prompt", "expected", "evaluator_id", "system_prompt", "system_prompt_mode",
		"timeout_ms", "weight", "enabled", "created_at", "updated_at", "tool_ids",
	}
	evaluatorFields = []string{"id", "name", "type", "description", "eval_prompt", "extraction_regex", "uses_pass2", "config"}
	toolFields      = []string{"id", "name", "description", "function", "mock_response", "mock_response_type", "no_mock", "created_at", "updated_at"}
)

// A member is a field of a JSON object, or an item of a list, with its place.
type member struct {
	key   string
	value json.RawMessage
	at    int // the offset in the document
}

// members splits an object or a list that begins at an offset of the document. The
// error has the offset of the mistake in the text.
func members(value json.RawMessage, at int) (out []member, err error) {
	dec := json.NewDecoder(bytes.NewReader(value))
	open, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('{') && open != json.Delim('[') {
		return nil, errors.New("it is neither an object nor a list")
	}
	for dec.More() {
		var m member
		if open == json.Delim('{') {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			m.key, _ = key.(string)
		}
		if err := dec.Decode(&m.value); err != nil {
			return nil, err
		}
		m.at = at + int(dec.InputOffset()) - len(m.value)
		out = append(out, m)
	}
	_, err = dec.Token()
	return out, err
}

// text returns the string of a JSON value; empty if it is not one.
func text(value json.RawMessage) string {
	var out string
	if json.Unmarshal(value, &out) != nil {
		return ""
	}
	return out
}

// isEmpty reports whether a value is null, "", [] or {}.
func isEmpty(value json.RawMessage) bool {
	return slices.Contains([]string{"", "null", `""`, "[]", "{}"}, strings.Join(strings.Fields(string(value)), ""))
}

// object writes fields as a JSON object with one field per line.
func object(fields []member) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("{")
	for i, f := range fields {
		if i > 0 {
			b.WriteString(",")
		}
		key, err := json.Marshal(f.key)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteString(":")
		b.Write(f.value)
	}
	b.WriteString("}")
	var out bytes.Buffer
	if err := json.Indent(&out, b.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	out.WriteString("\n")
	return out.Bytes(), nil
}

// plain is a name of a file or a folder on every system.
var plain = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// fileName makes a name from an id.
func fileName(id string) string {
	if plain.MatchString(id) {
		return id
	}
	return strings.Trim(regexp.MustCompile(`[^A-Za-z0-9_]+`).ReplaceAllString(id, "_"), "_")
}
