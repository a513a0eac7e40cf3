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

// rubricScale is the highest score of a criterion with ranges ("analytic
// scoring, 0-10 scale" in the evalcase format).
const rubricScale = 10

// rubrics asks a judge about each criterion by itself. A plain criterion is 1 if it is
// met, else 0; one with ranges is
//
//	score / 10
//
// The Rule's weighted mean is Σ w·s / Σ w over all criteria, so a criterion that the
// judge left out or gave twice is asked for again and is then an error. One call asks
// for all of them.
func rubrics(ctx context.Context, spec evaluator.Rubrics, in suiteInput) (suiteFinding, error) {
	if len(spec.Criteria) == 0 {
		return suiteFinding{}, errors.New("there are no criteria")
	}
	question := Question{Role: judge(spec.Target), Text: rubricQuestion(spec, in), Images: Images(in.Transcript.Messages), Format: rubricFormat(spec.Criteria)}
	return askJudge(ctx, in.dialogue, question, func(reply string) (suiteFinding, error) {
		return readRubrics(reply, spec.Criteria)
	})
}

// rubricQuestion shows the judge the conversation before the task, so that the agent
// does not have the last word. A changed word needs a higher Version of
// [evaluator.Rubrics].
func rubricQuestion(spec evaluator.Rubrics, in suiteInput) string {
	lines := []string{"YOUR TASK. Judge what the agent did by each of these criteria, each by itself and strictly by what is there."}
	for _, c := range spec.Criteria {
		lines = append(lines, criterionText(c))
	}
	return strings.Join(append(in.setting(spec.Subject), strings.Join(lines, "\n"), rubricReply(spec.Criteria)), "\n\n")
}

// criterionText formats a criterion. The id is quoted, since the judge answers by it.
func criterionText(c evaluator.RubricCriterion) string {
	text := "- " + strconv.Quote(c.ID) + ": " + strings.Join(strings.Fields(c.Outcome), " ")
	if len(c.Ranges) == 0 {
		return unmarked(text + " (met or not)")
	}
	text += fmt.Sprintf(" (a score from 0 to %d)", rubricScale)
	for _, r := range c.Ranges {
		scores := strconv.FormatFloat(r.From, 'g', -1, 64)
		if r.To != r.From {
			scores += " to " + strconv.FormatFloat(r.To, 'g', -1, 64)
		}
		text += "\n  " + scores + ": " + strings.Join(strings.Fields(r.Description), " ")
	}
	return unmarked(text)
}

// kinds reports whether the list has pass-or-fail criteria and scored ones.
func kinds(list []evaluator.RubricCriterion) (met, scored bool) {
	for _, c := range list {
		met = met || len(c.Ranges) == 0
		scored = scored || len(c.Ranges) > 0
	}
	return met, scored
}

func rubricReply(list []evaluator.RubricCriterion) string {
	form, text := `{"id": "…", "reason": "…"`, ""
	met, scored := kinds(list)
	if met {
		form += `, "met": …`
		text += " met is true or false;"
	}
	if scored {
		form += `, "score": …`
		text += fmt.Sprintf(" score is a number from 0 to %d by the descriptions, and scores between them are allowed;", rubricScale)
	}
	if met && scored {
		text += " met is null for a criterion with a score, and score for one that is met or not;"
	}
	return `Reply with one JSON object {"criteria": [` + form + `}, …], "summary": "…"}: criteria has every criterion once, by its id as it is written above; reason says why in one or two sentences;` +
		text + " summary sums up what is good and what is missing. Write nothing else."
}

func rubricFormat(list []evaluator.RubricCriterion) *target.Format {
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	fields := map[string]any{"id": enumSchema(ids), "reason": typeSchema("string")}
	met, scored := kinds(list)
	switch {
	case met && scored:
		fields["met"] = map[string]any{"type": []string{"boolean", "null"}}
		fields["score"] = map[string]any{"type": []string{"number", "null"}}
	case met:
		fields["met"] = typeSchema("boolean")
	default:
		fields["score"] = typeSchema("number")
	}
	reply := objectSchema(map[string]any{"criteria": listSchema(fields), "summary": typeSchema("string")})
	return &target.Format{Name: "judgement", Schema: json.RawMessage(compactJSON(reply))}
}

// A rubricAnswer is the judge's answer about one criterion.
type rubricAnswer struct {
	ID     string   `json:"id"`
	Reason string   `json:"reason"`
	Met    *bool    `json:"met"`
	Score  *float64 `json:"score"`
}

// readRubrics returns the criteria in the definition's order.
func readRubrics(reply string, want []evaluator.RubricCriterion) (suiteFinding, error) {
	var got struct {
		Criteria []rubricAnswer `json:"criteria"`
		Summary  string         `json:"summary"`
	}
	if err := readJSON(reply, &got); err != nil {
		return suiteFinding{}, err
	}
	answers := map[string]rubricAnswer{}
	for _, a := range got.Criteria {
		if _, twice := answers[a.ID]; twice {
			return suiteFinding{}, fmt.Errorf("it has the criterion %s twice", quote(a.ID))
		}
		answers[a.ID] = a
	}
	f := suiteFinding{Reason: strings.TrimSpace(got.Summary)}
	var missed []string
	for _, w := range want {
		a, ok := answers[w.ID]
		if !ok {
			return suiteFinding{}, formOf(got).lacks("it has no criterion " + quote(w.ID))
		}
		c, err := a.criterion(len(w.Ranges) > 0)
		if err != nil {
			return suiteFinding{}, err
		}
		if c.Score == 0 && c.Note != "" {
			missed = append(missed, c.ID+": "+c.Note)
		}
		f.Criteria = append(f.Criteria, c)
	}
	if len(missed) > 0 {
		f.Reason = strings.Join(missed, "; ")
	}
	return f, nil
}

func (a rubricAnswer) criterion(scored bool) (verdict.Criterion, error) {
	c := verdict.Criterion{ID: a.ID, Note: strings.TrimSpace(a.Reason)}
	switch {
	case scored && a.Score == nil:
		return c, fmt.Errorf("the criterion %s has no number under \"score\"", quote(a.ID))
	case scored:
		var err error
		if c.Score, err = Share(*a.Score, rubricScale); err != nil {
			return c, fmt.Errorf("the criterion %s: %w", quote(a.ID), err)
		}
	case a.Met == nil:
		return c, fmt.Errorf("the criterion %s has neither true nor false under \"met\"", quote(a.ID))
	default:
		c.Score = share(*a.Met)
	}
	return c, nil
}
