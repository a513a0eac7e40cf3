package verdict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// without marks the criteria of a measurement that do not apply.
func without(m verdict.Measurement, ids ...string) verdict.Measurement {
	for i, c := range m.Criteria {
		for _, id := range ids {
			if c.ID == id {
				m.Criteria[i] = verdict.Criterion{ID: id, NotApplicable: true, Note: "no tool was called"}
			}
		}
	}
	return m
}

func TestWeightOfWhatDoesNotApplyIsSpread(t *testing.T) {
	rule := schema.Rule{Threshold: 0.75, Weights: map[string]float64{"a": 0.5, "b": 0.3, "c": 0.2}}
	for _, tt := range []struct {
		name    string
		samples []verdict.Sample
		verdict verdict.Verdict
		score   float64
	}{
		{"one of three", samples(without(scores(1, 0, 1), "b")), verdict.Pass, 1},
		{"the heaviest", samples(without(scores(1, 1, 0.5), "a")), verdict.Pass, (0.3 + 0.1) / 0.5},
		{"all", samples(without(scores(1, 1, 1), "a", "b", "c")), verdict.Error, 0},
		{"in one sample of two", samples(without(scores(1, 0, 1), "b"), scores(1, 0, 1)), verdict.Pass, (1 + 0.7) / 2},
		{"all of one sample", samples(without(scores(1), "a"), scores(1)), verdict.Error, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := verdict.Decide([]schema.Evaluator{{Weight: 1, Rule: rule}}, tt.samples)
			if res.Verdict != tt.verdict {
				t.Fatalf("the result is %+v, want the verdict of the table", res)
			}
			if res.Score != nil && (*res.Score < tt.score-1e-9 || *res.Score > tt.score+1e-9) {
				t.Errorf("score %v, want %v", *res.Score, tt.score)
			}
		})
	}
}

// A mean is taken over the samples that a criterion applies to, and its text is the
// first one's.
func TestMeanOfWhatAppliesSometimes(t *testing.T) {
	told := scores(0.5)
	told.Criteria[0].Note, told.Criteria[0].Code, told.Criteria[0].Turns = "late", "slow", []int{3}
	res := verdict.Decide([]schema.Evaluator{{Weight: 1}}, samples(without(scores(1, 1), "a"), told, scores(1)))
	want := []verdict.Criterion{{ID: "a", Score: 0.75, Note: "late", Sample: 2, Code: "slow", Turns: []int{3}}, {ID: "b", Score: 1}}
	if diff := cmp.Diff(want, res.Evaluators[0].Criteria); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	never := verdict.Decide([]schema.Evaluator{{Weight: 1}}, samples(without(scores(1, 1), "a")))
	if c := never.Evaluators[0].Criteria[0]; !c.NotApplicable || c.Note == "" {
		t.Errorf("the criterion is %+v, want it not applicable, with a note", c)
	}
}

func TestRemark(t *testing.T) {
	for _, tt := range []struct {
		want string
		c    verdict.Criterion
	}{
		{"", verdict.Criterion{}},
		{"late", verdict.Criterion{Note: "late"}},
		{"turn 3", verdict.Criterion{Turns: []int{3}}},
		{"[slow]", verdict.Criterion{Code: "slow"}},
		{"turn 2, 4: not backed [made_up]", verdict.Criterion{Note: "not backed", Code: "made_up", Turns: []int{2, 4}}},
	} {
		if got := tt.c.Remark(); got != tt.want {
			t.Errorf("remark %q, want %q", got, tt.want)
		}
	}
}
