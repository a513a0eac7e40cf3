package matrix

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/schema/document"
)

// A given answer is a test's own answer, which replaces the target's.
type given struct {
	text string
	// parsed means that it is written as an object or a list, which functions get; all
	// others get its JSON.
	parsed bool
}

// readGiven reads the answer of a test. An empty one does not count, as in promptfoo.
func (t *test) readGiven(value json.RawMessage) {
	text, isText := document.ParseText(value)
	switch {
	case isText && text != "":
		t.given = &given{text: text}
	case !isText && len(value) > 0 && string(value) != "null":
		t.given = &given{text: string(value), parsed: true}
	}
}

// answer returns the text of a given answer; nil if the target is asked.
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
