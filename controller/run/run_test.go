package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

type rawMessage = json.RawMessage

// A script answers each request by its function and remembers the requests.
type script struct {
	answer func(n int, req target.Request) (target.Reply, error)

	mu    sync.Mutex
	asked []target.Request
}

func (s *script) Respond(ctx context.Context, req target.Request) (target.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return target.Reply{}, ctx.Err()
	}
	s.asked = append(s.asked, req)
	return s.answer(len(s.asked)-1, req)
}

func says(text string, calls ...schema.ToolCall) target.Reply {
	return target.Reply{
		Messages: []schema.Message{{Role: schema.RoleAssistant, Content: text, ToolCalls: calls}},
		Traced:   true, Usage: verdict.Usage{Calls: 1, InputTokens: 1_000_000},
	}
}

func calls(name, args string) schema.ToolCall {
	return schema.ToolCall{ID: "1", Type: "function", Function: schema.FunctionCall{Name: name, Arguments: args}}
}

func always(text string) func(int, target.Request) (target.Reply, error) {
	return func(int, target.Request) (target.Reply, error) { return says(text), nil }
}

// A fixture runs cases on one ledger and never really waits.
type fixture struct {
	store *ledger.Ledger
	path  string // of the ledger, where several have it open
	cfg   config.Target
	slept []time.Duration

	budget   config.Budget
	pull     int
	need     run.Need // of every case
	shared   *run.Budget
	control  *run.Control
	revision string
	// clock only moves with sleeps.
	clock time.Time
}

// fresh is the file of a ledger that is empty. To make one takes longer than
// most tests do.
var fresh = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "ledger")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // it is of no use to anybody
	path := filepath.Join(folder, "ledger.db")
	store, err := ledger.Open(context.Background(), ledger.Config{Path: path})
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// emptyLedger is the path of a ledger that is the test's own but for its secret.
func emptyLedger(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "ledger.db")
	data, err := fresh()
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

func newFixture(tb testing.TB) *fixture {
	tb.Helper()
	return fixtureOn(tb, emptyLedger(tb))
}

// fixtureOn has the ledger at path, which is made where it is not there.
func fixtureOn(tb testing.TB, path string) *fixture {
	tb.Helper()
	return &fixture{store: ledgertest.Open(tb, ledger.Config{Path: path}), cfg: config.Target{Name: "bot", Kind: config.Model, Concurrency: 1}}
}

// now is the real clock where the fixture has none.
func (b *fixture) now() func() time.Time {
	if b.clock.IsZero() {
		return nil
	}
	return func() time.Time { return b.clock }
}

// open is the budget that the fixture was given, or a new one for every run.
func (b *fixture) open() *run.Budget {
	if b.shared != nil {
		return b.shared
	}
	return run.NewBudget(run.BudgetConfig{Budget: b.budget, Repository: "o/r", PullRequest: b.pull, Now: b.now()})
}

func (b *fixture) run(ctx context.Context, tb testing.TB, t target.Target, cases ...*schema.Case) []run.Outcome {
	tb.Helper()
	operator := ledger.Trust{Level: ledger.LevelOperator}
	var jobs []run.Job
	for _, c := range cases {
		jobs = append(jobs, run.Job{
			Case: c, Target: "bot", Scope: ledger.Scope{Trust: operator}, Need: b.need,
			Digests: plan.Digest(c, &plan.Environment{DefaultTarget: "bot"}),
		})
	}
	out, err := run.Run(ctx, run.Config{
		Ledger: b.store, Trust: operator, Targets: map[string]run.Target{"bot": {Target: t, Config: b.cfg}},
		Budget: b.open(), Control: b.control, Revision: b.revision, Clock: clock.Funcs{NowFunc: b.now(), RandomFunc: func() float64 { return 1 }, SleepFunc: func(_ context.Context, d time.Duration) error {
			b.slept = append(b.slept, d)
			b.clock = b.clock.Add(d)
			return nil
		}},
	}, jobs)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func greeting(key string) *schema.Case {
	return &schema.Case{
		CaseInfo: schema.CaseInfo{Key: key, Dialect: schema.DialectDomain},
		Drive:    schema.Drive{Messages: []schema.Message{{Role: schema.RoleUser, Content: "greet " + key}}},
		Policy:   schema.Policy{Iterations: 1, Timeout: time.Minute, MaxToolRounds: 3},
		Evaluators: []schema.Evaluator{{
			Name: "keyword", Weight: 1, Spec: evaluator.Keyword{Keywords: []string{"hello"}}, Rule: schema.Rule{Threshold: 1},
		}},
	}
}

func TestTransportErrorsAreTriedAgain(t *testing.T) {
	b := newFixture(t)
	b.clock = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := &script{answer: func(n int, _ target.Request) (target.Reply, error) {
		switch n {
		case 0:
			return target.Reply{}, &target.Error{Target: "bot", Retry: true, Status: 500, Message: "500"}
		case 1:
			return target.Reply{}, &target.Error{Target: "bot", Retry: true, Status: 429, After: 7 * time.Second, Message: "429"}
		}
		return says("hello"), nil
	}}
	out := b.run(t.Context(), t, s, greeting("a"))
	if out[0].Result.Verdict != verdict.Pass {
		t.Errorf("the result is %+v, want a pass", out[0].Result)
	}
	if len(b.slept) < 2 || b.slept[0] != 500*time.Millisecond || b.slept[1] != 7*time.Second {
		t.Errorf("slept %v", b.slept)
	}
}

func TestAnOutageIsAnErrorAndIsNotRemembered(t *testing.T) {
	b := newFixture(t)
	down := &script{answer: func(_ int, req target.Request) (target.Reply, error) {
		if req.Case == "b" {
			return target.Reply{}, &target.Error{Target: "bot", Retry: true, Status: 503, Message: "503 unavailable"}
		}
		return says("hello"), nil
	}}
	out := b.run(t.Context(), t, down, greeting("a"), greeting("b"))
	if out[0].Result.Verdict != verdict.Pass || out[1].Result.Verdict != verdict.Error || out[1].Result.Score != nil {
		t.Errorf("the outcomes are %+v, want a pass and an error without a score", out)
	}
	if !strings.Contains(out[1].Result.Reason, "503 unavailable, 4 attempts") {
		t.Errorf("reason %q", out[1].Result.Reason)
	}
	up := &script{answer: always("hello")}
	b.run(t.Context(), t, up, greeting("a"), greeting("b"))
	if len(up.asked) != 1 || up.asked[0].Case != "b" {
		t.Errorf("the second run asked %d times, want only the missing case", len(up.asked))
	}
}

func TestARefusalIsFinal(t *testing.T) {
	b := newFixture(t)
	s := &script{answer: func(int, target.Request) (target.Reply, error) {
		return target.Reply{}, &target.Error{Target: "bot", Status: 401, Message: "401"}
	}}
	b.run(t.Context(), t, s, greeting("a"))
	if len(s.asked) != 1 || len(b.slept) != 0 {
		t.Errorf("asked %d times, slept %v", len(s.asked), b.slept)
	}
}

func tooled(tools ...schema.Tool) *schema.Case {
	c := greeting("tools")
	c.Tools = tools
	return c
}

func TestToolLoop(t *testing.T) {
	mock := func(kind, body string) *schema.Mock { return &schema.Mock{Kind: kind, Body: body} }
	for _, test := range []struct {
		name  string
		tool  schema.Tool
		mocks map[string][]config.ToolMock
		ask   string
		want  string // the tool's answer, or the error
	}{
		{"json mock", schema.Tool{Name: "get", Mock: mock("json", `{"a":1}`)}, nil, "get", `{"a":1}`},
		{"no mock", schema.Tool{Name: "get"}, nil, "get", `{"error":"tool get has no mock response"}`},
		{"unknown tool", schema.Tool{Name: "get"}, nil, "put", `{"error":"there is no tool put"}`},
		{"code mock", schema.Tool{Name: "get", File: "tools/get.json", Mock: mock("python", "x")}, nil, "get", "error: tool get was called, but its mock is python code"},
		{"target's mock", schema.Tool{Name: "get", Mock: mock("python", "x")}, map[string][]config.ToolMock{"get": {{Response: []byte(`"from the target"`)}}}, "get", "from the target"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newFixture(t)
			b.cfg.Mocks = test.mocks
			s := &script{answer: func(n int, _ target.Request) (target.Reply, error) {
				if n == 0 {
					return says("", calls(test.ask, `{"q":1}`)), nil
				}
				return says("hello"), nil
			}}
			out := b.run(t.Context(), t, s, tooled(test.tool))[0]
			if reason, isError := strings.CutPrefix(test.want, "error: "); isError {
				if out.Result.Verdict != verdict.Error || !strings.Contains(out.Result.Reason, reason) {
					t.Errorf("the result is %+v, want an error with the reason of the table", out.Result)
				}
				return
			}
			if len(s.asked) != 2 || out.Result.Verdict != verdict.Pass {
				t.Fatalf("%d calls, %+v", len(s.asked), out.Result)
			}
			last := s.asked[1].Messages[len(s.asked[1].Messages)-1]
			want := schema.Message{Role: schema.RoleTool, Content: test.want, ToolCallID: "1", Name: test.ask}
			if diff := cmp.Diff(want, last); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMocksOfATargetAreUsedOnceAndTheLastRepeats(t *testing.T) {
	b := newFixture(t)
	b.cfg.Mocks = map[string][]config.ToolMock{"get": {
		{Params: map[string]rawMessage{"q": rawMessage(`" One "`)}, Response: []byte(`"first"`)},
		{Params: map[string]rawMessage{"q": rawMessage(`"one"`)}, Response: []byte(`"second"`)},
		{Params: map[string]rawMessage{"q": rawMessage(`"two"`)}, Response: []byte(`"other"`)},
	}}
	s := &script{answer: func(n int, _ target.Request) (target.Reply, error) {
		if n < 3 {
			return says("", calls("get", `{"q":"ONE","more":1}`)), nil
		}
		return says("hello"), nil
	}}
	b.run(t.Context(), t, s, tooled(schema.Tool{Name: "get"}))
	var got []string
	for _, m := range s.asked[3].Messages {
		if m.Role == schema.RoleTool {
			got = append(got, m.Content)
		}
	}
	if diff := cmp.Diff([]string{"first", "second", "second"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheToolLoopEnds(t *testing.T) {
	b := newFixture(t)
	s := &script{answer: func(int, target.Request) (target.Reply, error) { return says("", calls("get", "{}")), nil }}
	out := b.run(t.Context(), t, s, tooled(schema.Tool{Name: "get"}))[0]
	if out.Result.Verdict != verdict.Error || !strings.Contains(out.Result.Reason, "still asks for tools after 3 rounds") {
		t.Errorf("the result is %+v, want an error after 3 rounds of tools", out.Result)
	}
}

func TestAnInterruptedConversationRepeatsNoCall(t *testing.T) {
	b := newFixture(t)
	c := tooled(schema.Tool{Name: "get", Mock: &schema.Mock{Kind: "text", Body: "x"}})
	broken := &script{answer: func(n int, _ target.Request) (target.Reply, error) {
		if n == 2 {
			return target.Reply{}, &target.Error{Target: "bot", Message: "gone"}
		}
		return says(fmt.Sprint("turn ", n), calls("get", "{}")), nil
	}}
	b.run(t.Context(), t, broken, c)
	again := &script{answer: always("hello")}
	out := b.run(t.Context(), t, again, c)[0]
	if len(again.asked) != 1 || out.Result.Verdict != verdict.Pass {
		t.Fatalf("asked %d times, %+v", len(again.asked), out.Result)
	}
	if out.Spent.Calls != 1 || out.Made.Calls != 3 {
		t.Errorf("spent %d calls of %d, want 1 of 3", out.Spent.Calls, out.Made.Calls)
	}
	if got := out.Transcripts[0].Messages[1].Content; got != "turn 0" {
		t.Errorf("the first turn is %q, want the journaled one", got)
	}
}

func TestMoreIterationsRunOnlyTheMissingSamples(t *testing.T) {
	b := newFixture(t)
	s := &script{answer: always("hello")}
	b.run(t.Context(), t, s, greeting("a"))
	three := greeting("a")
	three.Policy.Iterations = 3
	out := b.run(t.Context(), t, s, three)[0]
	if len(s.asked) != 3 || out.Result.Samples != 3 || out.Spent.Calls != 2 {
		t.Errorf("%d calls in all, %d samples, %d spent", len(s.asked), out.Result.Samples, out.Spent.Calls)
	}
}

func TestCancellingKeepsWhatIsDone(t *testing.T) {
	b := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{answer: func(_ int, req target.Request) (target.Reply, error) {
		if req.Case == "b" {
			cancel()
			return target.Reply{}, context.Canceled
		}
		return says("hello"), nil
	}}
	out := b.run(ctx, t, s, greeting("a"), greeting("b"), greeting("c"))
	if out[0].Stopped && out[1].Stopped == false {
		t.Errorf("the outcomes are %+v, want case b stopped where case a is", out)
	}
	if !out[1].Stopped || out[1].Result.Verdict != verdict.Error {
		t.Errorf("the case in progress: %+v", out[1])
	}
	s.answer = always("hello")
	before := len(s.asked)
	done := 0
	for _, o := range out {
		if !o.Stopped {
			done++
		}
	}
	b.run(t.Context(), t, s, greeting("a"), greeting("b"), greeting("c"))
	if got := len(s.asked) - before; got > 3-done {
		t.Errorf("%d cases were done, but %d calls followed", done, got)
	}
}

// TestAStoppedCaseHasNoResult cancels the second sample of a case whose first is
// stored and has passed: what it has so far is not a result.
func TestAStoppedCaseHasNoResult(t *testing.T) {
	b := newFixture(t)
	c := greeting("a")
	b.run(t.Context(), t, &script{answer: always("hello")}, c)
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{answer: func(int, target.Request) (target.Reply, error) {
		cancel()
		return target.Reply{}, context.Canceled
	}}
	c.Policy.Iterations = 2
	out := b.run(ctx, t, s, c)[0]
	want := verdict.Result{Verdict: verdict.Error, Reason: "the run was stopped before the case was judged"}
	if diff := cmp.Diff(want, out.Result); diff != "" || !out.Stopped || out.Made.Calls != 1 || out.Spent.Calls != 0 {
		t.Errorf("stopped %v, made %+v (-want +got):\n%s", out.Stopped, out.Made, diff)
	}
}

func TestATimeoutNamesItsLimit(t *testing.T) {
	b := newFixture(t)
	c := greeting("a")
	c.Policy.Timeout = time.Nanosecond
	slow := slowTarget{}
	out := b.run(t.Context(), t, slow, c)[0]
	if out.Result.Verdict != verdict.Error || !strings.Contains(out.Result.Reason, "timed out after 1ns") {
		t.Errorf("the result is %+v, want an error by a timeout of 1ns", out.Result)
	}
}

// slowTarget answers when it is given up.
type slowTarget struct{}

func (slowTarget) Respond(ctx context.Context, _ target.Request) (target.Reply, error) {
	<-ctx.Done()
	return target.Reply{}, &target.Error{Target: "bot", Retry: true, Message: "given up", Err: ctx.Err()}
}

func TestCostIsThatOfThePrice(t *testing.T) {
	b := newFixture(t)
	b.cfg.Price = &config.Price{Input: 0.25}
	out := b.run(t.Context(), t, &script{answer: always("hello")}, greeting("a"))[0]
	if cost := out.Spent.Cost(); cost == nil || *cost != 0.25 {
		t.Errorf("cost %v", cost)
	}
}

func TestABudgetStopsBeforeTheCall(t *testing.T) {
	two := int64(2)
	b := newFixture(t)
	b.budget = config.Budget{Limits: config.Limits{Calls: &two}}
	s := &script{answer: always("hello")}
	out := b.run(t.Context(), t, s, greeting("a"), greeting("b"), greeting("c"))
	judged := 0
	for _, o := range out {
		if o.Result.Verdict == verdict.Pass {
			judged++
		} else if !strings.Contains(o.Result.Reason, "not run: the budget of 2 calls is not enough") {
			t.Errorf("the result is %+v, want it not run for the budget of 2 calls", o.Result)
		}
	}
	if len(s.asked) != 2 || judged != 2 {
		t.Errorf("%d calls, %d judged", len(s.asked), judged)
	}
}

func TestSecretsAreNotKept(t *testing.T) {
	b := newFixture(t)
	operator := ledger.Trust{Level: ledger.LevelOperator}
	c := greeting("a")
	c.Drive.Messages[0].Content += ", whose word is hunter2"
	digests := plan.Digest(c, &plan.Environment{})
	tells := func(int, target.Request) (target.Reply, error) {
		reply := says("hello hunter2")
		reply.Messages[0].Opaque = json.RawMessage(`"signed hunter2"`)
		return reply, nil
	}
	_, err := run.Run(t.Context(), run.Config{
		Ledger: b.store, Trust: operator,
		Targets: map[string]run.Target{"bot": {Target: &script{answer: tells}, Config: b.cfg}},
		Scrub:   func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") },
	}, []run.Job{{Case: c, Target: "bot", Digests: digests, Scope: ledger.Scope{Trust: operator}}})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := b.store.Calls(t.Context(), ledger.Scope{Trust: operator}, digests.E, 0)
	if err != nil || len(stored) != 1 {
		t.Fatal(stored, err)
	}
	executions, _, err := b.store.Executions(t.Context(), ledger.Scope{Trust: operator}, digests.E)
	if err != nil {
		t.Fatal(err)
	}
	transcript := executions[0].Transcript
	if all := string(stored[0].Request) + string(stored[0].Reply) + fmt.Sprint(transcript.Messages[len(c.Drive.Messages):]); strings.Contains(all, "hunter2") {
		t.Errorf("kept %s", all)
	}
}

func TestAClosedLedgerEndsTheRun(t *testing.T) {
	store, err := ledger.Open(t.Context(), ledger.Config{Path: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = run.Run(t.Context(), run.Config{
		Ledger: store, Targets: map[string]run.Target{"bot": {Target: &script{answer: always("hello")}}},
	}, []run.Job{{Case: greeting("a"), Target: "bot"}})
	if err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// BenchmarkRun judges cases whose target answers at once.
func BenchmarkRun(b *testing.B) {
	var cases []*schema.Case
	for i := range 1000 {
		cases = append(cases, greeting(fmt.Sprint(i)))
	}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		w := newFixture(b)
		w.cfg.Concurrency = 20
		b.StartTimer()
		w.run(b.Context(), b, &script{answer: always("hello")}, cases...)
	}
}

// TestEqualCasesAreAskedOnce has cases that differ in their rule alone, or in
// their key alone, share one call.
func TestEqualCasesAreAskedOnce(t *testing.T) {
	b := newFixture(t)
	b.cfg.Concurrency = 8
	s := &script{answer: func(int, target.Request) (target.Reply, error) { return says("hello"), nil }}
	var cases []*schema.Case
	for _, key := range []string{"a", "b", "c"} {
		c := greeting("everybody")
		c.Key = key
		cases = append(cases, c)
	}
	cases[2].Evaluators[0].Spec = evaluator.Keyword{Keywords: []string{"goodbye"}}
	out := b.run(t.Context(), t, s, cases...)
	if len(s.asked) != 1 {
		t.Errorf("the target was asked %d times, want once", len(s.asked))
	}
	for i, want := range []verdict.Verdict{verdict.Pass, verdict.Pass, verdict.Fail} {
		if out[i].Key != cases[i].Key || out[i].Result.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", out[i].Key, out[i].Result.Verdict, cases[i].Key, want)
		}
	}
}

// TestAbuseSamplesBeginAsThereIsRoom has a case of more samples than memory
// could hold. The run is stopped in the midst of it.
func TestAbuseSamplesBeginAsThereIsRoom(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	b := newFixture(t)
	c := greeting("a")
	c.Policy.Iterations = 1_000_000_000
	s := &script{answer: func(n int, _ target.Request) (target.Reply, error) {
		if n == 9 {
			stop()
		}
		return says("hello"), nil
	}}
	out := b.run(ctx, t, s, c)[0]
	if !out.Stopped {
		t.Errorf("the case was %s: %s", out.Result.Verdict, out.Result.Reason)
	}
	if len(s.asked) > 12 {
		t.Errorf("%d calls were made, though the run was stopped at the tenth", len(s.asked))
	}
}

// TestAbuseSharesOfSamplesBeginAsThereIsRoom is the same for a case that asks for a share of
// its samples.
func TestAbuseSharesOfSamplesBeginAsThereIsRoom(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	b := newFixture(t)
	c := greeting("a")
	c.Policy.Iterations, c.Policy.PassShare = 1_000_000_000, 0.5
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := &script{answer: func(n int, _ target.Request) (target.Reply, error) {
		if n == 9 {
			runtime.ReadMemStats(&after)
			stop()
		}
		return says("hello"), nil
	}}
	if out := b.run(ctx, t, s, c)[0]; !out.Stopped || len(s.asked) > 12 {
		t.Errorf("%d calls, though the run was stopped at the tenth: %s: %s", len(s.asked), out.Result.Verdict, out.Result.Reason)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 64<<20 {
		t.Errorf("ten samples took %d MiB", got>>20)
	}
}

// TestAbuseEverySampleIsTaken also where there is room for a few at once.
func TestAbuseEverySampleIsTaken(t *testing.T) {
	b := newFixture(t)
	c := greeting("a")
	c.Policy.Iterations = 40
	s := &script{answer: always("hello")}
	for _, want := range []int{40, 0} { // the second time all are stored
		before := len(s.asked)
		out := b.run(t.Context(), t, s, c)[0]
		if got := len(s.asked) - before; got != want || out.Result.Samples != 40 {
			t.Errorf("%d calls and %d samples, want %d and 40", got, out.Result.Samples, want)
		}
	}
}
