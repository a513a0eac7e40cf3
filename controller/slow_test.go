package controller_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// A slowAgent moves the clock with each call. Under the new prompt it refuses a part of
// what it is asked for the first time.
type slowAgent struct {
	takes time.Duration
	mu    sync.Mutex
	now   time.Time
	asked map[string]int // by prompt
	calls int
}

func (s *slowAgent) time() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *slowAgent) Respond(_ context.Context, req target.Request) (target.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.calls = s.now.Add(s.takes), s.calls+1
	text, prompt := "hello", req.System+req.Messages[0].Content
	if s.asked[prompt]++; s.asked[prompt] == 1 && strings.Contains(prompt, "Be brief.") && strings.HasSuffix(prompt, "0") {
		text = "no"
	}
	return target.Reply{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: text}}, Usage: verdict.Usage{Calls: 1}}, nil
}

// TestSlowAgents: the first outcomes of an agent that takes longer than the minute within
// which outcomes are pairs are pairs, too. They show that the cases got worse on the whole;
// outcomes that are not pairs would be measured again, and nothing would be left of it.
func TestSlowAgents(t *testing.T) {
	texts := func(prompt string) map[string]string {
		files := map[string]string{
			"gavel.yaml":                        "version: 1\ndefault_target: bot\ntargets:\n  bot: {provider: openai, model: model, base_url: http://models.test/v1, concurrency: 1}\n",
			"test_definitions/shop/domain.json": fmt.Sprintf(`{"id": "shop", "name": "Shop", "evaluator_id": "keyword", "system_prompt": %q}`, prompt),
		}
		for i := range 40 {
			files[fmt.Sprintf("test_definitions/shop/level_1/c%d.json", i)] = fmt.Sprintf(`{"id": "c%d", "name": "c%d", "prompt": "say %d", "expected": {"keywords": ["hello"]}}`, i, i, i/3*10+i%3)
		}
		return files
	}
	for _, takes := range []time.Duration{time.Second, 3 * time.Minute} {
		agent := &slowAgent{takes: takes, now: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), asked: map[string]int{}}
		base, head := stateOf(t, strings.Repeat("b", 40), texts("Be kind.")), stateOf(t, strings.Repeat("a", 40), texts("Be brief."))
		p := planOf(t, base, controller.Request{Head: head, Ledger: ledgertest.Open(t, ledger.Config{Now: agent.time}), HeadTrust: operator, BaseTrust: operator, Now: agent.time})
		r, err := p.Execute(t.Context(), controller.Opener(func(config.Target, controller.Checkout) (target.Target, error) { return agent, nil }), controller.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Gate.Result != report.GateFail || !strings.Contains(r.Gate.Reason, "the cases got worse on the whole") {
			t.Errorf("calls of %v: after %d calls the gate is %+v", takes, agent.calls, r.Gate)
		}
	}
}
