package controller_test

import (
	"context"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
)

// TestAProgramIsMeasuredAgainOnBothSides holds that a program which got worse is
// called so after both sides were measured again, each with the files of its own
// commit.
func TestAProgramIsMeasuredAgainOnBothSides(t *testing.T) {
	const commit = "4b07d1a4b07d1a4b07d1a4b07d1a4b07d1a4b07d"
	b, broken := newFixture(t), &forgetful{}
	cfg := settings()
	cfg.Targets["bot"] = config.Target{Name: "bot", Provider: config.Command, Kind: config.Agent, Argv: []string{"sh", "agent/run.sh"}, Inputs: []string{"agent/**"}}
	base, _ := clone(files(), map[string]string{"agent/run.sh": "calculate\n"})
	head, changed := clone(base, map[string]string{"agent/run.sh": "guess\n"})
	p, err := controller.Prepare(t.Context(), controller.Request{
		Head: controller.Checkout{Commit: controller.Worktree, FS: head, Config: cfg}, ConfigFile: "gavel.yaml",
		Base:    &controller.Checkout{Commit: commit, FS: base, Config: cfg},
		Changed: func(context.Context, []string) ([]string, error) { return changed, nil },
		Ledger:  b.store, HeadTrust: operator, BaseTrust: operator, LookupEnv: nowhere,
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Execute(t.Context(), controller.Opener(func(_ config.Target, c controller.Checkout) (target.Target, error) {
		if c.Commit == commit {
			return b.calculator, nil
		}
		return broken, nil
	}), controller.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "failed in 4 of 4 reruns here, passed 4 of 4 at base (p = 0.01 after all looks)"
	for _, row := range r.Cases[:2] {
		if *row.Class != report.Regression || !row.Confirmation.Confirmed || row.Confirmation.Sentence != want {
			t.Errorf("%s is %s: %+v, want a confirmed regression: %s", row.Key, *row.Class, row.Confirmation, want)
		}
	}
	// Each side: four cases once, and two of them four times again.
	if b.calls.Load() != 4+8 || broken.calls.Load() != 4+8 {
		t.Errorf("%d calls at base and %d at head, want 12 each", b.calls.Load(), broken.calls.Load())
	}
}
