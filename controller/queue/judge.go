package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/tracing"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A Batch is a set of cases of a run. Two cases of a pair, see [run.Pair], are one task.
type Batch struct {
	Class Class
	// About is JSON that workers get with each task of the batch: the commits to load
	// the cases from. It must not contain a secret.
	About json.RawMessage
	// Sides are one or both sides. The process-independent part of their configurations
	// counts: Ledger, Trust, Revision, Observe and Keep.
	Sides []run.Side
	// Programs reports whether a case starts programs. nil means none does.
	Programs func(run.Config, run.Job) bool
	// Waits is called when no worker judges any of the cases, and when one does again.
	// nil is not called. Cases wait indefinitely.
	Waits func(Standstill)
}

const (
	// atOnce is the number of tasks queued by one statement.
	atOnce = 1000
	// patience bounds a run's wait for an unavailable database, and for a worker with a
	// sandbox while others run.
	patience = time.Minute
	// checkEvery is the interval at which a run checks that its tasks are still queued,
	// and mostLosses bounds the times that each of them is queued again.
	checkEvery = 5 * time.Second
	mostLosses = 3
)

// looks are the pauses between polls for outcomes. The first outcomes of a small batch,
// such as a repeated measurement, arrive at once.
var looks = clock.Doubling{First: 10 * time.Millisecond, Most: 50 * time.Millisecond}

// A waiter is a batch with queued tasks.
type waiter struct {
	*Queue
	Batch
	id      string
	jobs    []sideJob
	left    map[int64]jobs // the jobs of each task without an outcome
	due     []jobs         // the jobs without a task
	losses  map[int]int    // times that a job's task was lost
	taken   []int64        // tasks whose outcomes were read and are still in the table
	beaten  time.Time
	checked time.Time
	said    Standstill
	news    bool // an outcome arrived since the last beat
	// unable is the time since which workers run, but none with a sandbox.
	unable time.Time
}

// A sideJob is a job of the batch with its side and its outcome.
type sideJob struct {
	run.Job
	side    *run.Side
	outcome run.Outcome
}

// jobs are the places of the jobs of one task: one, or two that are a pair.
type jobs []int

// Judge lets workers judge the jobs of a batch and returns the outcomes of each side in
// the order of its jobs, as [run.Run] does. When ctx ends, queued tasks are withdrawn, running calls
// are cancelled, and the remaining outcomes are Stopped. An error means that the queue
// or the ledger is unavailable.
func (q *Queue) Judge(ctx context.Context, b Batch) ([][]run.Outcome, error) {
	w := &waiter{Queue: q, Batch: b, id: newID(), left: map[int64]jobs{}, losses: map[int]int{}}
	for i := range b.Sides {
		for _, job := range b.Sides[i].Jobs {
			w.jobs = append(w.jobs, sideJob{job, &b.Sides[i], run.Outcome{
				Key: job.Case.Key, Stopped: true,
				Result: verdict.Result{Verdict: verdict.Error, Reason: "the run was stopped before the case was judged"},
			}})
		}
	}
	lasting := context.WithoutCancel(ctx)
	err := w.begin(ctx)
	if err == nil {
		err = w.await(ctx)
	}
	if w.said != (Standstill{}) && w.Waits != nil {
		w.Waits(Standstill{}) // since the last beat
	}
	ended, cancel := context.WithTimeout(lasting, patience)
	defer cancel()
	err = errors.Join(err, w.end(ended))
	if ctx.Err() != nil {
		err = nil // a write error of a stopped run is not a fault
	}
	if err != nil {
		return w.outcomes(), fmt.Errorf("queue: %w", err)
	}
	return w.outcomes(), nil
}

// outcomes returns the outcomes of each side.
func (w *waiter) outcomes() [][]run.Outcome {
	out, next := make([][]run.Outcome, len(w.Sides)), 0
	for i, side := range w.Sides {
		for range side.Jobs {
			out[i] = append(out[i], w.jobs[next].outcome)
			next++
		}
	}
	return out
}

func newID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// begin queues the tasks. Tasks that start programs fail if workers run but none has a
// sandbox.
func (w *waiter) begin(ctx context.Context) error {
	if err := w.announce(ctx); err != nil {
		return err
	}
	w.beaten, w.checked = time.Now(), time.Now()
	seen, err := w.workers(ctx)
	if err != nil {
		return err
	}
	for _, task := range w.tasks() {
		if seen.running > 0 && seen.sandboxed == 0 && w.startsPrograms(task) {
			w.withdraw(task)
			continue
		}
		w.due = append(w.due, task)
	}
	return w.enqueue(ctx)
}

// tasks returns the jobs of each task. The sides of pairs take turns at going first.
func (w *waiter) tasks() []jobs {
	var all []jobs
	isPaired := make([]bool, len(w.jobs))
	if len(w.Sides) == 2 {
		first := len(w.Sides[0].Jobs)
		for i, at := range run.Partners(w.Sides[0].Jobs, w.Sides[1].Jobs) {
			if at < 0 {
				continue
			}
			pair := jobs{i, first + at}
			if len(all)%2 == 1 {
				slices.Reverse(pair)
			}
			all = append(all, pair)
			isPaired[i], isPaired[first+at] = true, true
		}
	}
	for i := range w.jobs {
		if !isPaired[i] {
			all = append(all, jobs{i})
		}
	}
	return all
}

// announce records that the run is being waited for.
func (w *waiter) announce(ctx context.Context) error {
	_, err := w.pool.Exec(ctx, `INSERT INTO queue_runs (id, about, until) VALUES ($1, coalesce($2::jsonb, 'null'), now() + $3::interval)
		ON CONFLICT (id) DO UPDATE SET until = excluded.until`, w.id, w.About, runLife)
	return err
}

// startsPrograms reports whether a case of a task starts programs.
func (w *waiter) startsPrograms(task jobs) bool {
	return w.Programs != nil && slices.ContainsFunc(task, func(i int) bool { return w.Programs(w.jobs[i].side.Config, w.jobs[i].Job) })
}

// withdraw ends the cases of a task that no worker can start. The other half of a pair is
// queued alone if it starts no program.
func (w *waiter) withdraw(task jobs) {
	for _, i := range task {
		if w.startsPrograms(jobs{i}) {
			w.conclude(i, unable(w.jobs[i].Job))
		} else {
			w.due = append(w.due, jobs{i})
		}
	}
}

// cases counts the cases without an outcome.
func (w *waiter) cases() int {
	n := 0
	for _, task := range w.left {
		n += len(task)
	}
	for _, task := range w.due {
		n += len(task)
	}
	return n
}

// enqueue queues the jobs without a task.
func (w *waiter) enqueue(ctx context.Context) error {
	for len(w.due) > 0 {
		some := w.due[:min(atOnce, len(w.due))]
		params := make([]river.InsertManyParams, len(some))
		for n, task := range some {
			params[n] = river.InsertManyParams{Args: w.task(ctx, task), InsertOpts: &river.InsertOpts{
				Queue: w.Class.name(w.startsPrograms(task)), MaxAttempts: tries,
			}}
		}
		// Workers may begin before the reply arrives. Without the task ids nobody could
		// withdraw the tasks, so the reply is awaited even when ctx ends.
		var inserted []*rivertype.JobInsertResult
		err := withDeadline(context.WithoutCancel(ctx), func(ctx context.Context) (err error) {
			inserted, err = w.client.InsertMany(ctx, params)
			return err
		})
		if err != nil {
			return errors.Join(err, ctx.Err())
		}
		for n, result := range inserted {
			w.left[result.Job.ID] = some[n]
		}
		w.due = w.due[len(some):]
		if err := cmp.Or(ctx.Err(), w.beat(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// A Standstill describes cases that wait because no worker judges any of them. Zero
// cases mean no standstill.
type Standstill struct {
	Cases int
	// Workers counts the running workers that could judge them, but judge others.
	Workers int
	// Programs means that all of the cases start programs, and no running worker has a
	// sandbox.
	Programs bool
}

// seenWorkers counts the live workers, and the ones with a sandbox among them.
type seenWorkers struct{ running, sandboxed int }

const theWorkers = "count(*), count(*) FILTER (WHERE programs) FROM queue_workers WHERE until > now()"

func (w *waiter) workers(ctx context.Context) (seen seenWorkers, err error) {
	err = w.pool.QueryRow(ctx, "SELECT "+theWorkers).Scan(&seen.running, &seen.sandboxed)
	return seen, err
}

// unable returns the outcome of a case whose programs no worker can start.
func unable(job run.Job) run.Outcome {
	const why = "it starts a program, and no worker that is running has a sandbox"
	return run.Outcome{Key: job.Case.Key, Unrun: why, Result: verdict.Result{Verdict: verdict.Error, Reason: why}}
}

// task returns the task of jobs.
func (w *waiter) task(ctx context.Context, of jobs) Task {
	t := Task{Run: w.id, Part: w.jobs[of[0]].part(), Trace: tracing.Parent(ctx)}
	if len(of) == 2 {
		other := w.jobs[of[1]].part()
		t.Partner = &other
	}
	return t
}

func (j *sideJob) part() Part {
	return Part{
		Side: j.side.Name, Case: Name(j.Case), E: j.Digests.E, J: j.Digests.J, D: j.Digests.D,
		Target: j.Target, Scope: j.Scope, Trust: j.side.Config.Trust, Need: j.Need, Purpose: j.Purpose, Again: j.Again,
		Revision: j.side.Config.Revision,
	}
}

// await collects the outcomes.
func (w *waiter) await(ctx context.Context) error {
	var away time.Time // start of the database's absence
	for n := 0; ; n++ {
		err := withDeadline(ctx, w.poll)
		switch {
		case len(w.left)+len(w.due) == 0:
			return nil // a missed sign of life is now harmless
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			away = time.Time{}
		case away.IsZero():
			away = time.Now()
		case time.Since(away) > patience:
			return err
		}
		if err := w.pause(ctx, looks.Pause(n)); err != nil {
			return err
		}
	}
}

// poll reads the stored outcomes, renews the run's sign of life, and queues lost tasks
// again.
func (w *waiter) poll(ctx context.Context) error {
	if err := w.collect(ctx); err != nil {
		return err
	}
	if err := w.beat(ctx); err != nil {
		return err
	}
	if err := w.check(ctx); err != nil {
		return err
	}
	return w.enqueue(ctx)
}

// beat renews the run's sign of life, and checks whether a worker is running.
func (w *waiter) beat(ctx context.Context) error {
	if time.Since(w.beaten) < beat {
		return nil
	}
	w.beaten = time.Now()
	var known bool
	var seen seenWorkers
	err := w.pool.QueryRow(ctx, `WITH mine AS (UPDATE queue_runs SET until = now() + $2::interval WHERE id = $1 RETURNING id)
		SELECT (SELECT count(*) > 0 FROM mine), `+theWorkers, w.id, runLife).Scan(&known, &seen.running, &seen.sandboxed)
	if err == nil && !known { // others considered the run dead and removed its outcomes
		err, w.checked = w.announce(ctx), time.Time{}
	}
	if err != nil {
		return err
	}
	now, err := w.standstill(ctx, seen)
	if err != nil {
		return err
	}
	if w.news = false; now != w.said && w.Waits != nil {
		w.Waits(now)
	}
	w.said = now
	return w.withhold(ctx, seen)
}

// standstill counts the waiting cases if none is being judged.
func (w *waiter) standstill(ctx context.Context, seen seenWorkers) (Standstill, error) {
	now := Standstill{Cases: w.cases(), Workers: seen.running}
	if seen.running == 0 {
		return now, nil
	}
	if w.news || len(w.left) == 0 {
		return Standstill{}, nil
	}
	var begun bool
	err := w.pool.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM river_job WHERE id = ANY($1) AND state NOT IN ('available', 'scheduled', 'pending'))",
		slices.Collect(maps.Keys(w.left))).Scan(&begun)
	if err != nil || begun {
		return Standstill{}, err
	}
	now.Programs = !slices.ContainsFunc(slices.Collect(maps.Values(w.left)), func(task jobs) bool { return !w.startsPrograms(task) })
	if now.Programs {
		now.Workers, now.Programs = seen.sandboxed, seen.sandboxed == 0
	}
	return now, nil
}

// withhold ends the cases that start programs if workers have been running for a while
// without a sandbox.
func (w *waiter) withhold(ctx context.Context, seen seenWorkers) error {
	switch {
	case seen.running == 0 || seen.sandboxed > 0:
		w.unable = time.Time{}
		return nil
	case w.unable.IsZero():
		w.unable = time.Now()
		return nil
	case time.Since(w.unable) < patience:
		return nil
	}
	var ids []int64
	for id, task := range w.left {
		if w.startsPrograms(task) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := w.pool.Query(ctx, `UPDATE river_job SET state = 'cancelled', finalized_at = now()
		WHERE id = ANY($1) AND state IN ('available', 'scheduled', 'retryable', 'pending') RETURNING id`, ids)
	if err != nil {
		return err
	}
	withheld, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	for _, id := range withheld {
		task := w.left[id]
		delete(w.left, id)
		w.withdraw(task)
	}
	return err
}

// check queues tasks again that ended without an outcome or vanished from the queue:
// nobody would judge them.
func (w *waiter) check(ctx context.Context) error {
	if time.Since(w.checked) < checkEvery || len(w.left) == 0 {
		return nil
	}
	rows, err := w.pool.Query(ctx, `SELECT id FROM unnest($1::bigint[]) AS mine (id) WHERE NOT EXISTS (
		SELECT 1 FROM river_job j WHERE j.id = mine.id AND j.state NOT IN ('cancelled', 'completed', 'discarded'))`, slices.Collect(maps.Keys(w.left)))
	if err != nil {
		return err
	}
	gone, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	if len(gone) > 0 {
		if err := w.collect(ctx); err != nil { // a task ends together with its outcome
			return err
		}
	}
	w.checked = time.Now()
	for _, id := range gone {
		task, waits := w.left[id]
		if !waits {
			continue
		}
		delete(w.left, id)
		w.lose(task)
	}
	return nil
}

// lose queues the jobs of a lost task again, unless that has happened too often.
func (w *waiter) lose(task jobs) {
	again := slices.DeleteFunc(slices.Clone(task), func(i int) bool {
		w.losses[i]++
		if w.losses[i] <= mostLosses {
			return false
		}
		w.conclude(i, lost(w.jobs[i].Job))
		return true
	})
	if len(again) > 0 {
		w.due = append(w.due, again)
	}
}

// lost returns the outcome of a case whose tasks vanished from the queue.
func lost(job run.Job) run.Outcome {
	why := fmt.Sprintf("it was queued %d times, and each time its task left the queue without an outcome; gavel serve --check looks at the queue", mostLosses+1)
	return run.Outcome{Key: job.Case.Key, Result: verdict.Result{Verdict: verdict.Error, Reason: why}}
}

// collect reads the available outcomes. The next poll removes them, since the reply may
// get lost.
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
		task, there := w.left[f.Job]
		if !there {
			w.taken = append(w.taken, f.Job)
			continue
		}
		var out Judged
		if err := json.Unmarshal(f.Outcome, &out); err != nil {
			return fmt.Errorf("read the outcome of %s: %w", w.jobs[task[0]].Case.Key, err)
		}
		outcomes := []run.Outcome{out.Outcome}
		if out.Partner != nil {
			outcomes = append(outcomes, *out.Partner)
		}
		if err := w.recall(ctx, task, outcomes); err != nil {
			return err
		}
		delete(w.left, f.Job)
		w.taken, w.news = append(w.taken, f.Job), true
		w.take(task, outcomes)
	}
	return nil
}

// take concludes the jobs of a task. The partner is queued alone if the worker did not
// know that the task has one.
func (w *waiter) take(task jobs, outcomes []run.Outcome) {
	for n, i := range task {
		if n < len(outcomes) {
			w.conclude(i, outcomes[n])
		} else {
			w.due = append(w.due, jobs{i})
		}
	}
}

// recall adds the ledger's transcripts to the outcomes of a task that need them.
func (w *waiter) recall(ctx context.Context, task jobs, outcomes []run.Outcome) error {
	for n := range min(len(task), len(outcomes)) {
		job, out := &w.jobs[task[n]], &outcomes[n]
		cfg := &job.side.Config
		if cfg.Keep != nil && !cfg.Keep(job.Job, out.Result) || cfg.Ledger == nil {
			continue
		}
		executions, _, err := cfg.Ledger.Executions(ctx, ledger.Scope{Trust: job.Scope.Trust, NotBefore: job.Scope.NotBefore}, job.Digests.E)
		if err != nil {
			return err
		}
		for _, e := range executions {
			if len(e.Transcript.Messages) > 0 {
				out.Transcripts = append(out.Transcripts, e.Transcript)
			}
		}
	}
	return nil
}

func (w *waiter) conclude(i int, out run.Outcome) {
	job := &w.jobs[i]
	if out.Key == Name(job.Case) { // no worker has judged it
		out.Key = job.Case.Key
	}
	job.outcome = out
	if observe := job.side.Config.Observe; observe != nil {
		observe(run.Event{Key: out.Key, Outcome: &out})
	}
}

// end withdraws queued tasks and cancels running ones.
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
