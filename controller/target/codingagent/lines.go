package codingagent

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// lines returns the lines that may be events.
func lines(printed []byte) (events [][]byte) {
	for line := range bytes.Lines(printed) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '{' {
			events = append(events, line)
		}
	}
	return events
}

// ErrSilent is the error of an agent that ended without a word about its end.
var ErrSilent = errors.New("it printed no event that ends its work, so that what it did is not known; is this a version that prints events as JSON lines?")

// failed returns the error of an agent that says that it failed.
func failed(kind string, reasons ...string) error {
	reasons = append([]string{kind}, reasons...)
	var said []string
	for _, r := range reasons {
		if r = strings.TrimSpace(r); r != "" {
			said = append(said, r)
		}
	}
	if len(said) == 0 {
		return errors.New("it says that it failed, and no reason")
	}
	return errors.New("it says that it failed: " + strings.Join(said, ": "))
}

// text returns a JSON string, the texts of a list of blocks with a text each, one below the
// other, and the JSON of any other value.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &s) == nil {
		return s
	}
	var blocks []struct {
		Text *string `json:"text"`
	}
	if json.Unmarshal(raw, &blocks) != nil {
		return string(raw)
	}
	var parts []string
	for _, b := range blocks {
		if b.Text != nil {
			parts = append(parts, *b.Text)
		}
	}
	if len(parts) == 0 && len(blocks) > 0 {
		return string(raw)
	}
	return strings.Join(parts, "\n")
}
