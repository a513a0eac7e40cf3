package evaluate

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// PreferenceCriterion is the only criterion of a comparison: 0 if the output of A is
// preferred, 1 if the output of B is, 0.5 for a tie (new_prompt of the promptval
// dialect).
const PreferenceCriterion = "preference"

// Prefer asks a judge which of two outputs for the same input is better: A, the output
// of in, or B, the alternative. It asks twice, the second time in reverse order,
// because judges favour a position. A preference that differs between the two is a tie.
//
// The error is a [*Fault] of Ask, unchanged.
func Prefer(ctx context.Context, spec evaluator.Comparison, in Input, alternative *verdict.Transcript) (verdict.Measurement, error) {
	in.Transcript = in.Transcript.Judged()
	d := &dialogue{Ask: in.Ask, isCut: isCut(in.Transcript) || isCut(alternative)}
	f, err := prefer(ctx, spec, in, alternative.Judged(), d)
	return measurement(spec.Kind(), d, f, err)
}

func prefer(ctx context.Context, spec evaluator.Comparison, in Input, alternative *verdict.Transcript, d *dialogue) (finding, error) {
	shown := outputs{in.Question(), in.Transcript.Final(), alternative.Final()}
	if shown.first == shown.second {
		return finding{[]verdict.Criterion{{ID: PreferenceCriterion, Score: 0.5, Note: "a tie"}}, "the outputs are the same"}, nil
	}
	straight, err := compareOnce(ctx, spec, shown, d)
	if err != nil {
		return finding{}, err
	}
	shown.first, shown.second = shown.second, shown.first
	swapped, err := compareOnce(ctx, spec, shown, d)
	if err != nil {
		return finding{}, err
	}
	c := verdict.Criterion{ID: PreferenceCriterion, Score: 0.5, Note: "a tie"}
	switch [2]string{straight.better, swapped.better} {
	case [2]string{first, second}:
		c.Score, c.Note = 0, "A in both orders"
	case [2]string{second, first}:
		c.Score, c.Note = 1, "B in both orders"
	case [2]string{first, first}, [2]string{second, second}:
		c.Note = "a tie: the preference flips with the order"
	}
	return finding{[]verdict.Criterion{c}, straight.analysis}, nil
}

// The judge's possible answers.
const first, second, tie = "first", "second", "tie"

// A preference is a parsed reply of the judge.
type preference struct{ better, analysis string }

// outputs are the texts shown to the judge.
type outputs struct{ input, first, second string }

func compareOnce(ctx context.Context, spec evaluator.Comparison, shown outputs, d *dialogue) (preference, error) {
	reply := objectSchema(map[string]any{"analysis": typeSchema("string"), "better": enumSchema([]string{first, second, tie})})
	return askJudge(ctx, d, Question{
		Text:   comparisonQuestion(spec, shown),
		Format: &target.Format{Name: "preference", Schema: json.RawMessage(compactJSON(reply))},
	}, readPreference)
}

// comparisonQuestion returns the judge's whole prompt. A changed word needs a higher
// Version of [evaluator.Comparison].
func comparisonQuestion(spec evaluator.Comparison, shown outputs) string {
	parts := []string{
		IsData, Block("INPUT", shown.input), Block("FIRST OUTPUT", shown.first), Block("SECOND OUTPUT", shown.second),
		"YOUR TASK. Two systems were given the same INPUT. Say which output is better. The order in which they stand means nothing. Whoever tests them says:\n\n" + unmarked(spec.Instruction),
	}
	if len(spec.Criteria) > 0 {
		parts = append(parts, "Look at these criteria:\n"+criteriaList(spec.Criteria))
	}
	return strings.Join(append(parts, `Reply with one JSON object {"analysis": "…", "better": "…"}: analysis says why in a few sentences; better is first, second, or tie where neither is better by these instructions. Write nothing else.`), "\n\n")
}

func readPreference(reply string) (preference, error) {
	var got struct {
		Analysis string `json:"analysis"`
		Better   string `json:"better"`
	}
	if err := readJSON(reply, &got); err != nil {
		return preference{}, err
	}
	better := strings.ToLower(strings.TrimSpace(got.Better))
	switch better {
	case first, second, tie:
		return preference{better, strings.TrimSpace(got.Analysis)}, nil
	}
	return preference{}, formOf(got).lacks(quote(got.Better) + ` under "better" is none of first, second, tie`)
}
