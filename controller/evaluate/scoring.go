package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// A component is the result of a member as a scoring function sees it, by promptfoo's names.
type component struct {
	Pass        bool               `json:"pass"`
	Score       float64            `json:"score"`
	Reason      string             `json:"reason"`
	NamedScores map[string]float64 `json:"namedScores,omitempty"`
	// Inner are the results of a set, which follow it once more.
	Inner     []component     `json:"componentResults,omitempty"`
	Assertion json.RawMessage `json:"assertion,omitempty"`

	weights map[string]float64 // of NamedScores
}

// scored adds the result of a composite's function, which gets the scores by their metrics,
// and all results in its context (assertScoringFunction of the matrix dialect). A function
// that throws fails the case, as one of an assertion does. A program that fails and a result
// of another form are errors.
func scored(ctx context.Context, spec evaluator.Composite, in Input, f finding) (finding, error) {
	all, scores, _, err := components(spec, f.criteria)
	if err != nil {
		return finding{}, err
	}
	flat := []component{}
	for _, c := range all {
		flat = append(append(flat, c), c.Inner...)
	}
	named, err := json.Marshal(scores)
	if err != nil {
		return finding{}, err
	}
	var got functionResult
	switch s := spec.Function.Spec.(type) {
	case evaluator.JavaScript:
		var out javaScript
		if out, err = withComponents(s, named, flat); err == nil {
			got, err = scoreByScript(ctx, out)
		}
	case evaluator.Function:
		got, err = scoreByProgram(ctx, s, named, flat, in.Programs)
	default:
		err = fmt.Errorf("a scoring function of type %T is not known", s)
	}
	if err != nil {
		return finding{}, fmt.Errorf("assertScoringFunction: %w", err)
	}
	own := got.finding(false)
	return finding{append(own.criteria, f.criteria...), own.reason}, nil
}

// components returns the members' results, and the scores by their metrics with the sums of
// the weights of each: a metric of several assertions has their weighted mean.
func components(spec evaluator.Composite, criteria []verdict.Criterion) (all []component, scores, weights map[string]float64, err error) {
	scores, weights = map[string]float64{}, map[string]float64{}
	for _, m := range spec.Members {
		own := measuredBy(m.ID, criteria)
		score, pass := verdict.Score(schema.Evaluator{Spec: m.Spec, Rule: m.Rule}, own)
		if score == nil {
			return nil, nil, nil, fmt.Errorf("%s: its criteria give no score", m.ID)
		}
		c := component{Pass: pass, Score: *score, Assertion: m.Assertion}
		for _, criterion := range own {
			if criterion.Note != "" && c.Reason == "" {
				c.Reason = criterion.Note
			}
		}
		if set, isSet := m.Spec.(evaluator.Composite); isSet {
			if c.Inner, c.NamedScores, c.weights, err = components(set, own); err != nil {
				return nil, nil, nil, err
			}
		}
		c.addTo(scores, weights)
		if len(c.Inner) > 0 {
			c.Assertion = nil // promptfoo does not say what a set is
		}
		all = append(all, c)
	}
	for name, weight := range weights {
		if weight != 0 {
			scores[name] /= weight
		} else {
			scores[name] = 0
		}
	}
	return all, scores, weights, nil
}

// addTo adds a result to sums of scores and weights.
func (c component) addTo(scores, weights map[string]float64) {
	var told struct {
		Metric string   `json:"metric"`
		Weight *float64 `json:"weight"`
	}
	_ = json.Unmarshal(c.Assertion, &told) // as it was written
	weight := 1.0
	if told.Weight != nil {
		weight = *told.Weight
	}
	if told.Metric != "" {
		scores[told.Metric] += c.Score * weight
		weights[told.Metric] += weight
	}
	for name, score := range c.NamedScores {
		if name != told.Metric {
			scores[name] += score * c.weights[name] * weight
			weights[name] += c.weights[name] * weight
		}
	}
}

// measuredBy returns the criteria of a member, without its name.
func measuredBy(member string, criteria []verdict.Criterion) []verdict.Criterion {
	var own []verdict.Criterion
	for _, c := range criteria {
		if id, ok := strings.CutPrefix(c.ID, member+"/"); ok {
			c.ID = id
			own = append(own, c)
		}
	}
	return own
}

// withComponents returns the call of a function in JavaScript.
func withComponents(s evaluator.JavaScript, named json.RawMessage, flat []component) (javaScript, error) {
	told, err := toldComponents(s.Context, flat)
	return javaScript{Code: s.Code, Output: named, Context: told}, err
}

// toldComponents adds results to a function's context.
func toldComponents(said json.RawMessage, flat []component) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(said, &fields); err != nil {
		return nil, err
	}
	var err error
	if fields["componentResults"], err = json.Marshal(flat); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// scoreByScript calls a scoring function in JavaScript.
func scoreByScript(ctx context.Context, f javaScript) (functionResult, error) {
	out, err := f.run(ctx)
	switch {
	case err != nil:
		return functionResult{}, err
	case out.Invalid != "":
		return functionResult{}, errors.New("the function does not compile: " + clip(out.Invalid))
	case out.Missing() != nil:
		return functionResult{}, out.Missing()
	case out.Thrown != "":
		return functionResult{Reason: "the scoring function throws " + clip(out.Thrown)}, nil
	}
	return readScoring(json.RawMessage(out.Value))
}

// scoreByProgram calls a scoring function of a program.
func scoreByProgram(ctx context.Context, spec evaluator.Function, named json.RawMessage, flat []component, programs Programs) (functionResult, error) {
	if programs == nil {
		return functionResult{}, fmt.Errorf("programs are not run here: %s is not started", spec.Argv[0])
	}
	told, err := toldComponents(spec.Context, flat)
	if err != nil {
		return functionResult{}, err
	}
	stdin, err := json.Marshal(map[string]any{"output": named, "context": told, "config": spec.Config})
	if err != nil {
		return functionResult{}, err
	}
	printed, err := programs(ctx, Start{Program: spec.Program, Stdin: stdin})
	if err != nil {
		return functionResult{}, err
	}
	return readScoring(printed)
}

// readScoring reads the result of a scoring function, which has all three of pass, score and
// reason, as promptfoo demands.
func readScoring(returned json.RawMessage) (functionResult, error) {
	var got struct {
		Pass   *bool    `json:"pass"`
		Score  *float64 `json:"score"`
		Reason *string  `json:"reason"`
	}
	if err := json.Unmarshal(returned, &got); err != nil || got.Pass == nil || got.Score == nil || got.Reason == nil {
		return functionResult{}, errors.New("the function must return {pass, score, reason} with true or false, a number and a text, and returns " + clip(string(returned)))
	}
	return functionResult{Given: true, Pass: *got.Pass, Score: math.Max(0, math.Min(1, *got.Score)), Reason: strings.TrimSpace(*got.Reason)}, nil
}
