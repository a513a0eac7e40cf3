package oracle_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
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
	used := map[string]int{}
	for i, text := range templates {
		var ours oracle.Filled
		var refused bool
		var e template.Engine
		ours.Text, err = e.Fill(vars, text)
		if ours.Failed = err != nil; ours.Failed {
			wrong, isError := errors.AsType[*template.Error](err)
			refused = isError && !wrong.Wrong
		}
		rule := oracle.TemplateRuleOf(text, theirs[i], ours, refused)
		used[rule]++
		if ours != theirs[i] && rule == "" {
			t.Errorf("%q gives %+v (%v), and in Nunjucks %+v", text, ours, err, theirs[i])
		}
	}
	page, err := os.ReadFile("../../../examples/formats/matrix.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range oracle.TemplateRules {
		if used[rule.Name] == 0 {
			t.Errorf("no template differs by the rule %q: remove it", rule.Name)
		}
		if !strings.Contains(string(page), rule.Page) {
			t.Errorf("examples/formats/matrix.md does not have the rule %q: %s", rule.Name, rule.Page)
		}
	}
	t.Logf("templates by their rule: %v", used)
}
