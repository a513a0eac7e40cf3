package evaluate

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// embedder has an embedding for each text.
func embedder(asked *[]schema.Role, of map[string]string) Ask {
	return func(_ context.Context, role schema.Role, req target.Request) (target.Reply, error) {
		*asked = append(*asked, role)
		text, ok := of[req.Messages[0].Content]
		if !ok {
			return target.Reply{}, errors.New("503")
		}
		return target.Reply{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: text}}, Usage: verdict.Usage{Calls: 1}}, nil
	}
}

func TestSimilarity(t *testing.T) {
	of := map[string]string{"answer": "[1, 0]", "same": "[2, 0]", "near": "[1, 1]", "other": "[-1, 0]", "zero": "[0, 0]", "long": "[1, 2, 3]", "words": "I am not numbers."}
	for _, tt := range []struct {
		spec evaluator.Similar
		want float64 // below 0 for an error
	}{
		{evaluator.Similar{Texts: []string{"same"}}, 1},
		{evaluator.Similar{Texts: []string{"other", "near"}}, math.Sqrt2 / 2},
		{evaluator.Similar{Texts: []string{"near"}, Not: true}, 1 - math.Sqrt2/2},
		{evaluator.Similar{Texts: []string{"other"}}, 0},
		{evaluator.Similar{Texts: []string{"near"}, Half: true}, (1 + math.Sqrt2/2) / 2},
		{evaluator.Similar{Texts: []string{"other"}, Half: true}, 0},
		{evaluator.Similar{Texts: []string{"near"}, Metric: evaluator.Euclidean}, 0.5},
		{evaluator.Similar{Texts: []string{"near"}, Metric: evaluator.Dot}, 1},
		{evaluator.Similar{Texts: []string{"zero"}}, -1},
		{evaluator.Similar{Texts: []string{"long"}}, -1},
		{evaluator.Similar{Texts: []string{"words"}}, -1},
		{evaluator.Similar{Texts: []string{"unreachable"}}, -1},
	} {
		var asked []schema.Role
		d := &dialogue{Ask: embedder(&asked, of)}
		f, err := similarity(t.Context(), tt.spec, "answer", d)
		c := append(f.criteria, verdict.Criterion{})[0]
		if (err != nil) != (tt.want < 0) || tt.want >= 0 && math.Abs(c.Score-tt.want) > 1e-9 {
			t.Errorf("%+v: %+v, %v, want %v", tt.spec, c, err, tt.want)
		}
		wanted := map[float64]string{math.Sqrt2 / 2: "near", 0: "other", (1 + math.Sqrt2/2) / 2: "near", 0.5: "near"}[tt.want]
		if c.Expected != wanted || wanted != "" && c.Actual != "answer" {
			t.Errorf("%+v: expected %q and actual %q, want %q", tt.spec, c.Expected, c.Actual, wanted)
		}
		if len(asked) != 1+len(tt.spec.Texts) || asked[0] != schema.Embedder || err == nil && d.Usage.Calls != len(asked) {
			t.Errorf("%+v: asked %v, usage %+v", tt.spec, asked, d.Usage)
		}
	}
}
