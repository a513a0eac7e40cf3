package remeasure_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/remeasure"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestFindAmongMany: subjects whose measurements are read one batch after another
// keep their order.
func TestFindAmongMany(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	store := ledgertest.Open(t, ledger.Config{Now: func() time.Time { return now }})
	base := ledger.Trust{Level: ledger.LevelBase, Repository: "octo/demo"}
	one := &schema.Case{CaseInfo: schema.CaseInfo{Key: "a"}, Evaluators: []schema.Evaluator{
		{Name: "equal", Spec: evaluator.Keyword{}, Weight: 1, Rule: schema.Rule{Threshold: 0.8}},
	}, Policy: schema.Policy{Iterations: 1}}
	digests := func(i int) plan.Digests {
		name := func(kind string) string { return kind + strings.Repeat("0", 58) + fmt.Sprintf("%05d", i) }
		return plan.Digests{E: name("e"), J: name("a"), D: name("d")}
	}
	const known = 1400
	for _, i := range []int{3, known} {
		for ordinal, score := range []float64{1, 0, 1, 0, 1, 0} {
			now = now.Add(time.Hour)
			err := store.Save(t.Context(), ledger.Outcome{
				Trust: base, Digests: digests(i), Case: "a",
				Executions: []ledger.Execution{{Ordinal: ordinal, Transcript: verdict.Transcript{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: "x"}}}}},
				Samples: []ledger.Judgement{{Sample: verdict.Sample{Ordinal: ordinal, Measurements: []verdict.Measurement{
					{Evaluator: "equal", Criteria: []verdict.Criterion{{ID: "equal", Score: score}}},
				}}}},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	subjects := make([]remeasure.FlakySubject, known+50)
	for i := range subjects {
		subjects[i] = remeasure.FlakySubject{Name: fmt.Sprint(i), Case: one, Digests: digests(i)}
	}
	found, err := remeasure.FindFlaky(t.Context(), store, ledger.Scope{Trust: base}, subjects)
	if err != nil || len(found) != len(subjects) {
		t.Fatal(err, len(found))
	}
	for i, f := range found {
		stored := i == 3 || i == known
		switch {
		case !stored && (f.Measurements > 0 || f.Flaky != nil):
			t.Errorf("%d, of which nothing is stored: %+v", i, f)
		case stored && (f.Measurements != 6 || f.Flaky == nil):
			t.Errorf("%d: %+v, want six measurements of a flaky case", i, f)
		case stored && f.Flaky.Name != fmt.Sprint(i):
			t.Errorf("%d is called %s", i, f.Flaky.Name)
		}
	}
}
