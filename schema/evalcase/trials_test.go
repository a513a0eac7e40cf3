package evalcase

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema/document"
)

// TestRead: the mean of trials and the best one are read, and a warning names every other strategy.
func TestRead(t *testing.T) {
	for _, tt := range []struct {
		written string
		want    trialPlan
		problem string
	}{
		{"{}", trialPlan{}, ""},
		{"{execution: {trials: null}}", trialPlan{}, ""},
		{"{execution: {trials: {count: 3, strategy: mean}}}", trialPlan{Count: 3}, ""},
		{"{execution: {trials: {count: 1}}}", trialPlan{Count: 1}, ""},
		{"{execution: {trials: {count: 3}}}", trialPlan{Count: 3, Best: true}, ""},
		{"{execution: {trials: {count: 3, strategy: pass_at_k}}}", trialPlan{Count: 3, Best: true}, ""},
		{"{execution: {trials: {count: 3, strategy: confidence_interval}}}", trialPlan{}, "a.yaml:1:33: warning: `trials` is not read: Gavel compares"},
		{"{execution: {trials: {count: 2.5, strategy: mean}}}", trialPlan{}, "a.yaml:1:23: warning: the number of runs of each test is not read: it is not a whole number from 1 to 1000"},
		{"{execution: {trials: {count: many, strategy: mean}}}", trialPlan{}, "a.yaml:1:23: warning: the number of runs"},
		{"{execution: {trials: {count: 1001}}}", trialPlan{}, "a.yaml:1:23: warning: the number of runs"},
	} {
		doc, _ := document.Parse("a.yaml", []byte(tt.written))
		got, problems := readTrials(document.Place{Doc: doc, Path: []any{"execution"}})
		said := ""
		if len(problems) > 0 {
			said = problems[0].String()
		}
		if got != tt.want || !strings.HasPrefix(said, tt.problem) || tt.problem == "" && said != "" {
			t.Errorf("%s: %+v and %q, want %+v and %q", tt.written, got, said, tt.want, tt.problem)
		}
	}
	if got, problems := readTrials(document.Place{}); got != (trialPlan{}) || problems != nil {
		t.Errorf("without a suite: %+v and %v", got, problems)
	}
}
