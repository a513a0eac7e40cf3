package controller_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/target"
)

// locked refuses everybody.
type locked struct{ calls atomic.Int64 }

func (l *locked) Respond(context.Context, target.Request) (target.Reply, error) {
	l.calls.Add(1)
	return target.Reply{}, &target.Error{Target: "bot", Status: 403, Message: "403 Forbidden"}
}

// TestAbuseADownTargetLeavesTheGateOpen runs a repository again and again
// whose target is down: the gate is undetermined and says why, and once that is
// known each run asks once.
func TestAbuseADownTargetLeavesTheGateOpen(t *testing.T) {
	b, down := newFixture(t), &locked{}
	var breakers limit.Breakers
	var rep *report.Report
	for n, calls := range []int64{4, 8, 10, 11, 12} {
		p, err := controller.Prepare(t.Context(), controller.Request{
			Head: controller.Checkout{Commit: controller.Worktree, FS: files(), Config: settings()}, ConfigFile: "gavel.yaml",
			Ledger: b.store, HeadTrust: operator, BaseTrust: operator, LookupEnv: nowhere,
		})
		if err != nil {
			t.Fatal(err)
		}
		rep, err = p.Execute(t.Context(), controller.Opener(func(config.Target, controller.Checkout) (target.Target, error) { return down, nil }), controller.RunOptions{Breakers: &breakers})
		if err != nil {
			t.Fatal(err)
		}
		if got := down.calls.Load(); got != calls {
			t.Errorf("%d calls after run %d, want %d", got, n+1, calls)
		}
		if rep.Gate.Result != report.GateUndetermined {
			t.Errorf("run %d: the gate is %+v", n+1, rep.Gate)
		}
	}
	if rep.Summary.NotRun < 3 || rep.Summary.Pass != 0 {
		t.Errorf("the summary is %+v, want at least 3 cases that were not run and no pass", rep.Summary)
	}
	if got, want := rep.Gate.Reason, "1 case ended in an error; 3 cases were not run, since target bot is down: 12 calls in a row failed, the last with: 403 Forbidden"; got != want {
		t.Errorf("the gate says %q, want %q", got, want)
	}
}
