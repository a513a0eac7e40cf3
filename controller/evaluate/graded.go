package evaluate

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/template"
)

// graded asks the judge whether an answer meets a rubric, with a score from 0 to 1
// (llm-rubric of the matrix dialect). A missing score follows from the pass. A reply
// without a pass, or with a score out of range, is asked for again: servers that ignore
// the format leave the pass out, and no guess about such a reply is safe.
func graded(ctx context.Context, spec evaluator.Graded, in Input, d *dialogue) (finding, error) {
	reply := objectSchema(map[string]any{
		"reason": typeSchema("string"), "score": typeSchema("number"), "pass": typeSchema("boolean"),
	})
	role := schema.Judge
	if spec.Target != "" {
		role = evaluator.JudgeBy(spec.Target)
	}
	return askJudge(ctx, d, Question{
		Role: role, Text: gradedQuestion(spec, in),
		Format: &target.Format{Name: "grade", Schema: json.RawMessage(compactJSON(reply))},
	}, func(reply string) (finding, error) { return readGrade(spec, reply) })
}

// gradedQuestion returns the judge's whole prompt. A changed word needs a higher
// Version of [evaluator.Graded].
func gradedQuestion(spec evaluator.Graded, in Input) string {
	parts := []string{
		IsData, Block("INPUT", in.Question()), Block("OUTPUT", in.Transcript.Final()),
		"YOUR TASK. Grade the OUTPUT, which is what the system under test answered to the INPUT, by this rubric:\n\n" + unmarked(spec.Rubric),
	}
	if spec.Template != "" {
		task := strings.NewReplacer("{{output}}", Block("OUTPUT", in.Transcript.Final()), "{{rubric}}", unmarked(spec.Rubric), "{{input}}", Block("INPUT", in.Question())).Replace(unmarked(spec.Template))
		parts = []string{IsData, task}
	}
	return strings.Join(append(parts,
		`Reply with one JSON object {"reason": "…", "score": …, "pass": …}: reason says why in one or two sentences; score is a number from 0 (the rubric is not met at all) to 1 (it is met in full); pass is true or false, and is never left out. Write nothing else.`), "\n\n")
}

func readGrade(spec evaluator.Graded, reply string) (finding, error) {
	var got struct {
		Pass   *bool    `json:"pass"`
		Score  *float64 `json:"score"`
		Reason string   `json:"reason"`
	}
	if err := readJSON(reply, &got); err != nil {
		return finding{}, err
	}
	if got.Pass == nil {
		return finding{}, formOf(got).lacks(`it has no true or false under "pass"`)
	}
	passed := share(*got.Pass)
	score := passed
	if got.Score != nil {
		var err error
		if score, err = Share(*got.Score, 1); err != nil {
			return finding{}, err
		}
	}
	if spec.Least != nil {
		passed = share((spec.ByScore || *got.Pass) && verdict.Reaches(score, *spec.Least))
	}
	return passAndScore(passed, score, spec.Not, strings.TrimSpace(got.Reason)), nil
}

// script runs a definition's JavaScript assertion on the answer.
func script(ctx context.Context, spec evaluator.JavaScript, in Input) (finding, error) {
	f := javaScript{Code: spec.Code, Output: in.value(), Context: spec.Context}
	if strings.Contains(f.Code, "providerResponse") {
		f.Context = in.told(f.Context)
	}
	got, err := checkScript(ctx, f, spec.Threshold)
	return got.finding(spec.Not && !got.Thrown), err
}

// finding returns the criteria of a function's result. With not, the opposite passes, and
// a score that the function gave stays, as in promptfoo.
func (r functionResult) finding(not bool) finding {
	f := passAndScore(share(r.Pass), r.Score, not, cmp.Or(r.Reason, "the function passes the answer"))
	if r.Given {
		f.criteria[1].Score = r.Score
	}
	return f
}

// Answer returns the answer of a sample as later cases have it, after the transforms.
func Answer(ctx context.Context, k schema.Kept, in Input) (string, error) {
	in.Transcript = in.Transcript.Judged()
	value := in.value()
	if len(k.Steps) > 0 {
		var err error
		steps := evaluator.Transformed{Steps: k.Steps, Context: schema.FillKeptJSON(k.Context, in.Transcript.Kept)}
		if value, err = transform(ctx, steps, value); err != nil {
			return "", err
		}
	}
	return template.Written(value), nil
}

// transformed applies transforms before the inner evaluator: a function sees the
// resulting value, every other evaluator its text.
func transformed(ctx context.Context, spec evaluator.Transformed, in Input, d *dialogue) (finding, error) {
	value, err := transform(ctx, spec, in.value())
	if err != nil {
		return finding{}, err
	}
	sent := in.untransformed()
	in.before, in.transformed = &sent, value
	answer := template.Written(value)
	changed := *in.Transcript
	if changed.Said != "" {
		changed.Said = answer
	}
	changed.Messages = slices.Clone(changed.Messages)
	for i := len(changed.Messages) - 1; i >= 0; i-- {
		if m := &changed.Messages[i]; m.Role == schema.RoleAssistant {
			m.Content, m.Blocks = answer, nil
			break
		}
	}
	in.Transcript = &changed
	return find(ctx, spec.Spec, in, d)
}

// passAndScore returns the criteria of a result that has both a pass and a score.
func passAndScore(passed, score float64, not bool, reason string) finding {
	if not {
		passed, score = 1-passed, 1-score
	}
	return finding{
		criteria: []verdict.Criterion{{ID: evaluator.GradedPass, Score: passed}, {ID: evaluator.GradedScore, Score: score}},
		reason:   reason,
	}
}
