package evaluate_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestThinkingReachesNoEvaluator has a target think of what would pass, and answer
// something else. The thinking is in its text, or sent apart by its provider.
func TestThinkingReachesNoEvaluator(t *testing.T) {
	const secret = "4711"
	said := map[string]schema.Message{
		"in the text": {Role: schema.RoleAssistant, Content: "<think>It may be " + secret + ", or not.</think>\nIt is 12."},
		"not closed":  {Role: schema.RoleAssistant, Content: "<think>It is " + secret},
		"apart":       {Role: schema.RoleAssistant, Content: "It is 12.", Reasoning: "It may be " + secret},
	}
	for _, tt := range []struct {
		name string
		spec schema.Spec
	}{
		{"keyword", evaluator.Keyword{Keywords: []string{secret}}},
		{"regex", evaluator.Regex{Pattern: secret}},
		{"two_pass", evaluator.TwoPass{Answer: raw(secret), Type: "numeric"}},
		{"contains", evaluator.TwoPass{Answer: raw(`"` + secret + `"`), Type: "contains"}},
		{"sql_executor", evaluator.SQLExecutor{QueryType: "SELECT"}},
		{"prompt", evaluator.Prompt{Template: "Judge {response}."}},
		{"conversation", evaluator.Conversation{}},
		{"criteria", rubric("A")},
		{"semantic", evaluator.Semantic{}},
		{"rubrics", criteriaOf("a")},
		{"llm_judge", evaluator.LLMJudge{}},
		{"output", evaluator.LLMJudge{Template: "Judge {{output_messages}}."}},
		{"checks", evaluator.Checks{Checks: []evaluator.Check{{ID: "c", Kind: evaluator.CheckContains, Text: secret}}}},
	} {
		for how, message := range said {
			t.Run(tt.name+" "+how, func(t *testing.T) {
				s := &script{replies: []string{`{"answer": null}`, "nothing", "nothing"}}
				in := input("What is it?", "", s)
				in.Transcript.Messages[1] = message
				m := measured(t.Context(), t, schema.Evaluator{Name: "main", Weight: 1, Spec: tt.spec}, in)
				if len(m.Criteria) > 0 && m.Criteria[0].Score > 0 {
					t.Errorf("the measurement is %+v, want a score of 0", m)
				}
				for _, req := range s.asked {
					if text := spoken(req); strings.Contains(text, secret) {
						t.Errorf("a model is told what the target thought:\n%s", text)
					}
				}
				if in.Transcript.Messages[1].Content != message.Content {
					t.Error("the thinking is not in the transcript any more, want it kept")
				}
			})
		}
	}
}

// TestJudgeThinks has a judge think before its reply, too.
func TestJudgeThinks(t *testing.T) {
	s := &script{replies: []string{"<think>Worth {\"score\": 0}?</think>\n{\"score\": 0.5, \"reason\": \"\"}"}}
	if m := measure(t, evaluator.Prompt{Template: "Judge {response}."}, "hello", s); m.Error != "" || m.Criteria[0].Score != 0.5 {
		t.Errorf("the measurement is %+v, want 0.5", m)
	}
}

func spoken(req target.Request) string {
	var b strings.Builder
	b.WriteString(req.System)
	for _, m := range req.Messages {
		b.WriteString(m.Content + m.Reasoning)
	}
	return b.String()
}
