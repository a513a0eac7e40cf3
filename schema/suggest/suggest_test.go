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

// TestCase asks for keys by their last part.
func TestCase(t *testing.T) {
	keys := []string{"refunds#window", "refunds#late", "returns#late", "a/x", "b/x", "c/x", "d/x", "talk/level_1/hello", "talk#tone @ bot", "talk#tone @ other"}
	for _, tt := range []struct{ name, want string }{
		{"window", "did you mean `refunds#window`?"},
		{"hello", "did you mean `talk/level_1/hello`?"},
		{"late", "did you mean `refunds#late` or `returns#late`?"},
		{"tone", "did you mean `talk#tone @ bot` or `talk#tone @ other`?"},
		{"x", ""}, // too many
		{"refunds#windw", "did you mean `refunds#window`?"},
		{"", ""},
	} {
		if got := suggest.Case(tt.name, keys); got != tt.want {
			t.Errorf("Case(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
	if got, want := suggest.Case("x", []string{"c/x", "a/x", "b/x"}), "did you mean `a/x`, `b/x` or `c/x`?"; got != want {
		t.Errorf("of three: %q, want %q", got, want)
	}
}
