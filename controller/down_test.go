package controller_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

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

// TestADownTargetVoidsItsPairs: where the target of one side is down, no case is compared,
// whatever the other side showed, and nothing is a regression or unchanged.
func TestADownTargetVoidsItsPairs(t *testing.T) {
	for _, down := range []string{"base", "head"} {
		t.Run(down, func(t *testing.T) {
			b := newFixture(t)
			base, head := files(), files()
			var changed []string
			for i := range 12 {
				name := fmt.Sprintf("test_definitions/talk/level_2/more_%02d.json", i)
				ask := "hello"
				if i%3 == 0 {
					ask = "goodbye" // fails
				}
				for side, tree := range map[string]fstest.MapFS{"base": base, "head": head} {
					text := fmt.Sprintf(`{"id": "more_%d", "name": "%s", "prompt": "%s", "expected": {"keywords": ["hello"]}}`, i, side, ask)
					tree[name] = &fstest.MapFile{Data: []byte(text)}
				}
				changed = append(changed, name)
			}
			changed = append(changed, "test_definitions/talk/domain.json")
			head["test_definitions/talk/domain.json"] = &fstest.MapFile{Data: []byte(`{"id": "talk", "name": "Talk", "evaluator_id": "keyword", "system_prompt": "Be brief."}`)}
			own := func(side string) *config.Config {
				c := settings()
				bot := c.Targets["bot"]
				bot.URL = "http://" + side + ".invalid"
				c.Targets["bot"] = bot
				return c
			}
			p, err := controller.Prepare(t.Context(), controller.Request{
				Head: controller.Checkout{Commit: controller.Worktree, FS: head, Config: own("head")}, ConfigFile: "gavel.yaml",
				Base:    &controller.Checkout{Commit: strings.Repeat("4b07", 10), FS: base, Config: own("base")},
				Changed: func(context.Context, []string) ([]string, error) { return changed, nil },
				Ledger:  b.store, HeadTrust: operator, BaseTrust: operator, LookupEnv: nowhere,
			})
			if err != nil {
				t.Fatal(err)
			}
			rep, err := p.Execute(t.Context(), controller.Opener(func(cfg config.Target, _ controller.Checkout) (target.Target, error) {
				if cfg.URL == "http://"+down+".invalid" {
					return &locked{}, nil
				}
				return b.calculator, nil
			}), controller.RunOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]report.Class{"base": report.Unclear, "head": report.Failed}[down]
			for _, row := range rep.Cases {
				if *row.Class != want {
					t.Errorf("%s is %s, want %s", row.Key, *row.Class, want)
				}
			}
			if again := rep.Remeasured; again.Mean.Worse+again.Mean.Better > 0 || again.Mean.Called || again.Scores.Called || again.Scores.Fall != 0 {
				t.Errorf("the mean compares halves: %+v", again)
			}
			if rep.Gate.Result != report.GateUndetermined {
				t.Errorf("the gate is %+v", rep.Gate)
			}
		})
	}
}
