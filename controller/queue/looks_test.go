package queue

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/runtest"
)

// looking makes a run wait for an outcome that comes in its n-th pause, none of which
// takes time, and returns how long the pauses would have been.
func looking(t *testing.T, url string, n int) (pauses []time.Duration) {
	t.Helper()
	q, err := Open(t.Context(), url)
	if err == nil {
		t.Cleanup(q.Close)
		err = q.Migrate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	q.pause = func(ctx context.Context, d time.Duration) error {
		if pauses = append(pauses, d); len(pauses) != n {
			return ctx.Err()
		}
		_, err := q.pool.Exec(ctx, `WITH done AS (UPDATE river_job SET state = 'completed', finalized_at = now() RETURNING id, args ->> 'run' AS run)
			INSERT INTO queue_outcomes (run, job, outcome) SELECT run, id, '{"Key": "greeting"}' FROM done`)
		return err
	}
	o := runtest.Greetings("greeting", 1)
	outs, err := q.Judge(t.Context(), Batch{Class: Interactive, Sides: []run.Side{{Name: "head", Config: o.Config, Jobs: o.Jobs}}})
	if err != nil || outs[0][0].Key != "greeting" {
		t.Errorf("the outcome is %+v, %v", outs, err)
	}
	return pauses
}

// TestNoPauseAfterTheLastOutcome: the next batch of a comparison is queued at once. A batch
// that takes longer is looked at less often.
func TestNoPauseAfterTheLastOutcome(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for n, want := range [][]time.Duration{1: {10 * ms}, 2: {10 * ms, 20 * ms}, 6: {10 * ms, 20 * ms, 40 * ms, 50 * ms, 50 * ms, 50 * ms}} {
		if want == nil {
			continue
		}
		if got := looking(t, postgrestest.URL(t), n); !slices.Equal(got, want) {
			t.Errorf("the pauses until an outcome that comes in number %d are %v, want %v", n, got, want)
		}
	}
}

// TestASignOfLifeIsNotALook: a run that looks a hundred times says once in two seconds that
// it waits, and not with every look.
func TestASignOfLifeIsNotALook(t *testing.T) {
	t.Parallel()
	const times = 100
	server := postgrestest.StartLogged(t)
	began := time.Now()
	looking(t, server.URL(t), times)
	most := int(time.Since(began)/beat) + 1
	found, signs := 0, 0
	for _, text := range server.Statements(t) {
		switch {
		case strings.HasPrefix(text, "WITH gone AS"):
			found++
		case strings.HasPrefix(text, "WITH mine AS"):
			signs++
		}
	}
	if found < times || signs > most {
		t.Errorf("%d looks and %d signs of life, want at least %d and at most %d", found, signs, times, most)
	}
}
