package queue_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/queue"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/run/runtest"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// TestAVanishedMachine: the connections of a worker go silent while it judges, and none is
// closed. Another one takes its cases and judges them, while the first one waits for its
// calls. When it comes back, what it then knows changes nothing, and it goes on.
func TestAVanishedMachine(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	url, proxy := server.URL(t), server.Proxy(t)
	far := proxy.URL(t, url)
	q, store := open(t, url), ledgertest.Open(t, ledger.Config{Path: url})
	known := &orders{}
	var mu sync.Mutex
	asked, vanished := 0, make(chan struct{}) // asked is guarded by mu
	back := make(chan struct{})
	order := runtest.Waiting(store, "silent", 6, func(ctx context.Context) {
		mu.Lock()
		asked++
		n := asked
		mu.Unlock()
		if n > 6 {
			return // the second worker's
		}
		if n == 6 {
			close(vanished)
		}
		select {
		case <-back:
		case <-ctx.Done():
		}
	})
	begin := func(q *queue.Queue, store *ledger.Ledger) (end func()) {
		limiters := limit.Shared()
		return start(t, queue.WorkerConfig{Queue: q, Judge: known.judgeBy(t, limiters, store), Limiters: limiters, Failed: func(err error) { t.Log(err) }})
	}
	first := begin(open(t, far), ledgertest.Open(t, ledger.Config{Path: far}))
	judged := make(chan []run.Outcome, 1)
	go func() {
		outs, err := judgeOrder(t.Context(), q, queue.Interactive, known.add(order), order)
		if err != nil {
			t.Error(err)
		}
		judged <- outs
	}()
	<-vanished
	proxy.Silence()
	since := time.Now()
	begin(q, store)
	for _, out := range <-judged {
		if out.Result.Verdict != verdict.Pass {
			t.Errorf("%s is %s: %s", out.Key, out.Result.Verdict, out.Result.Reason)
		}
	}
	t.Logf("the cases of the silent worker are judged after %v", time.Since(since))
	proxy.Resume()
	close(back)
	first()
	mu.Lock()
	defer mu.Unlock()
	if asked != 12 {
		t.Errorf("the agent is asked %d times, want once by each worker for each of 6 cases", asked)
	}
	if n := outside(t, url).exec("SELECT FROM gavel.verdicts"); n != 6 {
		t.Errorf("%d verdicts are stored, want 6", n)
	}
}

// TestOutcomesWhoseAnswersAreLost are taken by a later look: the connection of the run is
// lost again and again after the server has answered.
func TestOutcomesWhoseAnswersAreLost(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	url, proxy := server.URL(t), server.Proxy(t)
	near, q := open(t, url), open(t, proxy.URL(t, url))
	release := make(chan bool)
	start(t, queue.WorkerConfig{Queue: near, Judge: func(ctx context.Context, task queue.Task, about json.RawMessage, completion queue.Completions) (queue.Judged, error) {
		select {
		case <-release:
			return polite(ctx, task, about, completion)
		case <-ctx.Done():
			return queue.Judged{Outcome: run.Outcome{Stopped: true}}, nil
		}
	}})
	const n = 10
	o := runtest.Greetings("lost", n)
	taken := make(chan bool, n)
	o.Config.Observe = func(e run.Event) {
		if e.Outcome != nil {
			taken <- true
		}
	}
	judged, failed := make(chan []run.Outcome, 1), make(chan error, 1)
	go func() {
		outs, err := judgeOrder(t.Context(), q, queue.Interactive, nil, o)
		if err != nil {
			failed <- err
			return
		}
		judged <- outs
	}()
	judge := func() {
		t.Helper()
		select {
		case release <- true:
		case err := <-failed:
			t.Fatalf("the run ends with %v, want it to go on", err)
		}
	}
	// The first outcome shows that the cases are queued: an answer that is lost before is
	// an error of the run.
	judge()
	<-taken
	for range n - 1 {
		proxy.Cut()
		judge()
		for proxy.IsCutting() {
			time.Sleep(time.Millisecond)
		}
	}
	select {
	case err := <-failed:
		t.Fatalf("the run ends with %v, want the outcomes", err)
	case outs := <-judged:
		for _, out := range outs {
			if out.Stopped {
				t.Errorf("%s has no outcome", out.Key)
			}
		}
	}
}

// TestACancelBeforeTheAnswer comes while a run queues its cases: a worker has begun, and
// the run does not know yet that they are queued. The worker gives them up.
func TestACancelBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	url, proxy := server.URL(t), server.Proxy(t)
	near, far := open(t, url), open(t, proxy.URL(t, url))
	begun, given := make(chan struct{}), make(chan struct{})
	start(t, queue.WorkerConfig{Queue: near, Drain: time.Millisecond, Judge: func(ctx context.Context, task queue.Task, _ json.RawMessage, _ queue.Completions) (queue.Judged, error) {
		close(begun)
		<-ctx.Done()
		close(given)
		return queue.Judged{Outcome: run.Outcome{Key: task.Case, Stopped: true}}, ctx.Err()
	}})
	proxy.Delay(50 * time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	judged := make(chan run.Outcome, 1)
	go func() {
		outs, err := judgeBatch(ctx, far, batch("early"))
		if err != nil {
			t.Error(err)
		}
		judged <- outs[0]
	}()
	<-begun
	cancel()
	if out := <-judged; !out.Stopped {
		t.Errorf("the outcome is %+v, want one that is stopped", out)
	}
	select {
	case <-given:
	case <-time.After(10 * time.Second):
		t.Error("the worker goes on with a case that nobody waits for")
	}
}
