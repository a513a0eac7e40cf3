package run_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// A service is a provider that is spoken to over HTTP, in the time of a bubble.
// Its connections are pipes, on which time stops while bytes are there.
type service struct {
	dials  chan net.Conn
	closed chan struct{}

	mu     sync.Mutex
	calls  int              // guarded by mu; dials that were refused are among them
	handle http.HandlerFunc // guarded by mu; nil makes it a host that has no such port
}

// answers makes the service handle calls in another way from now on.
func (s *service) answers(handle http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = handle
}

func serving(t *testing.T, handle http.HandlerFunc) *service {
	s := &service{handle: handle, dials: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handle := s.called()
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		handle(w, r)
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve(s) //nolint:errcheck // it ends with the test
	}()
	t.Cleanup(func() {
		server.Close() //nolint:errcheck // it ends with the test
		<-served
	})
	return s
}

// refuses reports, and counts, that the service takes no connection.
func (s *service) refuses() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handle == nil {
		s.calls++
	}
	return s.handle == nil
}

// called counts a call, and returns how it is handled.
func (s *service) called() http.HandlerFunc {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	return s.handle
}

// made takes the number of calls since the last time.
func (s *service) made() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.calls
	s.calls = 0
	return n
}

func (s *service) Accept() (net.Conn, error) {
	select {
	case c := <-s.dials:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *service) Close() error   { close(s.closed); return nil }
func (s *service) Addr() net.Addr { return &net.UnixAddr{Name: "service"} }

// open is the service as a target.
func (s *service) open(t *testing.T, name string) run.Target {
	t.Helper()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		if s.refuses() {
			return nil, errors.New("connect: connection refused")
		}
		here, there := net.Pipe()
		select {
		case s.dials <- there:
			return here, nil
		case <-s.closed: // the call that wanted the connection got another one
			return nil, net.ErrClosed
		}
	}}
	t.Cleanup(transport.CloseIdleConnections)
	cfg := config.Target{Name: name, Provider: config.HTTP, Kind: config.Agent, URL: "http://" + name + ".test/respond"}
	agent, err := target.New(cfg, target.Env{Transport: transport, Lookup: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	return run.Target{Target: agent, Config: cfg}
}

func hello(w http.ResponseWriter, _ *http.Request) { answer(w, "hello") }

func answer(w http.ResponseWriter, text string) {
	json.NewEncoder(w).Encode(map[string]any{"messages": []schema.Message{{Role: schema.RoleAssistant, Content: text}}}) //nolint:errcheck // the client sees it
}

// status answers each call with a status, and asks to wait where wait is not "".
func status(code int, wait string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if wait != "" {
			w.Header().Set("Retry-After", wait)
		}
		http.Error(w, `{"error":{"message":"so it is"}}`, code)
	}
}

// A field is many cases, which their target and their judge are asked for.
type field struct {
	*fixture
	agent, judge *service
	breakers     limit.Breakers
	judged       bool
	n            int
	timeout      time.Duration
}

// run judges the cases, and tells how long that took.
func (f *field) run(t *testing.T) ([]run.Outcome, time.Duration) {
	t.Helper()
	operator := ledger.Trust{Level: ledger.LevelOperator}
	cfg := run.Config{
		Ledger: f.store, Trust: operator, Targets: map[string]run.Target{"bot": f.agent.open(t, "bot")}, Breakers: &f.breakers,
		Roles: map[schema.Role]string{schema.Judge: "judge"}, Clock: clock.Funcs{RandomFunc: func() float64 { return 1 }},
	}
	if f.judged {
		cfg.Targets["judge"] = f.judge.open(t, "judge")
	}
	var jobs []run.Job
	for i := range f.n {
		c := greeting(fmt.Sprint(i))
		c.Policy.Timeout = cmp.Or(f.timeout, 2*time.Minute)
		if f.judged {
			c.Evaluators = append(c.Evaluators, schema.Evaluator{Name: "judge", Weight: 1, Spec: evaluator.Prompt{Template: "Good?"}})
		}
		env := plan.Environment{DefaultTarget: "bot", Roles: cfg.Roles}
		jobs = append(jobs, run.Job{Case: c, Target: "bot", Scope: ledger.Scope{Trust: operator}, Digests: plan.Digest(c, &env)})
	}
	start := time.Now()
	out, err := run.Run(t.Context(), cfg, jobs)
	if err != nil {
		t.Fatal(err)
	}
	return out, time.Since(start)
}

// ends counts the outcomes: those that passed, that ended in an error of their
// own, and that were not run.
func ends(outcomes []run.Outcome) (passed, failed, unrun int) {
	for _, out := range outcomes {
		switch {
		case out.Unrun != "":
			unrun++
		case out.Result.Verdict == verdict.Pass:
			passed++
		default:
			failed++
		}
	}
	return passed, failed, unrun
}

// TestAbuseAProviderThatIsDown has many cases for a provider that is down in each way:
// it gets a few requests, and skipped cases say why.
func TestAbuseAProviderThatIsDown(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handle  http.HandlerFunc // nil refuses connections
		within  time.Duration
		because string
		cases   int
	}{
		{"no such port", nil, 5 * time.Second, "connection refused", 400},
		{"500", status(500, ""), 5 * time.Second, "500 Internal Server Error", 400},
		{"503 with a wait", status(503, "2"), 15 * time.Second, "503 Service Unavailable", 60},
		{"401", status(401, ""), 5 * time.Second, "401 Unauthorized", 60},
		{"404", status(404, ""), 5 * time.Second, "404 Not Found", 60},
		{"429", status(429, ""), 5 * time.Minute, "429 Too Many Requests", 400},
		{"429 with a wait", status(429, "60"), 5 * time.Minute, "429 Too Many Requests", 60},
		{"429 with a second", status(429, "1"), 5 * time.Minute, "429 Too Many Requests", 60},
		{"no reply", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 5 * time.Minute, "no reply in time", 60},
		{"cut off", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 5 * time.Second, "EOF", 60},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := tt.cases
				f := field{fixture: newFixture(t), agent: serving(t, tt.handle), n: n}
				out, took := f.run(t)
				if calls := f.agent.made(); calls > 30 {
					t.Errorf("%d calls", calls)
				}
				if took > tt.within {
					t.Errorf("it takes %s", took)
				}
				last := out[len(out)-1].Unrun
				if !strings.HasPrefix(last, "not run: target bot is down: ") || !strings.Contains(last, "calls in a row failed, the last with: ") || !strings.Contains(last, tt.because) {
					t.Errorf("it was not run since %q", last)
				}
				if passed, _, unrun := ends(out); passed != 0 || unrun < n-20 {
					t.Errorf("%d passed, %d were not run", passed, unrun)
				}

				// The next run asks once, and a provider that is back is asked for all.
				f.n = 30
				_, took = f.run(t)
				if calls := f.agent.made(); calls != 1 || took > tt.within {
					t.Errorf("it is tried again with %d calls in %s", calls, took)
				}
				f.agent.answers(hello)
				out, _ = f.run(t)
				if passed, _, _ := ends(out); passed != 30 || f.agent.made() != 30 {
					t.Errorf("%d passed when it was back", passed)
				}
			})
		})
	}
}

// TestARequestThatIsRefusedIsNoOutage makes a provider refuse the request of each of
// many cases: it gets all of them.
func TestARequestThatIsRefusedIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := field{fixture: newFixture(t), agent: serving(t, status(400, "")), n: 40}
		out, _ := f.run(t)
		if _, failed, _ := ends(out); failed != 40 || f.agent.made() != 40 {
			t.Errorf("%d ended in an error of their own", failed)
		}
	})
}

// TestAbuseAJudgeThatIsDown has the judge of all cases down: the agent is not
// asked for what nobody can judge.
func TestAbuseAJudgeThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 400
		f := field{fixture: newFixture(t), agent: serving(t, hello), judge: serving(t, status(500, "")), judged: true, n: n}
		out, _ := f.run(t)
		asked, judging := f.agent.made(), f.judge.made()
		if asked > 20 || judging > 10 {
			t.Errorf("the agent was called %d times, the judge %d", asked, judging)
		}
		if last := out[n-1].Unrun; !strings.HasPrefix(last, "not run: target judge is down: 10 calls in a row failed") {
			t.Errorf("it was not run since %q", last)
		}
		f.judge.answers(func(w http.ResponseWriter, _ *http.Request) { answer(w, `{"score": 1, "reason": "Fine."}`) })
		out, _ = f.run(t)
		if passed, _, _ := ends(out); passed != n || f.agent.made() != n-asked {
			t.Errorf("%d passed when the judge was back", passed)
		}
	})
}

// TestAbuseAStormOfRefusals has providers that answer only so often, in the
// ways in which they count. All cases are judged, and few calls are in vain.
func TestAbuseAStormOfRefusals(t *testing.T) {
	for _, tt := range []struct {
		name    string
		allow   func(now time.Duration, underway int) (wait time.Duration, ok bool)
		latency time.Duration
	}{
		{"one a second", fixed(1, time.Second, true), time.Second},
		{"five a second, and no wait is named", fixed(5, time.Second, false), 50 * time.Millisecond},
		{"sixty a minute", fixed(60, time.Minute, true), time.Second},
		{"sixty a minute, and no wait is named", fixed(60, time.Minute, false), 50 * time.Millisecond},
		{"four at once", atOnce(4), time.Second},
		{"nothing for half a minute", func(now time.Duration, _ int) (time.Duration, bool) {
			return 0, now > 30*time.Second
		}, time.Second},
		{"a few seconds of each minute", func(now time.Duration, _ int) (time.Duration, bool) {
			return 5 * time.Second, now%time.Minute > 5*time.Second
		}, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := 400
				f := field{fixture: newFixture(t), n: n, agent: serving(t, rationed(tt.allow, tt.latency))}
				out, _ := f.run(t)
				if passed, failed, unrun := ends(out); passed != n {
					t.Errorf("%d cases passed, %d ended in an error, %d were not run: %+v", passed, failed, unrun, out[n-1])
				}
				if calls := f.agent.made(); calls > n+80 {
					t.Errorf("%d calls", calls)
				}
			})
		})
	}
}

// rationed answers after some time the calls that are allowed, and refuses the
// others.
func rationed(allow func(now time.Duration, underway int) (wait time.Duration, ok bool), latency time.Duration) http.HandlerFunc {
	start := time.Now()
	var mu sync.Mutex
	underway := 0 // guarded by mu
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		underway += n
	}
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		wait, ok := allow(time.Since(start), underway)
		mu.Unlock()
		switch {
		case ok:
			count(1)
			time.Sleep(latency)
			count(-1)
			answer(w, "hello")
		case wait > 0:
			status(429, fmt.Sprint(wait.Seconds()))(w, r)
		default:
			status(429, "")(w, r)
		}
	}
}

// fixed allows so many calls in each window, and tells when the next begins.
func fixed(n int, window time.Duration, told bool) func(time.Duration, int) (time.Duration, bool) {
	var current time.Duration
	used := 0
	return func(now time.Duration, _ int) (time.Duration, bool) {
		if at := now.Truncate(window); at != current {
			current, used = at, 0
		}
		if used++; used <= n {
			return 0, true
		}
		if !told {
			return 0, false
		}
		return current + window - now, false
	}
}

func atOnce(n int) func(time.Duration, int) (time.Duration, bool) {
	return func(_ time.Duration, underway int) (time.Duration, bool) { return 0, underway < n }
}

// TestWaitsCountIntoTheTimeout has a provider ask for a wait that is longer than
// what a case has left: it is not waited for.
func TestWaitsCountIntoTheTimeout(t *testing.T) {
	for _, tt := range []struct {
		name   string
		handle http.HandlerFunc
		rate   int
		calls  int
		within time.Duration
		reason string
	}{
		{"the provider's", status(429, "30"), 0, 1, time.Second, "target bot: no answer within 10s: 429 Too Many Requests"},
		{"between two attempts", func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(9*time.Second + 700*time.Millisecond)
			status(500, "")(w, r)
		}, 0, 1, 10 * time.Second, "target bot: no answer within 10s: 500 Internal Server Error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := field{fixture: newFixture(t), agent: serving(t, tt.handle), n: 1, timeout: 10 * time.Second}
				out, took := f.run(t)
				if calls := f.agent.made(); calls != tt.calls || took > tt.within {
					t.Errorf("%d calls in %s", calls, took)
				}
				if got := out[0].Result.Reason; !strings.HasPrefix(got, tt.reason) {
					t.Errorf("reason %q, want %q", got, tt.reason)
				}
			})
		})
	}
}
