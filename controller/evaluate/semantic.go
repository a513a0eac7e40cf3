package evaluate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// semantic asks a judge whether an output passes, with a grade and an analysis (the
// default evaluation of the promptval dialect). pass is 1 or 0, the grade is from Very
// Bad = 0 to Excellent = 1 in quarters. The two may disagree; the Rule decides between
// them.
func semantic(ctx context.Context, spec evaluator.Semantic, in Input, d *dialogue) (finding, error) {
	reply := objectSchema(map[string]any{
		"analysis": typeSchema("string"), "grade": enumSchema(gradeWords()), "pass": typeSchema("boolean"),
	})
	return askJudge(ctx, d, Question{
		Text:   semanticQuestion(spec, in),
		Format: &target.Format{Name: "judgement", Schema: json.RawMessage(compactJSON(reply))},
	}, readSemantic)
}

// semanticQuestion returns the judge's whole prompt. A changed word needs a higher
// Version of [evaluator.Semantic].
func semanticQuestion(spec evaluator.Semantic, in Input) string {
	parts := []string{
		IsData, Block("INPUT", in.Question()), Block("OUTPUT", in.Transcript.Final()),
		"YOUR TASK. Judge the OUTPUT, which is what the system under test made of the INPUT. Whoever tests it says:\n\n" + unmarked(spec.Instruction),
	}
	if len(spec.Criteria) > 0 {
		parts = append(parts, "Look at these criteria:\n"+criteriaList(spec.Criteria))
	}
	return strings.Join(append(parts, `Reply with one JSON object {"analysis": "…", "grade": "…", "pass": …}: analysis says in a few sentences what is good and what is missing; grade is one of `+
		strings.Join(gradeWords(), ", ")+`; pass is true or false. Write nothing else.`), "\n\n")
}

func gradeWords() []string {
	var words []string
	for _, g := range evaluator.Grades() {
		words = append(words, g.Word)
	}
	return words
}

func readSemantic(reply string) (finding, error) {
	var got struct {
		Analysis string `json:"analysis"`
		Grade    string `json:"grade"`
		Pass     *bool  `json:"pass"`
	}
	if err := readJSON(reply, &got); err != nil {
		return finding{}, err
	}
	if got.Pass == nil {
		return finding{}, formOf(got).lacks(`it has no true or false under "pass"`)
	}
	grades := evaluator.Grades()
	i := slices.IndexFunc(grades, func(g evaluator.Grade) bool { return strings.EqualFold(g.Word, strings.TrimSpace(got.Grade)) })
	if i < 0 {
		return finding{}, formOf(got).lacks(fmt.Sprintf("the grade %s is none of %s", quote(got.Grade), strings.Join(gradeWords(), ", ")))
	}
	return finding{
		criteria: []verdict.Criterion{
			{ID: evaluator.PassCriterion, Score: share(*got.Pass)},
			{ID: evaluator.GradeCriterion, Score: grades[i].Score, Note: grades[i].Word},
		},
		reason: strings.TrimSpace(got.Analysis),
	}, nil
}
