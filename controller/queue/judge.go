package queue

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/gavel-evals/gavel/controller/backoff"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/tracing"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A Batch is cases of one side of a run.
type Batch struct {
	Class Class
	Side  string
	// About is JSON that the worker gets with each task of the batch: from which
	// commits it loads the cases. It must not have a secret.
	About json.RawMessage
	// Config says how the cases are judged, as far as that does not depend on the
	// process: its Ledger, Trust, Revision, Observe and Keep.
	Config run.Config
	Jobs   []run.Job
	// Programs reports whether a case starts programs. nil means that none does.
	Programs func(run.Job) bool
	// Unattended is called when no worker is running, and again after one was. nil is
	// not called. Cases wait until a worker runs.
	Unattended func()
}

const (
	// atOnce is how many tasks are queued by one statement.
	atOnce = 1000
	// lookEvery is how often a run looks for outcomes.
	lookEvery = 50 * time.Millisecond
	// patience is how long a run waits for a database that is away.
	patience = time.Minute
)

// A waiter is a batch whose tasks are queued.
type waiter struct {
	*Queue
	Batch
	id       string
	outcomes []run.Outcome
	left     map[int64]int // the job of each task that has no outcome
	taken    []int64       // tasks whose outcomes were taken and are still in the table
	beaten   time.Time
	alone    bool // no worker ran at the last beat
}

// Judge has the jobs of a batch judged by workers and returns their outcomes in the
// same order, as [run.Run] does. When ctx ends, what is queued is taken back, the
// calls in flight are given up, and the outcomes of the rest are Stopped. The error
// says that the queue or the ledger cannot be read or written.
func (q *Queue) Judge(ctx context.Context, b Batch) ([]run.Outcome, error) {
	w := &waiter{Queue: q, Batch: b, id: newID(), outcomes: make([]run.Outcome, len(b.Jobs)), left: make(map[int64]int, len(b.Jobs))}
	for i, job := range b.Jobs {
		w.outcomes[i] = run.Outcome{
			Key: job.Case.Key, Stopped: true,
			Result: verdict.Result{Verdict: verdict.Error, Reason: "the run was stopped before the case was judged"},
		}
	}
	lasting := context.WithoutCancel(ctx)
	err := w.begin(ctx)
	if err == nil {
		err = w.await(ctx)
	}
	ended, cancel := context.WithTimeout(lasting, patience)
	defer cancel()
	err = errors.Join(err, w.end(ended))
	if ctx.Err() != nil {
		err = nil // what a run that was stopped cannot write is not a fault
	}
	if err != nil {
		return w.outcomes, fmt.Errorf("queue: %w", err)
	}
	return w.outcomes, nil
}

func newID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// begin queues the tasks. Those that start programs are not run where no worker has a
// sandbox.
func (w *waiter) begin(ctx context.Context) error {
	_, err := w.pool.Exec(ctx, "INSERT INTO queue_runs (id, about, until) VALUES ($1, coalesce($2::jsonb, 'null'), now() + $3::interval)", w.id, w.About, runLife)
	if err != nil {
		return err
	}
	w.beaten = time.Now()
	able, err := w.sandboxed(ctx)
	if err != nil {
		return err
	}
	var params []river.InsertManyParams
	var indexes []int
	flush := func() error {
		// Workers may begin before the answer is here. Without it nobody could take back
		// what they do, so that it is waited for even when ctx ends.
		var inserted []*rivertype.JobInsertResult
		err := withDeadline(context.WithoutCancel(ctx), func(ctx context.Context) (err error) {
			inserted, err = w.client.InsertMany(ctx, params)
			return err
		})
		for n, result := range inserted {
			w.left[result.Job.ID] = indexes[n]
		}
		params, indexes = params[:0], indexes[:0]
		return errors.Join(err, ctx.Err())
	}
	for i, job := range w.Jobs {
		programs := w.Programs != nil && w.Programs(job)
		if programs && !able {
			w.conclude(i, unable(job))
			continue
		}
		params, indexes = append(params, river.InsertManyParams{
			Args: w.task(ctx, job), InsertOpts: &river.InsertOpts{Queue: w.Class.name(programs), MaxAttempts: tries},
		}), append(indexes, i)
		if len(params) == atOnce {
			if err := flush(); err != nil {
				return err
			}
			if err := w.beat(ctx); err != nil {
				return err
			}
		}
	}
	if len(params) == 0 {
		return nil
	}
	return flush()
}

// sandboxed reports whether a worker that lives can start programs.
func (w *waiter) sandboxed(ctx context.Context) (able bool, err error) {
	err = w.pool.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM queue_workers WHERE programs AND until > now())").Scan(&able)
	return able, err
}

// unable is the outcome of a case whose programs no worker can start.
func unable(job run.Job) run.Outcome {
	const why = "it starts a program, and no worker that is running has a sandbox"
	return run.Outcome{Key: job.Case.Key, Unrun: why, Result: verdict.Result{Verdict: verdict.Error, Reason: why}}
}

func (w *waiter) task(ctx context.Context, job run.Job) Task {
	return Task{
		Run: w.id, Side: w.Side, Case: job.Case.ID(), E: job.Digests.E, J: job.Digests.J, D: job.Digests.D,
		Target: job.Target, Scope: job.Scope, Trust: w.Config.Trust, Need: job.Need, Purpose: job.Purpose, Again: job.Again,
		Revision: w.Config.Revision, Trace: tracing.Parent(ctx),
	}
}

// await collects the outcomes.
func (w *waiter) await(ctx context.Context) error {
	var away time.Time // since when the database is
	for len(w.left) > 0 {
		err := withDeadline(ctx, w.poll)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			away = time.Time{}
		case away.IsZero():
			away = time.Now()
		case time.Since(away) > patience:
			return err
		}
		if err := backoff.Sleep(ctx, lookEvery); err != nil {
			return err
		}
	}
	return nil
}

// poll takes the stored outcomes, and renews the interest in the rest.
func (w *waiter) poll(ctx context.Context) error {
	if err := w.collect(ctx); err != nil {
		return err
	}
	return w.beat(ctx)
}

// beat says that somebody waits for the run, and looks whether a worker is running.
func (w *waiter) beat(ctx context.Context) error {
	if time.Since(w.beaten) < beat {
		return nil
	}
	w.beaten = time.Now()
	attended := true
	err := w.pool.QueryRow(ctx, `UPDATE queue_runs SET until = now() + $2::interval WHERE id = $1
		RETURNING EXISTS (SELECT 1 FROM queue_workers WHERE until > now())`, w.id, runLife).Scan(&attended)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if !attended && !w.alone && w.Unattended != nil {
		w.Unattended()
	}
	w.alone = !attended
	return nil
}

// collect takes the outcomes that are there. They are removed by the next look: what is
// found may not arrive.
func (w *waiter) collect(ctx context.Context) error {
	rows, err := w.pool.Query(ctx, `WITH gone AS (DELETE FROM queue_outcomes WHERE run = $1 AND job = ANY ($2::bigint[]))
		SELECT job, outcome FROM queue_outcomes WHERE run = $1 AND job <> ALL ($2::bigint[])`, w.id, append([]int64{}, w.taken...))
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct {
		Job     int64
		Outcome json.RawMessage
	}])
	if err != nil {
		return err
	}
	w.taken = w.taken[:0]
	for _, f := range found {
		i, there := w.left[f.Job]
		if !there {
			w.taken = append(w.taken, f.Job)
			continue
		}
		var out run.Outcome
		if err := json.Unmarshal(f.Outcome, &out); err != nil {
			return fmt.Errorf("read the outcome of %s: %w", w.Jobs[i].Case.Key, err)
		}
		if err := w.recall(ctx, i, &out); err != nil {
			return err
		}
		delete(w.left, f.Job)
		w.taken = append(w.taken, f.Job)
		w.conclude(i, out)
	}
	return nil
}

// recall adds the transcripts, which are in the ledger, to an outcome that needs them.
func (w *waiter) recall(ctx context.Context, i int, out *run.Outcome) error {
	job := w.Jobs[i]
	if keep := w.Config.Keep; keep != nil && !keep(job, out.Result) || w.Config.Ledger == nil {
		return nil
	}
	executions, _, err := w.Config.Ledger.Executions(ctx, ledger.Scope{Trust: job.Scope.Trust, NotBefore: job.Scope.NotBefore}, job.Digests.E)
	for _, e := range executions {
		if len(e.Transcript.Messages) > 0 {
			out.Transcripts = append(out.Transcripts, e.Transcript)
		}
	}
	return err
}

func (w *waiter) conclude(i int, out run.Outcome) {
	w.outcomes[i] = out
	if w.Config.Observe != nil {
		w.Config.Observe(run.Event{Key: out.Key, Outcome: &out})
	}
}

// end takes back what is queued. Running tasks are cancelled.
func (w *waiter) end(ctx context.Context) error {
	if len(w.left) > 0 {
		var running []int64
		ids := make([]int64, 0, len(w.left))
		for id := range w.left {
			ids = append(ids, id)
		}
		_, err := w.pool.Exec(ctx, `UPDATE river_job SET state = 'cancelled', finalized_at = now()
			WHERE id = ANY($1) AND state IN ('available', 'scheduled', 'retryable', 'pending')`, ids)
		if err != nil {
			return err
		}
		rows, err := w.pool.Query(ctx, "SELECT id FROM river_job WHERE id = ANY($1) AND state = 'running'", ids)
		if err == nil {
			running, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		}
		if err != nil {
			return err
		}
		for _, id := range running {
			if _, err := w.client.JobCancel(ctx, id); err != nil && !errors.Is(err, river.ErrNotFound) {
				return err
			}
		}
	}
	_, err := w.pool.Exec(ctx, "DELETE FROM queue_runs WHERE id = $1", w.id)
	return err
}
