package evaluate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestOutOfRangeIsAskedAgain has the judge of each format score on another scale
// than the one that it was told: it is asked again, and the score is never taken
// for the nearest one on the scale.
func TestOutOfRangeIsAskedAgain(t *testing.T) {
	overall := `{"metrics":{"overall":{"score":%v,"justification":""}},"outcomes":[],"comparisons":[],"summary":""}`
	for _, tt := range []struct {
		name        string
		spec        schema.Spec
		reply       string
		most, above float64
	}{
		{"promptval, numeric", rubric("A"), `{"criteria":[{"name":"A","score":%v}]}`, 10, 11},
		{"testcase", evaluator.Conversation{Criteria: "Be brief."}, overall, 5, 50},
		{"evalcase, rubric", criteriaOf("a*"), `{"criteria":[{"id":"a","score":%v}]}`, 10, 12},
		{"evalcase, judge", evaluator.LLMJudge{}, `{"score":%v,"hits":[],"misses":[],"reasoning":""}`, 1, 8},
		{"domain, prompt", evaluator.Prompt{Template: "Judge {response}."}, `{"score":%v,"reason":""}`, 1, 80},
		{"domain, hybrid", evaluator.Prompt{Template: "Judge {response}.", Pattern: `score (\S+)`}, `score %v`, 1, 1.5},
		{"domain, with max_score", evaluator.Prompt{Template: "Judge {response}.", MaxScore: 100}, `{"score":%v,"reason":""}`, 100, 101},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, wrong := range []float64{tt.above, -0.5} {
				bad := fmt.Sprintf(tt.reply, wrong)
				s := &script{replies: []string{bad, fmt.Sprintf(tt.reply, tt.most/2)}}
				m := measure(t, tt.spec, "An answer.", s)
				if m.Error != "" || m.Criteria[0].Score != 0.5 || len(s.asked) != 2 {
					t.Errorf("%v gives %+v after %d questions, want 0.5 after two", wrong, m, len(s.asked))
					continue
				}
				if again := s.asked[1].Messages[2].Content; !strings.Contains(again, fmt.Sprintf("is a number from 0 to %v", tt.most)) {
					t.Errorf("the judge is asked again with %q, want the scale in it", again)
				}
				never := &script{replies: []string{bad, bad, bad}}
				fails(t, measure(t, tt.spec, "An answer.", never), "out of range")
			}
		})
	}
}
