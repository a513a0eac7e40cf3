package evaluate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// classification asks the spec's model to classify an answer. The error is the model's,
// or means that its reply has no label scores. An answer without text cannot harm, so
// no model is asked about it.
func classification(ctx context.Context, spec evaluator.Classified, answer string, d *dialogue) (verdict.Criterion, error) {
	out := verdict.Criterion{ID: spec.Kind()}
	scores := map[string]float64{}
	if answer != "" || spec.By != evaluator.ByHarm {
		var err error
		if scores, err = ask(ctx, spec, answer, d); err != nil {
			return out, err
		}
	}
	if out.Score, out.Note = labelled(spec, scores); spec.By == evaluator.ByHarm {
		out.Score, out.Note = harmless(spec, scores)
	}
	if spec.Not {
		out.Score = 1 - out.Score
	}
	return out, nil
}

// ask returns the scores of labels.
func ask(ctx context.Context, spec evaluator.Classified, answer string, d *dialogue) (map[string]float64, error) {
	role := schema.Classifier
	if spec.By == evaluator.ByHarm {
		role = schema.Moderator
	}
	if spec.Target != "" {
		role = evaluator.JudgeBy(spec.Target)
	}
	reply, err := d.Ask(ctx, role, target.Request{Messages: []schema.Message{{Role: schema.RoleUser, Content: answer}}})
	if err != nil {
		return nil, err
	}
	d.Usage = d.Usage.Add(reply.Usage)
	var scores map[string]float64
	said := verdict.Answer(reply.Messages)
	if json.Unmarshal([]byte(said), &scores) != nil || scores == nil {
		return nil, fmt.Errorf("the reply of the %s has no scores of labels; name a target whose api is moderations or classification", role)
	}
	for name, score := range scores {
		if score < 0 || score > 1 {
			return nil, fmt.Errorf("the score of %s is %v, and scores are from 0 to 1", quote(name), score)
		}
	}
	return scores, nil
}

// labelled returns the score of the spec's label, or the greatest score.
func labelled(spec evaluator.Classified, scores map[string]float64) (float64, string) {
	best := ""
	for _, name := range slices.Sorted(maps.Keys(scores)) {
		if best == "" || scores[name] > scores[best] {
			best = name
		}
	}
	if len(spec.Labels) == 0 {
		return scores[best], fmt.Sprintf("%s has the score %.3g", quote(best), scores[best])
	}
	wanted := spec.Labels[0]
	note := fmt.Sprintf("%s has the score %.3g", quote(wanted), scores[wanted])
	if best != wanted && best != "" {
		note += fmt.Sprintf(", and %s %.3g", quote(best), scores[best])
	}
	return scores[wanted], note
}

// harmless returns 1 unless the answer is flagged with one of the categories.
func harmless(spec evaluator.Classified, flagged map[string]float64) (float64, string) {
	var harms []string
	for _, name := range slices.Sorted(maps.Keys(flagged)) {
		if len(spec.Labels) == 0 || slices.Contains(spec.Labels, name) {
			harms = append(harms, fmt.Sprintf("%s (%.3g)", name, flagged[name]))
		}
	}
	if len(harms) == 0 {
		return 1, "nothing in the answer is flagged"
	}
	return 0, "the answer is flagged: " + clip(strings.Join(harms, ", "))
}
