package suggest_test

import (
	"testing"

	"github.com/gavel-evals/gavel/schema/suggest"
)

func TestNearest(t *testing.T) {
	fields := []string{"expected", "evaluator_id", "prompt", "name", "id", "tool_ids", "timeout_ms"}
	for _, tt := range []struct{ name, want string }{
		{"expcted", "expected"},
		{"Prompt", "prompt"},
		{"evaluator-id", "evaluator_id"},
		{"evaluator", "evaluator_id"},
		{"pormpt", "prompt"},
		{"nmae", "name"},
		{"ids", "id"},
		{"timeout", "timeout_ms"},
		{"ool_ids", "tool_ids"},
		{"banana", ""},
		{"", ""},
		{"x", ""},
	} {
		if got := suggest.Nearest(tt.name, fields); got != tt.want {
			t.Errorf("Nearest(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
	for _, tt := range []struct {
		name, want string
		among      []string
	}{
		{"params", "expected_params", []string{"tool", "expected_params"}},
		{"#Testcse", "#Testcase", []string{"#Test", "#Testcase"}},
		{"turns", "max_turns", []string{"max_turns", "persona"}},
		{"ms", "", []string{"timeout_ms"}},
		{"context", "", []string{"subcontext"}},
	} {
		if got := suggest.Nearest(tt.name, tt.among); got != tt.want {
			t.Errorf("Nearest(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := suggest.Nearest("evaluater", []string{"evaluator2", "evaluator1"}); got != "evaluator1" {
		t.Errorf("of two equally near candidates Nearest took %q", got)
	}
}
