package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/controller/ledger/store"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/tracing"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A WorkerConfig says what a worker judges.
type WorkerConfig struct {
	Queue *Queue
	// Judge judges the case of a task; about is that of its [Batch]. It stores the
	// verdict in the ledger, and returns an outcome that is Stopped where ctx ended
	// before. Its error means that another try, here or elsewhere, may succeed. It
	// stores the completion with the verdict if the ledger is in the database of the
	// queue; otherwise the task is completed afterwards.
	Judge func(ctx context.Context, task Task, about json.RawMessage, completion *run.Completion) (run.Outcome, error)
	// Interactive and Background are how many tasks of each class are judged at once.
	// They default to 8 and 8.
	Interactive, Background int
	// Sandbox reports that the worker can start programs. Tasks that need it are left
	// to other workers otherwise.
	Sandbox bool
	// Drain is how long tasks may go on when the worker ends. Tasks that have not
	// ended then are left to other workers. Defaults to 20 s.
	Drain time.Duration
	// Limiters are those that Judge uses, which are [limit.Shared]: the calls of all
	// workers together stay within the limits of targets. nil shares none.
	Limiters *limit.Limiters
	// Tracer traces what is judged; nil traces nothing.
	Tracer *tracing.Tracer
	// Failed is called with errors that are not reported to a run. Defaults to nothing.
	Failed func(error)
}

// A Worker judges the cases of a queue.
type Worker struct {
	cfg WorkerConfig
	id  string
	// seen is when it last gave a sign of life, in Unix nanoseconds.
	seen atomic.Int64
	// ending is set when tasks are to be left to other workers.
	ending atomic.Bool

	mu   sync.Mutex
	runs map[string]*runState // guarded by mu
}

// A runState is what was read about a run a moment ago.
type runState struct {
	about json.RawMessage
	alive bool
	since time.Time
}

// NewWorker returns a Worker.
func NewWorker(cfg WorkerConfig) *Worker {
	if cfg.Interactive == 0 {
		cfg.Interactive = 8
	}
	if cfg.Background == 0 {
		cfg.Background = 8
	}
	if cfg.Drain == 0 {
		cfg.Drain = 20 * time.Second
	}
	if cfg.Failed == nil {
		cfg.Failed = func(error) {}
	}
	return &Worker{cfg: cfg, id: newID(), runs: map[string]*runState{}}
}

// Ready reports whether the worker has lately told the database that it lives, so that
// it is given tasks.
func (w *Worker) Ready() bool { return time.Since(time.Unix(0, w.seen.Load())) < workerLife }

// Run judges tasks until ctx ends, and then those in progress for as long as Drain
// says. A database that is away at the start is waited for, for a minute.
func (w *Worker) Run(ctx context.Context) error {
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var client *river.Client[pgx.Tx]
	err := postgres.Patiently(ctx, time.Minute, func() (err error) {
		if err = w.live(ctx); err == nil {
			client, err = w.start(lasting)
		}
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil // and nothing was taken
		}
		return fmt.Errorf("work: %w", err)
	}
	var group sync.WaitGroup
	group.Go(func() { w.beating(lasting) })
	if w.cfg.Limiters != nil {
		group.Go(func() { w.sharing(lasting) })
	}
	defer group.Wait()
	defer end()
	<-ctx.Done()
	return w.drain(lasting, client)
}

// start begins to take tasks, until ctx ends or the client is stopped.
func (w *Worker) start(ctx context.Context) (*river.Client[pgx.Tx], error) {
	queues := map[string]river.QueueConfig{
		Interactive.name(false): {MaxWorkers: w.cfg.Interactive}, Background.name(false): {MaxWorkers: w.cfg.Background},
	}
	if w.cfg.Sandbox {
		queues[Interactive.name(true)] = river.QueueConfig{MaxWorkers: w.cfg.Interactive}
		queues[Background.name(true)] = river.QueueConfig{MaxWorkers: w.cfg.Background}
	}
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, &tasks{Worker: w}); err != nil {
		return nil, err
	}
	client, err := river.NewClient(riverpgxv5.New(w.cfg.Queue.pool), &river.Config{
		ID: w.id, Queues: queues, Workers: workers, Logger: slog.New(slog.DiscardHandler),
		JobTimeout: -1, MaxAttempts: tries, RetryPolicy: retries{},
		FetchCooldown: soonest, FetchPollInterval: 500 * time.Millisecond,
		// Signs of life tell which tasks are stuck, and much sooner.
		RescueStuckJobsAfter:        7 * 24 * time.Hour,
		CompletedJobRetentionPeriod: time.Hour, CancelledJobRetentionPeriod: time.Hour,
	})
	if err != nil {
		return nil, err
	}
	return client, client.Start(ctx)
}

// lastMoments is how long tasks may take to end that were cancelled.
const lastMoments = 10 * time.Second

// drain lets the tasks end that are in progress, for a while.
func (w *Worker) drain(ctx context.Context, client *river.Client[pgx.Tx]) error {
	soon, cancel := context.WithTimeout(ctx, w.cfg.Drain)
	defer cancel()
	err := client.Stop(soon)
	if errors.Is(err, context.DeadlineExceeded) {
		w.ending.Store(true)
		last, cancel := context.WithTimeout(ctx, lastMoments)
		defer cancel()
		err = client.StopAndCancel(last)
	}
	// Connections from before a restart of the database fail once. Without this the others
	// take the worker for dead a little later.
	gone := postgres.Patiently(ctx, beat, func() error {
		return withDeadline(ctx, func(ctx context.Context) error {
			_, err := w.cfg.Queue.pool.Exec(ctx, "WITH share AS (DELETE FROM queue_shares WHERE worker = $1) DELETE FROM queue_workers WHERE id = $1", w.id)
			return err
		})
	})
	if gone != nil {
		w.cfg.Failed(fmt.Errorf("leave the queue: %w", gone))
	}
	return err
}

// retries are soon: what fails is the worker's, not a provider's.
type retries struct{}

// NextRetry is when a task is tried again.
func (retries) NextRetry(job *rivertype.JobRow) time.Time {
	return time.Now().Add(time.Second << min(job.Attempt, 5))
}

// tasks is what the queue calls.
type tasks struct {
	river.WorkerDefaults[Task]
	*Worker
}

// Work judges a task and completes it together with its outcome.
func (w *tasks) Work(ctx context.Context, job *river.Job[Task]) (err error) {
	ctx, span := w.cfg.Tracer.Root(ctx, "job", job.Args.Trace)
	span.Kind(tracing.Consumer).Text("gavel.digest", job.Args.D).Int("gavel.attempt", int64(job.Attempt))
	defer func() { span.End(err) }()
	in, err := w.run(ctx, job.Args.Run)
	if err == nil && !in.alive {
		return river.JobCancel(errors.New("its run has ended"))
	}
	var out run.Outcome
	completion := &run.Completion{Statement: func(out run.Outcome) (store.Statement, error) { return completed(job, out) }, Store: func(t *store.Tx, out run.Outcome) error {
		tx, err := postgres.Tx(t)
		if err != nil {
			return err
		}
		return complete(context.WithoutCancel(ctx), tx, job, out)
	}}
	if err == nil {
		out, err = w.cfg.Judge(ctx, job.Args, in.about, completion)
	}
	switch {
	case err == nil && completion.Stored:
		return nil
	case w.ending.Load() && (err != nil || out.Stopped):
		return river.JobSnooze(0)
	case ctx.Err() != nil && (err != nil || out.Stopped):
		return ctx.Err() // cancelled
	case err == nil && out.Stopped:
		err = errors.New("it was stopped before it was judged")
	}
	if err != nil {
		w.cfg.Failed(fmt.Errorf("judge %s: %w", job.Args.Case, err))
		if job.Attempt < job.MaxAttempts {
			return err
		}
		out = failed(job.Args, err.Error())
	}
	ctx = context.WithoutCancel(ctx)
	err = pgx.BeginFunc(ctx, w.cfg.Queue.pool, func(tx pgx.Tx) error { return complete(ctx, tx, job, out) })
	if err != nil {
		w.cfg.Failed(fmt.Errorf("complete %s: %w", job.Args.Case, err))
	}
	return err
}

// failed is the outcome of a case that no worker could judge.
func failed(t Task, why string) run.Outcome {
	return run.Outcome{Key: t.Case, Result: verdict.Result{Verdict: verdict.Error, Reason: "no worker could judge it: " + why}}
}

// completed is complete as one statement.
func completed(job *river.Job[Task], out run.Outcome) (store.Statement, error) {
	out.Transcripts = nil // they are in the ledger
	body, err := json.Marshal(out)
	return store.Statement{Text: `WITH completed AS (UPDATE river_job SET state = 'completed', finalized_at = now() WHERE id = ?2 AND state = 'running')
		INSERT INTO queue_outcomes (run, job, outcome) SELECT id, ?2, ?3 FROM queue_runs WHERE id = ?1 ON CONFLICT DO NOTHING`,
		Args: []any{job.Args.Run, job.ID, body}}, err
}

// complete ends a task together with its outcome. Without its run nobody asks for it.
func complete(ctx context.Context, tx pgx.Tx, job *river.Job[Task], out run.Outcome) error {
	out.Transcripts = nil // they are in the ledger
	body, err := json.Marshal(out)
	if err != nil {
		return err
	}
	if _, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job); err != nil && !errors.Is(err, rivertype.ErrNotFound) {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO queue_outcomes (run, job, outcome) SELECT id, $2, $3 FROM queue_runs WHERE id = $1
		ON CONFLICT DO NOTHING`, job.Args.Run, job.ID, body)
	return err
}

// run is what is known of a run. Whether somebody waits for it is looked up every
// second, and each time after nobody did: a controller may have been away for a while.
func (w *Worker) run(ctx context.Context, id string) (runState, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for other, k := range w.runs {
		if time.Since(k.since) > time.Minute && other != id {
			delete(w.runs, other)
		}
	}
	k := w.runs[id]
	if k != nil && k.alive && time.Since(k.since) < time.Second {
		return *k, nil
	}
	now := &runState{since: time.Now()}
	about, query := "about", ""
	if k != nil && k.about != nil {
		now.about, about = k.about, "NULL::jsonb"
	}
	query = "SELECT until > now(), " + about + " FROM queue_runs WHERE id = $1"
	var found json.RawMessage
	err := w.cfg.Queue.pool.QueryRow(ctx, query, id).Scan(&now.alive, &found)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	if err != nil {
		return runState{}, err
	}
	if now.about == nil {
		now.about = found
	}
	w.runs[id] = now
	return *now, nil
}
