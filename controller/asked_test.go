package controller_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
)

// gated is a change of one of four cases, under a gate about all of them.
type gated struct {
	fixture
	gate config.Gate
	// change goes over the request before it is planned, and set over the settings.
	change func(*controller.Request)
	set    func(*config.Config)
	// fails are the prompts that the target has no answer to.
	fails []string
}

const (
	sumFile  = "test_definitions/math/level_1/sum.json"
	sumKey   = "math/level_1/sum"
	goodSum  = `{"id": "sum", "name": "Sum", "prompt": "1 + 1?", "expected": {"answer": "2"}}`
	otherSum = `{"id": "sum", "name": "Sum", "prompt": "one + one?", "expected": {"answer": 7}}`
)

// Respond fails for some prompts.
func (g *gated) Respond(ctx context.Context, req target.Request) (target.Reply, error) {
	if slices.Contains(g.fails, req.Messages[len(req.Messages)-1].Content) {
		g.calls.Add(1)
		return target.Reply{}, &target.Error{Target: "bot", Status: 403, Message: "403 Forbidden"}
	}
	return g.calculator.Respond(ctx, req)
}

func (g *gated) config() *config.Config {
	c := settings()
	c.Targets["bot"] = config.Target{Name: "bot", Provider: config.OpenAI, Kind: config.Model, Model: "m"}
	c.Gate = g.gate
	if g.set != nil {
		g.set(c)
	}
	return c
}

func (g *gated) prepare(t *testing.T, head fstest.MapFS, changed []string) *controller.Prepared {
	t.Helper()
	cfg := g.config()
	req := controller.Request{
		Head:       controller.Checkout{Commit: strings.Repeat("e", 40), FS: head, Config: cfg},
		Base:       &controller.Checkout{Commit: strings.Repeat("b", 40), FS: files(), Config: cfg},
		Changed:    func(context.Context, []string) ([]string, error) { return changed, nil },
		ConfigFile: "gavel.yaml", Ledger: g.store, LookupEnv: nowhere,
		HeadTrust: g.trust, BaseTrust: operator,
	}
	if g.trust.Level == ledger.LevelPull {
		req.BaseTrust = ledger.Trust{Level: ledger.LevelBase, Repository: g.trust.Repository}
		req.ScanHead()
	}
	if g.change != nil {
		g.change(&req)
	}
	p, err := controller.Prepare(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (g *gated) run(t *testing.T, head fstest.MapFS, changed []string, opts controller.RunOptions) *report.Report {
	t.Helper()
	out, err := g.prepare(t, head, changed).Execute(t.Context(), controller.Opener(func(config.Target, controller.Checkout) (target.Target, error) { return g, nil }), opts)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sumAs(text string) (fstest.MapFS, []string) {
	return clone(files(), map[string]string{sumFile: text})
}

func atLeast(x float64) *float64 { return &x }

// TestMinScoreIsDecidedByAllCases: whatever of the branch was judged before, a change
// of one of four cases has the same score and gate. The score of head is .75: the sum is
// answered with 7 and all others are right.
func TestMinScoreIsDecidedByAllCases(t *testing.T) {
	head, changed := sumAs(`{"id": "sum", "name": "Sum", "prompt": "one + one?", "expected": {"answer": 2}}`)
	for _, trust := range []ledger.Trust{operator, {Level: ledger.LevelPull, Repository: "o/r", PullRequest: 1}} {
		for _, before := range []struct {
			name string
			keys []string
			// calls are those that are left: one for the sum on either side, and one for
			// each of the other three that has no verdict.
			calls int64
			// estimated are those and one to extract the number of each sum and product that
			// was never judged, which the answers make needless.
			estimated int
		}{
			{"nothing", nil, 5, 8},
			{"the affected case", []string{sumKey}, 4, 5},
			{"two", []string{sumKey, "talk/level_1/hello"}, 3, 4},
			{"all", []string{sumKey, "talk/level_1/hello", "talk/level_1/forbidden", "math/level_2/product"}, 1, 1},
		} {
			t.Run(trust.Repository+" "+before.name, func(t *testing.T) {
				g := &gated{fixture: newFixture(t), gate: config.Gate{FailOn: report.FailOnThreshold, MinScore: atLeast(0.8)}}
				g.set = func(c *config.Config) { c.Noise.Confirm = config.ConfirmOff }
				if g.trust = trust; len(before.keys) > 0 {
					g.judgeBase(t, before.keys)
				}
				g.calls.Store(0)
				for n, calls := range []int64{before.calls, 0} {
					estimated := []int{before.estimated, 0}[n]
					g.calls.Store(0)
					estimate := g.prepare(t, head, changed).Estimate()
					out := g.run(t, head, changed, controller.RunOptions{})
					if out.Gate.Result != report.GateFail || out.Gate.Reason != "score 0.750 is below min_score 0.8" {
						t.Errorf("run %d: gate %+v", n, out.Gate)
					}
					if g.calls.Load() != calls || estimate.Calls != estimated {
						t.Errorf("run %d: %d calls, %d estimated, want %d and %d", n, g.calls.Load(), estimate.Calls, calls, estimated)
					}
					if out.Summary.Score == nil || *out.Summary.Score != 0.75 || out.Diff.Pairs != 4 {
						t.Errorf("run %d: score %v of %d pairs", n, out.Summary.Score, out.Diff.Pairs)
					}
				}
			})
		}
	}
}

// judgeBase stores what base has of some cases.
func (g *gated) judgeBase(t *testing.T, keys []string) {
	t.Helper()
	trust := operator
	if g.trust.Level == ledger.LevelPull {
		trust = ledger.Trust{Level: ledger.LevelBase, Repository: g.trust.Repository}
	}
	p, err := controller.Prepare(t.Context(), controller.Request{
		Head: controller.Checkout{Commit: strings.Repeat("b", 40), FS: files(), Config: g.config()}, ConfigFile: "gavel.yaml",
		Ledger: g.store, LookupEnv: nowhere, HeadTrust: trust, BaseTrust: trust,
		Select: func(c *schema.CaseInfo) bool { return slices.Contains(keys, c.Key) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Execute(t.Context(), controller.Opener(func(config.Target, controller.Checkout) (target.Target, error) { return g, nil }), controller.RunOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestWhatTheGateAsksForServesOthers: what one pull request had judged for the gate is
// base's, so that another one has it judged no second time.
func TestWhatTheGateAsksForServesOthers(t *testing.T) {
	g := &gated{fixture: newFixture(t), gate: config.Gate{MinScore: atLeast(0.5)}}
	head, changed := sumAs(goodSum)
	for n, calls := range []int64{4, 0} { // the sum is sent the same on both sides
		g.trust = ledger.Trust{Level: ledger.LevelPull, Repository: "o/r", PullRequest: n + 1}
		g.calls.Store(0)
		out := g.run(t, head, changed, controller.RunOptions{})
		if g.calls.Load() != calls || out.Gate.Result != report.GatePass {
			t.Errorf("pull request %d: %d calls, want %d; gate %+v", n+1, g.calls.Load(), calls, out.Gate)
		}
	}
}

// TestReasonOfTheGate: the plan says that the gate asks, which makes no case affected.
func TestReasonOfTheGate(t *testing.T) {
	head, changed := sumAs(otherSum)
	for _, tt := range []struct {
		gate config.Gate
		says string // empty: nothing is asked for
	}{
		{config.Gate{MinScore: atLeast(0.5)}, "the gate asks for it: all active cases decide min_score"},
		{config.Gate{MinScore: atLeast(0.5), MaxDrop: atLeast(0.1)}, "the gate asks for it: all active cases decide min_score and max_drop"},
		{config.Gate{FailOn: report.FailOnAny}, "the gate asks for it: all active cases decide fail_on: any_failure"},
		{config.Gate{FailOn: report.FailOnNever, MinScore: atLeast(0.5)}, ""},
		{config.Gate{}, ""},
	} {
		g := &gated{fixture: newFixture(t), gate: tt.gate}
		p := g.prepare(t, head, changed)
		asked := 0
		for _, row := range p.Plan.Rows {
			if row.Key == sumKey {
				continue
			}
			if row.Asked {
				asked++
			}
			if got := plan.Summarise(row.Reasons); got != tt.says || row.Changed() {
				t.Errorf("%+v: %s: %q, changed %v", tt.gate, row.Key, got, row.Changed())
			}
		}
		if asked != 3 && tt.says != "" || asked != 0 && tt.says == "" {
			t.Errorf("%+v: %d cases are asked for", tt.gate, asked)
		}
	}
}

// TestMaxDropIsDecidedByAllCases: the sum fails where it passed, which is a fourth of
// the score and not all of it.
func TestMaxDropIsDecidedByAllCases(t *testing.T) {
	head, changed := sumAs(`{"id": "sum", "name": "Sum", "prompt": "one + one?", "expected": {"answer": 2}}`)
	for _, keys := range [][]string{nil, {sumKey}, {sumKey, "talk/level_1/hello"}} {
		g := &gated{fixture: newFixture(t), gate: config.Gate{FailOn: report.FailOnThreshold, MaxDrop: atLeast(0.3)}}
		g.set = func(c *config.Config) { c.Noise.Confirm = config.ConfirmOff }
		if len(keys) > 0 {
			g.judgeBase(t, keys)
		}
		out := g.run(t, head, changed, controller.RunOptions{})
		if out.Gate.Result != report.GatePass || out.Diff.Delta == nil || *out.Diff.Delta != -0.25 {
			t.Errorf("judged before: %v: gate %+v, diff %+v", keys, out.Gate, out.Diff)
		}
	}
}

// TestAnyFailureIsDecidedByAllCases: a case that nothing affects and that fails counts,
// judged before or not.
func TestAnyFailureIsDecidedByAllCases(t *testing.T) {
	base, _ := clone(files(), map[string]string{"test_definitions/talk/level_1/hello.json": `{"id": "hello", "name": "Hello", "prompt": "hello", "expected": {"keywords": ["bye"]}}`})
	head, changed := clone(base, map[string]string{sumFile: goodSum})
	for _, keys := range [][]string{nil, {"talk/level_1/hello"}} {
		g := &gated{fixture: newFixture(t), gate: config.Gate{FailOn: report.FailOnAny}}
		g.change = func(r *controller.Request) { r.Base.FS = base }
		if len(keys) > 0 {
			g.judgeBase(t, keys)
		}
		out := g.run(t, head, changed, controller.RunOptions{})
		if out.Gate.Result != report.GateFail || out.Gate.Reason != "1 case fails (fail_on: any_failure)" {
			t.Errorf("judged before: %v: gate %+v", keys, out.Gate)
		}
	}
}

// TestScoresThatAreNotAsked: with selected cases, in a save and where nothing is run, no
// case is judged for the gate and no limit of scores decides; the gate says so.
func TestScoresThatAreNotAsked(t *testing.T) {
	head, changed := sumAs(`{"id": "sum", "name": "Sum", "prompt": "one + one?", "expected": {"answer": 2}}`)
	for _, tt := range []struct {
		name   string
		change func(*controller.Request)
		notRun string
		calls  int64
		result string
		reason string
	}{
		{"selected", func(r *controller.Request) { r.Select = func(c *schema.CaseInfo) bool { return c.Key == sumKey } }, "", 2,
			report.GatePass, "nothing is decided by single cases (fail_on: threshold); min_score 0.9 and max_drop 0 are not asked, since only some cases are selected"},
		{"by status", func(r *controller.Request) { r.Statuses = []string{"active"} }, "", 2, report.GatePass, "since only some cases are selected"},
		{"a save", func(r *controller.Request) { r.Unasked = "a save judges only what it affects" }, "", 2,
			report.GatePass, "min_score 0.9 and max_drop 0 are not asked, since a save judges only what it affects"},
		{"a stranger", nil, "a fork: validated and planned only", 0, report.GateUndetermined, "nothing was run: a fork: validated and planned only"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := &gated{fixture: newFixture(t), gate: config.Gate{FailOn: report.FailOnThreshold, MinScore: atLeast(0.9), MaxDrop: atLeast(0)}, change: tt.change}
			g.set = func(c *config.Config) { c.Noise.Confirm = config.ConfirmOff }
			out := g.run(t, head, changed, controller.RunOptions{NotRun: tt.notRun})
			if g.calls.Load() != tt.calls {
				t.Errorf("%d calls, want %d", g.calls.Load(), tt.calls)
			}
			if out.Gate.Result != tt.result || !strings.Contains(out.Gate.Reason, tt.reason) {
				t.Errorf("gate %+v, want %s: %s", out.Gate, tt.result, tt.reason)
			}
			for _, row := range out.Cases {
				if row.Key != sumKey && (row.Action != plan.Reuse || len(row.Reasons) > 0) {
					t.Errorf("%s: %s %v, want it reused without a reason", row.Key, row.Action, row.Reasons)
				}
			}
		})
	}
}

// TestAStrangerWhoAffectsNothing passes and is never judged by the branch's own score.
func TestAStrangerWhoAffectsNothing(t *testing.T) {
	for _, judged := range []bool{false, true} {
		g := &gated{fixture: newFixture(t), gate: config.Gate{MinScore: atLeast(0.9)}}
		if judged {
			g.judgeBase(t, []string{sumKey, "talk/level_1/hello"})
		}
		head, changed := clone(files(), map[string]string{"README.md": "hello"})
		out := g.run(t, head, changed, controller.RunOptions{NotRun: "a fork"})
		if out.Gate.Result != report.GatePass || out.Gate.Reason != "no affected cases; min_score 0.9 is not asked, since nothing is run" {
			t.Errorf("judged before: %v: gate %+v", judged, out.Gate)
		}
	}
}

// TestOutOfTheScore: no case is judged for the gate that is out of it.
func TestOutOfTheScore(t *testing.T) {
	base, _ := clone(files(), map[string]string{
		"test_definitions/talk/level_1/hello.json": `{"id": "hello", "name": "Hello", "prompt": "hello", "enabled": false, "expected": {"keywords": ["bye"]}}`,
	})
	head, changed := clone(base, map[string]string{sumFile: goodSum})
	g := &gated{fixture: newFixture(t), gate: config.Gate{MinScore: atLeast(0.9)}}
	g.change = func(r *controller.Request) { r.Base.FS = base }
	g.set = func(c *config.Config) {
		c.Quarantine = []config.Quarantine{{Case: "talk/level_1/forbidden", Until: "2999-01-01", Reason: "slow"}}
	}
	out := g.run(t, head, changed, controller.RunOptions{Commands: []report.Command{
		{Verb: report.CommandQuarantine, Argument: "2999-01-01 slow, too", Cases: []string{"math/level_2/product"}},
	}})
	if g.calls.Load() != 1 || out.Gate.Result != report.GatePass {
		t.Errorf("%d calls, want that of the sum alone; gate %+v", g.calls.Load(), out.Gate)
	}
}

// TestUndecidedScores: an error and a budget that is too small leave min_score open,
// and affected cases are judged before those that only the gate needs.
func TestUndecidedScores(t *testing.T) {
	head, changed := sumAs(`{"id": "sum", "name": "Sum", "prompt": "one + one?", "expected": {"answer": 2}}`)
	for _, tt := range []struct {
		name   string
		fails  []string
		budget int64
		reason string
	}{
		{"error", []string{"say no"}, 0, "1 case ended in an error; min_score 0.9 is not decided: 1 active case has no verdict"},
		{"budget", nil, 4, "1 case was not run, since the budget of 4 calls is not enough; min_score 0.9 is not decided: 1 active case has no verdict"},
	} {
		for _, trust := range []ledger.Trust{operator, {Level: ledger.LevelPull, Repository: "o/r", PullRequest: 1}} {
			t.Run(tt.name+" "+trust.Repository, func(t *testing.T) {
				g := &gated{fixture: newFixture(t), gate: config.Gate{FailOn: report.FailOnThreshold, MinScore: atLeast(0.9)}, fails: tt.fails}
				g.trust = trust
				g.set = func(c *config.Config) {
					c.Noise.Confirm = config.ConfirmOff
					if tt.budget > 0 {
						c.Budget.Calls = &tt.budget
					}
				}
				out := g.run(t, head, changed, controller.RunOptions{})
				if out.Gate.Result != report.GateUndetermined || !strings.HasPrefix(out.Gate.Reason, tt.reason) {
					t.Errorf("gate %+v, want undetermined: %s…", out.Gate, tt.reason)
				}
				for _, row := range out.Cases {
					if row.Key == sumKey && (row.Verdict == nil || row.BaseVerdict == nil) {
						t.Errorf("the affected case: %+v", row)
					}
				}
			})
		}
	}
}

// TestAskedOfADeployedAgent: the version of the agent that answers is unknown, and yet
// the verdict of a case that is the same on both sides counts for both of them.
func TestAskedOfADeployedAgent(t *testing.T) {
	head, changed := clone(files(), map[string]string{"README.md": "hello"})
	for _, template := range []string{"", "https://pr-{pr}.example"} {
		for _, trust := range []ledger.Trust{operator, {Level: ledger.LevelPull, Repository: "o/r", PullRequest: 1}} {
			g := &gated{fixture: newFixture(t), gate: config.Gate{FailOn: report.FailOnThreshold, MinScore: atLeast(0.9), MaxDrop: atLeast(0)}}
			g.trust = trust
			g.set = func(c *config.Config) {
				c.Targets["bot"] = config.Target{
					Name: "bot", Provider: config.HTTP, Kind: config.Agent, URL: "https://agent.example", URLTemplate: template, Revision: config.RevisionNone,
				}
			}
			for n, calls := range []int64{4, 0} {
				g.calls.Store(0)
				out := g.run(t, head, changed, controller.RunOptions{})
				if out.Gate.Result != report.GatePass || out.Gate.Reason != "no affected cases" || g.calls.Load() != calls || out.Diff.Pairs != 4 {
					t.Errorf("%q, %+v, run %d: gate %+v after %d calls, %d pairs", template, trust, n+1, out.Gate, g.calls.Load(), out.Diff.Pairs)
				}
				for _, row := range out.Cases {
					if row.Class == nil || *row.Class != report.Unchanged || row.BaseError != "" {
						t.Errorf("%q, %+v, run %d: %s: class %v, base %q", template, trust, n+1, row.Key, row.Class, row.BaseError)
					}
				}
			}
		}
	}
}
