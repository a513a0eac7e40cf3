package schema_test

import (
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

// TestTraits shows scores in the notation of each format's authors, and gives a dialect of a later
// version the usual traits.
func TestTraits(t *testing.T) {
	for _, tt := range []struct {
		dialect, shown string
		top            float64
		tags           bool
	}{
		{schema.DialectTestcase, "0.75", 5, true},
		{schema.DialectPromptval, "7.5", 10, false},
		{schema.DialectDomain, "0.75", 1, false},
		{schema.DialectEvalcase, "0.75", 1, true},
		{schema.DialectMatrix, "0.75", 1, true},
		{"later", "0.75", 1, true},
	} {
		got := (&schema.CaseInfo{Dialect: tt.dialect}).Traits()
		if got.Show(0.75) != tt.shown || got.TopScore != tt.top || got.LacksLabel("tag") == tt.tags {
			t.Errorf("%s: %+v shows 0.75 as %s, want %+v", tt.dialect, got, got.Show(0.75), tt)
		}
	}
}
