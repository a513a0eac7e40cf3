package evaluate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// A selectionScript answers the questions of a judge in turn.
type selectionScript struct {
	replies []string
	asked   []target.Request
}

func (s *selectionScript) ask(_ context.Context, _ schema.Role, req target.Request) (target.Reply, error) {
	s.asked = append(s.asked, req)
	if len(s.asked) > len(s.replies) {
		return target.Reply{}, errors.New("nothing is left to say")
	}
	return target.Reply{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: s.replies[len(s.asked)-1]}}}, nil
}

// candidate returns a case with a question and its answer.
func candidate(question, answer string, s *selectionScript) evaluate.Input {
	asked := []schema.Message{{Role: schema.RoleUser, Content: question}}
	return evaluate.Input{
		Case:       &schema.Case{Drive: schema.Drive{Messages: asked}},
		Transcript: &verdict.Transcript{Messages: append(asked, schema.Message{Role: schema.RoleAssistant, Content: answer})},
		Ask:        s.ask,
	}
}

// candidates are cases with these evaluators that answered.
func candidates(s *selectionScript, answers []string, specs ...schema.Spec) []evaluate.Input {
	var all []evaluate.Input
	for _, answer := range answers {
		in := candidate("Greet the guest.", answer, s)
		var own []schema.Evaluator
		for _, spec := range specs {
			own = append(own, schema.Evaluator{Name: spec.Kind(), Weight: 1, Spec: spec, Rule: schema.Rule{Threshold: 1}})
		}
		tc := *in.Case
		tc.Evaluators, in.Case = own, &tc
		all = append(all, in)
	}
	return all
}

// scores are the scores of the evaluator with an index, by candidate.
func scores(t *testing.T, measured [][]verdict.Measurement, n int) []float64 {
	t.Helper()
	var all []float64
	for _, m := range measured {
		if m[n].Error != "" || len(m[n].Criteria) != 1 || m[n].Criteria[0].ID != evaluate.SelectedCriterion {
			t.Fatalf("the measurement is %+v, want one criterion %s", m[n], evaluate.SelectedCriterion)
		}
		all = append(all, m[n].Criteria[0].Score)
	}
	return all
}

// TestSelectBest asks the judge once, whatever it answers to how many; an answer that is
// equal to the best is selected too, and equal answers need no judge.
func TestSelectBest(t *testing.T) {
	best := evaluator.SelectBest{Criterion: "It is the warmest."}
	for _, tt := range []struct {
		name    string
		answers []string
		replies []string
		want    []float64
		asked   int
	}{
		{"the second", []string{"Hello", "Welcome!"}, []string{`{"analysis": "warm", "best": 2}`}, []float64{0, 1}, 1},
		{"twins", []string{"Hello", "Welcome!", "Hello"}, []string{`{"analysis": "warm", "best": 1}`}, []float64{1, 0, 1}, 1},
		{"all the same", []string{"Hello", "Hello"}, nil, []float64{1, 1}, 0},
		{"asked again", []string{"Hello", "Welcome!"}, []string{`{"analysis": "warm", "best": 3}`, `{"analysis": "warm", "best": 1}`}, []float64{1, 0}, 2},
	} {
		s := &selectionScript{replies: tt.replies}
		measured, err := evaluate.Select(t.Context(), candidates(s, tt.answers, best))
		if err != nil {
			t.Fatalf("%s: the error is %v, want none", tt.name, err)
		}
		if got := scores(t, measured, 0); !slices.Equal(got, tt.want) || len(s.asked) != tt.asked {
			t.Errorf("%s: the scores are %v after %d questions, want %v after %d", tt.name, got, len(s.asked), tt.want, tt.asked)
		}
	}
	s := &selectionScript{replies: slices.Repeat([]string{`{"analysis": "none", "best": 0}`}, 3)}
	measured, err := evaluate.Select(t.Context(), candidates(s, []string{"Hello", "Welcome!"}, best))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range measured {
		if m := m[0]; !strings.Contains(m.Error, `0 under "best" is not the number of an OUTPUT: it is from 1 to 2`) {
			t.Errorf("the error is %q, want %q", m.Error, `0 under "best" is not the number of an OUTPUT: it is from 1 to 2`)
		}
	}
}

// TestMaxScore compares weighted means or sums of the other evaluators, and measures these
// once for each candidate.
func TestMaxScore(t *testing.T) {
	for _, tt := range []struct {
		name string
		spec evaluator.MaxScore
		want []float64
	}{
		{"equal weights tie", evaluator.MaxScore{Weights: []float64{1, 1}}, []float64{1, 1}},
		{"the first weighs more", evaluator.MaxScore{Weights: []float64{3, 1}}, []float64{1, 0}},
		{"the second weighs more", evaluator.MaxScore{Weights: []float64{1, 3}, Sum: true}, []float64{0, 1}},
		{"reached", evaluator.MaxScore{Weights: []float64{1, 1}, Least: new(0.5)}, []float64{1, 1}},
		{"not reached", evaluator.MaxScore{Weights: []float64{1, 0}, Sum: true, Least: new(1.5)}, []float64{0, 0}},
	} {
		contains := func(text string) schema.Spec {
			return evaluator.Assertion{Type: "contains", Value: []byte(`"` + text + `"`)}
		}
		measured, err := evaluate.Select(t.Context(), candidates(&selectionScript{}, []string{"warm", "brief"}, contains("warm"), contains("brief"), tt.spec))
		if err != nil {
			t.Fatal(err)
		}
		if got := scores(t, measured, 2); !slices.Equal(got, tt.want) {
			t.Errorf("%s: the scores are %v, want %v", tt.name, got, tt.want)
		}
		if m := measured[0][0]; m.Evaluator != "assertion" || m.Criteria[0].Score != 1 {
			t.Errorf("%s: the first evaluator of the first candidate measured %+v, want 1", tt.name, m)
		}
	}
	graded := evaluator.Graded{Rubric: "Is polite"}
	s := &selectionScript{replies: []string{"?", "?", "?", `{"pass": true}`}}
	measured, err := evaluate.Select(t.Context(), candidates(s, []string{"a", "b"}, graded, evaluator.MaxScore{Weights: []float64{1}}))
	if err != nil {
		t.Fatal(err)
	}
	if m := measured[1][1]; !strings.Contains(m.Error, "a score to compare is missing") {
		t.Errorf("the error is %q, want %q", m.Error, "a score to compare is missing")
	}
}

// TestTheInputIsShownIfItIsTheSame leaves out of the judge's question the inputs that
// differ between candidates.
func TestTheInputIsShownIfItIsTheSame(t *testing.T) {
	for _, tt := range []struct {
		other string
		shown bool
	}{{"Greet the guest.", true}, {"Be brief.", false}} {
		s := &selectionScript{replies: []string{`{"analysis": "", "best": 1}`}}
		all := candidates(s, []string{"Hello", "Welcome!"}, evaluator.SelectBest{Criterion: "It is warm."})
		other := candidate(tt.other, "Welcome!", s)
		other.Case.Evaluators = all[1].Case.Evaluators
		all[1] = other
		if _, err := evaluate.Select(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		if shown := strings.Contains(s.asked[0].Messages[0].Content, "Greet the guest."); shown != tt.shown {
			t.Errorf("the other prompt is %q: the input is shown %v, want %v", tt.other, shown, tt.shown)
		}
	}
}
