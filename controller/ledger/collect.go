package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/store"
	"github.com/gavel-evals/gavel/controller/plan"
)

// A Collection says what may be removed from a ledger, and what not.
type Collection struct {
	// Needed are the digests of what bases and open pull requests consist of.
	Needed []plan.Digests
	// Closed are the pull requests that are over, as they are in a Trust. All
	// others may be open, and nothing that they wrote is removed.
	Closed []Trust
	// Before is the time from which on everything is kept; zero keeps all.
	Before time.Time
	// MaxBytes removes the oldest of what is not needed, whatever its age,
	// until the rest has this size; 0 is no limit.
	MaxBytes int64
	// DryRun only counts.
	DryRun bool
}

// Removed counts what a collection removed, or would.
type Removed struct {
	Samples    int64 `json:"samples"`
	Judgements int64 `json:"judgements"`
	Verdicts   int64 `json:"verdicts"`
	Calls      int64 `json:"calls"`
	Runs       int64 `json:"runs"`
}

func (r *Removed) add(o Removed) {
	r.Samples, r.Judgements, r.Verdicts = r.Samples+o.Samples, r.Judgements+o.Judgements, r.Verdicts+o.Verdicts
	r.Calls, r.Runs = r.Calls+o.Calls, r.Runs+o.Runs
}

// steps is in how many steps what is too much is removed.
const steps = 16

// Collect removes what is old and not needed, and makes the file smaller. What
// a run under way wants is needed, too.
func (l *Ledger) Collect(ctx context.Context, c Collection) (Removed, error) {
	removed, err := l.collect(ctx, c)
	if err == nil && !c.DryRun && removed != (Removed{}) {
		err = l.shrink(ctx)
	}
	return removed, l.store.Fault("remove what is old", err)
}

func (l *Ledger) collect(ctx context.Context, c Collection) (Removed, error) {
	removed, err := l.sweepOnce(ctx, c)
	if err != nil || c.MaxBytes == 0 {
		return removed, err
	}
	var times string
	err = l.store.Submit(ctx, func(t *store.Tx) error {
		return t.Row("SELECT json_group_array(created) FROM (SELECT created FROM samples ORDER BY created)").Scan(&times)
	})
	var created []int64
	if err := errors.Join(err, json.Unmarshal([]byte(times), &created)); err != nil {
		return removed, err
	}
	for batch := range slices.Chunk(created, max(1, len(created)/steps)) {
		counts, err := l.Counts(ctx)
		if err != nil || counts.Bytes <= c.MaxBytes {
			return removed, err
		}
		if c.DryRun {
			return removed, errors.New("how much would be removed for the size cannot be told before")
		}
		c.Before = time.UnixMilli(batch[len(batch)-1] + 1)
		more, err := l.sweepOnce(ctx, c)
		removed.add(more)
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// errDry undoes what a dry run did.
var errDry = errors.New("nothing is removed")

// A removal deletes rows of one table. ?1 is the time, ?2 the list of needed
// digests, and ?3 that of the namespaces that are over; "" is one of them.
type removal struct {
	of   func(*Removed) *int64
	text string
}

const (
	notNeeded = " NOT IN (SELECT value FROM json_each(?2) UNION ALL SELECT digest FROM wanted UNION ALL SELECT digest FROM leases)"
	isOver    = "ns IN (SELECT value FROM json_each(?3))"
)

// removals stand in the order in which nothing rests on what is removed. A
// sample goes with everything that rests on it or not at all: a verdict always
// has its samples.
var removals = []removal{
	{func(r *Removed) *int64 { return &r.Verdicts }, "DELETE FROM verdicts WHERE created < ?1 AND " + isOver + " AND (ns <> '' OR d" + notNeeded + ")"},
	{func(r *Removed) *int64 { return &r.Judgements }, `DELETE FROM judgements WHERE created < ?1 AND ` + isOver + ` AND (ns <> '' OR j` + notNeeded + `)
		AND j NOT IN (SELECT j FROM verdicts)`},
	{func(*Removed) *int64 { return nil }, "DELETE FROM transcripts WHERE sample IN (" + oldSamples + ")"},
	{func(r *Removed) *int64 { return &r.Samples }, "DELETE FROM samples WHERE id IN (" + oldSamples + ")"},
	{func(r *Removed) *int64 { return &r.Calls }, `DELETE FROM calls WHERE created < ?1 AND ` + isOver + ` AND (ns <> '' OR digest` + notNeeded + `)
		AND digest NOT IN (SELECT e FROM samples) AND digest NOT IN (SELECT j FROM judgements)`},
	{func(*Removed) *int64 { return nil }, "DELETE FROM outbox WHERE run IN (" + oldRuns + ")"},
	{func(*Removed) *int64 { return nil }, "DELETE FROM reports WHERE run IN (" + oldRuns + ")"},
	{func(r *Removed) *int64 { return &r.Runs }, "DELETE FROM runs WHERE id IN (" + oldRuns + ")"},
	{func(*Removed) *int64 { return nil }, "DELETE FROM deliveries WHERE created < ?1"},
}

const (
	oldSamples = "SELECT s.id FROM samples s WHERE s.created < ?1 AND s." + isOver + " AND (s.ns <> '' OR s.e" + notNeeded + `)
		AND s.id NOT IN (SELECT sample FROM judgements) AND s.e NOT IN (SELECT e FROM verdicts)`
	// oldRuns leaves the newest of every pull request and of everything else,
	// and those whose items are still to be published, or tell what the last
	// that was published is known by.
	oldRuns = `SELECT r.id FROM runs r WHERE r.started < ?1
		AND EXISTS (SELECT 1 FROM runs n WHERE n.repository = r.repository AND n.pull_request = r.pull_request
			AND (n.started, n.id) > (r.started, r.id))
		AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.run = r.id AND (o.published IS NULL OR o.receipt <> '')
			AND NOT EXISTS (SELECT 1 FROM outbox later WHERE later.destination = o.destination AND later.id > o.id))`
)

// sweepOnce removes by age in one transaction.
func (l *Ledger) sweepOnce(ctx context.Context, c Collection) (removed Removed, err error) {
	needed, over := []string{}, []string{""}
	for _, d := range c.Needed {
		needed = append(needed, d.E, d.J, d.D)
	}
	for _, t := range c.Closed {
		over = append(over, t.namespace())
	}
	lists := [2]string{}
	for i, list := range [][]string{needed, over} {
		raw, err := json.Marshal(list)
		if err != nil {
			return removed, err
		}
		lists[i] = string(raw)
	}
	err = l.store.Submit(ctx, func(t *store.Tx) error {
		removed = Removed{}
		for _, r := range removals {
			n, err := t.Change(r.text, c.Before.UnixMilli(), lists[0], lists[1])
			if err != nil {
				return err
			}
			if count := r.of(&removed); count != nil {
				*count = n
			}
		}
		if c.DryRun {
			return errDry
		}
		return nil
	})
	if errors.Is(err, errDry) {
		err = nil
	}
	return removed, err
}

// shrink gives back to the disk what is free in the file.
func (l *Ledger) shrink(ctx context.Context) error {
	for _, text := range []string{"VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if _, err := l.store.DB().ExecContext(ctx, text); err != nil {
			return fmt.Errorf("make the file smaller: %w", err)
		}
	}
	return nil
}
