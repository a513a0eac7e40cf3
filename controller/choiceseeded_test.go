package controller

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

// TestTagsThatTheFormatKnows are suggested where no case has them yet.
func TestTagsThatTheFormatKnows(t *testing.T) {
	for _, tt := range []struct{ written, want string }{
		{"redteam", "did you mean `red-team`?"}, {"edge-cases", "did you mean `edge-case`?"}, {"slwo", "did you mean `slow`?"},
	} {
		c := CaseFilter{Tags: []string{tt.written}}.Choose()
		c.Func()(&schema.CaseInfo{Key: "a", Labels: schema.Labels{Tags: []string{"slow"}}})
		if got, _ := c.Unmatched(nowhere); len(got) != 1 || !strings.HasSuffix(got[0], tt.want) {
			t.Errorf("--tag %s gives %q, want a line that ends with %s", tt.written, got, tt.want)
		}
	}
}
