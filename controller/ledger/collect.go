package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/store"
	"github.com/gavel-evals/gavel/controller/plan"
)

// A Collection says what may be removed from a ledger.
type Collection struct {
	// Needed are the digests of the cases at bases and in open pull requests.
	Needed []plan.Digests
	// Closed are the pull requests that are over, as they are in a Trust. All
	// others may be open, and nothing that they wrote is removed.
	Closed []Trust
	// Before is the time from which on everything is kept; zero keeps all.
	Before time.Time
	// MaxBytes is the size to which the rest is reduced, by removing the oldest of the
	// unneeded entries, whatever their age; 0 means without limit.
	MaxBytes int64
	// DryRun only counts.
	DryRun bool
}

// Removed counts the entries that a collection removed, or would remove.
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

// steps is the number of steps in which the excess is removed.
const steps = 16

// Collect removes old and unneeded entries, and makes the file smaller. Entries that a
// run in progress wants are needed, too.
func (l *Ledger) Collect(ctx context.Context, c Collection) (Removed, error) {
	var removed Removed
	err := l.underRows(ctx, func() (err error) {
		removed, err = l.collect(ctx, c)
		return err
	})
	if err == nil && !c.DryRun {
		err = l.collectParts(ctx)
	}
	if err == nil && !c.DryRun && removed != (Removed{}) {
		err = l.store.Shrink(ctx)
	}
	return removed, l.store.Fault("remove old entries", err)
}

func (l *Ledger) collect(ctx context.Context, c Collection) (Removed, error) {
	removed, err := l.sweepOnce(ctx, c)
	if err != nil || c.MaxBytes == 0 {
		return removed, err
	}
	var times string
	err = l.store.Submit(ctx, func(t *store.Tx) error {
		return t.Row("SELECT json_group_array(created) FROM (SELECT created FROM samples ORDER BY created) AS s").Scan(&times)
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
			return removed, errors.New("which entries are removed for their size cannot be predicted")
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

// A removal removes rows of one kind. pick returns the ids of the rows that may be
// removed, in their order: ?1 is the time, ?2 the list of needed digests, ?3 the list
// of the closed namespaces, which includes "", and ?4 the last row that was checked.
// remove removes the rows of a list and counts them.
type removal struct {
	of     func(*Removed) *int64
	least  any // less than all ids
	pick   string
	remove func(t *store.Tx, ids string) (int64, error)
}

const (
	notNeeded = " NOT IN (SELECT unhex(value) FROM json_each(?2) UNION ALL SELECT digest FROM wanted UNION ALL SELECT digest FROM leases)"
	isOver    = "ns IN (SELECT value FROM json_each(?3))"
	// replaced are runs r that are not the newest of their pull request, or of
	// everything else, and that do not hold the receipt of the last publication.
	replaced = `(EXISTS (SELECT 1 FROM runs n WHERE n.repository = r.repository AND n.pull_request = r.pull_request
			AND (n.started, n.id) > (r.started, r.id))
		AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.run = r.id AND o.receipt <> ''
			AND NOT EXISTS (SELECT 1 FROM outbox later WHERE later.destination = o.destination AND later.id > o.id)))`
	// unpublished are items of a run r that are still to be published.
	unpublished = `SELECT 1 FROM outbox o WHERE o.run = r.id AND o.published IS NULL
		AND NOT EXISTS (SELECT 1 FROM outbox later WHERE later.destination = o.destination AND later.id > o.id)`
)

// removals are in the order in which nothing rests on the removed entries. A sample is
// removed together with everything that rests on it or not at all: a verdict always has
// its samples.
var removals = []removal{
	{
		func(r *Removed) *int64 { return &r.Verdicts }, int64(0),
		"SELECT id FROM verdicts WHERE created < ?1 AND " + isOver + " AND (ns <> '' OR d" + notNeeded + ") AND id > ?4",
		removeBy("verdicts", "id"),
	},
	{
		func(r *Removed) *int64 { return &r.Judgements }, int64(0),
		"SELECT id FROM judgements WHERE created < ?1 AND " + isOver + " AND (ns <> '' OR j" + notNeeded + `)
			AND j NOT IN (SELECT j FROM verdicts) AND id > ?4`,
		removeBy("judgements", "id"),
	},
	{
		func(r *Removed) *int64 { return &r.Samples }, int64(0),
		"SELECT s.id FROM samples s WHERE s.created < ?1 AND s." + isOver + " AND (s.ns <> '' OR s.e" + notNeeded + `)
			AND s.id NOT IN (SELECT sample FROM judgements) AND s.e NOT IN (SELECT e FROM verdicts) AND s.id > ?4`,
		func(t *store.Tx, ids string) (int64, error) {
			if _, err := removeBy("transcripts", "sample")(t, ids); err != nil {
				return 0, err
			}
			return removeBy("samples", "id")(t, ids)
		},
	},
	{
		func(r *Removed) *int64 { return &r.Calls }, int64(0),
		"SELECT id FROM calls WHERE created < ?1 AND " + isOver + " AND (ns <> '' OR digest" + notNeeded + `)
			AND digest NOT IN (SELECT e FROM samples) AND digest NOT IN (SELECT j FROM judgements) AND id > ?4`,
		removeBy("calls", "id"),
	},
	{
		func(r *Removed) *int64 { return &r.Runs }, "",
		"SELECT r.id FROM runs r WHERE r.started < ?1 AND " + replaced + " AND NOT EXISTS (" + unpublished + ") AND r.id > ?4",
		removeRuns,
	},
	{
		func(*Removed) *int64 { return nil }, "",
		"SELECT id FROM deliveries WHERE created < ?1 AND id > ?4",
		removeBy("deliveries", "id"),
	},
	{
		func(*Removed) *int64 { return nil }, int64(0),
		"SELECT id FROM failures WHERE created < ?1 AND id > ?4",
		removeBy("failures", "id"),
	},
	{
		func(*Removed) *int64 { return nil }, "",
		"SELECT DISTINCT run AS id FROM unreported WHERE updated < ?1 AND run > ?4",
		removeBy("unreported", "run"),
	},
}

// removeBy returns a function that removes rows of a table by a column.
func removeBy(table, column string) func(*store.Tx, string) (int64, error) {
	value := "CAST(value AS BIGINT)"
	if table == "deliveries" || table == "unreported" {
		value = "value"
	}
	text := "DELETE FROM " + table + " WHERE " + column + " IN (SELECT " + value + " FROM json_each(?))"
	return func(t *store.Tx, ids string) (int64, error) { return t.Change(text, ids) }
}

// atOnce is how many rows one transaction removes: no other process writes during it.
const atOnce = 1000

// A sweep removes by age.
type sweep struct {
	Collection
	needed, over string // JSON lists
	removed      Removed
}

// sweepOnce removes by age, in transactions of a few rows each. A dry run is undone and
// therefore one transaction.
func (l *Ledger) sweepOnce(ctx context.Context, c Collection) (Removed, error) {
	s := &sweep{Collection: c}
	needed, over := []string{}, []string{""}
	for _, d := range c.Needed {
		needed = append(needed, digestHex(d.E), digestHex(d.J), digestHex(d.D))
	}
	for _, t := range c.Closed {
		over = append(over, t.namespace())
	}
	for list, into := range map[*[]string]*string{&needed: &s.needed, &over: &s.over} {
		raw, err := json.Marshal(*list)
		if err != nil {
			return s.removed, err
		}
		*into = string(raw)
	}
	each := func(do func(*store.Tx) error) error { return l.store.Submit(ctx, do) }
	if !c.DryRun {
		err := s.all(each, &s.removed)
		return s.removed, err
	}
	err := l.store.Submit(ctx, func(t *store.Tx) error {
		s.removed = Removed{}
		return errors.Join(s.all(func(do func(*store.Tx) error) error { return do(t) }, &s.removed), errDry)
	})
	if errors.Is(err, errDry) {
		err = nil
	}
	return s.removed, err
}

// all removes everything, each step in its own call of transact.
func (s *sweep) all(transact func(func(*store.Tx) error) error, removed *Removed) error {
	for _, r := range removals {
		last := r.least
		for more := true; more; {
			var n int64
			var next any
			err := transact(func(t *store.Tx) (err error) {
				var ids string
				if ids, next, more, err = s.pick(t, r, last); err != nil {
					return err
				}
				n, err = r.remove(t, ids)
				return err
			})
			if err != nil {
				return err
			}
			last = next
			if count := r.of(removed); count != nil {
				*count += n
			}
		}
	}
	return nil
}

// pick returns a JSON list of the next ids, the last of them, and whether more may
// follow.
func (s *sweep) pick(t *store.Tx, r removal, after any) (ids string, last any, more bool, err error) {
	var n int
	err = t.Row("SELECT json_group_array(id), count(*), coalesce(max(id), ?4) FROM ("+r.pick+" ORDER BY id LIMIT ?5) AS picked",
		s.Before.UnixMilli(), s.needed, s.over, after, atOnce).Scan(&ids, &n, &last)
	return ids, last, n == atOnce, err
}
