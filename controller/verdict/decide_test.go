package verdict_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// scores makes a measurement with the criteria a, b, c …
func scores(values ...float64) verdict.Measurement {
	m := verdict.Measurement{Evaluator: "main", Reason: "some reason"}
	for i, v := range values {
		m.Criteria = append(m.Criteria, verdict.Criterion{ID: string(rune('a' + i)), Score: v})
	}
	return m
}

func withVeto(m verdict.Measurement, score float64) verdict.Measurement {
	m.Criteria = append(m.Criteria, verdict.Criterion{ID: "veto", Score: score, Veto: true})
	return m
}

func samples(ms ...verdict.Measurement) []verdict.Sample {
	var list []verdict.Sample
	for i, m := range ms {
		list = append(list, verdict.Sample{Ordinal: i, Measurements: []verdict.Measurement{m}})
	}
	return list
}

func TestDecideRule(t *testing.T) {
	for _, tt := range []struct {
		name    string
		rule    schema.Rule
		samples []verdict.Sample
		verdict verdict.Verdict
		score   float64
	}{
		{"mean of criteria", schema.Rule{Threshold: 0.7}, samples(scores(1, 1, 0)), verdict.Fail, 2. / 3},
		{"threshold is inclusive", schema.Rule{Threshold: 0.75}, samples(scores(1, 1, 1, 0)), verdict.Pass, 0.75},
		{"sum of tenths", schema.Rule{Threshold: 0.3}, samples(scores(0.1+0.2, 0.3)), verdict.Pass, 0.3},
		{"just below", schema.Rule{Threshold: 0.7}, samples(scores(0.6999)), verdict.Fail, 0.6999},
		{"threshold 0 passes 0", schema.Rule{}, samples(scores(0)), verdict.Pass, 0},
		{"need 1 of 3", schema.Rule{Need: 1, Threshold: 1}, samples(scores(0, 1, 0)), verdict.Pass, 1},
		{"need 2 of 3, one met", schema.Rule{Need: 2, Threshold: 1}, samples(scores(0, 1, 0)), verdict.Fail, 0.5},
		{"need more than there are", schema.Rule{Need: 4, Threshold: 1}, samples(scores(1, 1)), verdict.Fail, 0.5},
		{"weights", schema.Rule{Threshold: 0.7, Weights: map[string]float64{"a": 3}}, samples(scores(1, 0)), verdict.Pass, 0.75},
		{"weight 0 does not count", schema.Rule{Threshold: 1, Weights: map[string]float64{"b": 0}}, samples(scores(1, 0)), verdict.Pass, 1},
		{"all weights 0", schema.Rule{Weights: map[string]float64{"a": 0}}, samples(scores(1)), verdict.Error, 0},
		{"negative weight", schema.Rule{Weights: map[string]float64{"a": -2}}, samples(scores(1, 0)), verdict.Error, 0},
		{"negative weight next to a larger one", schema.Rule{Weights: map[string]float64{"a": 3, "b": -1}}, samples(scores(1, 1)), verdict.Error, 0},
		{"infinite weight", schema.Rule{Weights: map[string]float64{"a": math.Inf(1)}}, samples(scores(1, 0)), verdict.Error, 0},
		{"veto violated", schema.Rule{Threshold: 0.7}, samples(withVeto(scores(1, 1), 0)), verdict.Fail, 0},
		{"veto violated at threshold 0", schema.Rule{}, samples(withVeto(scores(1, 1), 0)), verdict.Fail, 0},
		{"veto held", schema.Rule{Threshold: 0.7}, samples(withVeto(scores(1, 0), 1)), verdict.Fail, 0.5},
		{"only a veto, held", schema.Rule{Threshold: 0.7}, samples(withVeto(scores(), 1)), verdict.Pass, 1},
		{"veto held in two of three", schema.Rule{Threshold: 0.6}, samples(withVeto(scores(1), 1), withVeto(scores(1), 0), withVeto(scores(1), 1)), verdict.Pass, 2. / 3},
		{"veto held in half", schema.Rule{Threshold: 0.5}, samples(withVeto(scores(1), 1), withVeto(scores(1), 0)), verdict.Fail, 0.5},
		{"required met", schema.Rule{Threshold: 0.5, Required: []string{"a"}}, samples(scores(1, 0)), verdict.Pass, 0.5},
		{"required missed", schema.Rule{Threshold: 0.5, Required: []string{"b"}}, samples(scores(1, 0)), verdict.Fail, 0.5},
		{"required never measured", schema.Rule{Threshold: 0.5, Required: []string{"z"}}, samples(scores(1, 1)), verdict.Fail, 1},
		{"required in two of three", schema.Rule{Required: []string{"a"}}, samples(scores(1), scores(0), scores(1)), verdict.Pass, 2. / 3},
		{"required in half", schema.Rule{Required: []string{"a"}}, samples(scores(1), scores(0)), verdict.Fail, 0.5},
		{"unanimous, required in all", schema.Rule{Required: []string{"a"}, Unanimous: true}, samples(scores(1), scores(1), scores(1)), verdict.Pass, 1},
		{"unanimous, required in two of three", schema.Rule{Required: []string{"a"}, Unanimous: true}, samples(scores(1), scores(0), scores(1)), verdict.Fail, 2. / 3},
		{"unanimous, one sample failed and one is in error", schema.Rule{Required: []string{"a"}, Unanimous: true}, append(samples(scores(0)), verdict.Sample{Error: "timeout"}), verdict.Fail, 0},
		{"unanimous, the others pass and one is in error", schema.Rule{Required: []string{"a"}, Unanimous: true}, append(samples(scores(1)), verdict.Sample{Error: "timeout"}), verdict.Error, 0},
		{"unanimous, never measured", schema.Rule{Required: []string{"z"}, Unanimous: true}, samples(scores(1)), verdict.Fail, 1},
		{"mean of samples", schema.Rule{Threshold: 0.7}, samples(scores(1), scores(0.5), scores(0.6)), verdict.Pass, 0.7},
		{"errors are left out", schema.Rule{Threshold: 0.7}, append(samples(scores(1)), verdict.Sample{Error: "timeout"}), verdict.Pass, 1},
		{"criterion above 1", schema.Rule{}, samples(scores(1.5)), verdict.Error, 0},
		{"criterion below 0", schema.Rule{}, samples(scores(-0.1)), verdict.Error, 0},
		{"criterion NaN", schema.Rule{}, samples(scores(math.NaN())), verdict.Error, 0},
		{"nothing measured", schema.Rule{}, samples(scores()), verdict.Error, 0},
		{"no sample", schema.Rule{}, nil, verdict.Error, 0},
		{"fewer measurements than evaluators", schema.Rule{}, []verdict.Sample{{}}, verdict.Error, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := verdict.Decide([]schema.Evaluator{{Name: "main", Weight: 1, Rule: tt.rule}}, tt.samples)
			if got.Verdict != tt.verdict {
				t.Errorf("verdict %s (%s), want %s", got.Verdict, got.Reason, tt.verdict)
			}
			switch {
			case tt.verdict == verdict.Error:
				if got.Score != nil || got.Reason == "" {
					t.Errorf("an error has the score %v and the reason %q", got.Score, got.Reason)
				}
				if strings.HasPrefix(tt.name, "criterion ") && !strings.Contains(got.Reason, "not in [0,1]") {
					t.Errorf("the reason is %q, want the criterion and its score", got.Reason)
				}
			case got.Score == nil:
				t.Error("no score")
			case math.Abs(*got.Score-tt.score) > 1e-9:
				t.Errorf("score %v, want %v", *got.Score, tt.score)
			}
		})
	}
}

func TestDecideEvaluators(t *testing.T) {
	good := verdict.Measurement{Evaluator: "x", Reason: "good", Criteria: []verdict.Criterion{{ID: "a", Score: 1}}}
	bad := verdict.Measurement{Evaluator: "x", Reason: "bad", Criteria: []verdict.Criterion{{ID: "a"}}}
	worse := verdict.Measurement{Evaluator: "x", Reason: "worse", Criteria: []verdict.Criterion{{ID: "a"}}}
	for _, tt := range []struct {
		name    string
		weights []float64
		ms      []verdict.Measurement
		verdict verdict.Verdict
		score   float64
		reason  string
	}{
		{"all pass", []float64{1, 1}, []verdict.Measurement{good, good}, verdict.Pass, 1, "good"},
		{"weighted", []float64{3, 1}, []verdict.Measurement{good, bad}, verdict.Fail, 0.75, "bad"},
		{"the first failure is the reason", []float64{1, 1, 1}, []verdict.Measurement{good, bad, worse}, verdict.Fail, 1. / 3, "bad"},
		{"a failure of weight 0 still fails", []float64{1, 0}, []verdict.Measurement{good, bad}, verdict.Fail, 1, "bad"},
		{"weights sum to 0", []float64{0, 0}, []verdict.Measurement{good, good}, verdict.Error, 0, "the weights"},
		{"negative weight", []float64{3, -1}, []verdict.Measurement{good, good}, verdict.Error, 0, "the weights"},
		{"NaN weight", []float64{1, math.NaN()}, []verdict.Measurement{good, good}, verdict.Error, 0, "the weights"},
		{"one cannot be measured", []float64{1, 1}, []verdict.Measurement{good, {Evaluator: "y", Error: "no judge"}}, verdict.Error, 0, "y: no judge"},
		{"no evaluator", nil, nil, verdict.Error, 0, "the case has no evaluator"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var evs []schema.Evaluator
			for _, w := range tt.weights {
				evs = append(evs, schema.Evaluator{Name: "x", Weight: w, Rule: schema.Rule{Threshold: 0.7}})
			}
			got := verdict.Decide(evs, []verdict.Sample{{Measurements: tt.ms}})
			if got.Verdict != tt.verdict || !strings.HasPrefix(got.Reason, tt.reason) {
				t.Errorf("%s because %q, want %s because %q", got.Verdict, got.Reason, tt.verdict, tt.reason)
			}
			if tt.verdict != verdict.Error && math.Abs(*got.Score-tt.score) > 1e-9 {
				t.Errorf("score %v, want %v", *got.Score, tt.score)
			}
		})
	}
}

func TestDecideExplains(t *testing.T) {
	miss, hit := scores(0), scores(1)
	miss.Reason, hit.Reason = "missed", "hit"
	vetoed := withVeto(scores(1), 0)
	vetoed.Reason = "forbidden"
	for _, tt := range []struct {
		name    string
		rule    schema.Rule
		samples []verdict.Sample
		want    string
	}{
		{"the failing sample explains a failure", schema.Rule{Threshold: 0.9}, samples(hit, miss), "missed (1 of 2 samples pass)"},
		{"the passing sample explains a pass", schema.Rule{Threshold: 0.5}, samples(miss, hit), "hit (1 of 2 samples pass)"},
		{"a required criterion explains", schema.Rule{Required: []string{"a"}}, samples(hit, miss), "missed (1 of 2 samples pass)"},
		{"a veto explains", schema.Rule{}, samples(withVeto(hit, 1), vetoed), "forbidden (1 of 2 samples pass)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := verdict.Decide([]schema.Evaluator{{Weight: 1, Rule: tt.rule}}, tt.samples)
			if got.Reason != tt.want {
				t.Errorf("reason %q, want %q", got.Reason, tt.want)
			}
		})
	}
}

func TestDecideHintsAtAlternatives(t *testing.T) {
	for _, tt := range []struct {
		name string
		rule schema.Rule
		m    verdict.Measurement
		want bool
	}{
		{"some but not enough", schema.Rule{Threshold: 0.7}, scores(1, 0), true},
		{"some and enough", schema.Rule{Threshold: 0.5}, scores(1, 0), false},
		{"none", schema.Rule{Threshold: 0.7}, scores(0, 0), false},
		{"all are asked for", schema.Rule{Threshold: 1}, scores(1, 0), false},
		{"a number is asked for", schema.Rule{Threshold: 1, Need: 2}, scores(1, 0, 0), false},
		{"all, but a forbidden word", schema.Rule{Threshold: 0.7}, withVeto(scores(1, 1), 0), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := schema.Evaluator{Weight: 1, Spec: evaluator.Keyword{}, Rule: tt.rule}
			got := verdict.Decide([]schema.Evaluator{ev}, samples(tt.m)).Reason
			if strings.Contains(got, "match: any") != tt.want {
				t.Errorf("reason %q; hint wanted: %v", got, tt.want)
			}
			ev.Spec = evaluator.TwoPass{}
			if got := verdict.Decide([]schema.Evaluator{ev}, samples(tt.m)).Reason; got != "some reason" {
				t.Errorf("reason of another evaluator %q", got)
			}
		})
	}
}

// TestDecideTakesTheBest: by the verdict first, then by the score, and by the first of equals. What
// cannot be judged is left out.
func TestDecideTakesTheBest(t *testing.T) {
	one := []schema.Evaluator{{Name: "main", Weight: 1, Rule: schema.Rule{Threshold: 0.5}}}
	broken := scores(1)
	broken.Error = "the judge is down"
	for _, tt := range []struct {
		name    string
		bands   *schema.Bands
		samples []verdict.Sample
		verdict verdict.Verdict
		score   float64
		judged  int
	}{
		{"one of three", &schema.Bands{Pass: 0.8, Borderline: 0.8}, samples(scores(0.1), scores(0.9), scores(0.5)), verdict.Pass, 0.9, 3},
		{"none", &schema.Bands{Pass: 0.8, Borderline: 0.8}, samples(scores(0.1), scores(0.7)), verdict.Fail, 0.7, 2},
		{"without bands", nil, samples(scores(0.1), scores(0.6)), verdict.Pass, 0.6, 2},
		{"a veto", nil, samples(withVeto(scores(0.9), 0), withVeto(scores(0.6), 1)), verdict.Pass, 0.6, 2},
		{"an error", nil, samples(broken, scores(0.6), scores(0.2)), verdict.Pass, 0.6, 2},
	} {
		got := verdict.DecideCase(&schema.Case{Evaluators: one, Policy: schema.Policy{Best: true, Bands: tt.bands}}, tt.samples)
		if got.Verdict != tt.verdict || got.Score == nil || math.Abs(*got.Score-tt.score) > 1e-9 || got.Samples != tt.judged || !got.Best {
			t.Errorf("%s: %+v, want %s with %v of %d samples", tt.name, got, tt.verdict, tt.score, tt.judged)
		}
	}
	got := verdict.DecideCase(&schema.Case{Evaluators: one, Policy: schema.Policy{Best: true}}, samples(broken, broken))
	if got.Verdict != verdict.Error || got.Score != nil {
		t.Errorf("without a sample that can be judged: %+v, want an error", got)
	}
}

// TestDecideEvery: a case each of whose samples has to pass fails for one that does not,
// whatever the mean, and is an error if one is.
func TestDecideEvery(t *testing.T) {
	c := &schema.Case{
		Policy:     schema.Policy{Every: true},
		Evaluators: []schema.Evaluator{{Name: "main", Weight: 1, Rule: schema.Rule{Threshold: 0.5}}},
	}
	banded := *c
	banded.Policy.Bands = &schema.Bands{Pass: 0.5, Borderline: 0.5}
	unknown := verdict.Sample{Error: "no answer"}
	for _, tt := range []struct {
		name    string
		samples []verdict.Sample
		verdict verdict.Verdict
		reason  string
	}{
		{"all pass", samples(scores(1), scores(0.5)), verdict.Pass, "some reason (2 of 2 samples pass)"},
		{"one below the threshold", samples(scores(1), scores(1), scores(0.4)), verdict.Fail, "some reason (2 of 3 samples pass)"},
		{"one sample", samples(scores(0.4)), verdict.Fail, "some reason"},
		{"one error", append(samples(scores(1), scores(1)), unknown), verdict.Error, "no answer"},
		{"a fail and an error", append(samples(scores(1), scores(0)), unknown), verdict.Fail, "some reason (1 of 2 samples pass)"},
	} {
		for form, c := range map[string]*schema.Case{"evaluators": c, "bands": &banded} {
			if got := verdict.DecideCase(c, tt.samples); got.Verdict != tt.verdict || got.Reason != tt.reason {
				t.Errorf("%s by %s: %s, %q, want %s, %q", tt.name, form, got.Verdict, got.Reason, tt.verdict, tt.reason)
			}
		}
	}
}

func TestDecideKeepsMeanCriteria(t *testing.T) {
	first, second := scores(1, 0), scores(0.5, 0)
	first.Criteria[1].Note = "b is missing"
	got := verdict.Decide([]schema.Evaluator{{Name: "main", Weight: 1}}, samples(first, second))
	want := []verdict.Criterion{{ID: "a", Score: 0.75}, {ID: "b", Note: "b is missing", Sample: 1}}
	if diff := cmp.Diff(want, got.Evaluators[0].Criteria); diff != "" {
		t.Errorf("criteria (-want +got):\n%s", diff)
	}
	if got.Samples != 2 {
		t.Errorf("%d samples, want 2", got.Samples)
	}
}

// TestMeanCriterionShowsAFailure: the note and the excerpts of a mean are from the first
// sample with the lowest score, which is named. A single sample and a criterion that holds
// name none.
func TestMeanCriterionShowsAFailure(t *testing.T) {
	of := func(ordinal int, score float64, said string) verdict.Sample {
		c := verdict.Criterion{ID: "a", Score: score, Note: said, Expected: said, Actual: said}
		if score == 1 {
			c = verdict.Criterion{ID: "a", Score: 1}
		}
		return verdict.Sample{Ordinal: ordinal, Measurements: []verdict.Measurement{{Evaluator: "main", Criteria: []verdict.Criterion{c}}}}
	}
	for _, tt := range []struct {
		name    string
		samples []verdict.Sample
		said    string
		sample  int
	}{
		{"one", []verdict.Sample{of(0, 0, "x")}, "x", 0},
		{"second", []verdict.Sample{of(0, 1, ""), of(1, 0, "x"), of(2, 0, "y")}, "x", 2},
		{"lowest", []verdict.Sample{of(0, 0.5, "x"), of(1, 0.25, "y")}, "y", 2},
		{"after an error", []verdict.Sample{{Ordinal: 0, Error: "down"}, of(1, 1, ""), of(2, 0, "x")}, "x", 3},
		{"all hold", []verdict.Sample{of(0, 1, ""), of(1, 1, "")}, "", 0},
	} {
		res := verdict.Decide([]schema.Evaluator{{Name: "main", Weight: 1, Rule: schema.Rule{Threshold: 1}}}, tt.samples)
		c := res.Evaluators[0].Criteria[0]
		if c.Note != tt.said || c.Expected != tt.said || c.Actual != tt.said || c.Sample != tt.sample {
			t.Errorf("%s: %+v, want %q of sample %d", tt.name, c, tt.said, tt.sample)
		}
	}
}

func TestUsage(t *testing.T) {
	a := verdict.Usage{Calls: 1, InputTokens: 10, OutputTokens: 2, CostUSD: 0.5}
	b := verdict.Usage{Calls: 2, InputTokens: 1, OutputTokens: 1, CostUSD: 0.25}
	sum := a.Add(b)
	if diff := cmp.Diff(verdict.Usage{Calls: 3, InputTokens: 11, OutputTokens: 3, CostUSD: 0.75}, sum); diff != "" {
		t.Errorf("sum (-want +got):\n%s", diff)
	}
	if sum.Tokens() != 14 || sum.Cost() == nil || *sum.Cost() != 0.75 {
		t.Errorf("tokens %d, cost %v", sum.Tokens(), sum.Cost())
	}
	if got := sum.Add(verdict.Usage{Calls: 1, Unpriced: 1}).Cost(); got != nil {
		t.Errorf("cost %v although a price is not known", *got)
	}
}
