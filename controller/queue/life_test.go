package queue

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/runtest"
)

// TestADatabaseThatIsAwayAtTheStart is waited for: a worker that has connected and not
// yet said that it lives does not end by itself.
func TestADatabaseThatIsAwayAtTheStart(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	q, err := Open(t.Context(), server.URL(t))
	if err == nil {
		t.Cleanup(q.Close)
		err = q.Migrate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	server.Kill(t)
	w := NewWorker(WorkerConfig{Queue: q})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	select {
	case err := <-ended:
		t.Fatalf("the worker ends with %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	server.Restart(t)
	for !w.Ready() {
		select {
		case err := <-ended:
			t.Fatalf("the worker ends with %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the worker ends with %v", err)
	}
}

// TestAWorkerThatIsAskedToEnd while the database is away ends without an error.
func TestAWorkerThatIsAskedToEnd(t *testing.T) {
	server := postgrestest.Start(t)
	q, err := Open(t.Context(), server.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	server.Kill(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := NewWorker(WorkerConfig{Queue: q}).Run(ctx); err != nil {
		t.Errorf("the worker ends with %v", err)
	}
}

// TestAWorkerThatEndsAfterAnOutage ends without an error: its connections are from before
// a restart of the database, or the database is away. Where it can it leaves the queue.
func TestAWorkerThatEndsAfterAnOutage(t *testing.T) {
	t.Parallel()
	for _, back := range []bool{true, false} {
		server := postgrestest.Start(t)
		q, err := Open(t.Context(), server.URL(t))
		if err == nil {
			t.Cleanup(q.Close)
			err = q.Migrate(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var failed []string
		polite := func(_ context.Context, task Task, _ json.RawMessage, _ Completions) (Judged, error) {
			return Judged{Outcome: run.Outcome{Key: task.Case}}, nil
		}
		w := NewWorker(WorkerConfig{Queue: q, Judge: polite, Failed: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, err.Error())
		}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		o := runtest.Greetings("greeting", 1)
		if _, err := q.Judge(t.Context(), Batch{Class: Interactive, Sides: []run.Side{{Name: "head", Config: o.Config, Jobs: o.Jobs}}}); err != nil {
			t.Fatal(err)
		}
		server.Kill(t)
		if back {
			server.Restart(t)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("with the database back %v the worker ends with %v", back, err)
		}
		if !back {
			if !strings.Contains(strings.Join(failed, "\n"), "leave the queue: ") {
				t.Errorf("nothing says that the worker could not leave the queue: %q", failed)
			}
			continue
		}
		var n int
		if err := q.pool.QueryRow(t.Context(), "SELECT count(*) FROM queue_workers").Scan(&n); err != nil || n != 0 {
			t.Errorf("%d workers are in the queue after the end, %v", n, err)
		}
	}
}

// TestNobodyIsTakenForDeadAfterAnOutage: when a database that was away comes back, all
// workers are late with their signs of life, and are given time for some.
func TestNobodyIsTakenForDeadAfterAnOutage(t *testing.T) {
	errAway := errors.New("the database is away")
	seen := caution(rounds)
	for i, step := range []struct {
		err  error
		want bool
	}{{nil, true}, {nil, true}, {errAway, false}, {nil, false}, {errAway, false}, {nil, false}, {nil, false}, {nil, true}, {nil, true}} {
		if got := seen.trusts(step.err); got != step.want {
			t.Errorf("sign %d, with the error %v: others are taken for dead: %v, want %v", i+1, step.err, got, step.want)
		}
	}
}
