package queue

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
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
