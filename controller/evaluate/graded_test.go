package evaluate_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestGraded has what a judge may reply to a rubric.
func TestGraded(t *testing.T) {
	for _, tt := range []struct {
		reply       string
		not         bool
		pass, score float64
	}{
		{`{"pass": true, "score": 0.9, "reason": "good"}`, false, 1, 0.9},
		{`{"pass": false, "score": 0.9, "reason": "good"}`, false, 0, 0.9},
		{`{"score": 0.2, "reason": "bad"}`, false, 1, 0.2},
		{`{"pass": false, "reason": "bad"}`, false, 0, 0},
		{`{"pass": true, "reason": "good"}`, false, 1, 1},
		{`{"pass": true, "score": 0.75, "reason": "good"}`, true, 0, 0.25},
	} {
		s := &script{replies: []string{tt.reply}}
		m := measure(t, evaluator.Graded{Rubric: "Is polite", Not: tt.not}, "hello", s)
		if m.Error != "" || len(m.Criteria) != 2 || m.Criteria[0].Score != tt.pass || m.Criteria[1].Score != tt.score {
			t.Errorf("%s, not %v: %+v, want pass %v and score %v", tt.reply, tt.not, m, tt.pass, tt.score)
		}
		if asked := s.asked[0].Messages[0].Content; !strings.Contains(asked, "Is polite") || !strings.Contains(asked, "hello") {
			t.Errorf("the judge is asked %q", asked)
		}
	}
}

// TestGradedErrors are replies that are asked for again, and then an error.
func TestGradedErrors(t *testing.T) {
	for _, tt := range []struct{ reply, want string }{
		{`{"score": 8, "reason": "good"}`, "out of range"},
		{`{"reason": "good"}`, `neither "pass" nor "score"`},
		{"fine", "not the JSON"},
	} {
		s := &script{replies: thrice(tt.reply)}
		fails(t, measure(t, evaluator.Graded{Rubric: "Is polite"}, "hello", s), tt.want)
		if len(s.asked) != 3 {
			t.Errorf("%s: asked %d times", tt.reply, len(s.asked))
		}
	}
}
