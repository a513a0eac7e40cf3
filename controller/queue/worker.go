package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
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

// A WorkerConfig configures a worker.
type WorkerConfig struct {
	Queue *Queue
	// Judge judges a task's case, and its partner at the same time; about comes from
	// its [Batch]. It stores the verdict in the ledger, and returns a Stopped outcome if
	// ctx ended before. An error means that a retry, here or elsewhere, may succeed. If
	// the ledger is in the queue's database, it stores a completion together with each
	// verdict. The one of a single case completes the task; otherwise that is done
	// afterwards.
	Judge func(ctx context.Context, task Task, about json.RawMessage, done Completions) (Judged, error)
	// Interactive and Background bound the simultaneous tasks of each class. They
	// default to [UsualTasks], and to fewer for tasks that start programs.
	Interactive, Background int
	// Sandbox means that the worker can start programs. Without it, tasks with programs
	// are left to other workers.
	Sandbox bool
	// Drain is the time that tasks get when the worker ends. Unfinished tasks are left
	// to other workers. Defaults to 20 s.
	Drain time.Duration
	// Limiters are the limiters that Judge uses, which are [limit.Shared]: all workers'
	// calls together stay within the limits of targets. nil shares none.
	Limiters *limit.Limiters
	// Tracer traces judging; nil traces nothing.
	Tracer *tracing.Tracer
	// Failed is called with errors that are not reported to a run. Defaults to nothing.
	Failed func(error)
	// Outage is called at the beginning and at the end of a time without the database.
	// Calls do not overlap. Defaults to nothing.
	Outage func(Outage)
}

// A Worker judges the cases of a queue.
type Worker struct {
	cfg WorkerConfig
	id  string
	// seen is the time of its last sign of life, in Unix nanoseconds.
	seen atomic.Int64
	// ending is set when tasks are left to other workers.
	ending atomic.Bool

	outage outageLog

	mu   sync.Mutex
	runs map[string]*runState // guarded by mu

	// has are the tasks that the worker has, by how often at the same time.
	hasMu sync.Mutex
	has   map[int64]int // guarded by hasMu
}

// A runState is recently read data about a run.
type runState struct {
	about json.RawMessage
	alive bool
	since time.Time
}

const (
	// UsualTasks is the number of simultaneous tasks of a class. Most wait for a model,
	// and the limits of targets decide how many do.
	UsualTasks = 32
	// usualPrograms is the number for tasks that start programs, which keep the machine busy.
	usualPrograms = 8
)

// NewWorker returns a Worker.
func NewWorker(cfg WorkerConfig) *Worker {
	if cfg.Drain == 0 {
		cfg.Drain = 20 * time.Second
	}
	if cfg.Failed == nil {
		cfg.Failed = func(error) {}
	}
	if cfg.Outage == nil {
		cfg.Outage = func(Outage) {}
	}
	return &Worker{cfg: cfg, id: newID(), runs: map[string]*runState{}, has: map[int64]int{}}
}

// Ready reports whether the worker has recently given a sign of life to the database,
// so that it gets tasks.
func (w *Worker) Ready() bool { return time.Since(time.Unix(0, w.seen.Load())) < workerLife }

// Run judges tasks until ctx ends, and finishes running ones for the time of Drain. It
// waits a minute for an unavailable database at the start.
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
			return nil // nothing was taken
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

// start starts taking tasks, until ctx ends or the client is stopped.
func (w *Worker) start(ctx context.Context) (*river.Client[pgx.Tx], error) {
	queues := map[string]river.QueueConfig{}
	for class, most := range map[Class]int{Interactive: w.cfg.Interactive, Background: w.cfg.Background} {
		queues[class.name(false)] = river.QueueConfig{MaxWorkers: cmp.Or(most, UsualTasks)}
		if w.cfg.Sandbox {
			queues[class.name(true)] = river.QueueConfig{MaxWorkers: cmp.Or(most, usualPrograms)}
		}
	}
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, &tasks{Worker: w}); err != nil {
		return nil, err
	}
	client, err := river.NewClient(riverpgxv5.New(w.cfg.Queue.pool), &river.Config{
		ID: w.id, Queues: queues, Workers: workers, Logger: slog.New(slog.DiscardHandler),
		JobTimeout: -1, MaxAttempts: tries, RetryPolicy: retries{},
		FetchCooldown: soonest, FetchPollInterval: 500 * time.Millisecond,
		// Signs of life detect stuck tasks much sooner.
		RescueStuckJobsAfter:        7 * 24 * time.Hour,
		CompletedJobRetentionPeriod: time.Hour, CancelledJobRetentionPeriod: time.Hour,
	})
	if err != nil {
		return nil, err
	}
	return client, client.Start(ctx)
}

// lastMoments bounds the end of cancelled tasks.
const lastMoments = 10 * time.Second

// drain lets running tasks finish, for a while.
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
	// After a restart of the database, old connections fail once. Without this, the
	// others consider the worker dead only later.
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

// retries are soon: the failure is the worker's, not a provider's.
type retries struct{}

// NextRetry returns the time of a task's next try.
func (retries) NextRetry(job *rivertype.JobRow) time.Time {
	return time.Now().Add(time.Second << min(job.Attempt, 5))
}

// tasks is the queue's callback.
type tasks struct {
	river.WorkerDefaults[Task]
	*Worker
}

// Work judges a task and completes it together with its outcome.
func (w *tasks) Work(ctx context.Context, job *river.Job[Task]) (err error) {
	w.count(job.ID, 1)
	defer w.count(job.ID, -1)
	ctx, span := w.cfg.Tracer.Root(ctx, "job", job.Args.Trace)
	span.Kind(tracing.Consumer).Text("gavel.digest", job.Args.D).Int("gavel.attempt", int64(job.Attempt))
	defer func() { span.End(err) }()
	in, err := w.run(ctx, job.Args.Run)
	if err == nil && !in.alive {
		return river.JobCancel(errors.New("its run has ended"))
	}
	var out Judged
	done := completions(context.WithoutCancel(ctx), job)
	if err == nil {
		out, err = w.cfg.Judge(ctx, job.Args, in.about, done)
	}
	switch {
	case err == nil && job.Args.Partner == nil && done[0].Stored:
		return nil
	case w.ending.Load() && (err != nil || out.isStopped()):
		return river.JobSnooze(0)
	case ctx.Err() != nil && (err != nil || out.isStopped()):
		return ctx.Err() // cancelled
	case err == nil && out.isStopped():
		err = errors.New("it was stopped before it was judged")
	}
	if err != nil {
		w.cfg.Failed(fmt.Errorf("judge %s: %w", job.Args.Case, err))
		if job.Attempt < job.MaxAttempts {
			return err
		}
		out = Judged{Outcome: failed(job.Args.Part, err.Error())}
		if partner := job.Args.Partner; partner != nil {
			other := failed(*partner, err.Error())
			out.Partner = &other
		}
	}
	err = w.complete(context.WithoutCancel(ctx), job, out)
	if err != nil {
		w.cfg.Failed(fmt.Errorf("complete %s: %w", job.Args.Case, err))
	}
	return err
}

// complete ends a task whose outcome is not stored yet.
func (w *Worker) complete(ctx context.Context, job *river.Job[Task], out Judged) error {
	body, err := storable(out.withoutTranscripts())
	if err != nil {
		return err
	}
	text := completing
	if job.Args.Partner != nil {
		text = completingBoth
	}
	_, err = w.cfg.Queue.pool.Exec(ctx, text, job.Args.Run, job.ID, body)
	return err
}

// failed returns the outcome of a case that no worker could judge.
func failed(t Part, why string) run.Outcome {
	return run.Outcome{Key: t.Case, Result: verdict.Result{Verdict: verdict.Error, Reason: "no worker could judge it: " + why}}
}

const (
	// completing ends a task and stores its outcome, as complete does, in one statement.
	completing = ending + `
		INSERT INTO queue_outcomes (run, job, outcome) SELECT id, $2, $3 FROM queue_runs WHERE id = $1 ON CONFLICT DO NOTHING`
	// completingBoth does the same for two cases. An outcome stored with its verdict counts:
	// another worker may have judged it, and the last one only found it.
	completingBoth = ending + `, halves AS (DELETE FROM queue_halves WHERE run = $1 AND job = $2 RETURNING half, outcome)
		INSERT INTO queue_outcomes (run, job, outcome) SELECT id, $2, $3::jsonb
			|| coalesce((SELECT outcome FROM halves WHERE half = 0), '{}')
			|| coalesce((SELECT jsonb_build_object('Partner', outcome) FROM halves WHERE half = 1), '{}') FROM queue_runs WHERE id = $1 ON CONFLICT DO NOTHING`
	ending = `WITH completed AS (UPDATE river_job SET state = 'completed', finalized_at = now() WHERE id = $2 AND state = 'running')`
	// halving stores the outcome of one of two cases.
	halving = "INSERT INTO queue_halves (run, job, half, outcome) SELECT id, $2, $3, $4 FROM queue_runs WHERE id = $1 ON CONFLICT DO NOTHING"
)

// completions returns what is stored with the verdicts of a task: its completion with that
// of a single case, and with each of two what became of it.
func completions(ctx context.Context, job *river.Job[Task]) Completions {
	if job.Args.Partner != nil {
		return Completions{halfOf(ctx, job, 0), halfOf(ctx, job, 1)}
	}
	return Completions{{Statement: func(out run.Outcome) (store.Statement, error) { return completed(job, out) }, Store: func(t *store.Tx, out run.Outcome) error {
		tx, err := postgres.Tx(t)
		if err != nil {
			return err
		}
		return complete(ctx, tx, job, Judged{Outcome: out})
	}}}
}

// halfOf returns what is stored with the verdict of one of two cases. A case without a
// verdict is judged again if the other one does not end.
func halfOf(ctx context.Context, job *river.Job[Task], half int) *run.Completion {
	args := func(out run.Outcome) ([]any, error) {
		body, err := storable(Judged{Outcome: out}.withoutTranscripts().Outcome)
		return []any{job.Args.Run, job.ID, half, body}, err
	}
	return &run.Completion{Statement: func(out run.Outcome) (store.Statement, error) {
		all, err := args(out)
		return store.Statement{Text: strings.ReplaceAll(halving, "$", "?"), Args: all}, err
	}, Store: func(t *store.Tx, out run.Outcome) error {
		if out.Result.Verdict == verdict.Error {
			return nil
		}
		tx, err := postgres.Tx(t)
		if err != nil {
			return err
		}
		all, err := args(out)
		if err == nil {
			_, err = tx.Exec(ctx, halving, all...)
		}
		return err
	}}
}

// completed is completing for a single case, in the transaction of its verdict.
func completed(job *river.Job[Task], out run.Outcome) (store.Statement, error) {
	body, err := storable(Judged{Outcome: out}.withoutTranscripts())
	return store.Statement{Text: strings.ReplaceAll(completing, "$", "?"), Args: []any{job.Args.Run, job.ID, body}}, err
}

// complete ends a task and stores its outcome. Without its run the outcome is dropped.
func complete(ctx context.Context, tx pgx.Tx, job *river.Job[Task], out Judged) error {
	body, err := storable(out.withoutTranscripts())
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

// run returns recent data about a run. The run's sign of life is read again every
// second, and always after it was missing: a controller may have been away for a while.
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
