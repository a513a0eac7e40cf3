package evaluate_test

import (
	"context"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestGraded has possible replies of a judge to a rubric.
func TestGraded(t *testing.T) {
	for _, tt := range []struct {
		reply       string
		not         bool
		pass, score float64
	}{
		{`{"pass": true, "score": 0.9, "reason": "good"}`, false, 1, 0.9},
		{`{"pass": false, "score": 0.9, "reason": "good"}`, false, 0, 0.9},
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

// TestFunction has the verdicts of an assertion in JavaScript.
func TestFunction(t *testing.T) {
	for _, tt := range []struct {
		spec        evaluator.JavaScript
		pass, score float64
		err         string
	}{
		{spec: evaluator.JavaScript{Code: "output === context.vars.want", Context: []byte(`{"vars": {"want": "hello"}}`)}, pass: 1, score: 1},
		{spec: evaluator.JavaScript{Code: "output.length / 10"}, pass: 1, score: 0.5},
		{spec: evaluator.JavaScript{Code: "output.length / 10", Not: true}, pass: 0, score: 0.5},
		{spec: evaluator.JavaScript{Code: "output.no.more"}, pass: 0, score: 0},
		{spec: evaluator.JavaScript{Code: "output.no.more", Not: true}, pass: 0, score: 0},
		{spec: evaluator.JavaScript{Code: "output >"}, err: "does not compile"},
	} {
		m := measure(t, tt.spec, "hello", &script{})
		if tt.err != "" {
			fails(t, m, tt.err)
			continue
		}
		if m.Error != "" || len(m.Criteria) != 2 || m.Criteria[0].Score != tt.pass || m.Criteria[1].Score != tt.score {
			t.Errorf("%s, not %v: %+v, want pass %v and score %v", tt.spec.Code, tt.spec.Not, m, tt.pass, tt.score)
		}
	}
}

// TestTransformed holds that the inner evaluator sees what the steps made of the
// answer, and that a step that throws is an error.
func TestTransformed(t *testing.T) {
	equals := evaluator.Assertion{Type: "equals", Value: []byte(`"HELLO!"`)}
	m := measure(t, evaluator.Transformed{Steps: []string{"output.toUpperCase()", "output + context.vars.end"}, Context: []byte(`{"vars": {"end": "!"}}`), Spec: equals}, "hello", &script{})
	if m.Error != "" || m.Criteria[0].Score != 1 {
		t.Errorf("a transformed answer: %+v, want the score 1", m)
	}
	fails(t, measure(t, evaluator.Transformed{Steps: []string{"output.a.b"}, Spec: equals}, "hello", &script{}), "the transform throws TypeError")
}

// TestGradedErrors are replies that are asked for again, and then an error.
func TestGradedErrors(t *testing.T) {
	for _, tt := range []struct{ reply, want string }{
		{`{"pass": true, "score": 8, "reason": "good"}`, "out of range"},
		{`{"reason": "good"}`, `no true or false under "pass"`},
		{`{"score": 0, "reason": "no"}`, `no true or false under "pass"`},
		{`{"score": 1, "pass": null, "reason": "yes"}`, `no true or false under "pass"`},
		{"fine", "not the JSON"},
	} {
		s := &script{replies: thrice(tt.reply)}
		fails(t, measure(t, evaluator.Graded{Rubric: "Is polite"}, "hello", s), tt.want)
		if len(s.asked) != 3 {
			t.Errorf("%s: asked %d times", tt.reply, len(s.asked))
		}
	}
}

// TestDecidingKeys holds that no judge is believed whose reply lacks what decides:
// it is asked for again, and then an error.
func TestDecidingKeys(t *testing.T) {
	for _, tt := range []struct {
		spec  schema.Spec
		reply string
	}{
		{evaluator.Graded{Rubric: "Is polite"}, `{"score": 0, "reason": "no"}`},
		{evaluator.Graded{Rubric: "Is polite", Not: true}, `{"score": 1, "reason": "yes"}`},
		{evaluator.Graded{Rubric: "Is polite", Template: "{{output}}"}, `{"score": 1, "reason": "yes"}`},
		{evaluator.Semantic{Instruction: "Is it right?"}, `{"analysis": "", "grade": "excellent"}`},
		{evaluator.Semantic{Instruction: "Is it right?"}, `{"analysis": "", "pass": true}`},
		{evaluator.Prompt{Template: "Is it polite?"}, `{"reason": "yes"}`},
		{rubric("Clarity"), `{"criteria": [{"name": "Clarity", "reason": "good"}], "summary": ""}`},
		{criteriaOf("tone"), `{"criteria": [{"id": "tone", "reason": "good"}], "summary": ""}`},
		{criteriaOf("tone"), `{"criteria": [{"id": "tone", "score": 10, "reason": "good"}], "summary": ""}`},
		{criteriaOf("tone*"), `{"criteria": [{"id": "tone", "met": true, "reason": "good"}], "summary": ""}`},
		{evaluator.LLMJudge{}, `{"hits": ["all"], "misses": [], "reasoning": "good"}`},
		{evaluator.Conversation{}, `{"metrics": {"overall": {"justification": "good"}}, "summary": "", "outcomes": []}`},
		{evaluator.TwoPass{Answer: raw(`"1"`), Type: "numeric"}, `{"reason": "none"}`},
	} {
		s := &script{replies: thrice(tt.reply)}
		m := measure(t, tt.spec, "hello", s)
		if m.Error == "" || len(s.asked) != 3 {
			t.Errorf("%s, %s: asked %d times, error %q, criteria %v; want an error after three", tt.spec.Kind(), tt.reply, len(s.asked), m.Error, m.Criteria)
		}
	}
}

// TestGradedNotWithThreshold has replies to not-llm-rubric with the threshold 0.5, as
// promptfoo judges them: not- inverts whether both the pass and the threshold hold.
func TestGradedNotWithThreshold(t *testing.T) {
	least := 0.5
	for _, tt := range []struct {
		reply   string
		byScore bool
		pass    float64
	}{
		{`{"pass": true, "score": 0.3}`, false, 1},
		{`{"pass": false, "score": 0.8}`, false, 1},
		{`{"pass": true, "score": 0.9}`, false, 0},
		{`{"pass": false, "score": 0.1}`, false, 1},
		{`{"pass": false, "score": 0.8}`, true, 0},
		{`{"pass": true, "score": 0.3}`, true, 1},
	} {
		m := measure(t, evaluator.Graded{Rubric: "Is polite", Not: true, Least: &least, ByScore: tt.byScore}, "hello", &script{replies: []string{tt.reply}})
		if m.Error != "" || m.Criteria[0].Score != tt.pass {
			t.Errorf("%s, by score %v: %+v, want pass %v", tt.reply, tt.byScore, m, tt.pass)
		}
	}
}

// TestPassOfPython holds that pass_, which is how Python writes the keyword pass, counts in
// Python and Ruby and not in JavaScript, as with promptfoo.
func TestPassOfPython(t *testing.T) {
	for _, tt := range []struct {
		program, printed, wrong string
		pass                    float64
	}{
		{"python3", `{"pass_": true, "score": 0.7}`, "", 1},
		{"python3", `{"pass": false, "pass_": true, "score": 0.7}`, "", 0},
		{"ruby", `{"pass_": true, "score": 0.7}`, "", 1},
		{"python3", "\n", "the program ended without an answer, with exit code 0", 0},
		{"node", "", "the program ended without an answer, with exit code 0", 0},
		{"node", `{"pass_": true, "score": 0.7}`, "no true or false under `pass`", 0},
	} {
		in := input("What is it?", "hello", &script{})
		in.Programs = func(context.Context, evaluate.Start) ([]byte, error) { return []byte(tt.printed), nil }
		m := measured(t.Context(), t, schema.Evaluator{Name: "main", Weight: 1, Spec: evaluator.Function{Program: evaluator.Program{Argv: []string{tt.program}}}}, in)
		if tt.wrong != "" {
			if !strings.Contains(m.Error, tt.wrong) {
				t.Errorf("%s prints %s: error %q, want %q", tt.program, tt.printed, m.Error, tt.wrong)
			}
			continue
		}
		if m.Error != "" || m.Criteria[0].Score != tt.pass || m.Criteria[1].Score != 0.7 {
			t.Errorf("%s prints %s: %+v, want pass %v and score 0.7", tt.program, tt.printed, m, tt.pass)
		}
	}
	m := measure(t, evaluator.JavaScript{Code: "({pass_: true, score: 0.7})"}, "hello", &script{})
	if !strings.Contains(m.Error, "under `pass`") {
		t.Errorf("inline JavaScript: %+v, want an error", m)
	}
}
