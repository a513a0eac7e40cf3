package oracle_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/gavel-evals/gavel/cmd/internal/oracle"
	"github.com/gavel-evals/gavel/schema/template"
)

// TestSameAsNunjucks holds that each template gives what it gives in Nunjucks, unless a
// rule on the format's page says otherwise.
func TestSameAsNunjucks(t *testing.T) {
	templates := oracle.Templates()
	theirs, err := oracle.RecordedTemplates(templates)
	if err != nil {
		t.Fatal(err)
	}
	if len(templates) < 10_000 {
		t.Errorf("there are %d templates, want 10000", len(templates))
	}
	var vars template.Variables
	if err := json.Unmarshal([]byte(oracle.Variables), &vars); err != nil {
		t.Fatal(err)
	}
	tally := &oracle.Tally[oracle.FilledTemplate]{Rules: oracle.TemplateRules}
	for i, text := range templates {
		row := oracle.FilledTemplate{Text: text, Theirs: theirs[i]}
		var e template.Engine
		row.Ours.Text, err = e.Fill(vars, text)
		if row.Ours.Failed = err != nil; row.Ours.Failed {
			wrong, isError := errors.AsType[*template.Error](err)
			row.Refused = isError && !wrong.Wrong
		}
		if !tally.Add(row, row.Ours == row.Theirs) {
			t.Errorf("no rule is about %+v (%v)", row, err)
		}
	}
	page, err := os.ReadFile("../../../examples/formats/matrix.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range tally.Check(string(page)) {
		t.Error(err)
	}
	t.Logf("templates by their rule: %v", tally.Used)
}
