package explain

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema"
)

// TestFindInvalid: a case whose file cannot be read is not unknown; the error says what is
// wrong with the file.
func TestFindInvalid(t *testing.T) {
	problems := []schema.Problem{
		{Position: schema.Position{File: "test_definitions/shop/level_1/one.json", Line: 3}, Severity: schema.Error, Message: "a comma is missing"},
		{Position: schema.Position{File: "test_definitions/menu.yaml", Line: 7}, Severity: schema.Error, Message: "a quote is missing"},
		{Position: schema.Position{File: "test_definitions/old.yaml", Line: 7}, Severity: schema.Warning, Message: "unused"},
	}
	for key, want := range map[string]string{
		"shop/level_1/one": "a comma is missing",
		"menu#soup":        "a quote is missing",
		"old#soup":         "unknown case",
		"#soup":            "unknown case",
	} {
		if _, err := Find(&plan.Plan{}, problems, key, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q", key, err, want)
		}
	}
}
