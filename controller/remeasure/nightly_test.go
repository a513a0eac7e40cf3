package remeasure_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// cases is how many a branch has.
const nightlyCases = 12

var operator = ledger.Trust{Level: ledger.LevelOperator}

// A nightlyBranch is judged every night, by a clock that is set by hand.
type nightlyBranch struct {
	*testing.T
	store    *ledger.Ledger
	settings string
	provider string

	mu  sync.Mutex
	now time.Time // guarded by mu
	// asked counts the calls of each case since it was emptied.
	asked map[string]int // guarded by mu
	// reply returns the n-th answer at a side; nil always gives the expected answer.
	reply func(side string, n int) string
	// onCall, when set, is called with the number of each call before it is answered.
	onCall func(n int)
	calls  int // guarded by mu
}

func newNightlyBranch(t *testing.T, settings string) *nightlyBranch {
	b := &nightlyBranch{T: t, settings: settings, provider: "openai, model: m, price: {input: 0, output: 1000}", now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), asked: map[string]int{}}
	b.store = ledgertest.Open(t, ledger.Config{Now: b.clock})
	return b
}

// clock is a millisecond later whenever it is read.
func (b *nightlyBranch) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(time.Millisecond)
	return b.now
}

// Respond is the model.
func (b *nightlyBranch) Respond(ctx context.Context, req target.Request) (target.Reply, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.calls
	b.calls++
	if b.onCall != nil {
		b.onCall(n)
	}
	if ctx.Err() != nil {
		return target.Reply{}, ctx.Err()
	}
	b.asked[req.Messages[0].Content]++
	text := "yes"
	if b.reply != nil {
		text = b.reply(req.System, n)
	}
	return target.Reply{
		Messages: []schema.Message{{Role: schema.RoleAssistant, Content: fmt.Sprint(text, ", answer ", n)}}, Model: "m-1",
		Usage: verdict.Usage{Calls: 1, InputTokens: 1, OutputTokens: 1, CostUSD: 0.001},
	}, nil
}

func (b *nightlyBranch) checkout(side string) controller.Checkout {
	files := fstest.MapFS{"test_definitions/d/domain.json": {Data: []byte(`{"id": "d", "name": "D", "evaluator_id": "keyword", "system_prompt": "` + side + `"}`)}}
	for i := range nightlyCases {
		text := fmt.Sprintf(`{"id": "c%d", "name": "C", "prompt": "case %d", "expected": {"keywords": ["yes"]}}`, i, i)
		files[fmt.Sprintf("test_definitions/d/level_1/c%02d.json", i)] = &fstest.MapFile{Data: []byte(text)}
	}
	cfg, problems := config.Parse("gavel.yaml", []byte("version: 1\ntargets: {bot: {provider: "+b.provider+", concurrency: 1}}\n"+b.settings))
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	return controller.Checkout{Commit: strings.Repeat(side[:1], 40), FS: files, Config: cfg}
}

func (b *nightlyBranch) execute(ctx context.Context, req controller.Request) *report.Report {
	b.Helper()
	req.ConfigFile, req.Ledger, req.HeadTrust, req.BaseTrust, req.Now = "gavel.yaml", b.store, operator, operator, b.clock
	req.LookupEnv = func(string) (string, bool) { return "", false }
	p, err := controller.Prepare(context.WithoutCancel(ctx), req)
	if err != nil || len(p.Problems) > 0 {
		b.Fatal(err, p)
	}
	open := func(c config.Target, _ controller.Checkout) (target.Target, error) {
		if c.Provider != "mock" {
			return b, nil
		}
		return target.New(c, target.Env{})
	}
	r, err := p.Execute(ctx, controller.Opener(open), controller.RunOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// night is the scheduled run of a day.
func (b *nightlyBranch) night(ctx context.Context, day int) *report.Report {
	b.Helper()
	due := time.Date(2026, 3, day, 3, 0, 0, 0, time.UTC)
	b.mu.Lock()
	if b.now.Before(due) {
		b.now = due
	}
	b.mu.Unlock()
	return b.execute(ctx, controller.Request{
		Head: b.checkout("main"), Before: due,
		IgnoreBefore: func(string) (time.Time, plan.Reason) {
			return due, plan.Reason{Part: "schedule", Message: "scheduled run"}
		},
	})
}

// pull judges a pull request that edits every case.
func (b *nightlyBranch) pull() *report.Report {
	b.Helper()
	base := b.checkout("main")
	return b.execute(b.Context(), controller.Request{
		Head: b.checkout("head"), Base: &base,
		Changed: func(context.Context, []string) ([]string, error) {
			return []string{"test_definitions/d/domain.json"}, nil
		},
	})
}

// wantAsked demands that each case was asked so often since the last time.
func (b *nightlyBranch) wantAsked(what string, want int) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range nightlyCases {
		if key := fmt.Sprint("case ", i); b.asked[key] != want {
			b.Errorf("%s: %s was asked %d times, want %d", what, key, b.asked[key], want)
		}
	}
	b.asked = map[string]int{}
}

const nightlyOn = "noise: {nightly: true}\n"

// TestAHistoryIsMadeOnce: the first night makes it, whatever the answers are, and the
// nights after that only add their own measurement.
func TestAHistoryIsMadeOnce(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reply func(string, int) string
	}{
		{"all pass", nil},
		{"all fail", func(string, int) string { return "no" }},
		{"by turns", func(_ string, n int) string { return []string{"yes", "no", "no"}[n%3] }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newNightlyBranch(t, nightlyOn)
			b.reply = tt.reply
			r := b.night(t.Context(), 2)
			b.wantAsked("the first night", confirm.Enough)
			if n := r.Nightly; n == nil || n.Measurements != nightlyCases*(confirm.Enough-1) || n.Calls != n.Measurements || n.Short {
				t.Errorf("the first night says %+v", n)
			}
			for day := 3; day < 6; day++ {
				r = b.night(t.Context(), day)
				b.wantAsked("a later night", 1)
				if n := r.Nightly; n == nil || n.Measurements != 0 || n.Balance.Calls != nightlyCases*(confirm.Enough-1) || n.Balance.Days != 14 {
					t.Errorf("a later night says %+v", n)
				}
			}
			// After two weeks without a night the history is too old to count.
			b.night(t.Context(), 30)
			b.wantAsked("two weeks later", confirm.Enough)
		})
	}
}

// TestAScheduledMeasurementIsHistory, also where nobody wants further ones.
func TestAScheduledMeasurementIsHistory(t *testing.T) {
	b := newNightlyBranch(t, "")
	for day := 2; day < 2+confirm.Enough; day++ {
		if r := b.night(t.Context(), day); r.Nightly != nil {
			t.Errorf("a night says %+v", r.Nightly)
		}
		b.wantAsked("a night", 1)
	}
	b.settings = nightlyOn
	b.night(t.Context(), 2+confirm.Enough)
	b.wantAsked("a night with a history", 1)
}

// TestWhatSavesPullRequestsCalls is set against what it cost.
func TestWhatSavesPullRequestsCalls(t *testing.T) {
	b := newNightlyBranch(t, nightlyOn)
	b.night(t.Context(), 2)
	b.reply = func(side string, _ int) string { return map[string]string{"main": "yes", "head": "no"}[side] }
	saved := b.pull().Remeasured.SavedCalls
	if want := confirm.Usual(nightlyCases, 0) - confirm.Usual(0, nightlyCases); saved != want {
		t.Errorf("the pull request saved %d calls, want %d", saved, want)
	}
	b.reply = nil
	b.pull() // the same head again
	n := b.night(t.Context(), 3).Nightly
	if n.Balance.SavedCalls != saved {
		t.Errorf("the balance is %+v, want %d calls saved", n.Balance, saved)
	}
	if got, want := n.String(), "0 further measurements for the history. In 14 days these took 48 calls ($0.05) and saved pull requests about 4 calls."; got != want {
		t.Errorf("it says %q\nwant    %q", got, want)
	}
}

// TestNothingIsSavedWithoutNights: a history that other runs made counts for nobody.
func TestNothingIsSavedWithoutNights(t *testing.T) {
	b := newNightlyBranch(t, "")
	for day := 2; day < 2+confirm.Enough; day++ {
		b.night(t.Context(), day)
	}
	if saved := b.pull().Remeasured.SavedCalls; saved != 0 {
		t.Errorf("%d calls are saved", saved)
	}
}

// TestTheBudgetBoundsTheNight: skipped cases are made up for, the shortest histories
// first, and the verdict comes from the scheduled measurement.
func TestTheBudgetBoundsTheNight(t *testing.T) {
	b := newNightlyBranch(t, nightlyOn+"budget: {calls: 20}\n")
	r := b.night(t.Context(), 2)
	if n := r.Nightly; b.calls != 20 || n.Calls != 20-nightlyCases || !n.Short || r.Gate.Result != report.GatePass {
		t.Errorf("%d calls, %+v, the gate is %v", b.calls, n, r.Gate)
	}
	for i := range nightlyCases {
		if n := b.asked[fmt.Sprint("case ", i)]; n < 1 || n > 2 {
			t.Errorf("case %d was asked %d times, want 1 or 2", i, n)
		}
	}
	for day := 3; day < 12; day++ {
		b.night(t.Context(), day)
	}
	b.asked = map[string]int{}
	b.night(t.Context(), 12)
	b.wantAsked("a night in the end", 1)
}

// TestANightThatIsInterruptedGoesOn and makes no call twice but the one in flight.
func TestANightThatIsInterruptedGoesOn(t *testing.T) {
	for k := 0; k < nightlyCases*confirm.Enough; k += 7 { // each makes a ledger
		b := newNightlyBranch(t, nightlyOn)
		ctx, stop := context.WithCancel(t.Context())
		b.onCall = func(n int) {
			if n == k {
				stop()
			}
		}
		b.night(ctx, 2)
		stop()
		b.night(t.Context(), 2)
		b.wantAsked(fmt.Sprint("interrupted at call ", k), confirm.Enough)
	}
}

// TestWhatNothingIsLeftToChanceIn has no history.
func TestWhatNothingIsLeftToChanceIn(t *testing.T) {
	b := newNightlyBranch(t, nightlyOn)
	b.provider = "mock, replies: [{reply: yes}]"
	if n := b.night(t.Context(), 2).Nightly; cmp.Or(n.Measurements, n.Calls) != 0 {
		t.Errorf("it says %+v", n)
	}
}
