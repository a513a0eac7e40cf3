// Package runtest has the conformance tests of every way to execute a plan, in one
// process or in many.
package runtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// An Order is the input of an executor.
type Order struct {
	Config run.Config
	Jobs   []run.Job
	// Budget is the run's budget; the executor sets the Config's budget from it.
	Budget config.Budget
	// Background is set if nobody waits for the run.
	Background bool
}

// A Fixture is a way to execute a plan.
type Fixture struct {
	Ledger *ledger.Ledger
	// Execute judges as [run.Run] does. Several calls may overlap.
	Execute func(ctx context.Context, o Order) ([]run.Outcome, error)
	// Processes is the number of judging processes: each detects by itself that an
	// endpoint is down.
	Processes int
	// Kill, if set, ends one of the processes without any warning.
	Kill func()
}

// Conformance tests the fixtures of open.
func Conformance(t *testing.T, open func(t *testing.T) Fixture) {
	for _, tt := range []struct {
		name string
		test func(*testing.T, Fixture)
	}{
		{"order", testOrder}, {"duplicates", testDuplicates}, {"cancel", testCancel}, {"crash", testCrash},
		{"class", testClass}, {"budget", testBudget}, {"breaker", testBreaker}, {"outage", testOutage}, {"limit", testLimit},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, open(t)) })
	}
}

// A Target answers by a function and counts the requests.
type Target struct {
	mu     sync.Mutex
	answer func(ctx context.Context, req target.Request) (target.Reply, error) // guarded by mu
	asked  map[string]int                                                      // by case; guarded by mu
}

// Respond counts and answers.
func (s *Target) Respond(ctx context.Context, req target.Request) (target.Reply, error) {
	s.mu.Lock()
	if s.asked == nil {
		s.asked = map[string]int{}
	}
	s.asked[req.Case]++
	answer := s.answer
	s.mu.Unlock()
	return answer(ctx, req)
}

// set changes the target's answers from now on.
func (s *Target) set(answer func(ctx context.Context, req target.Request) (target.Reply, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// calls returns the number of requests, and the maximum for a single case.
func (s *Target) calls() (all, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.asked {
		all, most = all+n, max(most, n)
	}
	return all, most
}

// hello greets, unless the case is meant to fail.
func hello(_ context.Context, req target.Request) (target.Reply, error) {
	text := "hello"
	if strings.Contains(req.Messages[0].Content, "rude") {
		text = "go away"
	}
	return target.Reply{
		Messages: []schema.Message{{Role: schema.RoleAssistant, Content: text}}, Traced: true, Usage: verdict.Usage{Calls: 1, InputTokens: 10},
	}, nil
}

// greetingCase returns a case that passes if the target greets.
func greetingCase(key string) *schema.Case {
	return &schema.Case{
		CaseInfo: schema.CaseInfo{Key: key, Dialect: schema.DialectDomain},
		Drive:    schema.Drive{Messages: []schema.Message{{Role: schema.RoleUser, Content: "greet " + key}}},
		Policy:   schema.Policy{Iterations: 1, Timeout: time.Minute, MaxToolRounds: 3},
		Evaluators: []schema.Evaluator{{
			Name: "keyword", Weight: 1, Spec: evaluator.Keyword{Keywords: []string{"hello"}}, Rule: schema.Rule{Threshold: 1},
		}},
	}
}

// order returns an order of numbered cases.
func order(f Fixture, s *Target, name string, n int) Order {
	operator := ledger.Trust{Level: ledger.LevelOperator}
	cfg := config.Target{Name: "bot", Kind: config.Model, Provider: "openai", Model: "small", Concurrency: 4}
	o := Order{Config: run.Config{
		Ledger: f.Ledger, Trust: operator, Targets: map[string]run.Target{"bot": {Target: s, Config: cfg}},
		Clock: clock.Funcs{SleepFunc: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }, RandomFunc: func() float64 { return 1 }},
	}}
	for i := range n {
		c := greetingCase(fmt.Sprintf("%s%03d", name, i))
		o.Jobs = append(o.Jobs, run.Job{
			Case: c, Target: "bot", Scope: ledger.Scope{Trust: operator}, Digests: plan.Digest(c, &plan.Environment{DefaultTarget: "bot"}),
			Need: run.Need{
				Likely: ledger.Amount{Calls: 1, Tokens: 10}, Peak: ledger.Amount{Calls: 1, Tokens: 10}, Least: ledger.Amount{Calls: 1, Tokens: 10},
			},
		})
	}
	return o
}

// passed counts the outcomes that pass.
func passed(outs []run.Outcome) (n int) {
	for _, out := range outs {
		if out.Result.Verdict == verdict.Pass && !out.Stopped {
			n++
		}
	}
	return n
}

// withDeadline returns a context that ends a hanging test.
func withDeadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func execute(ctx context.Context, t *testing.T, f Fixture, o Order) []run.Outcome {
	t.Helper()
	outs, err := f.Execute(ctx, o)
	if err != nil || len(outs) != len(o.Jobs) {
		t.Fatalf("%d outcomes of %d jobs, error %v", len(outs), len(o.Jobs), err)
	}
	return outs
}

// testOrder: outcomes are in the order of the jobs, each is observed, and a second run
// makes no call.
func testOrder(t *testing.T, f Fixture) {
	s := &Target{answer: hello}
	o := order(f, s, "polite", 12)
	o.Jobs = append(o.Jobs, order(f, s, "rude", 3).Jobs...)
	var mu sync.Mutex
	observed := map[string]verdict.Verdict{}
	o.Config.Observe = func(e run.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Outcome != nil {
			observed[e.Key] = e.Outcome.Result.Verdict
		}
	}
	for range 2 {
		outs := execute(withDeadline(t), t, f, o)
		for i, out := range outs {
			want := verdict.Pass
			if i >= 12 {
				want = verdict.Fail
			}
			if out.Key != o.Jobs[i].Case.Key || out.Result.Verdict != want || observed[out.Key] != want {
				t.Errorf("outcome %d is %s %s, observed as %s, want %s %s", i, out.Key, out.Result.Verdict, observed[out.Key], o.Jobs[i].Case.Key, want)
			}
			if len(out.Transcripts) != 1 || len(out.Transcripts[0].Messages) != 2 {
				t.Errorf("outcome %d has the transcripts %+v", i, out.Transcripts)
			}
		}
	}
	if all, _ := s.calls(); all != 15 {
		t.Errorf("%d calls, want 15", all)
	}
}

// testDuplicates: two concurrent runs of the same cases pay for each once, even if one
// has a case twice.
func testDuplicates(t *testing.T, f Fixture) {
	s := &Target{answer: hello}
	o := order(f, s, "same", 10)
	o.Jobs = append(o.Jobs, o.Jobs[:3]...)
	ctx := withDeadline(t)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			outs, err := f.Execute(ctx, o)
			if err != nil || passed(outs) != len(o.Jobs) {
				t.Errorf("%d of %d pass, error %v", passed(outs), len(o.Jobs), err)
			}
		})
	}
	group.Wait()
	if all, most := s.calls(); all != 10 || most != 1 {
		t.Errorf("%d calls for 10 cases, %d for one of them", all, most)
	}
}

// testCancel: the end of the context cancels running calls and starts no other.
func testCancel(t *testing.T, f Fixture) {
	asked, given := make(chan bool, 100), make(chan bool, 100)
	s := &Target{answer: func(ctx context.Context, _ target.Request) (target.Reply, error) {
		asked <- true
		<-ctx.Done()
		given <- true
		return target.Reply{}, ctx.Err()
	}}
	o := order(f, s, "stuck", 40)
	ctx, cancel := context.WithCancel(withDeadline(t))
	go func() {
		<-asked
		cancel()
	}()
	outs := execute(ctx, t, f, o)
	for _, out := range outs {
		if !out.Stopped || out.Result.Verdict != verdict.Error {
			t.Errorf("the outcome is %+v, want one that is stopped", out)
		}
	}
	<-given // a running call has ended
	all, _ := s.calls()
	if all >= len(o.Jobs) {
		t.Errorf("%d of %d cases were begun", all, len(o.Jobs))
	}
	s.set(hello) // a worker may still be in a call
	if outs := execute(withDeadline(t), t, f, o); passed(outs) != len(o.Jobs) {
		t.Errorf("%d of %d pass afterwards", passed(outs), len(o.Jobs))
	}
}

// testCrash: a process that ends, or a run that is stopped, loses no verdict, and only
// calls in flight are repeated.
func testCrash(t *testing.T, f Fixture) {
	const n = 30
	ctx, cancel := context.WithCancel(withDeadline(t))
	defer cancel()
	var once sync.Once
	s := &Target{}
	s.answer = func(call context.Context, req target.Request) (target.Reply, error) {
		if all, _ := s.calls(); all > n/3 {
			once.Do(func() {
				if f.Kill != nil {
					f.Kill()
				} else {
					cancel()
				}
			})
		}
		if err := call.Err(); err != nil {
			return target.Reply{}, err
		}
		return hello(call, req)
	}
	o := order(f, s, "crash", n)
	outs := execute(ctx, t, f, o)
	if f.Kill == nil {
		if passed(outs) == n {
			t.Error("the run was not stopped")
		}
		outs = execute(withDeadline(t), t, f, o)
	}
	if passed(outs) != n {
		t.Errorf("%d of %d pass after a crash: %+v", passed(outs), n, outs)
	}
	if all, _ := s.calls(); all > n+4 {
		t.Errorf("%d calls for %d cases of which 4 may be in flight", all, n)
	}
}

// testClass: a run that people wait for ends while a background run fills all slots.
func testClass(t *testing.T, f Fixture) {
	release := make(chan bool)
	slow := &Target{answer: func(ctx context.Context, req target.Request) (target.Reply, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return hello(ctx, req)
	}}
	ctx := withDeadline(t)
	nightly := order(f, slow, "nightly", 200)
	nightly.Background = true
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() {
		if outs, err := f.Execute(ctx, nightly); err != nil || passed(outs) != 200 {
			t.Errorf("%d of 200 cases of the night pass, error %v", passed(outs), err)
		}
	})
	defer close(release)
	for slow.busy() == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	quick := order(f, &Target{answer: hello}, "pull", 10)
	// Another endpoint: this one is full.
	t2 := quick.Config.Targets["bot"]
	t2.Config.Model = "other"
	quick.Config.Targets["bot"] = t2
	if outs := execute(ctx, t, f, quick); passed(outs) != 10 {
		t.Errorf("%d of 10 cases of a pull request pass", passed(outs))
	}
	if all, _ := slow.calls(); all == 200 {
		t.Error("the night was over before")
	}
}

// busy returns the number of requests so far.
func (s *Target) busy() int { all, _ := s.calls(); return all }

// testBudget: the run makes no more calls than allowed, and the other cases give the
// reason for their missing verdicts.
func testBudget(t *testing.T, f Fixture) {
	s := &Target{answer: hello}
	o := order(f, s, "dear", 12)
	most := int64(5)
	o.Budget.Calls = &most
	outs := execute(withDeadline(t), t, f, o)
	unrun := 0
	for _, out := range outs {
		if strings.Contains(out.Unrun, "budget") || strings.Contains(out.Unrun, "calls") {
			unrun++
		}
	}
	all, _ := s.calls()
	if all != 5 || passed(outs) != 5 || unrun != 7 {
		t.Errorf("%d calls, %d verdicts and %d cases that were not run: want 5, 5 and 7: %+v", all, passed(outs), unrun, outs)
	}
}

// testBreaker: an endpoint that is down is not called forever.
func testBreaker(t *testing.T, f Fixture) {
	s := &Target{answer: func(context.Context, target.Request) (target.Reply, error) {
		return target.Reply{}, &target.Error{Target: "bot", Status: 401, Message: "401"}
	}}
	o := order(f, s, "down", 100)
	outs := execute(withDeadline(t), t, f, o)
	unrun := 0
	for _, out := range outs {
		if strings.Contains(out.Unrun, "is down") {
			unrun++
		}
	}
	all, _ := s.calls()
	if most := 10 * max(f.Processes, 1); all > most || all+unrun < 100 || passed(outs) != 0 {
		t.Errorf("%d calls and %d cases that were not run, want at most %d calls", all, unrun, most)
	}
}

// testLimit: all processes together have exactly as many calls to a target in flight as
// it allows.
func testLimit(t *testing.T, f Fixture) {
	const most = 4
	var mu sync.Mutex
	inFlight, highest := 0, 0 // guarded by mu
	full := make(chan bool)
	s := &Target{answer: func(ctx context.Context, req target.Request) (target.Reply, error) {
		mu.Lock()
		if inFlight++; inFlight > highest {
			if highest = inFlight; highest == most {
				close(full)
			}
		}
		mu.Unlock()
		defer func() { mu.Lock(); inFlight--; mu.Unlock() }()
		select {
		case <-full: // everything allowed is used
		case <-ctx.Done():
		}
		time.Sleep(2 * time.Millisecond) // shows calls beyond the limit
		return hello(ctx, req)
	}}
	outs := execute(withDeadline(t), t, f, order(f, s, "limited", 60))
	if passed(outs) != 60 || highest != most {
		t.Errorf("%d of 60 cases pass with up to %d calls in flight, want %d", passed(outs), highest, most)
	}
}

// testOutage: a provider's failure is an error that the next run repairs.
func testOutage(t *testing.T, f Fixture) {
	s := &Target{answer: func(ctx context.Context, req target.Request) (target.Reply, error) {
		if strings.HasSuffix(req.Case, "1") {
			return target.Reply{}, &target.Error{Target: "bot", Status: 400, Message: "400 bad"}
		}
		return hello(ctx, req)
	}}
	o := order(f, s, "outage", 4)
	outs := execute(withDeadline(t), t, f, o)
	if passed(outs) != 3 || outs[1].Result.Verdict != verdict.Error || !strings.Contains(outs[1].Result.Reason, "400 bad") {
		t.Errorf("the outcomes are %+v", outs)
	}
	s.set(hello) // a worker may still be in a call
	if outs = execute(withDeadline(t), t, f, o); passed(outs) != 4 {
		t.Errorf("%d of 4 pass afterwards", passed(outs))
	}
	if all, _ := s.calls(); all != 5 {
		t.Errorf("%d calls, want 5", all)
	}
}

// Passing returns an order of passing cases, with a ledger. Each calls its target once.
func Passing(store *ledger.Ledger, name string, n int) Order {
	return order(Fixture{Ledger: store}, &Target{answer: hello}, name, n)
}

// Waiting is [Passing] for a target whose calls wait before each reply, with a separate
// endpoint per name and 64 slots. The calls end with their context.
func Waiting(store *ledger.Ledger, name string, n int, wait func(context.Context)) Order {
	o := order(Fixture{Ledger: store}, &Target{answer: func(ctx context.Context, req target.Request) (target.Reply, error) {
		if wait(ctx); ctx.Err() != nil {
			return target.Reply{}, ctx.Err()
		}
		return hello(ctx, req)
	}}, name, n)
	t := o.Config.Targets["bot"]
	t.Config.Model, t.Config.Concurrency = name, 64
	o.Config.Targets["bot"] = t
	return o
}

// Greetings returns an order for cases without an open target.
func Greetings(name string, n int) Order { return order(Fixture{}, nil, name, n) }
