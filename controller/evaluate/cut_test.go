package evaluate_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestCutAnswer: an answer that was cut off is named in every reason, and a check that
// something is not in it is an error, unless it is in the part that is there.
func TestCutAnswer(t *testing.T) {
	contains := func(text string, not bool) schema.Spec {
		return evaluator.Assertion{Type: "contains", Value: raw(`"` + text + `"`), Not: not}
	}
	checked := func(kind, text string) schema.Spec {
		return evaluator.Checks{Checks: []evaluator.Check{{ID: kind, Kind: kind, Text: text}}}
	}
	const noted = "the answer was cut off at the limit of its tokens (max_tokens)"
	for _, tt := range []struct {
		name  string
		spec  schema.Spec
		score float64 // -1 is an error
	}{
		{"contains", contains("half", false), 1},
		{"does not contain", contains("rest", false), 0},
		{"not-contains does not hold", contains("half", true), 0},
		{"not-contains", contains("rest", true), -1},
		{"is-json", evaluator.Assertion{Type: "is-json"}, 0},
		{"not-is-json", evaluator.Assertion{Type: "is-json", Not: true}, -1},
		{"keywords", evaluator.Keyword{Keywords: []string{"half"}}, 1},
		{"a forbidden word that is there", evaluator.Keyword{Forbidden: []string{"half"}}, 0},
		{"a forbidden word that is not there", evaluator.Keyword{Keywords: []string{"half"}, Forbidden: []string{"rest"}}, -1},
		{"a check", checked(evaluator.CheckContains, "half"), 1},
		{"a check that does not hold", checked(evaluator.CheckNotContains, "half"), 0},
		{"a check of what is not there", checked(evaluator.CheckNotContains, "rest"), -1},
		{"in a composite", evaluator.Composite{Members: []evaluator.Member{{ID: "a", Spec: contains("rest", true)}}}, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, finish := range []string{"length", "stop"} {
				tr := &verdict.Transcript{Finish: finish, Messages: []schema.Message{{Role: schema.RoleUser, Content: "q"}, {Role: schema.RoleAssistant, Content: "the first half"}}}
				in := evaluate.Input{Case: &schema.Case{Drive: schema.Drive{Messages: tr.Messages[:1]}}, Transcript: tr}
				m := measured(t.Context(), t, schema.Evaluator{Name: "main", Spec: tt.spec}, in)
				isCut := finish == "length"
				if isError := isCut && tt.score < 0; (m.Error != "") != isError || strings.Contains(m.Error+m.Reason, noted) != isCut {
					t.Fatalf("with the end %s it is %+v", finish, m)
				}
				if m.Error == "" && tt.score >= 0 && m.Criteria[0].Score != tt.score {
					t.Errorf("with the end %s the score is %v, want %v", finish, m.Criteria[0].Score, tt.score)
				}
			}
		})
	}
}
