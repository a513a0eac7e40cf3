package trials_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/trials"
)

// TestRead: the mean of trials is read, and a warning names every other strategy.
func TestRead(t *testing.T) {
	for _, tt := range []struct {
		written string
		want    int
		problem string
	}{
		{"{}", 0, ""},
		{"{execution: {trials: null}}", 0, ""},
		{"{execution: {trials: {count: 3, strategy: mean}}}", 3, ""},
		{"{execution: {trials: {count: 1}}}", 1, ""},
		{"{execution: {trials: {count: 3}}}", 0, "a.yaml:1:14: warning: `trials` is not read: AgentV keeps the best"},
		{"{execution: {trials: {count: 3, strategy: pass_at_k}}}", 0, "a.yaml:1:33: warning: `trials` is not read: AgentV keeps the best"},
		{"{execution: {trials: {count: 3, strategy: confidence_interval}}}", 0, "a.yaml:1:33: warning: `trials` is not read: Gavel compares"},
		{"{execution: {trials: {count: 2.5, strategy: mean}}}", 0, "a.yaml:1:23: warning: `trials` is not read: its count is not a whole number from 1 to 1000"},
		{"{execution: {trials: {count: many, strategy: mean}}}", 0, "a.yaml:1:23: warning: `trials` is not read: its count"},
	} {
		doc, _ := schema.Parse("a.yaml", []byte(tt.written))
		got, problems := trials.Read(doc)
		said := ""
		if len(problems) > 0 {
			said = problems[0].String()
		}
		if got != tt.want || !strings.HasPrefix(said, tt.problem) || tt.problem == "" && said != "" {
			t.Errorf("%s: %d samples and %q, want %d and %q", tt.written, got, said, tt.want, tt.problem)
		}
	}
	if got, problems := trials.Read(nil); got != 0 || problems != nil {
		t.Errorf("without a suite: %d samples and %v", got, problems)
	}
}
