package queue

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gavel-evals/gavel/controller/run/limit"
)

const (
	// shareEvery is the interval at which workers settle their shares of a target. A
	// worker with a waiting call settles at once, but at most every shareSoon.
	shareEvery = 250 * time.Millisecond
	shareSoon  = 50 * time.Millisecond
	// growth is the number of replies per slot that open one more slot after refusals.
	growth = 4
)

// sharing keeps all workers' calls within the limits of targets, until ctx ends.
func (w *Worker) sharing(ctx context.Context) {
	ticker := time.NewTicker(shareEvery)
	defer ticker.Stop()
	settled := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-w.cfg.Limiters.Wanted():
		}
		err := withDeadline(ctx, w.settleAll)
		switch {
		case err == nil:
			settled = time.Now()
		case ctx.Err() != nil:
			return
		case time.Since(settled) > workerLife:
			// The others consider this worker dead, and use its share.
			for _, l := range w.cfg.Limiters.All() {
				l.Use(limit.Share{})
			}
			fallthrough
		default:
			w.fault("share the limits of targets", err)
		}
		select {
		case <-time.After(shareSoon):
		case <-ctx.Done():
			return
		}
	}
}

func (w *Worker) settleAll(ctx context.Context) error {
	for id, l := range w.cfg.Limiters.All() {
		u := l.Usage()
		if u == (limit.Usage{Size: u.Size, Pause: u.Pause}) && l.Slots() == 0 {
			continue // it has nothing and wants nothing
		}
		share, err := w.settle(ctx, id, u)
		if err != nil {
			return err
		}
		l.Use(share)
	}
	return nil
}

// A sharedTarget is the workers' common knowledge about a target.
type sharedTarget struct {
	// open is the number of calls that all workers may have in flight, at least 1, and
	// replies counts replies since its last change.
	open, replies int
	pause         time.Duration
	downFor       *time.Duration // nil if it is up
	failures      int
	last          string
	// taken is the other workers' part of open. others counts the ones that call the
	// target, and waiting the ones that would call it more.
	taken, others, waiting int
}

// settle shares this worker's experience with a target, and returns its new share.
func (w *Worker) settle(ctx context.Context, id string, u limit.Usage) (share limit.Share, err error) {
	err = pgx.BeginFunc(ctx, w.cfg.Queue.pool, func(tx pgx.Tx) error {
		t, err := lockTarget(ctx, tx, id, u)
		if err == nil {
			err = t.readShares(ctx, tx, id, w.id)
		}
		if err != nil {
			return err
		}
		t.learn(u)
		share = t.share(u)
		var batch pgx.Batch
		batch.Queue(`UPDATE queue_targets SET open = $2, replies = $3, pause_until = now() + $4::interval,
			down_until = now() + $5::interval, down_failures = $6, down_last = $7 WHERE id = $1`,
			id, t.open, t.replies, t.pause, t.downFor, t.failures, t.last)
		// Calls beyond the share are not cancelled, so they count until they end.
		batch.Queue(`INSERT INTO queue_shares (target, worker, slots, want) VALUES ($1, $2, $3, $4)
			ON CONFLICT (target, worker) DO UPDATE SET slots = excluded.slots, want = excluded.want`, id, w.id, max(share.Slots, u.InFlight), u.Want)
		return tx.SendBatch(ctx, &batch).Close()
	})
	return share, err
}

// lockTarget reads a target and locks it until the transaction ends.
func lockTarget(ctx context.Context, tx pgx.Tx, id string, u limit.Usage) (*sharedTarget, error) {
	var t sharedTarget
	err := tx.QueryRow(ctx, `INSERT INTO queue_targets (id, open) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET id = excluded.id
		RETURNING open, replies, greatest(pause_until - now(), interval '0'), down_until - now(), down_failures, down_last`, id, u.Size).
		Scan(&t.open, &t.replies, &t.pause, &t.downFor, &t.failures, &t.last)
	t.open = min(t.open, u.Size) // the configuration may have changed
	return &t, err
}

// readShares reads the shares of the other live workers.
func (t *sharedTarget) readShares(ctx context.Context, tx pgx.Tx, id, worker string) error {
	return tx.QueryRow(ctx, `SELECT coalesce(sum(s.slots), 0), count(*) FILTER (WHERE s.want > 0), count(*) FILTER (WHERE s.want > s.slots)
		FROM queue_shares s JOIN queue_workers w ON w.id = s.worker WHERE s.target = $1 AND s.worker <> $2 AND w.until > now()`, id, worker).
		Scan(&t.taken, &t.others, &t.waiting)
}

// learn applies the experience of one worker, as a single process would: a refusal
// halves the calls in flight, and replies let them grow again.
func (t *sharedTarget) learn(u limit.Usage) {
	if u.Refusals > 0 && t.pause == 0 { // else it echoes another worker's refusal
		t.open, t.replies = max(t.open/2, 1), 0
	}
	t.pause = max(t.pause, u.Pause)
	if t.replies += u.Replies; t.open < u.Size && t.replies >= growth*t.open {
		t.open, t.replies = t.open+1, 0
	}
	switch {
	case u.Down != nil:
		t.downFor, t.failures, t.last = &u.Rest, u.Down.Failures, u.Down.Last
	case u.Replies > 0:
		t.downFor = nil
	}
}

// share returns one worker's share. If no other worker calls the target, it gets
// everything free. Otherwise it gets an equal part; more only if it wants more and no
// other waits, and less if it wants less and another waits.
func (t *sharedTarget) share(u limit.Usage) limit.Share {
	slots, workers := t.open-t.taken, t.others+1
	fair := 1
	if t.open >= workers {
		fair = t.open/workers + t.open%workers
	}
	switch {
	case u.Want == 0:
		slots = 0
	case t.waiting > 0:
		slots = min(slots, u.Want, fair)
	case t.others > 0:
		slots = min(slots, max(u.Want, fair))
	}
	s := limit.Share{Slots: max(slots, 0), Pause: t.pause}
	s.Part = float64(s.Slots) / float64(t.open)
	if t.downFor != nil && *t.downFor > 0 {
		s.Down, s.Rest = &limit.Down{Failures: t.failures, Last: t.last}, *t.downFor
	}
	return s
}
