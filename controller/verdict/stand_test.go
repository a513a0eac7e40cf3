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

var bands = schema.Policy{Bands: &schema.Bands{Pass: 0.8, Borderline: 0.6}}

// criteria makes a measurement of named scores.
func criteria(pairs ...any) verdict.Measurement {
	m := verdict.Measurement{Evaluator: "main", Reason: "some reason"}
	for i := 0; i < len(pairs); i += 2 {
		m.Criteria = append(m.Criteria, verdict.Criterion{ID: pairs[i].(string), Score: pairs[i+1].(float64)})
	}
	return m
}

// quantities makes a measurement of named values.
func quantities(pairs ...any) verdict.Measurement {
	m := criteria(pairs...)
	for i := range m.Criteria {
		value := m.Criteria[i].Score
		m.Criteria[i].Score, m.Criteria[i].Value = 0, &value
	}
	return m
}

func decided(t *testing.T, c *schema.Case, list []verdict.Sample, want verdict.Verdict, score float64) verdict.Result {
	t.Helper()
	got := verdict.DecideCase(c, list)
	if got.Verdict != want {
		t.Fatalf("verdict %s (%s), want %s", got.Verdict, got.Reason, want)
	}
	switch {
	case want == verdict.Error:
		if got.Score != nil || got.Reason == "" {
			t.Errorf("an error has the score %v and the reason %q", got.Score, got.Reason)
		}
	case math.Abs(*got.Score-score) > 1e-9:
		t.Errorf("score %v, want %v", *got.Score, score)
	}
	return got
}

func TestBands(t *testing.T) {
	least := map[string]float64{"a": 0.6}
	for _, tt := range []struct {
		name    string
		rule    schema.Rule
		samples []verdict.Sample
		verdict verdict.Verdict
		score   float64
	}{
		{"0.8 passes", schema.Rule{Threshold: 0.8}, samples(scores(1, 1, 1, 1, 0)), verdict.Pass, 0.8},
		{"just below 0.8", schema.Rule{Threshold: 0.8}, samples(scores(0.7999)), verdict.Borderline, 0.7999},
		{"0.6 is borderline", schema.Rule{Threshold: 0.8}, samples(scores(1, 1, 1, 0, 0)), verdict.Borderline, 0.6},
		{"a sum of thirds", schema.Rule{}, samples(scores(0.6), scores(0.6), scores(0.6)), verdict.Borderline, 0.6},
		{"just below 0.6", schema.Rule{Threshold: 0.8}, samples(scores(0.5999)), verdict.Fail, 0.5999},
		{"the evaluator's own threshold says nothing", schema.Rule{Threshold: 1}, samples(scores(0.9)), verdict.Pass, 0.9},
		{"required missed at a score that passes", schema.Rule{Required: []string{"e"}}, samples(scores(1, 1, 1, 1, 0)), verdict.Fail, 0.8},
		{"required at a little above 0", schema.Rule{Required: []string{"a"}}, samples(scores(0.01, 1, 1, 1, 1)), verdict.Pass, 0.802},
		{"required never measured", schema.Rule{Required: []string{"z"}}, samples(scores(1)), verdict.Fail, 1},
		{"the least is reached", schema.Rule{Required: []string{"a"}, Least: least}, samples(scores(0.1+0.2+0.3, 1)), verdict.Pass, 0.8},
		{"the least is not reached", schema.Rule{Required: []string{"a"}, Least: least}, samples(scores(0.5999, 1, 1)), verdict.Fail, 2.5999 / 3},
		{"required in two of three samples", schema.Rule{Required: []string{"a"}}, samples(scores(1, 1), scores(0, 1), scores(1, 1)), verdict.Pass, 2.5 / 3},
		{"required in one of two samples", schema.Rule{Required: []string{"a"}}, samples(scores(1, 1), scores(0, 1)), verdict.Fail, 0.75},
		{"a weight of 0 has no share", schema.Rule{Weights: map[string]float64{"b": 0}}, samples(scores(1, 0)), verdict.Pass, 1},
		{"a veto", schema.Rule{}, samples(withVeto(scores(1), 0)), verdict.Fail, 0},
		{"an error is left out", schema.Rule{}, append(samples(scores(0.7)), verdict.Sample{Error: "timeout"}), verdict.Borderline, 0.7},
		{"an error alone", schema.Rule{}, []verdict.Sample{{Error: "timeout"}}, verdict.Error, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &schema.Case{Evaluators: []schema.Evaluator{{Name: "main", Weight: 1, Rule: tt.rule}}, Policy: bands}
			decided(t, c, tt.samples, tt.verdict, tt.score)
		})
	}
}

// A check next to the evaluators of a case has no share in the score, and fails
// the case whatever that is.
func TestBandsWithSeveralEvaluators(t *testing.T) {
	c := &schema.Case{Policy: bands, Evaluators: []schema.Evaluator{
		{Name: "judge", Weight: 3, Rule: schema.Rule{Threshold: 0.8}},
		{Name: "code", Weight: 1, Rule: schema.Rule{Threshold: 0.8}},
		{Name: "checks", Weight: 0, Rule: schema.Rule{Required: []string{"contains"}}},
	}}
	of := func(judge, code, check float64) []verdict.Sample {
		return []verdict.Sample{{Measurements: []verdict.Measurement{
			{Evaluator: "judge", Reason: "good", Criteria: []verdict.Criterion{{ID: "score", Score: judge}}},
			{Evaluator: "code", Reason: "poor code", Criteria: []verdict.Criterion{{ID: "score", Score: code}}},
			{Evaluator: "checks", Reason: "not there", Criteria: []verdict.Criterion{{ID: "contains", Score: check}}},
		}}}
	}
	decided(t, c, of(1, 1, 1), verdict.Pass, 1)
	decided(t, c, of(1, 0.2, 1), verdict.Pass, 0.8)
	if got := decided(t, c, of(0.79, 1, 1), verdict.Pass, 0.8425); got.Reason != "poor code" {
		t.Errorf("reason %q is that of what did not pass", got.Reason)
	}
	if got := decided(t, c, of(0.9, 0.2, 1), verdict.Borderline, 0.725); got.Reason != "poor code" {
		t.Errorf("reason %q", got.Reason)
	}
	if got := decided(t, c, of(1, 1, 0), verdict.Fail, 1); got.Reason != "not there" {
		t.Errorf("reason %q", got.Reason)
	}
	if got := decided(t, c, of(1, 0.5, 0), verdict.Fail, 0.875); got.Reason != "not there" {
		t.Errorf("reason %q: what fails the case is not named", got.Reason)
	}
}

func TestAggregates(t *testing.T) {
	for _, tt := range []struct {
		name     string
		rule     schema.Rule
		measured verdict.Measurement
		score    float64
		pass     bool
	}{
		{"weighted average", schema.Rule{Weights: map[string]float64{"a": 3}}, scores(1, 0), 0.75, true},
		{"minimum", schema.Rule{Aggregate: schema.Minimum, Threshold: 0.5}, scores(1, 0.4, 0.7), 0.4, false},
		{"minimum of one", schema.Rule{Aggregate: schema.Minimum, Threshold: 0.4}, scores(0.4), 0.4, true},
		{"maximum", schema.Rule{Aggregate: schema.Maximum, Threshold: 0.8}, scores(0, 0.9, 0.1), 0.9, true},
		{"maximum of zeros", schema.Rule{Aggregate: schema.Maximum, Threshold: 0.1}, scores(0, 0), 0, false},
		{"all", schema.Rule{Aggregate: schema.AllOrNothing, Threshold: 1}, scores(1, 1), 1, true},
		{"nothing", schema.Rule{Aggregate: schema.AllOrNothing}, scores(1, 0.99), 0, true},
		{"all above a threshold", schema.Rule{Aggregate: schema.AllOrNothing, Gate: 0.6, Weights: map[string]float64{"a": 3}}, scores(1, 0.6), 0.9, true},
		{"one below the threshold", schema.Rule{Aggregate: schema.AllOrNothing, Gate: 0.6}, scores(1, 0.59), 0, true},
		{"safety gate open", schema.Rule{Aggregate: schema.SafetyGate, Required: []string{"a"}, Threshold: 0.5}, scores(1, 0), 0.5, true},
		{"safety gate shut", schema.Rule{Aggregate: schema.SafetyGate, Required: []string{"b"}}, scores(1, 0), 0, false},
		{"what does not apply", schema.Rule{Aggregate: schema.Minimum, Threshold: 1}, without(scores(1, 0), "b"), 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := verdict.Decide([]schema.Evaluator{{Weight: 1, Rule: tt.rule}}, samples(tt.measured))
			if got.Score == nil || math.Abs(*got.Score-tt.score) > 1e-9 || (got.Verdict == verdict.Pass) != tt.pass {
				t.Errorf("%+v, want %v", got, tt.score)
			}
		})
	}
}

func TestBoundsOfQuantities(t *testing.T) {
	rule := schema.Rule{Threshold: 0.8, Most: map[string]float64{"tokens": 100, "tools": 0}}
	for _, tt := range []struct {
		name    string
		samples []verdict.Sample
		verdict verdict.Verdict
		score   float64
	}{
		{"within", samples(quantities("tokens", 100., "tools", 0.)), verdict.Pass, 1},
		{"one above", samples(quantities("tokens", 100.5, "tools", 0.)), verdict.Fail, 0.5},
		{"both above", samples(quantities("tokens", 1e9, "tools", 1.)), verdict.Fail, 0},
		{"in two of three samples", samples(quantities("tokens", 1., "tools", 0.), quantities("tokens", 1., "tools", 9.), quantities("tokens", 1., "tools", 0.)), verdict.Pass, 2.5 / 3},
		{"no number", samples(quantities("tokens", math.NaN(), "tools", 0.)), verdict.Error, 0},
		{"negative", samples(quantities("tokens", -1., "tools", 0.)), verdict.Error, 0},
		{"endless", samples(quantities("tokens", math.Inf(1), "tools", 0.)), verdict.Error, 0},
		{"not bounded", samples(quantities("calls", 1.)), verdict.Error, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &schema.Case{Evaluators: []schema.Evaluator{{Name: "main", Weight: 1, Rule: rule}}}
			decided(t, c, tt.samples, tt.verdict, tt.score)
		})
	}
	res := verdict.Decide([]schema.Evaluator{{Weight: 1, Rule: rule}}, samples(quantities("tokens", 150., "tools", 0.), quantities("tokens", 250., "tools", 0.)))
	if !strings.Contains(res.Reason, "allowed: tokens at most 100") || *res.Evaluators[0].Criteria[0].Value != 200 {
		t.Errorf("the result is %+v, want 200 tokens where at most 100 are allowed", res)
	}
}

func TestComposite(t *testing.T) {
	safety := evaluator.Member{ID: "safety", Rule: schema.Rule{Threshold: 0.8}}
	style := evaluator.Member{ID: "style", Rule: schema.Rule{Threshold: 0.8, Required: []string{"polite"}}}
	cost := evaluator.Member{ID: "cost", Rule: schema.Rule{Threshold: 0.8, Most: map[string]float64{"usd": 1}}}
	gated := schema.Rule{Aggregate: schema.SafetyGate, Required: []string{"safety"}, Gate: 0.6}
	two, three := []evaluator.Member{safety, style}, []evaluator.Member{safety, style, cost}
	for _, tt := range []struct {
		name     string
		spec     evaluator.Composite
		rule     schema.Rule
		measured verdict.Measurement
		verdict  verdict.Verdict
		score    float64
	}{
		{"weighted average", evaluator.Composite{Members: two}, schema.Rule{Weights: map[string]float64{"safety": 3}},
			criteria("safety/a", 1., "style/polite", 0.4, "style/b", 0.), verdict.Pass, 0.8},
		{"minimum", evaluator.Composite{Members: two}, schema.Rule{Aggregate: schema.Minimum},
			criteria("safety/a", 1., "style/polite", 1., "style/b", 0.3), verdict.Borderline, 0.65},
		{"maximum", evaluator.Composite{Members: two}, schema.Rule{Aggregate: schema.Maximum},
			criteria("safety/a", 0.9, "style/polite", 0.1), verdict.Pass, 0.9},
		{"gate held", evaluator.Composite{Members: two, Gates: []string{"safety"}, Gate: 0.6}, gated,
			criteria("safety/a", 0.6, "style/polite", 1.), verdict.Pass, 0.8},
		{"gate just missed", evaluator.Composite{Members: two, Gates: []string{"safety"}, Gate: 0.6}, gated,
			criteria("safety/a", 0.59), verdict.Fail, 0},
		{"gate held, and the other was not measured", evaluator.Composite{Members: two, Gates: []string{"safety"}, Gate: 0.6}, gated,
			criteria("safety/a", 0.6), verdict.Error, 0},
		{"all pass", evaluator.Composite{Members: two}, schema.Rule{Aggregate: schema.AllOrNothing, Gate: 0.6},
			criteria("safety/a", 0.6, "style/polite", 1.), verdict.Pass, 0.8},
		{"one does not", evaluator.Composite{Members: two}, schema.Rule{Aggregate: schema.AllOrNothing, Gate: 0.6},
			criteria("safety/a", 0.59, "style/polite", 1.), verdict.Fail, 0},
		{"a member that is required", evaluator.Composite{Members: []evaluator.Member{{ID: "safety", Rule: schema.Rule{NonZero: true}}, style}}, schema.Rule{Weights: map[string]float64{"style": 9}},
			criteria("safety/a", 0., "style/polite", 1.), verdict.Fail, 0.9},
		{"what a member requires", evaluator.Composite{Members: two}, schema.Rule{Aggregate: schema.Maximum},
			criteria("safety/a", 1., "style/polite", 0., "style/b", 1.), verdict.Fail, 1},
		{"a quantity in it", evaluator.Composite{Members: three}, schema.Rule{},
			func() verdict.Measurement {
				m := criteria("safety/a", 1., "style/polite", 1.)
				m.Criteria = append(m.Criteria, quantities("cost/usd", 2.).Criteria...)
				return m
			}(), verdict.Borderline, 2. / 3},
		{"a member in a member", evaluator.Composite{Members: []evaluator.Member{{ID: "in", Spec: evaluator.Composite{Members: two}, Rule: schema.Rule{Aggregate: schema.Minimum, Threshold: 0.5}}}},
			schema.Rule{Aggregate: schema.AllOrNothing, Gate: 0.5}, criteria("in/safety/a", 0.5, "in/style/polite", 1.), verdict.Fail, 0.5},
		{"a member that was not measured", evaluator.Composite{Members: two}, schema.Rule{}, criteria("safety/a", 1.), verdict.Error, 0},
		{"nothing measured", evaluator.Composite{Members: two}, schema.Rule{}, criteria(), verdict.Error, 0},
		{"a judge gives the score", evaluator.Composite{Members: two, Judge: &evaluator.LLMJudge{}}, schema.Rule{},
			criteria("safety/a", 0., "style/polite", 1., evaluator.AggregateCriterion, 0.7), verdict.Borderline, 0.7},
		{"a judge does not outweigh what is required", evaluator.Composite{Members: two, Judge: &evaluator.LLMJudge{}}, schema.Rule{},
			criteria("safety/a", 1., "style/polite", 0., evaluator.AggregateCriterion, 1.), verdict.Fail, 1},
		{"a program gave none", evaluator.Composite{Members: two, Program: &evaluator.CodeJudge{}}, schema.Rule{},
			criteria("safety/a", 0., "style/polite", 1.), verdict.Error, 0},
		{"members that are not weighed", evaluator.Composite{Members: two}, schema.Rule{Weights: map[string]float64{"safety": 0, "style": 0}},
			criteria("safety/a", 1., "style/polite", 1.), verdict.Error, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &schema.Case{Evaluators: []schema.Evaluator{{Name: "all", Weight: 1, Spec: tt.spec, Rule: tt.rule}}, Policy: bands}
			got := decided(t, c, samples(tt.measured), tt.verdict, tt.score)
			if tt.spec.Program != nil && !strings.Contains(got.Reason, "the aggregator gave no score") {
				t.Errorf("the reason is %q, want that the aggregator gave no score", got.Reason)
			}
		})
	}
}

// People see what each member made of it, and what that came from.
func TestCriteriaOfComposite(t *testing.T) {
	spec := evaluator.Composite{Members: []evaluator.Member{{ID: "style", Rule: schema.Rule{Weights: map[string]float64{"polite": 3}}}}}
	res := verdict.Decide([]schema.Evaluator{{Weight: 1, Spec: spec}}, samples(criteria("style/polite", 1., "style/short", 0.)))
	want := []verdict.Criterion{{ID: "style", Score: 0.75}, {ID: "style/polite", Score: 1}, {ID: "style/short"}}
	if diff := cmp.Diff(want, res.Evaluators[0].Criteria); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
