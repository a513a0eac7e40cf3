package queue

import (
	"context"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/run/limit"
)

// three are workers of one database that live.
func three(t *testing.T) (workers [3]*Worker) {
	q, err := Open(t.Context(), postgrestest.URL(t))
	if err == nil {
		t.Cleanup(q.Close)
		err = q.Migrate(t.Context())
	}
	for i := range workers {
		workers[i] = NewWorker(WorkerConfig{Queue: q})
		if err == nil {
			err = workers[i].live(t.Context())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return workers
}

// settled is the usage that a worker may have after it told the others of its own.
func settled(t *testing.T, w *Worker, u limit.Usage) limit.Share {
	t.Helper()
	share, err := w.settle(t.Context(), "bot", u)
	if err != nil {
		t.Fatal(err)
	}
	return share
}

// TestSharesOfALimit: one worker alone has all of a limit, several have equal parts of
// it, and never more than it together.
func TestSharesOfALimit(t *testing.T) {
	w := three(t)
	busy := limit.Usage{Size: 10, Want: 50}
	for i, step := range []struct {
		worker, inFlight, want int
	}{
		{0, 0, 10}, // alone
		{1, 0, 0},  // nothing is free
		{0, 10, 5}, // half is for the other one
		{1, 0, 0},  // whose calls are in flight still
		{0, 5, 5},  // and have ended
		{1, 0, 5},
		{2, 0, 0},
		{0, 5, 4}, // a third, and the rest
		{2, 0, 0},
		{0, 4, 4},
		{2, 0, 1},
		{1, 5, 4},
		{1, 4, 4},
		{2, 1, 2},
	} {
		busy.InFlight = step.inFlight
		if got := settled(t, w[step.worker], busy); got.Slots != step.want || got.Part != float64(step.want)/10 {
			t.Errorf("step %d: worker %d with %d calls in flight may have %d, and %v of the rates, want %d", i, step.worker, step.inFlight, got.Slots, got.Part, step.want)
		}
	}
	// One that has nothing more to do leaves its part to the others.
	if got := settled(t, w[0], limit.Usage{Size: 10}); got.Slots != 0 {
		t.Errorf("a worker without a call may have %d in flight, want 0", got.Slots)
	}
	busy.InFlight = 2
	if got := settled(t, w[2], busy); got.Slots != 5 {
		t.Errorf("a worker that waits may have %d, want half", got.Slots)
	}
}

// TestAShareLeavesRoom: a worker does not take what another one that calls the target
// may want next, unless it wants that itself and the other one does not.
func TestAShareLeavesRoom(t *testing.T) {
	w := three(t)
	for i, step := range []struct {
		worker, wanted, want int
	}{
		{0, 4, 64}, // alone
		{1, 4, 0},  // nothing is free
		{0, 4, 4},  // since the other one waits
		{1, 4, 32}, // and has half now, as it may want more next
		{0, 4, 32},
		{1, 20, 32}, // it need not wait
		{0, 40, 32}, // nothing more is free
		{1, 20, 20}, // the other one waits
		{0, 40, 40}, // and has as much as it wants, since that one wants no more
		{1, 20, 24},
	} {
		if got := settled(t, w[step.worker], limit.Usage{Size: 64, Want: step.wanted}); got.Slots != step.want {
			t.Errorf("step %d: worker %d that wants %d may have %d, want %d", i, step.worker, step.wanted, got.Slots, step.want)
		}
	}
}

// TestADeadWorkerHasNoShare: what it had is for the others.
func TestADeadWorkerHasNoShare(t *testing.T) {
	w := three(t)
	busy := limit.Usage{Size: 4, Want: 9}
	settled(t, w[0], busy)
	if _, err := w[1].cfg.Queue.pool.Exec(t.Context(), "UPDATE queue_workers SET until = now() - interval '1 second' WHERE id = $1", w[0].id); err != nil {
		t.Fatal(err)
	}
	if got := settled(t, w[1], busy); got.Slots != 4 {
		t.Errorf("the worker that lives may have %d calls in flight, want all 4", got.Slots)
	}
}

// TestARefusalIsKnownToAll: it halves what all may have in flight, once, and all wait.
func TestARefusalIsKnownToAll(t *testing.T) {
	w := three(t)
	refused := limit.Usage{Size: 16, Want: 50, Refusals: 3, Pause: time.Minute}
	if got := settled(t, w[0], refused); got.Slots != 8 || got.Pause < 50*time.Second {
		t.Errorf("the worker that was refused may have %+v, want 8 slots after a minute", got)
	}
	refused.InFlight = 0
	if got := settled(t, w[1], refused); got.Slots != 0 || got.Pause < 50*time.Second {
		t.Errorf("another one that heard of the same may have %+v, want no slot of the 8 and the same pause", got)
	}
	if got := settled(t, w[0], limit.Usage{Size: 16, Want: 50}); got.Slots != 4 {
		t.Errorf("the first worker may have %d, want half of 8", got.Slots)
	}
	// It grows with the replies, as it would in one process.
	if got := settled(t, w[0], limit.Usage{Size: 16, Want: 50, Replies: growth * 8}); got.Slots != 5 {
		t.Errorf("after the replies the worker may have %d, want half of 9 and the one left over", got.Slots)
	}
}

// TestAWorkerThatVanishesWhileItSettles holds a target only until the server gives its
// silent transaction up.
func TestAWorkerThatVanishesWhileItSettles(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	url, proxy := server.URL(t), server.Proxy(t)
	near, err := Open(t.Context(), url)
	if err == nil {
		t.Cleanup(near.Close)
		err = near.Migrate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	w := NewWorker(WorkerConfig{Queue: near})
	if err := w.live(t.Context()); err != nil {
		t.Fatal(err)
	}
	far, err := Open(t.Context(), proxy.URL(t, url))
	if err != nil {
		t.Fatal(err)
	}
	busy := limit.Usage{Size: 4, Want: 9}
	tx, err := far.pool.Begin(t.Context())
	if err == nil {
		_, err = lockTarget(t.Context(), tx, "bot", busy)
	}
	if err != nil {
		t.Fatal(err)
	}
	proxy.Silence()
	t.Cleanup(func() {
		proxy.Resume()
		_ = tx.Rollback(context.Background()) // the server has ended it
		far.Close()
	})
	if got := settled(t, w, busy); got.Slots != 4 {
		t.Errorf("the worker that is there may have %d calls in flight, want all 4", got.Slots)
	}
}

// TestDownIsKnownToAll until a call succeeds.
func TestDownIsKnownToAll(t *testing.T) {
	w := three(t)
	settled(t, w[0], limit.Usage{Size: 4, Want: 4, Down: &limit.Down{Failures: 10, Last: "401"}, Rest: time.Minute})
	if got := settled(t, w[1], limit.Usage{Size: 4, Want: 4}); got.Down == nil || got.Down.Failures != 10 || got.Down.Last != "401" || got.Rest < 50*time.Second {
		t.Errorf("another worker is told %+v, want that the target is down for a minute", got)
	}
	if got := settled(t, w[1], limit.Usage{Size: 4, Want: 4, Replies: 1}); got.Down != nil {
		t.Errorf("after a reply the worker is told %+v, want that the target is up", got.Down)
	}
	if got := settled(t, w[2], limit.Usage{Size: 4, Want: 4}); got.Down != nil {
		t.Errorf("another worker is told %+v, want that the target is up", got.Down)
	}
}
