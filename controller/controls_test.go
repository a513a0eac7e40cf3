package controller_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// An apprentice says word if it has a skill, and counts how often it is asked with one and
// without.
type apprentice struct {
	mu            sync.Mutex
	with, without int // guarded by mu
}

func (a *apprentice) Respond(_ context.Context, req target.Request) (target.Reply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := "nothing"
	if strings.Contains(req.Case, "(without the skill)") {
		a.without++
	} else {
		a.with++
		text = "word"
	}
	return target.Reply{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: text}}, Traced: true, Usage: verdict.Usage{Calls: 1}}, nil
}

// taken returns the numbers of requests since the last call.
func (a *apprentice) taken() (with, without int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	with, without = a.with, a.without
	a.with, a.without = 0, 0
	return with, without
}

// skillFiles are two skills with a prompt in common, which the second asks next to one of
// its own.
func skillFiles() fstest.MapFS {
	const ask = `{"id": 1, "prompt": "Open.", "assertions": [{"name": "said", "type": "contains", "value": "word"}]}`
	f, _ := clone(fstest.MapFS{}, map[string]string{
		"skills/a/SKILL.md":         "---\nname: a\n---\nSay word.",
		"skills/a/evals/evals.json": `{"evals": [` + ask + `]}`,
		"skills/b/SKILL.md":         "---\nname: b\n---\nSay word.",
		"skills/b/evals/evals.json": `{"evals": [` + ask + `, ` + strings.NewReplacer("1", "2", "Open", "Close").Replace(ask) + `]}`,
	})
	return f
}

// A lesson judges a head with skills against a base.
type lesson struct {
	*apprentice
	store  *ledger.Ledger
	budget config.Budget
	off    bool
	// change goes over the request before it is planned.
	change func(*controller.Request)
}

func (l *lesson) judge(t *testing.T, trust ledger.Trust, base, head fstest.MapFS, changed ...string) *report.Report {
	t.Helper()
	p := l.prepare(t, trust, base, head, changed...)
	out, err := p.Execute(t.Context(), controller.Opener(func(config.Target, controller.Checkout) (target.Target, error) { return l, nil }), controller.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (l *lesson) prepare(t *testing.T, trust ledger.Trust, base, head fstest.MapFS, changed ...string) *controller.Prepared {
	t.Helper()
	cfg := settings()
	cfg.Targets = map[string]config.Target{"coder": {Name: "coder", Provider: config.Command, Argv: []string{"coder"}}}
	cfg.DefaultTarget, cfg.Skills, cfg.Budget = "coder", config.Skills{Target: "coder", Lift: !l.off}, l.budget
	req := controller.Request{
		Head:       controller.Checkout{Commit: strings.Repeat("e", 40), FS: head, Config: cfg},
		ConfigFile: "gavel.yaml", Ledger: l.store, LookupEnv: nowhere, HeadTrust: trust, BaseTrust: trust,
	}
	if trust.Level == ledger.LevelPull {
		req.BaseTrust = ledger.Trust{Level: ledger.LevelBase, Repository: trust.Repository}
	}
	if base != nil {
		req.Base = &controller.Checkout{Commit: strings.Repeat("b", 40), FS: base, Config: cfg}
		req.Changed = func(context.Context, []string) ([]string, error) { return changed, nil }
	}
	if l.change != nil {
		l.change(&req)
	}
	p, err := controller.Prepare(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (l *lesson) asked(t *testing.T, name string, with, without int) {
	t.Helper()
	if a, b := l.taken(); a != with || b != without {
		t.Errorf("%s: asked %d times with the skill and %d times without, want %d and %d", name, a, b, with, without)
	}
}

// TestControlsArePaidOnce: once for a prompt, whatever skill it is in and however often
// the skill changes, by whichever pull request.
func TestControlsArePaidOnce(t *testing.T) {
	l := &lesson{apprentice: &apprentice{}, store: ledgertest.Open(t, ledger.Config{})}
	pull := func(n int) ledger.Trust {
		return ledger.Trust{Level: ledger.LevelPull, Repository: "o/r", PullRequest: n}
	}
	base := skillFiles()
	edited, files := clone(base, map[string]string{"skills/a/SKILL.md": "---\nname: a\n---\nSay word, please."})
	r := l.judge(t, pull(1), base, edited, files...)
	l.asked(t, "the first pull request edits a skill", 2, 1) // at head and at base
	if got := r.Lift.String(); !strings.HasPrefix(got, "with the skill 1 of 1, without 0 of 1 (+100 points, ") {
		t.Errorf("lift %q", got)
	}

	edited, files = clone(base, map[string]string{"skills/a/SKILL.md": "---\nname: a\n---\nSay word, now."})
	r = l.judge(t, pull(2), base, edited, files...)
	l.asked(t, "another pull request edits it, too", 1, 0)
	if got := r.Lift.String(); !strings.HasPrefix(got, "with the skill 1 of 1, without 0 of 1 (+100 points, ") {
		t.Errorf("lift %q", got)
	}

	edited, files = clone(base, map[string]string{"skills/b/SKILL.md": "---\nname: b\n---\nSay word, now."})
	r = l.judge(t, pull(3), base, edited, files...)
	l.asked(t, "a skill with the same prompt and another one", 4, 1)
	if got := r.Lift; got.Cases != 2 || got.Without != (report.Passes{Passed: 0, Runs: 2}) {
		t.Errorf("lift %+v", got)
	}

	edited, files = clone(base, map[string]string{"skills/a/evals/evals.json": strings.Replace(string(base["skills/a/evals/evals.json"].Data), "Open.", "Open it.", 1)})
	l.judge(t, pull(4), base, edited, files...)
	l.asked(t, "a new prompt is asked at head alone without the skill", 1, 1)
	l.judge(t, pull(4), base, edited, files...)
	l.asked(t, "the same head", 0, 0)
}

// TestControlsComeLast: a budget that is too small for all leaves out controls and no
// case, and the gate is the same as without lift.
func TestControlsComeLast(t *testing.T) {
	most := int64(3)
	var gates []report.Gate
	for _, off := range []bool{true, false} {
		l := &lesson{apprentice: &apprentice{}, store: ledgertest.Open(t, ledger.Config{}), off: off, budget: config.Budget{Limits: config.Limits{Calls: &most}}}
		r := l.judge(t, operator, nil, skillFiles())
		l.asked(t, "three calls", 3, 0)
		gates = append(gates, r.Gate)
		if off {
			continue
		}
		if r.Lift == nil || r.Lift.Cases != 0 || len(r.Lift.NotMeasured) != 3 || !strings.Contains(r.Lift.NotMeasured[0].Reason, "budget") {
			t.Errorf("lift %+v", r.Lift)
		}
	}
	if diff := cmp.Diff(gates[0], gates[1]); diff != "" || gates[0].Result != report.GatePass {
		t.Errorf("the gate without and with lift:\n%s", diff)
	}
}

// TestControlsInThePlan: a plan lists controls with their reason and estimates their
// calls, and nothing is asked for them before the cases.
func TestControlsInThePlan(t *testing.T) {
	cfg := settings()
	cfg.Targets = map[string]config.Target{"coder": {Name: "coder", Provider: config.Command, Argv: []string{"coder"}}}
	cfg.DefaultTarget, cfg.Skills.Target = "coder", "coder"
	for _, lift := range []bool{false, true} {
		p, err := controller.Prepare(t.Context(), controller.Request{
			Head: controller.Checkout{Commit: controller.Worktree, FS: skillFiles(), Config: cfg}, ConfigFile: "gavel.yaml",
			Ledger: ledgertest.Open(t, ledger.Config{}), LookupEnv: nowhere, HeadTrust: operator, BaseTrust: operator, Lift: lift,
		})
		if err != nil {
			t.Fatal(err)
		}
		var controls []string
		for _, r := range p.Plan.Rows {
			if r.ControlOf != "" && r.Action == plan.Run && r.Reasons[0].Part == "lift" {
				controls = append(controls, r.ControlOf)
			}
		}
		want, calls := []string(nil), 3
		if lift {
			want, calls = []string{"skills/a#1", "skills/b#1", "skills/b#2"}, 6
		}
		if diff := cmp.Diff(want, controls); diff != "" || p.Estimate().Calls != calls {
			t.Errorf("lift %v: %d calls, want %d; controls (-want +got):\n%s", lift, p.Estimate().Calls, calls, diff)
		}
		rerun := p.Rerun(func(key string) bool { return key == "skills/a#1" })
		if n := len(rerun.Plan.Rows); n != 1+len(want)/3 {
			t.Errorf("lift %v: a rerun of one case has %d rows", lift, n)
		}
	}
}

// TestControlsOfAPlanThatWaits: the estimate of a pull request that waits for an approval
// has the calls of both sides: one at head, one at base and one without the skill.
func TestControlsOfAPlanThatWaits(t *testing.T) {
	l := &lesson{apprentice: &apprentice{}, store: ledgertest.Open(t, ledger.Config{})}
	base := skillFiles()
	edited, files := clone(base, map[string]string{"skills/a/SKILL.md": "---\nname: a\n---\nSay word, please."})
	r, err := l.prepare(t, ledger.Trust{Level: ledger.LevelPull, Repository: "o/r", PullRequest: 1}, base, edited, files...).Preview(t.Context(), "it waits")
	if err != nil || r.Estimate == nil || r.Estimate.Calls != 3 {
		t.Errorf("the estimate is %+v, %v, want 3 calls", r.Estimate, err)
	}
}

// TestControlsAreNotDoubted: a case that people have judged again is asked again, and not
// without its skill.
func TestControlsAreNotDoubted(t *testing.T) {
	l := &lesson{apprentice: &apprentice{}, store: ledgertest.Open(t, ledger.Config{})}
	l.judge(t, operator, nil, skillFiles())
	l.asked(t, "first", 3, 2)
	l.change = func(r *controller.Request) {
		r.IgnoreBefore = func(string) (time.Time, plan.Reason) {
			return time.Now().Add(time.Hour), plan.Reason{Part: "rerun", Message: "rerun requested"}
		}
	}
	l.judge(t, operator, nil, skillFiles())
	l.asked(t, "again", 3, 0)
}

// TestControlsOfRememberedDefinitions: definitions that are planned without their cases
// have controls, too.
func TestControlsOfRememberedDefinitions(t *testing.T) {
	l := &lesson{apprentice: &apprentice{}, store: ledgertest.Open(t, ledger.Config{}), change: (*controller.Request).ScanHead}
	r := l.judge(t, operator, nil, skillFiles())
	l.asked(t, "three cases and two prompts", 3, 2)
	if r.Lift == nil || r.Lift.Cases != 3 {
		t.Errorf("lift %+v", r.Lift)
	}
}

// TestAKeyLikeAControls: a case whose key is the one of a control stays a case, which fails the
// gate as any other one.
func TestAKeyLikeAControls(t *testing.T) {
	head, _ := clone(skillFiles(), map[string]string{
		"skills/a/evals/evals.json": `{"evals": [{"id": 1, "prompt": "Open.", "assertions": [{"name": "said", "type": "contains", "value": "word"}]},
			{"id": "1 (without the skill)", "prompt": "Shut.", "assertions": [{"name": "said", "type": "contains", "value": "word"}]}]}`,
	})
	l := lesson{apprentice: &apprentice{}, store: ledgertest.Open(t, ledger.Config{})}
	p := l.prepare(t, operator, nil, head)
	for _, r := range p.Plan.Rows {
		if r.Key == plan.ControlKey("skills/a#1") && (r.ControlOf != "" || r.HeadCase.Drive.Messages[0].Content != "Shut.") {
			t.Errorf("the case is taken for a control of %q", r.ControlOf)
		}
	}
	r := l.judge(t, operator, nil, head)
	if r.Gate.Result != report.GateFail || r.Summary.Fail != 1 {
		t.Errorf("the gate is %s with %d failures, want fail with 1: %s", r.Gate.Result, r.Summary.Fail, r.Gate.Reason)
	}
}
