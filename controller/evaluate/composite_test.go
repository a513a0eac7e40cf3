package evaluate_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// members are one that a judge measures and one that nobody is asked for.
func members() []evaluator.Member {
	return []evaluator.Member{
		{ID: "style", Spec: criteriaOf("polite", "short"), Rule: schema.Rule{Threshold: 0.8, Weights: map[string]float64{"polite": 3}}},
		{ID: "safe", Spec: evaluator.Regex{Pattern: "(password)"}, Rule: schema.Rule{Threshold: 0.8}},
	}
}

const styled = `{"criteria":[{"id":"polite","met":true,"reason":"Says please."},{"id":"short","met":false,"reason":"Three pages."}],"summary":""}`

func scoresOf(m verdict.Measurement) map[string]float64 {
	out := map[string]float64{}
	for _, c := range m.Criteria {
		out[c.ID] = c.Score
	}
	return out
}

func TestCompositeMeasuresItsMembers(t *testing.T) {
	spec := evaluator.Composite{Members: append(members(), evaluator.Member{
		ID: "inner", Spec: evaluator.Composite{Members: []evaluator.Member{{ID: "word", Spec: evaluator.Regex{Pattern: "(please)"}}}},
	})}
	m := measure(t, spec, "please", &script{replies: []string{styled}})
	want := map[string]float64{"style/polite": 1, "style/short": 0, "safe/match": 0, "inner/word/match": 1}
	if diff := cmp.Diff(want, scoresOf(m)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", m.Error, diff)
	}
	if m.Usage.Calls != 1 {
		t.Errorf("usage %+v", m.Usage)
	}
}

// A member that cannot measure is an error of the whole, and neither a 0 nor
// left out.
func TestCompositeWithoutOneOfItsMembers(t *testing.T) {
	spec := evaluator.Composite{Members: members()}
	fails(t, measure(t, spec, "please", &script{err: errors.New("503")}), "style: 503")
	spec.Members[1].Spec = evaluator.Trajectory{Mode: "exact"}
	fails(t, measure(t, spec, "please", &script{replies: []string{styled}}), "safe: no call is expected")
	fails(t, measure(t, evaluator.Composite{Members: []evaluator.Member{{ID: "odd", Spec: unknownSpec{}}}}, "x", &script{}), "odd: evaluator of type")
}

func TestCompositeByAProgram(t *testing.T) {
	spec := evaluator.Composite{Members: members(), Program: &evaluator.CodeJudge{Program: evaluator.Program{Argv: []string{"gate"}}}}
	in := input("What is it?", "please", &script{replies: []string{styled}})
	var stdin []byte
	m := run(t, spec, in, read(&stdin, `{"score":0.4,"reasoning":"Too long."}`))
	if scoresOf(m)[evaluator.AggregateCriterion] != 0.4 || m.Reason != "Too long." {
		t.Fatalf("the measurement is %+v, want an aggregate of 0.4 and the reason of the judge", m)
	}
	var got struct {
		Answer  string `json:"candidate_answer"`
		Results []struct {
			Name, Type string
			Score      float64
			Pass       bool
			Criteria   []struct{ ID string }
		} `json:"results"`
	}
	if err := json.Unmarshal(stdin, &got); err != nil {
		t.Fatal(err)
	}
	if r := got.Results; got.Answer != "please" || len(r) != 2 || r[0].Name != "style" || r[0].Type != "rubric" || r[0].Score != 0.75 || r[0].Pass || len(r[0].Criteria) != 2 || r[1].Score != 0 {
		t.Errorf("the program reads %s", stdin)
	}
	in = input("What is it?", "please", &script{replies: []string{styled, styled}})
	fails(t, run(t, spec, in, printed(`{"score":7}`, nil)), "aggregator: gate")
	fails(t, run(t, spec, in, nil), "aggregator: programs are not run here")
}

func TestCompositeByAModel(t *testing.T) {
	spec := evaluator.Composite{Members: members(), Judge: &evaluator.LLMJudge{Target: "large", Template: "Weigh {{evaluator_results}}."}}
	s := &script{replies: []string{styled, `{"score":0.6,"reasoning":"In all."}`}}
	m := measure(t, spec, "please", s)
	if scoresOf(m)[evaluator.AggregateCriterion] != 0.6 || m.Reason != "In all." || m.Usage.Calls != 2 {
		t.Fatalf("the measurement is %+v, want an aggregate of 0.6, the reason of the judge and 2 calls", m)
	}
	if s.roles[1] != evaluator.JudgeBy("large") || !strings.Contains(m.Asked, `"reasoning":"short: Three pages."`) || !strings.Contains(m.Asked, `"score":0.75`) {
		t.Errorf("asked %v:\n%s", s.roles, m.Asked)
	}
	if strings.Index(m.Asked, "[style]\n") != 0 || !strings.Contains(m.Asked, "\n\n[aggregator]\n") || !strings.Contains(m.Answered, "Three pages.") || !strings.Contains(m.Answered, "In all.") {
		t.Errorf("not every exchange is kept:\n%s\n%s", m.Asked, m.Answered)
	}
	fails(t, measure(t, spec, "please", &script{replies: []string{styled, "?", "?", "?"}}), "aggregator: the judge large's reply could not be read in 3 attempts")
	again := &script{replies: []string{styled, `{"score":7}`, `{"score":0.6}`}}
	if m := measure(t, spec, "please", again); scoresOf(m)[evaluator.AggregateCriterion] != 0.6 || len(again.asked) != 3 {
		t.Errorf("a score of 7 gives %+v after %d questions, want 0.6 after three", m, len(again.asked))
	}
}
