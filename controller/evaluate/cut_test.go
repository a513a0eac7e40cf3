package evaluate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/target"
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
		{"not-is-refusal", evaluator.Refusal{Not: true}, -1},
		{"is-refusal", evaluator.Refusal{}, 0},
		{"not-rouge-n", evaluator.Overlap{By: evaluator.ByROUGE, Texts: []string{"other words"}, Least: 0.75, Not: true}, -1},
		{"bleu", evaluator.Overlap{By: evaluator.ByBLEU, Texts: []string{"the first half"}, Least: 0.5}, 1},
		{"not-is-xml", evaluator.Assertion{Type: "is-xml", Not: true}, -1},
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

// TestCutAnswerOfInverted: what must not be so of an answer that was cut off is an error if
// it is not so of its beginning, for judges, functions and calls, too. Every judge is told.
func TestCutAnswerOfInverted(t *testing.T) {
	grade := func(pass bool) string {
		return fmt.Sprintf(`{"reason": "r", "score": %v, "pass": %v}`, map[bool]int{true: 1}[pass], pass)
	}
	use := []evaluator.CallName{{Pattern: "find", Least: 1}}
	for _, tt := range []struct {
		name, reply string
		spec        schema.Spec
		isError     bool
	}{
		{"llm-rubric", grade(true), evaluator.Graded{Rubric: "r"}, false},
		{"not-llm-rubric that holds", grade(false), evaluator.Graded{Rubric: "r", Not: true}, true},
		{"not-llm-rubric that does not", grade(true), evaluator.Graded{Rubric: "r", Not: true}, false},
		{"not-model-graded-closedqa", grade(false), evaluator.Graded{Rubric: "r", Not: true, Type: "model-graded-closedqa"}, true},
		{"javascript", "", evaluator.JavaScript{Code: "false"}, false},
		{"not-javascript", "", evaluator.JavaScript{Code: "output.includes('rest')", Not: true}, true},
		{"not-javascript that does not hold", "", evaluator.JavaScript{Code: "output.includes('half')", Not: true}, false},
		{"not-javascript behind a transform", "", evaluator.Transformed{Steps: []string{"output"}, Spec: evaluator.JavaScript{Code: "false", Not: true}}, true},
		{"a tool", "", evaluator.Calls{Type: evaluator.CallsUsed, Tools: use}, false},
		{"not a tool", "", evaluator.Calls{Type: evaluator.CallsUsed, Tools: use, Not: true}, true},
		{"criteria", `{"criteria": [{"name": "a", "reason": "r", "score": 5}], "summary": "s"}`, evaluator.Criteria{Instruction: "i", Criteria: []evaluator.Criterion{{Name: "a"}}}, false},
		{"an extractor", `{"answer": "7"}`, evaluator.TwoPass{Answer: raw(`"7"`), Type: "numeric"}, false},
		{"a prompt", `{"score": 1, "reason": "r"}`, evaluator.Prompt{Template: "x"}, false},
	} {
		for _, finish := range []string{"length", "stop"} {
			tr := &verdict.Transcript{Traced: true, Finish: finish, Messages: []schema.Message{{Role: schema.RoleUser, Content: "q"}, {Role: schema.RoleAssistant, Content: "the first half"}}}
			asked := ""
			ask := func(_ context.Context, _ schema.Role, req target.Request) (target.Reply, error) {
				asked = req.Messages[0].Content
				return target.Reply{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: tt.reply}}}, nil
			}
			in := evaluate.Input{Case: &schema.Case{Drive: schema.Drive{Messages: tr.Messages[:1]}}, Transcript: tr, Ask: ask}
			m := measured(t.Context(), t, schema.Evaluator{Name: "main", Spec: tt.spec}, in)
			isCut := finish == "length"
			if wants := isCut && tt.isError; (m.Error != "") != wants || wants && !strings.Contains(m.Error, "cut off at the limit of its tokens") {
				t.Errorf("%s with the end %s is %+v, want an error: %v", tt.name, finish, m, wants)
			}
			if m.Error == "" && strings.Contains(m.Reason, "cut off") != isCut {
				t.Errorf("%s with the end %s has the reason %q", tt.name, finish, m.Reason)
			}
			if tt.reply != "" && strings.Contains(asked, "was cut off at the limit of its tokens") != isCut {
				t.Errorf("%s with the end %s asks %q", tt.name, finish, asked)
			}
		}
	}
}

// TestACutJudge: a judge whose reply was cut off is asked again with twice the room, also
// where the part could be read as another score, or a program asks. The editor and the
// simulated user have their own tests.
func TestACutJudge(t *testing.T) {
	for _, tt := range []struct {
		name, cut, whole string
		spec             schema.Spec
		score            float64
	}{
		{"a pattern reads a part of the number", "score: 1", "score: 10", evaluator.Prompt{Template: "x", Pattern: `score: (\d+)`, MaxScore: 10}, 1},
		{"a rubric", `{"reason": "r", "pass": tr`, `{"reason": "r", "pass": true}`, evaluator.Graded{Rubric: "r"}, 1},
		{"criteria", `{"criteria": [`, `{"criteria": [{"name": "a", "reason": "r", "score": 5}], "summary": "s"}`, evaluator.Criteria{Instruction: "i", Criteria: []evaluator.Criterion{{Name: "a"}}}, 0.5},
		{"an extractor", `{"answer": "7`, `{"answer": "70"}`, evaluator.TwoPass{Answer: raw(`"70"`), Type: "numeric"}, 1},
		{"a rubric of the suite", `{"checks": [`, `{"criteria": [{"id": "a", "met": true, "reason": "r"}]}`, evaluator.Rubrics{Criteria: []evaluator.RubricCriterion{{ID: "a", Outcome: "o"}}}, 1},
		{"a judge of the suite", `{"hits": [`, `{"hits": [], "misses": [], "reasoning": "r", "score": 0.5}`, evaluator.LLMJudge{}, 0.5},
		{"whole JSON at the limit", `{"reason": "r", "pass": true}`, "", evaluator.Graded{Rubric: "r"}, 1},
	} {
		var rooms []int
		ask := func(_ context.Context, _ schema.Role, req target.Request) (target.Reply, error) {
			rooms = append(rooms, req.Room)
			reply := target.Reply{Finish: verdict.FinishLength, Messages: []schema.Message{{Role: schema.RoleAssistant, Content: tt.cut}}}
			if len(rooms) > 1 {
				reply.Finish, reply.Messages[0].Content = "stop", tt.whole
			}
			return reply, nil
		}
		tr := &verdict.Transcript{Messages: []schema.Message{{Role: schema.RoleUser, Content: "q"}, {Role: schema.RoleAssistant, Content: "an answer of words"}}}
		in := evaluate.Input{Case: &schema.Case{Drive: schema.Drive{Messages: tr.Messages[:1]}}, Transcript: tr, Ask: ask}
		m := measured(t.Context(), t, schema.Evaluator{Name: "main", Spec: tt.spec}, in)
		want := []int{0, 1}
		if tt.whole == "" {
			want = want[:1]
		}
		if m.Error != "" || !slices.Equal(rooms, want) || m.Criteria[0].Score != tt.score {
			t.Errorf("%s: %+v with the rooms %v, want the score %v with %v", tt.name, m, rooms, tt.score, want)
		}
	}
}

// TestJudgesAreToldInPlainWords: what is sent back to a judge about a reply that cannot be
// read has no word of Go's decoder.
func TestJudgesAreToldInPlainWords(t *testing.T) {
	specs := []schema.Spec{
		evaluator.Graded{Rubric: "r"}, evaluator.Criteria{Instruction: "i", Criteria: []evaluator.Criterion{{Name: "a"}}}, evaluator.TwoPass{Answer: raw(`"7"`), Type: "numeric"},
		evaluator.Prompt{Template: "x"}, evaluator.Prompt{Template: "x", Pattern: `score: (\S+)`, MaxScore: 10}, evaluator.Rubrics{Criteria: []evaluator.RubricCriterion{{ID: "a", Outcome: "o"}}},
		evaluator.LLMJudge{}, evaluator.Semantic{}, evaluator.Conversation{},
	}
	replies := []string{
		"Yes.", "", "[]", "{", "7", "null", `"x"`, `{"score": {}}`, `{"score": "high", "pass": "maybe", "grade": 3, "answer": [1], "criteria": 4, "metrics": "x", "hits": 1}`, `{"score": 1e999}`, `{"score": 99, "pass": true}`,
		`{"criteria": [{"name": 1, "id": 2, "score": []}], "metrics": [{"id": 3}], "score": -1}`, "{\"score\": 0x1}", "{'score': 1}", `{"score": 1} and more`, "score: 1.2.3.x", `{"score": NaN}`, `{"a" 1}`, `{"criteria": {"a": 1}}`,
	}
	for _, spec := range specs {
		for _, reply := range replies {
			ask := func(_ context.Context, _ schema.Role, req target.Request) (target.Reply, error) {
				if n := len(req.Messages); n > 1 {
					for _, word := range []string{"json:", "strconv", "unmarshal", "Go ", "struct", "invalid character", "unexpected", "looking for", "EOF", "%!", "float64", "[]", "nil", "map["} {
						told := strings.NewReplacer(reply, "").Replace(req.Messages[n-1].Content)
						if strings.Contains(told, word) {
							t.Errorf("%T with the reply %s is told %q", spec, reply, told)
						}
					}
				}
				return target.Reply{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: reply}}}, nil
			}
			tr := &verdict.Transcript{Traced: true, Messages: []schema.Message{{Role: schema.RoleUser, Content: "q"}, {Role: schema.RoleAssistant, Content: "an answer of words"}}}
			in := evaluate.Input{Case: &schema.Case{Drive: schema.Drive{Messages: tr.Messages[:1]}}, Transcript: tr, Ask: ask}
			measured(t.Context(), t, schema.Evaluator{Name: "main", Spec: spec}, in)
		}
	}
}
