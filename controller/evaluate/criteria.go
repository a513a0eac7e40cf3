package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// criteria asks a judge to score an output (the numeric evaluation of the promptval
// dialect). Each criterion of the rubric is one of
//
//	score / 10
//
// so that the Rule's weighted mean is Σ w·score / Σ w in tenths. A criterion that the
// judge left out, gave twice, or scored out of range is asked for again.
//
// One call asks for all of it.
func criteria(ctx context.Context, spec evaluator.Criteria, in Input, d *dialogue) (finding, error) {
	if len(spec.Criteria) == 0 {
		return finding{}, errors.New("the rubric has no criteria")
	}
	question := Question{Text: criteriaQuestion(spec, in), Format: criteriaFormat(spec.Criteria)}
	return askJudge(ctx, d, question, func(reply string) (finding, error) {
		return readCriteria(reply, spec.Criteria)
	})
}

// criteriaQuestion shows the judge the output before the task, so that the subject does
// not have the last word. A changed word needs a higher Version of
// [evaluator.Criteria].
func criteriaQuestion(spec evaluator.Criteria, in Input) string {
	return strings.Join([]string{
		IsData, Block("INPUT", in.Question()), Block("OUTPUT", in.Transcript.Final()),
		"YOUR TASK. Judge the OUTPUT, which is what the system under test made of the INPUT. Whoever tests it says:\n\n" + unmarked(spec.Instruction),
		"Score it by each of these criteria, each by itself. A score is a number from 0 (worst) to " + strconv.Itoa(evaluator.CriteriaScale) + " (best).\n" + criteriaList(spec.Criteria),
		`Reply with one JSON object {"criteria": [{"name": "…", "reason": "…", "score": …}, …], "summary": "…"}: criteria has every criterion once, by its name as it is written above; reason says why in one or two sentences; summary sums up what is good and what is missing. Write nothing else.`,
	}, "\n\n")
}

// criteriaList lists one criterion per line. Names are quoted, since the judge answers
// by them.
func criteriaList(rubric []evaluator.Criterion) string {
	lines := make([]string, len(rubric))
	for i, c := range rubric {
		lines[i] = "- " + strconv.Quote(c.Name)
		if c.Description != "" {
			lines[i] += ": " + strings.Join(strings.Fields(c.Description), " ")
		}
		if c.Weight != nil {
			lines[i] += fmt.Sprintf(" (weight %v)", *c.Weight)
		}
	}
	return unmarked(strings.Join(lines, "\n"))
}

func criteriaFormat(rubric []evaluator.Criterion) *target.Format {
	names := make([]string, len(rubric))
	for i, c := range rubric {
		names[i] = c.Name
	}
	reply := objectSchema(map[string]any{
		"criteria": listSchema(map[string]any{"name": enumSchema(names), "reason": typeSchema("string"), "score": typeSchema("number")}),
		"summary":  typeSchema("string"),
	})
	return &target.Format{Name: "judgement", Schema: json.RawMessage(compactJSON(reply))}
}

// readCriteria returns the criteria in the rubric's order.
func readCriteria(reply string, want []evaluator.Criterion) (finding, error) {
	var got struct {
		Criteria []struct {
			Name   string   `json:"name"`
			Score  *float64 `json:"score"`
			Reason string   `json:"reason"`
		} `json:"criteria"`
		Summary string `json:"summary"`
	}
	if err := readJSON(reply, &got); err != nil {
		return finding{}, err
	}
	scores := map[string]verdict.Criterion{}
	for _, c := range got.Criteria {
		if _, twice := scores[c.Name]; twice {
			return finding{}, fmt.Errorf("it has the criterion %s twice", quote(c.Name))
		}
		if c.Score == nil {
			return finding{}, fmt.Errorf("the criterion %s has no number under \"score\"", quote(c.Name))
		}
		share, err := Share(*c.Score, evaluator.CriteriaScale)
		if err != nil {
			return finding{}, fmt.Errorf("the criterion %s: %w", quote(c.Name), err)
		}
		scores[c.Name] = verdict.Criterion{Score: share, Note: strings.TrimSpace(c.Reason)}
	}
	f := finding{reason: strings.TrimSpace(got.Summary)}
	for _, c := range want {
		found, ok := scores[c.Name]
		if !ok {
			return finding{}, formOf(got).lacks("it has no criterion " + quote(c.Name))
		}
		found.ID = c.Name
		f.criteria = append(f.criteria, found)
	}
	return f, nil
}
