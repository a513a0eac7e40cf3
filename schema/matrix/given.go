package matrix

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/schema/document"
)

// A given answer is one that a test has itself, in place of the target's.
type given struct {
	text string
	// parsed means that it is written as an object or a list, which is what functions get;
	// all others get its JSON.
	parsed bool
}

// readGiven reads the answer of a test. An empty one is none, as promptfoo has it.
func (t *test) readGiven(value json.RawMessage) {
	text, isText := document.ParseText(value)
	switch {
	case isText && text != "":
		t.given = &given{text: text}
	case !isText && len(value) > 0 && string(value) != "null":
		t.given = &given{text: string(value), parsed: true}
	}
}

// answer is the text of a given answer; nil where the target is asked.
func (g *given) answer() *string {
	if g == nil {
		return nil
	}
	return &g.text
}

// steps make of the text of a given answer the value that functions get.
func (g *given) steps() []string {
	if g == nil || !g.parsed {
		return nil
	}
	return []string{"JSON.parse(output)"}
}
