package plan

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

// TestGivenAnswer has digests that depend on the answer which the case has itself, and on
// nothing of the target, which is not asked.
func TestGivenAnswer(t *testing.T) {
	digest := func(answer, model, price string, agent bool) Digests {
		c := tc("a", "1", 0.7)
		c.Drive.Given = &answer
		return Digest(c, &Environment{Config: "gavel.yaml", DefaultTarget: "bot", Targets: map[string]Target{"bot": {Agent: agent, Price: price, Facts: []Fact{{Name: "model", Value: model}}}}})
	}
	first := digest("yes", "m", "1", false)
	if other := digest("yes", "n", "2", true); other.Bare() != first.Bare() {
		t.Errorf("another target changes %+v to %+v", first.Bare(), other.Bare())
	}
	if other := digest("no", "m", "1", false); other.E == first.E {
		t.Errorf("another answer has the same digest %s", first.E)
	}
	asked := tc("a", "1", 0.7)
	if Digest(asked, &Environment{}).E == first.E {
		t.Error("a case whose target is asked has the digest of one with an answer")
	}
	if !slices.ContainsFunc(first.Parts(), func(p Part) bool { return p.Layer == Execution && p.Name == "given answer" }) {
		t.Errorf("no part of %v is the answer", first.Parts())
	}
}

// TestRowThatIsTold is in E: a program that gets the variables of its row may answer
// differently.
func TestRowThatIsTold(t *testing.T) {
	digest := func(row string) Digests {
		c := tc("a", "1", 0.7)
		if row != "" {
			c.Drive.Row = json.RawMessage(row)
		}
		return Digest(c, &Environment{})
	}
	none, one := digest(""), digest(`{"vars":{"q":"a"}}`)
	if other := digest(`{"vars":{"q":"b"}}`); one.E == none.E || one.E == other.E {
		t.Errorf("the digests are %s, %s without a row and %s with another one, want three", one.E, none.E, other.E)
	}
	if same := digest(`{ "vars": {"q": "a"} }`); same.E != one.E {
		t.Errorf("another layout changes %s to %s", one.E, same.E)
	}
}

// TestWriterVersion is in E where a program writes the prompt, and nowhere else.
func TestWriterVersion(t *testing.T) {
	for _, writes := range []bool{false, true} {
		c := tc("a", "1", 0.7)
		if writes {
			c.Drive.Program = &schema.PromptProgram{Argv: []string{"p"}}
		}
		isThere := slices.ContainsFunc(Digest(c, &Environment{}).Parts(), func(p Part) bool { return p.Layer == Execution && p.Name == "prompt writer version" })
		if isThere != writes {
			t.Errorf("a program writes: %t; the version is in E: %t", writes, isThere)
		}
	}
}

// TestFilesOfTools: a tool of a row is written where its provider is, or in a file of its own.
func TestFilesOfTools(t *testing.T) {
	c := tc("a", "1", 0.7)
	c.Row, c.Tools = &schema.Row{}, []schema.Tool{{Name: "search"}}
	c.Inputs = []schema.Input{{File: "m.yaml", Role: "definition"}, {File: "tools.yaml", Role: "tool"}, {File: "p.py", Role: "program"}}
	for _, p := range Digest(c, &Environment{}).Parts() {
		if p.Name == "tool search" && (!slices.Contains(p.Files, "tools.yaml") || !slices.Contains(p.Files, "m.yaml") || slices.Contains(p.Files, "p.py")) {
			t.Errorf("the tool is of %v, want the definition and tools.yaml", p.Files)
		}
	}
}
