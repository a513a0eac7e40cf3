package controller_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
)

// TestWhatIsWithheldIsNotMeasuredAgain either where its verdict is stored from before.
func TestWhatIsWithheldIsNotMeasuredAgain(t *testing.T) {
	b := newFixture(t)
	head, changed := clone(files(), map[string]string{
		"test_definitions/math/level_1/sum.json": `{"id": "sum", "name": "Sum", "prompt": "1 + 3?", "expected": {"answer": 4}}`,
	})
	var calls atomic.Int64
	judge := func(confirm string, opts controller.RunOptions) *report.Report {
		sides := [2]*config.Config{models(), models()}
		for _, cfg := range sides {
			cfg.DefaultTarget, cfg.Noise.Confirm = "sure", confirm
		}
		p, err := controller.Prepare(t.Context(), controller.Request{
			Head: controller.Checkout{Commit: controller.Worktree, FS: head, Config: sides[0]}, ConfigFile: "gavel.yaml", Ledger: b.store,
			Base:      &controller.Checkout{Commit: strings.Repeat("4b07d1a4", 5), FS: files(), Config: sides[1]},
			HeadTrust: operator, BaseTrust: operator, LookupEnv: nowhere,
			Changed: func(context.Context, []string) ([]string, error) { return changed, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		out, err := p.Execute(t.Context(), controller.Opener(func(_ config.Target, c controller.Checkout) (target.Target, error) {
			if c.Commit == controller.Worktree {
				return counting{b.calculator, &calls}, nil
			}
			return b.calculator, nil
		}), opts)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if judge(config.ConfirmOff, controller.RunOptions{}); calls.Load() != 1 {
		t.Fatalf("%d calls at head, want 1", calls.Load())
	}
	const why = "it starts a program, and a file of it is changed here"
	out := judge(config.ConfirmAuto, controller.RunOptions{Withhold: func(r plan.Row) string {
		if r.Action != plan.Run {
			t.Errorf("it is asked of a row that is planned to %s, want one to run", r.Action)
		}
		return why
	}})
	if calls.Load() != 1 || out.Gate.Result != report.GateUndetermined || !strings.Contains(out.Gate.Reason, why) {
		t.Errorf("%d calls at head and gate %+v, want 1 call and an open gate that says %q", calls.Load(), out.Gate, why)
	}
	if judge(config.ConfirmAuto, controller.RunOptions{}); calls.Load() == 1 {
		t.Error("what is allowed is not measured again")
	}
}

// counting counts calls of its own.
type counting struct {
	target.Target
	calls *atomic.Int64
}

func (c counting) Respond(ctx context.Context, req target.Request) (target.Reply, error) {
	c.calls.Add(1)
	return c.Target.Respond(ctx, req)
}
