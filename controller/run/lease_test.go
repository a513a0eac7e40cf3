package run_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// fixtures are several openings of one ledger, as several processes have it.
func fixtures(tb testing.TB, n int) []*fixture {
	tb.Helper()
	path := emptyLedger(tb)
	out := make([]*fixture, n)
	for i := range out {
		out[i] = fixtureOn(tb, path)
		out[i].path, out[i].cfg.Concurrency = path, 8
	}
	return out
}

// TestTwoRunsOfTheSameCasesCallOnce has two processes judge the same 1,000
// cases at the same time.
func TestTwoRunsOfTheSameCasesCallOnce(t *testing.T) {
	n := 1000
	var cases []*schema.Case
	for i := range n {
		cases = append(cases, greeting(fmt.Sprint(i)))
	}
	s := &script{answer: always("hello")}
	two := fixtures(t, 2)
	outcomes := make([][]run.Outcome, len(two))
	var group sync.WaitGroup
	for i, b := range two {
		group.Go(func() { outcomes[i] = b.run(t.Context(), t, s, cases...) })
	}
	group.Wait()
	if len(s.asked) != n {
		t.Errorf("%d calls, want %d", len(s.asked), n)
	}
	spent := int64(0)
	for i := range cases {
		for _, out := range outcomes {
			if out[i].Result.Verdict != verdict.Pass || out[i].Made.Calls != 1 {
				t.Fatalf("%s: %+v, want a pass by one call", cases[i].Key, out[i])
			}
			spent += int64(out[i].Spent.Calls)
		}
	}
	if spent != int64(n) {
		t.Errorf("the runs say that they made %d calls", spent)
	}
}

// TestWhatWasSpentUnderALostLeaseCounts has another run take over while a call
// is in progress, and the run cancelled before it comes back to the case.
func TestWhatWasSpentUnderALostLeaseCounts(t *testing.T) {
	b, a := fixtures(t, 1)[0], greeting("a")
	late, err := ledger.Open(t.Context(), ledger.Config{Path: b.path, Now: func() time.Time { return time.Now().Add(time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { late.Close() }) //nolint:errcheck // nobody needs it any more
	ctx, cancel := context.WithCancel(t.Context())
	e := plan.Digest(a, &plan.Environment{DefaultTarget: "bot"}).E
	s := &script{}
	s.answer = func(int, target.Request) (target.Reply, error) {
		other, err := late.BeginRun(t.Context(), ledger.Trust{Level: ledger.LevelOperator}, []string{e})
		if err == nil {
			_, err = other.Lease(t.Context(), e, "")
			t.Cleanup(func() { other.Close(context.WithoutCancel(t.Context())) }) //nolint:errcheck // nobody waits for it
		}
		cancel()
		return says("hello"), err
	}
	out := b.run(ctx, t, s, a)[0]
	if !out.Stopped || out.Spent.Calls != 1 {
		t.Errorf("the outcome is %+v, want it stopped after 1 call", out)
	}
	// The reply that it heard is not written among the calls of the other.
	calls, err := b.store.Calls(t.Context(), ledger.Scope{Trust: ledger.Trust{Level: ledger.LevelOperator}}, e, 0)
	if err != nil || len(calls) > 0 {
		t.Errorf("%d calls, %v", len(calls), err)
	}
}

// patient answers when the test lets it, and otherwise when it is given up.
type patient struct {
	script
	asking, answer chan bool
}

func newPatient() *patient {
	return &patient{script: script{answer: always("hello")}, asking: make(chan bool), answer: make(chan bool)}
}

func (h *patient) Respond(ctx context.Context, req target.Request) (target.Reply, error) {
	h.asking <- true
	select {
	case <-h.answer:
	case <-ctx.Done():
		return target.Reply{}, ctx.Err()
	}
	return h.script.Respond(ctx, req)
}

// TestACancelledCallIsFinishedForAnotherRun cancels a run while another waits
// for the same case: the call in progress is finished, and the other goes on
// behind it. Without another the call is given up.
func TestACancelledCallIsFinishedForAnotherRun(t *testing.T) {
	h, a, b := newPatient(), greeting("a"), greeting("b")
	two := fixtures(t, 2)
	var group sync.WaitGroup
	start := func(b *fixture, cases ...*schema.Case) (outcomes func() []run.Outcome, cancel func()) {
		ctx, cancel := context.WithCancel(t.Context())
		var out []run.Outcome
		group.Go(func() { out = b.run(ctx, t, h, cases...) })
		return func() []run.Outcome { group.Wait(); return out }, cancel
	}

	outcomes, cancel := start(two[0], a)
	<-h.asking
	cancel()
	if out := outcomes()[0]; !out.Stopped || len(h.asked) != 0 { // nobody answered
		t.Errorf("%+v after %d calls that nobody wants", out, len(h.asked))
	}

	first, cancel := start(two[0], a)
	<-h.asking
	second, done := start(two[1], a, b)
	defer done()
	<-h.asking // for b, so that it has said what it wants
	cancel()
	h.answer <- true
	h.answer <- true
	if out := first()[0]; !out.Stopped || out.Spent.Calls != 1 {
		t.Errorf("the run that was cancelled: %+v", out)
	}
	out := second()
	if out[0].Result.Verdict != verdict.Pass || out[0].Spent.Calls != 0 || out[1].Spent.Calls != 1 || len(h.asked) != 2 {
		t.Errorf("the other run after %d calls: %+v", len(h.asked), out)
	}
}

// TestARunThatIsHandedOverKeepsItsReplies: a call that was sent is finished and stored, no
// other is sent, and the run that goes on pays for nothing twice.
func TestARunThatIsHandedOverKeepsItsReplies(t *testing.T) {
	h, a := newPatient(), greeting("a")
	two := fixtures(t, 2)
	ctx, cancel := context.WithCancelCause(t.Context())
	first := make(chan run.Outcome, 1)
	go func() { first <- two[0].run(ctx, t, h, a)[0] }()
	<-h.asking
	cancel(fmt.Errorf("the lead was lost: %w", run.ErrHandedOver))
	time.Sleep(50 * time.Millisecond) // by now a call that is given up is over
	h.answer <- true
	if out := <-first; !out.Stopped || out.Spent.Calls != 1 {
		t.Errorf("the run that was handed over: %+v", out)
	}
	if out := two[1].run(t.Context(), t, h, a)[0]; out.Result.Verdict != verdict.Pass || out.Spent.Calls != 0 || len(h.asked) != 1 {
		t.Errorf("the run that goes on, after %d calls: %+v", len(h.asked), out)
	}
}
