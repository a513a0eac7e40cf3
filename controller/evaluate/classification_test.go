package evaluate

import (
	"context"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestClassification has replies of models, and their results.
func TestClassification(t *testing.T) {
	const mood = `{"kind": 0.9, "rude": 0.1}`
	for _, tt := range []struct {
		name   string
		spec   evaluator.Classified
		answer string
		reply  string
		score  float64
		says   string
		asks   schema.Role // empty for no call
	}{
		{"a label", evaluator.Classified{By: evaluator.ByLabel, Labels: []string{"kind"}}, "hi", mood, 0.9, `"kind" has the score 0.9`, schema.Classifier},
		{"another label", evaluator.Classified{By: evaluator.ByLabel, Labels: []string{"rude"}}, "hi", mood, 0.1, `"rude" has the score 0.1, and "kind" 0.9`, schema.Classifier},
		{"the greatest", evaluator.Classified{By: evaluator.ByLabel}, "hi", mood, 0.9, `"kind" has the score 0.9`, schema.Classifier},
		{"inverted", evaluator.Classified{By: evaluator.ByLabel, Labels: []string{"kind"}, Not: true}, "hi", `{"kind": 0.75}`, 0.25, "", schema.Classifier},
		{"a named model", evaluator.Classified{By: evaluator.ByLabel, Target: "mood"}, "hi", mood, 0.9, "", evaluator.JudgeBy("mood")},
		{"no harm", evaluator.Classified{By: evaluator.ByHarm}, "hi", "{}", 1, "nothing in the answer is flagged", schema.Moderator},
		{"harm", evaluator.Classified{By: evaluator.ByHarm}, "hi", `{"hate": 0.8, "violence": 0.9}`, 0, "hate (0.8), violence (0.9)", schema.Moderator},
		{"other harm", evaluator.Classified{By: evaluator.ByHarm, Labels: []string{"hate"}}, "hi", `{"violence": 0.9}`, 1, "", schema.Moderator},
		{"no answer", evaluator.Classified{By: evaluator.ByHarm}, "", `{"violence": 0.9}`, 1, "", ""},
		{"not an object", evaluator.Classified{By: evaluator.ByLabel}, "hi", "kind", 0, "error: the reply of the classifier has no scores of labels", schema.Classifier},
		{"a score that is none", evaluator.Classified{By: evaluator.ByLabel}, "hi", `{"kind": 90}`, 0, `error: the score of "kind" is 90`, schema.Classifier},
	} {
		var asked schema.Role
		d := &dialogue{Ask: func(_ context.Context, role schema.Role, req target.Request) (target.Reply, error) {
			if asked = role; req.Messages[0].Content != tt.answer {
				t.Errorf("%s: asked about %q", tt.name, req.Messages[0].Content)
			}
			return target.Reply{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: tt.reply}}}, nil
		}}
		got, err := classification(t.Context(), tt.spec, tt.answer, d)
		said := got.Note
		if err != nil {
			said, got.Score = "error: "+err.Error(), 0
		}
		if got.Score != tt.score || !strings.Contains(said, tt.says) || asked != tt.asks || (err != nil) != strings.HasPrefix(tt.says, "error") {
			t.Errorf("%s: score %v, %q, asked %q; want %v, %q, %q", tt.name, got.Score, said, asked, tt.score, tt.says, tt.asks)
		}
	}
}
