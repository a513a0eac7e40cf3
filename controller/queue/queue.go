// Package queue lets workers in other processes judge cases, over a queue in
// PostgreSQL.
//
// A controller opens a [Queue] with [Open] and passes [Queue.Judge] the jobs that
// [run.Run] would judge in its own process. A worker opens one, too, and runs a
// [Worker]. A [Task] of the queue names a case, or both sides of one, by digests and
// contains neither a text nor a secret: the worker loads the case from git and its
// secrets from its own environment.
//
// An interrupted task is taken over by another worker. Results are in the ledger before
// a task is completed, so that nothing is paid for again.
package queue

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/schema"
)

// A Task is one case of a run for a worker to judge, or one case at both sides.
type Task struct {
	// Run is the run's id in the queue, set by [Queue.Judge].
	Run string `json:"run"`
	Part
	// Partner is the case at the other side, see [run.Pair]; nil if the case is judged
	// alone. A worker of an older version judges only the first one.
	Partner *Part `json:"partner,omitempty"`
	// Trace is the traceparent of the step that queued the task, or empty.
	Trace string `json:"trace,omitempty"`
}

// A Part is one case of a [Task].
type Part struct {
	// Side is the case's side of the comparison, such as head.
	Side string `json:"side"`
	// Case is the [Name] of the case. E, J and D are its digests: a worker judges it only
	// if its own are equal.
	Case string `json:"case"`
	E    string `json:"e"`
	J    string `json:"j"`
	D    string `json:"d"`
	// The fields below are as in [run.Job] and [run.Config].
	Target   string       `json:"target"`
	Scope    ledger.Scope `json:"scope"`
	Trust    ledger.Trust `json:"trust"`
	Need     run.Need     `json:"need"`
	Purpose  plan.Purpose `json:"purpose,omitempty"`
	Again    int          `json:"again,omitempty"`
	Revision string       `json:"revision,omitempty"`
}

// Name names a case in tasks: its key, with the target if there are several. PostgreSQL
// stores no JSON with the NUL of the case's ID.
func Name(c *schema.Case) string {
	if c.PerTarget {
		return c.Key + " @ " + c.Target
	}
	return c.Key
}

// Judged is the outcome of a [Task].
type Judged struct {
	run.Outcome
	// Partner is the outcome of the task's partner. It is nil for a task without one, and
	// from a worker that does not know partners.
	Partner *run.Outcome `json:",omitempty"`
}

// isStopped reports whether a case of the task was not judged to its end.
func (j Judged) isStopped() bool { return j.Stopped || j.Partner != nil && j.Partner.Stopped }

// withoutTranscripts returns the stored form: transcripts are in the ledger.
func (j Judged) withoutTranscripts() Judged {
	j.Transcripts = nil
	if j.Partner != nil {
		other := *j.Partner
		other.Transcripts = nil
		j.Partner = &other
	}
	return j
}

// Completions are stored with the verdicts of a task: of its case, and of its partner.
type Completions [2]*run.Completion

// Kind returns the name of tasks in the queue.
func (Task) Kind() string { return "case" }

// A Class is the urgency of a task.
type Class string

// The classes. A worker has slots for each, so that one does not wait for another.
const (
	// Interactive tasks belong to pull requests.
	Interactive Class = "interactive"
	// Background tasks belong to branches and schedules.
	Background Class = "background"
)

// name returns the queue of a class. Tasks that start programs have a separate one for
// workers with a sandbox.
func (c Class) name(programs bool) string {
	if programs {
		return string(c) + "_programs"
	}
	return string(c)
}

const (
	// tries bounds the attempts at a task that ends its worker, or that its worker
	// cannot judge.
	tries = 5
	// beat is the interval of a worker's and a run's signs of life. A worker counts as
	// dead after workerLife, and a run after runLife: a controller that loses its
	// connection for a minute continues.
	beat       = 2 * time.Second
	workerLife = 6 * time.Second
	runLife    = 90 * time.Second
	// answer bounds the database's time for periodic queries. After that the connection
	// is dropped, and the next one is tried.
	answer = workerLife
	// soonest is the minimum time between a worker's looks for tasks, and telling the
	// minimum time between notifications of workers about sets of tasks: a set without
	// a notification waits until they look by themselves. Both sides of a comparison
	// are queued at once.
	soonest = 10 * time.Millisecond
	telling = time.Millisecond
)

// A Queue is safe for concurrent use.
type Queue struct {
	pool *pgxpool.Pool
	// client only inserts.
	client *river.Client[pgx.Tx]
	// pause waits between two polls for outcomes.
	pause func(context.Context, time.Duration) error
}

// Open connects to a PostgreSQL by its URL. The caller must call Close.
func Open(ctx context.Context, url string) (*Queue, error) {
	pool, err := postgres.Pool(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("open the queue: %w", err)
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: slog.New(slog.DiscardHandler), FetchCooldown: telling})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("open the queue: %w", err)
	}
	return &Queue{pool, client, clock.Sleep}, nil
}

// Depth counts the live workers, and the cases that wait or are being judged.
func (q *Queue) Depth(ctx context.Context) (workers, waiting, judging int, err error) {
	const cases = "coalesce(sum(CASE WHEN args -> 'partner' IS NULL THEN 1 ELSE 2 END)"
	err = q.pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM queue_workers WHERE until > now()),
		`+cases+` FILTER (WHERE state <> 'running'), 0), `+cases+` FILTER (WHERE state = 'running'), 0)
		FROM river_job WHERE kind = 'case' AND state IN ('available', 'scheduled', 'retryable', 'pending', 'running')`).Scan(&workers, &waiting, &judging)
	return workers, waiting, judging, err
}

// Workers counts the live workers. It writes nothing, and a database without a queue
// has none.
func (q *Queue) Workers(ctx context.Context) (n int, err error) {
	var isThere bool
	if err := q.pool.QueryRow(ctx, "SELECT to_regclass('queue_workers') IS NOT NULL").Scan(&isThere); err != nil || !isThere {
		return 0, err
	}
	err = q.pool.QueryRow(ctx, "SELECT count(*) FROM queue_workers WHERE until > now()").Scan(&n)
	return n, err
}

// Close ends all connections.
func (q *Queue) Close() { q.pool.Close() }
