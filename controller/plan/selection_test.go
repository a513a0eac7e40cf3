package plan_test

import (
	"slices"
	"testing"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// compared are cases whose answers a judge compares; each has the others as peers.
func compared(prompts ...string) []*schema.Case {
	var cases []*schema.Case
	for _, prompt := range prompts {
		cases = append(cases, &schema.Case{
			CaseInfo: schema.CaseInfo{Key: "row/" + prompt, Dialect: schema.DialectMatrix, Origin: schema.Position{File: "p.yaml"}},
			Drive:    schema.Drive{Messages: []schema.Message{{Role: schema.RoleUser, Content: prompt}}},
			Policy:   schema.Policy{Iterations: 1},
			Evaluators: []schema.Evaluator{
				{Name: "best", Weight: 1, Spec: evaluator.SelectBest{Criterion: "It is warm."}, Rule: schema.Rule{Threshold: 1}},
				{Name: "has", Weight: 1, Spec: evaluator.Assertion{Type: "contains", Value: []byte(`"a"`)}, Rule: schema.Rule{Threshold: 1}},
			},
		})
	}
	for i, c := range cases {
		c.Peers = slices.Concat(cases[:i], cases[i+1:])
	}
	return cases
}

var comparedIn = plan.Environment{
	DefaultTarget: "bot", Roles: map[schema.Role]string{schema.Judge: "judge"},
	Targets: map[string]plan.Target{"bot": {Facts: []plan.Fact{{Name: "model", Value: "m"}}}, "judge": {Facts: []plan.Fact{{Name: "model", Value: "j"}}}},
}

// TestSelection is the same for each of the cases that take part, in whatever order the
// file has them, and finds the answers under the digests that the cases store them under.
func TestSelection(t *testing.T) {
	cases := compared("one", "two", "three")
	byKey := map[string]plan.Digests{}
	for _, c := range cases {
		byKey[c.Key] = plan.Digest(c, &comparedIn)
	}
	reversed := compared("three", "two", "one")
	_, want := byKey["row/one"].Selection().Under(byKey["row/one"])
	for _, c := range append(cases, reversed...) {
		d := plan.Digest(c, &comparedIn)
		s := d.Selection()
		if got := s.Candidates[s.Own].Case.Key; got != c.Key {
			t.Errorf("%s finds itself as %s", c.Key, got)
		}
		executions, digest := s.Under(d)
		if digest != want {
			t.Errorf("%s compares under %.8s, want %.8s as its peers", c.Key, digest, want)
		}
		for i, e := range executions {
			if key := s.Candidates[i].Case.Key; e != byKey[key].E {
				t.Errorf("%s looks for the answer of %s under %.8s, want %.8s", c.Key, key, e, byKey[key].E)
			}
		}
	}
	alone := compared("one")[0]
	if s := plan.Digest(alone, &comparedIn).Selection(); s != nil {
		t.Errorf("a case without peers has the selection %+v, want none", s)
	}
}

// TestWhatComparesAgain holds what has the answers compared again: another answer,
// criterion or judge, and no other evaluator, threshold or name.
func TestWhatComparesAgain(t *testing.T) {
	base := plan.Digest(compared("one", "two")[0], &comparedIn)
	_, was := base.Selection().Under(base)
	other := comparedIn
	other.Targets = map[string]plan.Target{"bot": comparedIn.Targets["bot"], "judge": {Facts: []plan.Fact{{Name: "model", Value: "k"}}}}
	for _, tt := range []struct {
		name           string
		change         func(cases []*schema.Case)
		env            *plan.Environment
		compares, same bool // and whether J is the same
	}{
		{name: "the prompt of the peer", change: func(c []*schema.Case) { c[1].Drive.Messages[0].Content = "2" }, compares: true},
		{name: "the criterion", change: func(c []*schema.Case) {
			for _, tc := range c {
				tc.Evaluators[0].Spec = evaluator.SelectBest{Criterion: "It is brief."}
			}
		}, compares: true},
		{name: "the judge", env: &other, compares: true},
		{name: "a transform of the peer", change: func(c []*schema.Case) {
			c[1].Evaluators[0].Spec = evaluator.Transformed{Steps: []string{"output.trim()"}, Spec: c[1].Evaluators[0].Spec}
		}, compares: true},
		{name: "another evaluator", change: func(c []*schema.Case) {
			for _, tc := range c {
				tc.Evaluators[1].Spec = evaluator.Assertion{Type: "contains", Value: []byte(`"b"`)}
			}
		}},
		{name: "another evaluator of the peer alone", change: func(c []*schema.Case) {
			c[1].Evaluators[1].Spec = evaluator.Assertion{Type: "contains", Value: []byte(`"b"`)}
		}, same: true},
		{name: "thresholds", change: func(c []*schema.Case) { c[1].Evaluators[1].Rule.Threshold = 0; c[1].Policy.Iterations = 3 }, same: true},
		{name: "keys", change: func(c []*schema.Case) { c[0].Key, c[1].Key = "x", "y" }, same: true},
	} {
		cases, env := compared("one", "two"), &comparedIn
		if tt.change != nil {
			tt.change(cases)
		}
		if tt.env != nil {
			env = tt.env
		}
		d := plan.Digest(cases[0], env)
		if _, is := d.Selection().Under(d); (is != was) != tt.compares {
			t.Errorf("%s: the answers are compared again %v, want %v", tt.name, is != was, tt.compares)
		}
		if same := d.J == base.J; same != tt.same {
			t.Errorf("%s: the judgement is the same %v, want %v", tt.name, same, tt.same)
		}
	}
}

// TestARuleOfAPeerMattersForScores: max-score looks at scores, which rules make.
func TestARuleOfAPeerMattersForScores(t *testing.T) {
	scored := func(threshold float64) string {
		cases := compared("one", "two")
		for _, c := range cases {
			c.Evaluators[0].Spec = evaluator.MaxScore{Weights: []float64{1}}
		}
		cases[1].Evaluators[1].Rule.Threshold = threshold
		return plan.Digest(cases[0], &comparedIn).J
	}
	if scored(1) == scored(0.5) {
		t.Error("another threshold of the peer changes no judgement, want it judged again")
	}
}

// TestAFurtherMeasurementHasAnswersOfItsOwn keeps those that are stored where only judging
// is measured again.
func TestAFurtherMeasurementHasAnswersOfItsOwn(t *testing.T) {
	d := plan.Digest(compared("one", "two")[0], &comparedIn)
	s := d.Selection()
	stored, compares := s.Under(d)
	for _, tt := range []struct {
		kept    plan.Kept
		answers bool // are those that are stored
	}{{plan.KeptNothing, false}, {plan.KeptTranscript, true}} {
		again := d.Remeasured("other", 1, tt.kept)
		executions, digest := s.Under(again)
		if slices.Equal(executions, stored) != tt.answers || executions[s.Own] != again.E {
			t.Errorf("kept %v: the answers are under %.8q, want stored ones %v", tt.kept, executions, tt.answers)
		}
		if digest == compares {
			t.Errorf("kept %v: the answers are compared under the digest of the first measurement", tt.kept)
		}
	}
}
