package run_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// asking is a program that asks questions over HTTP, as one in the sandbox does,
// and scores 1 whatever it is answered.
func asking(t *testing.T, questions ...string) evaluate.Programs {
	return func(ctx context.Context, start evaluate.Start) ([]byte, error) {
		server := httptest.NewServer(start.Proxy)
		defer server.Close()
		for _, q := range questions {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/invoke", strings.NewReader(fmt.Sprintf(`{"question":%q}`, q)))
			if err != nil {
				return nil, err
			}
			req.Header.Set("Authorization", "Bearer "+start.Proxy.Token())
			res, err := server.Client().Do(req)
			if err != nil {
				return nil, err
			}
			body, err := io.ReadAll(res.Body)
			res.Body.Close()
			t.Log(res.StatusCode, string(body), err)
		}
		return []byte(`{"score":1}`), nil
	}
}

// judgedByAsking judges one case by a program that asks, on a ledger.
func judgedByAsking(t *testing.T, b *fixture, model target.Target, maxCalls int, questions ...string) run.Outcome {
	t.Helper()
	operator := ledger.Trust{Level: ledger.LevelOperator}
	c := greeting("a")
	c.Evaluators = []schema.Evaluator{{
		Name: "grader", Weight: 1, Rule: schema.Rule{Threshold: 0.8},
		Spec: evaluator.CodeJudge{Program: evaluator.Program{Argv: []string{"grade"}}, MaxCalls: maxCalls},
	}}
	roles := map[schema.Role]string{schema.Judge: "judge"}
	out, err := run.Run(t.Context(), run.Config{
		Ledger: b.store, Trust: operator, Budget: b.open(), Roles: roles, Programs: asking(t, questions...),
		Targets: map[string]run.Target{
			"bot":   {Target: &script{answer: always("An answer.")}, Config: b.cfg},
			"judge": {Target: model, Config: config.Target{Name: "judge", Kind: config.Model, Concurrency: 1}},
		},
		Clock: clock.Funcs{RandomFunc: func() float64 { return 1 }, SleepFunc: func(context.Context, time.Duration) error { return nil }},
	}, []run.Job{{
		Case: c, Target: "bot", Scope: ledger.Scope{Trust: operator},
		Digests: plan.Digest(c, &plan.Environment{DefaultTarget: "bot", Roles: roles}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

// TestQuestionsOfAProgram are asked of the judge, journaled, counted and bounded.
func TestQuestionsOfAProgram(t *testing.T) {
	b, model := newFixture(t), &script{answer: always("yes")}
	out := judgedByAsking(t, b, model, 2, "Is it polite?", "Is it right?", "Is it short?")
	if got := out.Result.Verdict; got != "pass" {
		t.Errorf("the verdict is %s (%s), want pass", got, out.Result.Reason)
	}
	if len(model.asked) != 2 || model.asked[1].Messages[0].Content != "Is it right?" {
		t.Fatalf("the judge was asked %d times, want the first 2 questions of 3", len(model.asked))
	}
	if out.Spent.Calls != 3 {
		t.Errorf("%d calls were paid, want that of the target and 2 of the program", out.Spent.Calls)
	}
	calls, err := b.store.Calls(t.Context(), ledger.Scope{Trust: ledger.Trust{Level: ledger.LevelOperator}}, digestOfAsking(2).J, 0)
	if err != nil || len(calls) != 2 || calls[0].Key.Role != string(schema.Judge) {
		t.Errorf("the journal has %d calls (%v), want 2 of the judge", len(calls), err)
	}
}

func digestOfAsking(maxCalls int) plan.Digests {
	c := greeting("a")
	c.Evaluators = []schema.Evaluator{{
		Name: "grader", Weight: 1, Rule: schema.Rule{Threshold: 0.8},
		Spec: evaluator.CodeJudge{Program: evaluator.Program{Argv: []string{"grade"}}, MaxCalls: maxCalls},
	}}
	return plan.Digest(c, &plan.Environment{DefaultTarget: "bot", Roles: map[schema.Role]string{schema.Judge: "judge"}})
}

// TestQuestionsOfAProgramArePaid takes them from the budget; one that is used up
// makes the case no judgement, whatever the program prints.
func TestQuestionsOfAProgramArePaid(t *testing.T) {
	b, model, two := newFixture(t), &script{answer: always("yes")}, int64(2)
	b.budget.Calls = &two
	out := judgedByAsking(t, b, model, 9, "Is it polite?", "Is it right?")
	if len(model.asked) != 1 {
		t.Errorf("the judge was asked %d times, want once: the target had the other call", len(model.asked))
	}
	if out.Result.Verdict == "pass" || !strings.Contains(out.Result.Reason+out.Unrun, "budget") {
		t.Errorf("the case is %s (%s, %s), want one without a judgement for the budget", out.Result.Verdict, out.Result.Reason, out.Unrun)
	}
}

// TestAModelThatDoesNotAnswerAProgram makes the case an error, not the score that the
// program prints.
func TestAModelThatDoesNotAnswerAProgram(t *testing.T) {
	b := newFixture(t)
	model := &script{answer: func(int, target.Request) (target.Reply, error) {
		return target.Reply{}, &target.Error{Status: http.StatusUnauthorized, Message: "the key is wrong"}
	}}
	out := judgedByAsking(t, b, model, 9, "Is it polite?")
	if out.Result.Verdict != "error" || !strings.Contains(out.Result.Reason, "the model that grade asked") || !strings.Contains(out.Result.Reason, "the key is wrong") {
		t.Errorf("the case is %s (%s), want an error that says what the model has", out.Result.Verdict, out.Result.Reason)
	}
}

// TestDigestsOfProgramsThatAsk: the model and the bound belong to the judgement.
func TestDigestsOfProgramsThatAsk(t *testing.T) {
	two, three, none := digestOfAsking(2), digestOfAsking(3), digestOfAsking(0)
	if two.E != three.E || two.J == three.J || two.J == none.J {
		t.Errorf("the digests are %v, %v and %v, want one E and three of J", two, three, none)
	}
}
