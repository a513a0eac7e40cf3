package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/template"
)

// SelectedCriterion is the only criterion of an evaluator that compares a case with its
// peers: 1 for a selected answer, else 0.
const SelectedCriterion = "selected"

// Select measures the evaluators that compare cases with one another. The candidates
// are the inputs of cases that are each other's peers, in an order that the caller
// chooses and keeps. It returns the measurements of each candidate, parallel to its
// evaluators. Measurements of evaluators that do not compare are empty, unless the
// comparison is about the scores of all. The calls, and their order, do not depend on
// which candidate they are made for. The error is a [*Fault] of Ask, unchanged.
func Select(ctx context.Context, candidates []Input) ([][]verdict.Measurement, error) {
	s := selection{candidates: candidates, measured: make([][]verdict.Measurement, len(candidates))}
	evaluators := candidates[0].Case.Evaluators
	for i, c := range candidates {
		candidates[i].Transcript = c.Transcript.Judged()
		s.measured[i] = make([]verdict.Measurement, len(evaluators))
	}
	if slices.ContainsFunc(evaluators, func(ev schema.Evaluator) bool { _, scores := ev.Spec.(evaluator.MaxScore); return scores }) {
		if err := s.measureOthers(ctx); err != nil {
			return nil, err
		}
	}
	for n, ev := range evaluators {
		spec, ok := evaluator.Selects(ev.Spec)
		if !ok {
			continue
		}
		d := &dialogue{Ask: candidates[0].Ask}
		found, err := s.find(ctx, spec, n, d)
		if fault, ok := errors.AsType[*Fault](err); ok {
			return nil, fault
		}
		for i := range candidates {
			m := verdict.Measurement{Evaluator: candidates[i].Case.Evaluators[n].Name, Usage: d.Usage, Asked: d.Asked, Answered: d.Answered}
			if err != nil {
				m.Error = err.Error()
			} else {
				m.Criteria, m.Reason = found[i].criteria, found[i].reason
			}
			s.measured[i][n] = m
		}
	}
	return s.measured, nil
}

// A selection compares candidates.
type selection struct {
	candidates []Input
	measured   [][]verdict.Measurement // by candidate and evaluator
}

// measureOthers runs the evaluators that do not compare.
func (s *selection) measureOthers(ctx context.Context) error {
	for i, in := range s.candidates {
		for n, ev := range in.Case.Evaluators {
			if _, ok := evaluator.Selects(ev.Spec); ok {
				continue
			}
			var err error
			if s.measured[i][n], err = Measure(ctx, ev, in); err != nil {
				return err
			}
		}
	}
	return nil
}

// A candidateFinding is an evaluator's result for one candidate.
type candidateFinding struct {
	criteria []verdict.Criterion
	reason   string
}

// find returns the n-th evaluator's finding for each candidate.
func (s *selection) find(ctx context.Context, spec schema.Spec, n int, d *dialogue) ([]candidateFinding, error) {
	if best, ok := spec.(evaluator.SelectBest); ok {
		return s.best(ctx, best, n, d)
	}
	return s.highest(spec.(evaluator.MaxScore))
}

// best asks the judge to choose.
func (s *selection) best(ctx context.Context, spec evaluator.SelectBest, n int, d *dialogue) ([]candidateFinding, error) {
	answers := make([]string, len(s.candidates))
	for i, in := range s.candidates {
		var err error
		if answers[i], err = answerOf(ctx, in, n); err != nil {
			return nil, err
		}
	}
	if !slices.ContainsFunc(answers, func(a string) bool { return a != answers[0] }) {
		return selected(answers, func(int) bool { return true }, "all answers are the same"), nil
	}
	role := schema.Judge
	if spec.Target != "" {
		role = evaluator.JudgeBy(spec.Target)
	}
	form := objectSchema(map[string]any{"analysis": typeSchema("string"), "best": typeSchema("integer")})
	choice, err := askJudge(ctx, d, Question{
		Role: role, Text: bestQuestion(spec, s.input(), answers),
		Format: &target.Format{Name: "choice", Schema: json.RawMessage(compactJSON(form))},
	}, func(reply string) (choice, error) { return readChoice(reply, len(answers)) })
	if err != nil {
		return nil, err
	}
	return selected(answers, func(i int) bool { return answers[i] == answers[choice.best-1] }, choice.analysis), nil
}

// input returns the candidates' common question; empty if they were asked in different
// words.
func (s *selection) input() string {
	input := s.candidates[0].Question()
	if slices.ContainsFunc(s.candidates, func(in Input) bool { return in.Question() != input }) {
		return ""
	}
	return input
}

// answerOf returns a candidate's answer as its n-th evaluator sees it.
func answerOf(ctx context.Context, in Input, n int) (string, error) {
	spec, ok := in.Case.Evaluators[n].Spec.(evaluator.Transformed)
	if !ok {
		return in.Transcript.Final(), nil
	}
	value, err := transform(ctx, spec, in.value())
	return template.Written(value), err
}

// selected returns a finding for each answer.
func selected(answers []string, is func(i int) bool, reason string) []candidateFinding {
	found := make([]candidateFinding, len(answers))
	for i := range answers {
		note := "another answer was selected"
		if is(i) {
			note = "the answer was selected"
		}
		found[i] = candidateFinding{[]verdict.Criterion{{ID: SelectedCriterion, Score: share(is(i)), Note: note}}, reason}
	}
	return found
}

// bestQuestion returns the judge's whole prompt. A changed word needs a higher Version
// of [evaluator.SelectBest].
func bestQuestion(spec evaluator.SelectBest, input string, answers []string) string {
	parts := []string{IsData}
	if input != "" {
		parts = append(parts, Block("INPUT", input))
	}
	for i, answer := range answers {
		parts = append(parts, Block("OUTPUT "+strconv.Itoa(i+1), answer))
	}
	return strings.Join(append(parts,
		fmt.Sprintf("YOUR TASK. %d systems were given the same task, and answered. Choose the OUTPUT that meets this criterion best. The order of the outputs means nothing:\n\n%s", len(answers), unmarked(spec.Criterion)),
		`Reply with one JSON object {"analysis": "…", "best": …}: analysis says why in a few sentences; best is the number of the best OUTPUT. Write nothing else.`), "\n\n")
}

// A choice is a parsed reply of the judge. best counts from 1.
type choice struct {
	best     int
	analysis string
}

func readChoice(reply string, most int) (choice, error) {
	var got struct {
		Analysis string `json:"analysis"`
		Best     int    `json:"best"`
	}
	if err := readJSON(reply, &got); err != nil {
		return choice{}, err
	}
	if got.Best < 1 || got.Best > most {
		return choice{}, formOf(got).lacks(fmt.Sprintf("%d under \"best\" is not the number of an OUTPUT: it is from 1 to %d", got.Best, most))
	}
	return choice{got.Best, strings.TrimSpace(got.Analysis)}, nil
}

// highest compares the candidates' scores by their other evaluators.
func (s *selection) highest(spec evaluator.MaxScore) ([]candidateFinding, error) {
	scores := make([]float64, len(s.candidates))
	for i, in := range s.candidates {
		var err error
		if scores[i], err = total(spec, in.Case.Evaluators, s.measured[i]); err != nil {
			return nil, err
		}
	}
	best := slices.Max(scores)
	reach := spec.Least == nil || best >= *spec.Least
	found := make([]candidateFinding, len(scores))
	for i, score := range scores {
		reason := fmt.Sprintf("the score %.3g is the highest", score)
		switch {
		case score < best:
			reason = fmt.Sprintf("the score %.3g is below the highest, %.3g", score, best)
		case !reach:
			reason = fmt.Sprintf("the score %.3g is the highest, and below %.3g", score, *spec.Least)
		}
		found[i] = candidateFinding{[]verdict.Criterion{{ID: SelectedCriterion, Score: share(score == best && reach), Note: reason}}, reason}
	}
	return found, nil
}

// total returns the weighted mean, or the sum, of the measured evaluators' scores.
func total(spec evaluator.MaxScore, evaluators []schema.Evaluator, measured []verdict.Measurement) (float64, error) {
	var sum, weights float64
	n := 0
	for i, ev := range evaluators {
		if _, ok := evaluator.Selects(ev.Spec); ok {
			continue
		}
		decided := verdict.Decide([]schema.Evaluator{ev}, []verdict.Sample{{Measurements: measured[i : i+1]}})
		if decided.Verdict == verdict.Error {
			return 0, fmt.Errorf("a score to compare is missing: %s", decided.Reason)
		}
		weight := spec.Weights[n]
		n++
		sum, weights = sum+weight*decided.Evaluators[0].Score, weights+weight
	}
	if spec.Sum || weights == 0 {
		return sum, nil
	}
	return sum / weights, nil
}
