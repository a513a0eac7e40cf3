package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
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
// dead when the database returns: they return, too.
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

// beating gives signs of life until ctx ends, and takes over the tasks of dead workers.
func (w *Worker) beating(ctx context.Context) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	seen := caution(rounds) // no absence yet
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
		if err != nil && ctx.Err() == nil {
			w.cfg.Failed(fmt.Errorf("give a sign of life: %w", err))
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
// workers becomes an error of its case. Abandoned runs are removed.
func (q *Queue) adopt(ctx context.Context) error {
	const orphaned = `state = 'running' AND kind = 'case' AND NOT EXISTS (
		SELECT 1 FROM queue_workers w WHERE w.id = attempted_by[array_upper(attempted_by, 1)] AND w.until > now())`
	why, err := json.Marshal(failed(Part{}, fmt.Sprintf("%d workers ended while they judged it", tries)))
	if err != nil {
		return err
	}
	_, err = q.pool.Exec(ctx, `WITH dead AS (
			UPDATE river_job SET state = 'discarded', finalized_at = now() WHERE `+orphaned+` AND attempt >= max_attempts
			RETURNING id, args ->> 'run' AS run, args ->> 'case' AS name, args -> 'partner' ->> 'case' AS partner
		)
		INSERT INTO queue_outcomes (run, job, outcome)
		SELECT r.id, dead.id, $1::jsonb || jsonb_build_object('Key', dead.name) || CASE WHEN dead.partner IS NULL THEN '{}'
			ELSE jsonb_build_object('Partner', $1::jsonb || jsonb_build_object('Key', dead.partner)) END FROM dead JOIN queue_runs r ON r.id = dead.run
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
