package controller_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
)

// helloKey is a case that the sum has nothing to do with.
const helloKey = "talk/level_1/hello"

// whole is a base branch, which is judged as a whole.
func whole(t *testing.T) *gated {
	t.Helper()
	g := &gated{fixture: newFixture(t)}
	g.change = func(r *controller.Request) {
		r.Complete = true
		r.ScanHead() // as for every commit
	}
	return g
}

// TestABranchIsJudgedAsAWhole: a push that changes one case of four, or none, leaves none of
// them without a verdict, and the next look is free. The change is the cause of what it affects.
func TestABranchIsJudgedAsAWhole(t *testing.T) {
	all := []string{sumKey, "math/level_2/product", helloKey, "talk/level_1/forbidden"}
	failing := map[string]string{"test_definitions/talk/level_1/hello.json": `{"id": "hello", "name": "Hello", "prompt": "hello", "expected": {"keywords": ["bye"]}}`}
	unversioned := func(c *config.Config) {
		c.Targets["bot"] = config.Target{Name: "bot", Provider: config.HTTP, Kind: config.Agent, URL: "https://h", Revision: config.RevisionNone}
	}
	for _, tt := range []struct {
		name string
		// base has other files than usual, and head the sum in another form.
		base map[string]string
		sum  string
		set  func(*config.Config)
		// judged are the cases that were judged before, and calls those that are left.
		judged []string
		calls  int64
		gate   string
		reason string
	}{
		{name: "nothing changed", calls: 4, gate: report.GatePass},
		{name: "a part was judged", judged: all[:3], calls: 1, gate: report.GatePass},
		{name: "all was judged", judged: all, gate: report.GatePass},
		// The sum is asked on both sides.
		{name: "a case changed", sum: otherSum, calls: 5, gate: report.GatePass, reason: "no case regressed"},
		{name: "a failing case", base: failing, calls: 4, gate: report.GatePass},
		{name: "an agent of unknown version", set: unversioned, calls: 4, gate: report.GatePass},
		{name: "an agent of unknown version that was judged", set: unversioned, judged: all, gate: report.GatePass},
		{name: "a failing case of an agent of unknown version", base: failing, set: unversioned, calls: 4, gate: report.GatePass},
		{name: "a case out of the gate", set: func(c *config.Config) {
			c.Quarantine = []config.Quarantine{{Case: helloKey, Until: "2999-01-01", Reason: "slow"}}
		}, calls: 4, gate: report.GatePass},
		{name: "a small budget", set: func(c *config.Config) { c.Budget.Calls = new(int64(3)) }, calls: 3, gate: report.GateUndetermined,
			reason: "1 case was not run, since the budget of 3 calls is not enough"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := whole(t)
			g.set = func(c *config.Config) {
				c.Noise.Confirm = config.ConfirmOff
				if tt.set != nil {
					tt.set(c)
				}
			}
			base, _ := clone(files(), tt.base)
			inner := g.change
			g.change = func(r *controller.Request) { r.Base.FS = base; inner(r) }
			head, changed := base, []string(nil)
			if tt.sum != "" {
				head, changed = clone(base, map[string]string{sumFile: tt.sum})
			}
			if len(tt.judged) > 0 {
				g.judgeBase(t, tt.judged)
			}
			g.calls.Store(0)
			out := g.run(t, head, changed, controller.RunOptions{})
			if g.calls.Load() != tt.calls || out.Gate.Result != tt.gate || !strings.Contains(out.Gate.Reason, tt.reason) {
				t.Errorf("%d calls, want %d; gate %+v, want %s: %s", g.calls.Load(), tt.calls, out.Gate, tt.gate, tt.reason)
			}
			if tt.gate != report.GatePass {
				return
			}
			for _, row := range out.Cases {
				if row.Verdict == nil || row.BaseError != "" {
					t.Errorf("%s has no verdict: %+v", row.Key, row)
				}
			}
			g.calls.Store(0)
			if again := g.run(t, head, changed, controller.RunOptions{}); g.calls.Load() != 0 || again.Gate.Result != tt.gate {
				t.Errorf("a second look makes %d calls; gate %+v", g.calls.Load(), again.Gate)
			}
		})
	}
}

// TestABranchThatMayNotRun is not green.
func TestABranchThatMayNotRun(t *testing.T) {
	g := whole(t)
	out := g.run(t, files(), nil, controller.RunOptions{NotRun: "it has no gavel.yaml"})
	if out.Gate.Result != report.GateUndetermined || out.Gate.Reason != "nothing was run: it has no gavel.yaml" {
		t.Errorf("gate %+v", out.Gate)
	}
}

// TestAMovedCaseOfABranch is judged where nobody judged it under its old name.
func TestAMovedCaseOfABranch(t *testing.T) {
	const to = "test_definitions/math/level_2/sum.json"
	head, changed := clone(files(), map[string]string{sumFile: "", to: string(files()[sumFile].Data)})
	g := whole(t)
	out := g.run(t, head, changed, controller.RunOptions{})
	i := slices.IndexFunc(out.Cases, func(row report.Row) bool { return row.File == to })
	if i < 0 || out.Cases[i].MovedFrom == nil || out.Cases[i].Verdict == nil || g.calls.Load() != 4 {
		t.Errorf("%d calls, want 4; %+v", g.calls.Load(), out.Cases)
	}
}

// TestAWholePlanLoadsWhatIsDue: the cases with a verdict are planned from their notes.
func TestAWholePlanLoadsWhatIsDue(t *testing.T) {
	g := whole(t)
	g.judgeBase(t, []string{sumKey, "math/level_2/product", "talk/level_1/forbidden"})
	for _, row := range g.prepare(t, files(), nil).Plan.Rows {
		if loaded := row.HeadCase != nil; loaded != (row.Key == helloKey) || row.Changed() {
			t.Errorf("%s: loaded %v, changed %v", row.Key, loaded, row.Changed())
		}
		if said := plan.Summarise(row.Reasons); row.Key == helloKey && said != "not judged before" {
			t.Errorf("%s is judged because %q", row.Key, said)
		}
	}
}
