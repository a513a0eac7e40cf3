package evaluate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// similarityCriterion is the id of the one criterion of a measurement.
const similarityCriterion = "similarity"

// similarity compares an answer with the spec's texts. The criterion's score is the
// best similarity from 0 to 1; one below 0 is a veto if the spec says so. The error is the model's, or means that its embeddings
// cannot be compared.
func similarity(ctx context.Context, spec evaluator.Similar, answer string, d *dialogue) (finding, error) {
	own, err := embed(ctx, spec, answer, d)
	if err != nil {
		return finding{}, err
	}
	best, nearest := -math.MaxFloat64, ""
	for _, text := range spec.Texts {
		other, err := embed(ctx, spec, text, d)
		if err != nil {
			return finding{}, err
		}
		s, err := compare(spec.Metric, own, other)
		if err != nil {
			return finding{}, err
		}
		if s > best {
			best, nearest = s, text
		}
	}
	if spec.Half {
		best = (best + 1) / 2
	}
	score := best
	if spec.Not {
		score = 1 - best
	}
	c := verdict.Criterion{ID: similarityCriterion, Score: max(0, min(1, score)), Note: fmt.Sprintf("the similarity to %s is %.3g", quote(nearest), best)}
	if !spec.Not {
		contrast(&c, nearest, answer)
	}
	out := finding{criteria: []verdict.Criterion{c}, reason: c.Note}
	if spec.Signed && score < 0 {
		out.criteria = append(out.criteria, verdict.Criterion{ID: "not below 0", Veto: true, Note: c.Note})
	}
	return out, nil
}

// embed asks for the embedding of a text.
func embed(ctx context.Context, spec evaluator.Similar, text string, d *dialogue) ([]float64, error) {
	role := schema.Embedder
	if spec.Target != "" {
		role = evaluator.JudgeBy(spec.Target)
	}
	reply, err := d.Ask(ctx, role, target.Request{Messages: []schema.Message{{Role: schema.RoleUser, Content: cmp.Or(text, " ")}}})
	if err != nil {
		return nil, err
	}
	d.Usage = d.Usage.Add(reply.Usage)
	var numbers []float64
	if json.Unmarshal([]byte(verdict.Answer(reply.Messages)), &numbers) != nil || len(numbers) == 0 {
		return nil, errors.New("the embedder's reply is not a list of numbers; name a target whose api is embeddings")
	}
	return numbers, nil
}

// compare returns the similarity of two embeddings.
func compare(metric string, a, b []float64) (float64, error) {
	if len(a) != len(b) {
		return 0, fmt.Errorf("the embeddings have %d and %d numbers, and cannot be compared", len(a), len(b))
	}
	var dot, lengthA, lengthB, distance float64
	for i := range a {
		dot += a[i] * b[i]
		lengthA += a[i] * a[i]
		lengthB += b[i] * b[i]
		distance += (a[i] - b[i]) * (a[i] - b[i])
	}
	s := 0.0
	switch metric {
	case evaluator.Dot:
		s = dot
	case evaluator.Euclidean:
		s = 1 / (1 + math.Sqrt(distance))
	default:
		s = dot / math.Sqrt(lengthA*lengthB)
	}
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return 0, errors.New("the embeddings have no direction, and cannot be compared")
	}
	return s, nil
}
