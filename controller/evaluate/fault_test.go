package evaluate_test

import (
	"errors"
	"testing"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestAFaultIsNotAMeasurement has the journal of the calls be unwritable for
// every evaluator that asks a model. An error of the model is one of the
// measurement instead.
func TestAFaultIsNotAMeasurement(t *testing.T) {
	disk := errors.New("the disk is full")
	for _, spec := range []schema.Spec{
		evaluator.TwoPass{Answer: raw("12"), Type: "numeric"},
		evaluator.SQLExecutor{QueryType: "SELECT"},
		evaluator.Prompt{Template: "Is it polite?"},
		evaluator.Criteria{Criteria: []evaluator.Criterion{{Name: "Tone"}}},
		evaluator.Semantic{Instruction: "Is it a fact?"},
		evaluator.Conversation{Criteria: "Does it rhyme?"},
		criteriaOf("names the day"),
		evaluator.LLMJudge{},
		evaluator.Composite{Members: []evaluator.Member{{ID: "tone", Spec: evaluator.LLMJudge{}}}},
		evaluator.Composite{Members: []evaluator.Member{{ID: "shape", Spec: evaluator.Regex{Pattern: "(arrives)"}}}, Judge: &evaluator.LLMJudge{}},
	} {
		for _, tt := range []struct {
			name  string
			err   error
			fault bool
		}{{"the model fails", disk, false}, {"the journal fails", &evaluate.Fault{Err: disk}, true}} {
			in := input("When does it arrive?", "It arrives on 5 March, or on 6 March.", &script{err: tt.err})
			m, err := evaluate.Measure(t.Context(), schema.Evaluator{Spec: spec}, in)
			if _, fault := errors.AsType[*evaluate.Fault](err); fault != tt.fault || errors.Is(err, disk) != tt.fault {
				t.Errorf("%T, %s: Measure returned the error %v; a fault is wanted: %v", spec, tt.name, err, tt.fault)
			}
			if (m.Error == "") != tt.fault {
				t.Errorf("%T, %s: the measurement has the error %q; one is wanted: %v", spec, tt.name, m.Error, !tt.fault)
			}
		}
	}
}

func TestAFaultIsNotAPreference(t *testing.T) {
	disk := errors.New("the disk is full")
	s := &script{err: &evaluate.Fault{Err: disk}}
	other := input("", "Walk.", s).Transcript
	m, err := evaluate.Prefer(t.Context(), evaluator.Comparison{Instruction: "Which?"}, input("How?", "Fly.", s), other)
	if !errors.Is(err, disk) || m.Error != "" {
		t.Errorf("Prefer returned %v and a measurement with the error %q, want the fault alone", err, m.Error)
	}
}
