package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A pairCounter judges as other processes do: one case fails at head, and all else passes.
type pairCounter struct {
	t *testing.T
	// first and again count the pairs of first and of further measurements.
	first, again int
}

func (p *pairCounter) Judge(_ context.Context, sides []run.Side) ([][]run.Outcome, error) {
	outcomes := make([][]run.Outcome, len(sides))
	for i, side := range sides {
		for _, job := range side.Jobs {
			result := verdict.Result{Verdict: verdict.Pass}
			if side.Name == "head" && strings.HasSuffix(job.Case.Key, "c3") {
				result.Verdict = verdict.Fail
			}
			outcomes[i] = append(outcomes[i], run.Outcome{Key: job.Case.Key, Result: result})
		}
	}
	if len(sides) < 2 {
		return outcomes, nil
	}
	ofKey := map[string]bool{}
	for _, job := range sides[0].Jobs {
		ofKey[job.Case.Key] = true
	}
	partners := run.Partners(sides[1].Jobs, sides[0].Jobs)
	for i, job := range sides[1].Jobs {
		switch at := partners[i]; {
		case at < 0 && ofKey[job.Case.Key]:
			p.t.Errorf("%s, measurement %d, is judged at both sides and not as a pair", job.Case.Key, job.Again)
		case at >= 0 && sides[0].Jobs[at].Case.Key != job.Case.Key:
			p.t.Errorf("%s is the partner of %s", sides[0].Jobs[at].Case.Key, job.Case.Key)
		case at >= 0 && job.Again > 0:
			p.again++
		case at >= 0:
			p.first++
		}
	}
	return outcomes, nil
}

// TestFurtherMeasurementsArePairs, as the first ones are, where a case is measured at both
// sides.
func TestFurtherMeasurementsArePairs(t *testing.T) {
	texts := func(prompt string) map[string]string {
		files := map[string]string{
			"gavel.yaml":                        "version: 1\ndefault_target: bot\ntargets:\n  bot: {provider: openai, model: model, base_url: http://models.test/v1}\n",
			"test_definitions/shop/domain.json": fmt.Sprintf(`{"id": "shop", "name": "Shop", "evaluator_id": "keyword", "system_prompt": %q}`, prompt),
		}
		for i := range 8 {
			id := fmt.Sprintf("c%d", i)
			files["test_definitions/shop/level_1/"+id+".json"] = fmt.Sprintf(`{"id": %q, "name": %q, "prompt": "say hello", "expected": {"keywords": ["hello"]}}`, id, id)
		}
		return files
	}
	base, head := stateOf(t, strings.Repeat("b", 40), texts("Be kind.")), stateOf(t, strings.Repeat("a", 40), texts("Be brief."))
	p := planOf(t, base, controller.Request{Head: head, Ledger: ledgertest.Open(t, ledger.Config{}), HeadTrust: operator, BaseTrust: operator})
	judge := &pairCounter{t: t}
	nobody := controller.Opener(func(config.Target, controller.Checkout) (target.Target, error) { return nil, nil })
	r, err := p.Execute(t.Context(), nobody, controller.RunOptions{Judge: judge})
	if err != nil {
		t.Fatal(err)
	}
	if judge.first != 8 || judge.again == 0 {
		t.Errorf("%d pairs are judged first and %d again, want 8 and some: %+v", judge.first, judge.again, r.Gate)
	}
	if r.Gate.Result != report.GateFail {
		t.Errorf("the gate is %+v", r.Gate)
	}
}
