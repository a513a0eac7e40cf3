package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// live renews the worker's sign of life.
func (w *Worker) live(ctx context.Context) error {
	_, err := w.cfg.Queue.pool.Exec(ctx, `INSERT INTO queue_workers (id, programs, until) VALUES ($1, $2, now() + $3::interval)
		ON CONFLICT (id) DO UPDATE SET until = excluded.until`, w.id, w.cfg.Sandbox, workerLife)
	if err == nil {
		w.seen.Store(time.Now().UnixNano())
	}
	return err
}

// rounds is the number of its own signs of life after which a worker considers others
// dead when the database returns: they return, too. After as many it gives back a task
// that it does not have.
const rounds = 3

// A caution counts the signs of life since the database was unavailable.
type caution int

// trusts records the result of a sign of life, and reports whether workers with a late
// one count as dead.
func (c *caution) trusts(err error) bool {
	if err != nil {
		*c = 0
		return false
	}
	*c++
	return *c >= rounds
}

// count counts a task that the worker has begun or ended.
func (w *Worker) count(id int64, by int) {
	w.hasMu.Lock()
	defer w.hasMu.Unlock()
	if w.has[id] += by; w.has[id] == 0 {
		delete(w.has, id)
	}
}

// lacking adds one to the number of looks at which the worker had none of these tasks in
// turn, and forgets all others.
func (w *Worker) lacking(before map[int64]int, running []int64) map[int64]int {
	w.hasMu.Lock()
	defer w.hasMu.Unlock()
	now := map[int64]int{}
	for _, id := range running {
		if w.has[id] == 0 {
			now[id] = before[id] + 1
		}
	}
	return now
}

// giveBack makes tasks available again that run in the queue by this worker, and that it
// does not have: the database's answer to its look for tasks was lost, or the report of a
// task's end was. It takes several looks, since a task may be about to begin or to end.
// A try that nobody made does not count. It returns how often tasks were lacking.
func (w *Worker) giveBack(ctx context.Context, lacking map[int64]int) (map[int64]int, error) {
	rows, err := w.cfg.Queue.pool.Query(ctx, "SELECT id FROM river_job WHERE state = 'running' AND kind = 'case' AND attempted_by[array_upper(attempted_by, 1)] = $1", w.id)
	if err != nil {
		return lacking, err
	}
	running, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return lacking, err
	}
	lacking = w.lacking(lacking, running)
	var lost []int64
	for id, n := range lacking {
		if n >= rounds {
			lost = append(lost, id)
		}
	}
	if len(lost) == 0 {
		return lacking, nil
	}
	_, err = w.cfg.Queue.pool.Exec(ctx, `UPDATE river_job SET state = 'available', scheduled_at = now(), attempt = greatest(attempt - 1, 0)
		WHERE id = ANY($1) AND state = 'running' AND attempted_by[array_upper(attempted_by, 1)] = $2`, lost, w.id)
	return lacking, err
}

// beating gives signs of life until ctx ends, and takes over the tasks of dead workers.
// It also gives back its own tasks that got lost.
func (w *Worker) beating(ctx context.Context) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	seen := caution(rounds) // no absence yet
	lacking := map[int64]int{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := withDeadline(ctx, w.live)
		if seen.trusts(err) {
			err = withDeadline(ctx, w.cfg.Queue.adopt)
		}
		if err == nil {
			err = withDeadline(ctx, func(ctx context.Context) (err error) {
				lacking, err = w.giveBack(ctx, lacking)
				return err
			})
		}
		switch {
		case err == nil:
			w.reached()
		case ctx.Err() == nil:
			w.fault("give a sign of life", err)
		}
	}
}

// withDeadline calls do with a context that ends if the database does not answer.
func withDeadline(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	return do(ctx)
}

// adopt makes dead workers' tasks available again. A task that has ended too many
// workers becomes an error of its case; of two cases, one with a verdict keeps it.
// Abandoned runs are removed.
func (q *Queue) adopt(ctx context.Context) error {
	const orphaned = `state = 'running' AND kind = 'case' AND NOT EXISTS (
		SELECT 1 FROM queue_workers w WHERE w.id = attempted_by[array_upper(attempted_by, 1)] AND w.until > now())`
	why, err := storable(failed(Part{}, fmt.Sprintf("%d workers ended while they judged it", tries)))
	if err != nil {
		return err
	}
	_, err = q.pool.Exec(ctx, `WITH dead AS (
			UPDATE river_job SET state = 'discarded', finalized_at = now() WHERE `+orphaned+` AND attempt >= max_attempts
			RETURNING id, args ->> 'run' AS run, args ->> 'case' AS name, args -> 'partner' ->> 'case' AS partner
		), halves AS (DELETE FROM queue_halves USING dead WHERE queue_halves.run = dead.run AND job = id RETURNING job, half, outcome)
		INSERT INTO queue_outcomes (run, job, outcome)
		SELECT r.id, dead.id, coalesce(own.outcome, $1::jsonb || jsonb_build_object('Key', dead.name)) || CASE WHEN dead.partner IS NULL THEN '{}'
			ELSE jsonb_build_object('Partner', coalesce(other.outcome, $1::jsonb || jsonb_build_object('Key', dead.partner))) END
		FROM dead JOIN queue_runs r ON r.id = dead.run
			LEFT JOIN halves own ON own.job = dead.id AND own.half = 0 LEFT JOIN halves other ON other.job = dead.id AND other.half = 1
		ON CONFLICT DO NOTHING`, why)
	if err != nil {
		return err
	}
	if _, err := q.pool.Exec(ctx, "UPDATE river_job SET state = 'available', scheduled_at = now() WHERE "+orphaned); err != nil {
		return err
	}
	if _, err := q.pool.Exec(ctx, `WITH dead AS (DELETE FROM queue_workers WHERE until < now() - interval '1 hour' RETURNING id)
		DELETE FROM queue_shares USING dead WHERE worker = dead.id`); err != nil {
		return err
	}
	_, err = q.pool.Exec(ctx, "DELETE FROM queue_runs WHERE until < now() - interval '1 hour'")
	return err
}
