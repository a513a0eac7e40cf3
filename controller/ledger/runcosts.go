package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A CostSum adds up the costs of runs.
type CostSum struct {
	Runs          int
	Calls, Tokens int64
	USD           float64
	// Unpriced counts the runs with calls whose price is not known.
	Unpriced int
}

// Add adds the cost of a run.
func (s CostSum) Add(run RunCost) CostSum {
	s.Runs, s.Calls, s.Tokens, s.USD = s.Runs+1, s.Calls+run.Calls, s.Tokens+run.Tokens, s.USD+run.USD
	if run.Unpriced {
		s.Unpriced++
	}
	return s
}

// A RunCost has the spending of one run.
type RunCost struct {
	Run, Repository string
	Finished        time.Time
	Calls, Tokens   int64
	USD             float64
	// Unpriced means that USD lacks calls whose price is not known.
	Unpriced bool
}

// mostCosts bounds the runs that [RunCosts] remembers.
const mostCosts = 100_000

// RunCosts reads the costs of runs from their reports, each report once, since it never
// changes, and the ones of unreported runs from the ledger's table of them. It is safe for
// concurrent use. Most callers want [NewRunCosts].
type RunCosts struct {
	ledger *Ledger

	mu    sync.Mutex
	known map[string]RunCost // guarded by mu; by the id of the run
}

// NewRunCosts returns the costs of the runs in a ledger.
func NewRunCosts(store *Ledger) *RunCosts {
	return &RunCosts{ledger: store, known: map[string]RunCost{}}
}

// Newest returns the costs of the newest runs of a repository, at most limit and the last
// ended first, and the number of all runs. An empty repository means all.
func (c *RunCosts) Newest(ctx context.Context, repository string, limit int) (found []RunCost, total int, err error) {
	store := c.ledger.Store()
	err = store.Each(ctx, func(rows *sql.Rows) error { return rows.Scan(&total) },
		"SELECT count(*) FROM runs WHERE ? IN ('', repository)", repository)
	if err != nil {
		return nil, 0, store.Fault("count the runs", err)
	}
	found, err = c.read(ctx, "SELECT id FROM runs WHERE ? IN ('', repository) ORDER BY started DESC, id DESC LIMIT ?", repository, limit)
	if err != nil {
		return nil, 0, store.Fault("read the costs of runs", err)
	}
	unreported, err := c.ledger.Unreported(ctx, repository)
	for _, u := range unreported {
		found = append(found, u.Cost)
	}
	slices.SortStableFunc(found, func(a, b RunCost) int { return b.Finished.Compare(a.Finished) })
	return found[:min(len(found), limit)], total + len(unreported), err
}

// Spent adds up the costs of the runs that ended since a time, by repository.
func (c *RunCosts) Spent(ctx context.Context, since time.Time) (map[string]CostSum, error) {
	found, err := c.read(ctx, "SELECT id FROM runs WHERE finished >= ?", since.UnixMilli())
	if err != nil {
		return nil, c.ledger.Store().Fault("add up the costs of runs", err)
	}
	out := map[string]CostSum{}
	unreported, err := c.ledger.Unreported(ctx, "")
	for _, u := range unreported {
		if !u.Finished.Before(since) {
			found = append(found, u.Cost)
		}
	}
	for _, run := range found {
		out[run.Repository] = out[run.Repository].Add(run)
	}
	return out, err
}

// read returns the costs of the runs whose ids a query selects, in its order.
func (c *RunCosts) read(ctx context.Context, query string, args ...any) ([]RunCost, error) {
	var ids []string
	err := c.ledger.Store().Each(ctx, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) > mostCosts {
		clear(c.known)
	}
	var out []RunCost
	for _, id := range ids {
		cost, known := c.known[id]
		if !known {
			if cost, known, err = c.readRun(ctx, id); err != nil {
				return nil, err
			}
		}
		if known { // the run may have been removed in the meantime
			c.known[id] = cost
			out = append(out, cost)
		}
	}
	return out, nil
}

// readRun reads the cost of one run. ok is false if the run is no longer stored.
func (c *RunCosts) readRun(ctx context.Context, id string) (cost RunCost, ok bool, err error) {
	err = c.ledger.Store().Each(ctx, func(rows *sql.Rows) error {
		r, err := scanReportedRun(rows)
		if err != nil {
			return err
		}
		// Only these fields are read: a report has many more.
		var rep struct {
			Summary struct {
				Calls   int64    `json:"calls"`
				Tokens  int64    `json:"tokens"`
				CostUSD *float64 `json:"cost_usd"`
			} `json:"summary"`
		}
		if err := json.Unmarshal(r.Report, &rep); err != nil {
			return fmt.Errorf("report of run %s: %w", r.ID, err)
		}
		sum := rep.Summary
		cost, ok = RunCost{Run: id, Repository: r.Repository, Finished: r.Finished, Calls: sum.Calls, Tokens: sum.Tokens}, true
		if cost.Unpriced = sum.CostUSD == nil && sum.Calls > 0; sum.CostUSD != nil {
			cost.USD = *sum.CostUSD
		}
		return nil
	}, selectRuns+" WHERE runs.id = ?", id)
	return cost, ok, err
}
