package evaluate

import (
	"context"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestUnreadableRepliesNameTheForm holds that each judge, whose reply has another shape than
// the one that was asked for, names the field, the form and the reply.
func TestUnreadableRepliesNameTheForm(t *testing.T) {
	criterion := evaluator.Criterion{Name: "A"}
	for _, tt := range []struct {
		name  string
		read  func(reply string) error
		field string
		form  string
	}{
		{"domain", func(r string) error { _, err := readJudgement(r); return err }, `"score"`, `{"score": a number, "reason": a text}`},
		{"criteria", func(r string) error { _, err := readCriteria(r, []evaluator.Criterion{criterion}); return err }, `criterion "A"`,
			`{"criteria": a list of {"name": a text, "score": a number, "reason": a text}, "summary": a text}`},
		{"rubrics", func(r string) error {
			_, err := readRubrics(r, []evaluator.RubricCriterion{{ID: "a"}})
			return err
		}, `criterion "a"`,
			`{"criteria": a list of {"id": a text, "reason": a text, "met": true or false, "score": a number}, "summary": a text}`},
		{"graded", func(r string) error { _, err := readGrade(evaluator.Graded{}, r); return err }, `"pass"`, `{"pass": true or false, "score": a number, "reason": a text}`},
		{"semantic", func(r string) error { _, err := readSemantic(r); return err }, `"pass"`, `{"analysis": a text, "grade": a text, "pass": true or false}`},
		{"choice", func(r string) error { _, err := readChoice(r, 2); return err }, `"best"`, `{"analysis": a text, "best": a whole number}`},
		{"preference", func(r string) error { _, err := readPreference(r); return err }, `"better"`, `{"analysis": a text, "better": a text}`},
		{"claims", func(r string) error { _, err := readClaims(r, 0); return err }, `"claims"`, `{"claims": a list of {"statement": a text, "supported": true or false}}`},
		{"llm_judge", func(r string) error { _, err := readLLMJudgement(r); return err }, `"score"`, `{"hits": a list of texts, "misses": a list of texts, "reasoning": a text, "score": a number}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, reply := range []string{`{"verdict": "good"}`, "good", `[1]`} {
				ask := Ask(func(context.Context, schema.Role, target.Request) (target.Reply, error) {
					return target.Reply{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: reply}}}, nil
				})
				err := ask.Retry(t.Context(), schema.Judge, target.Request{}, tt.read)
				if err == nil {
					t.Fatal("no error")
				}
				if !strings.HasSuffix(err.Error(), "; it must be "+tt.form+"; the last one was "+reply) {
					t.Errorf("%s: %v", reply, err)
				}
				if reply[0] == '{' && !strings.Contains(err.Error(), tt.field) {
					t.Errorf("%s: no %s in %v", reply, tt.field, err)
				}
			}
		})
	}
}
