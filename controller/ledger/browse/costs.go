package browse

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// A Sum is what runs took together.
type Sum struct {
	Runs          int
	Calls, Tokens int64
	USD           float64
	// Unpriced is how many of the runs made calls whose price is not known.
	Unpriced int
}

// Add adds what one run took.
func (s Sum) Add(run Cost) Sum {
	s.Runs, s.Calls, s.Tokens, s.USD = s.Runs+1, s.Calls+run.Calls, s.Tokens+run.Tokens, s.USD+run.USD
	if run.Unpriced {
		s.Unpriced++
	}
	return s
}

// A Cost is what one run took.
type Cost struct {
	Run, Repository string
	Finished        time.Time
	Calls, Tokens   int64
	USD             float64
	// Unpriced says that the price of some calls is not known, so that USD is less than
	// what they cost.
	Unpriced bool
}

// mostCosts is how many runs [Costs] remembers.
const mostCosts = 100_000

// Costs reads what runs took from their reports, each of which it reads once: the report
// of a run never changes. It is safe for concurrent use. Most callers want [NewCosts].
type Costs struct {
	ledger *ledger.Ledger

	mu    sync.Mutex
	known map[string]Cost // guarded by mu; by the id of the run
}

// NewCosts reads from a ledger.
func NewCosts(store *ledger.Ledger) *Costs {
	return &Costs{ledger: store, known: map[string]Cost{}}
}

// Newest returns what the newest runs of a repository took, the newest first and at most
// limit, and how many runs there are. An empty repository means all.
func (c *Costs) Newest(ctx context.Context, repository string, limit int) (found []Cost, total int, err error) {
	store := c.ledger.Store()
	err = store.Each(ctx, func(rows *sql.Rows) error { return rows.Scan(&total) },
		"SELECT count(*) FROM runs WHERE ? IN ('', repository)", repository)
	if err != nil {
		return nil, 0, store.Fault("count the runs", err)
	}
	found, err = c.read(ctx, "SELECT id FROM runs WHERE ? IN ('', repository) ORDER BY started DESC, id DESC LIMIT ?", repository, limit)
	return found, total, store.Fault("read the costs of runs", err)
}

// Spent adds up by repository what the runs took that ended since a time.
func (c *Costs) Spent(ctx context.Context, since time.Time) (map[string]Sum, error) {
	found, err := c.read(ctx, "SELECT id FROM runs WHERE finished >= ?", since.UnixMilli())
	if err != nil {
		return nil, c.ledger.Store().Fault("add up the costs of runs", err)
	}
	out := map[string]Sum{}
	for _, run := range found {
		out[run.Repository] = out[run.Repository].Add(run)
	}
	return out, nil
}

// read returns what the runs took whose ids a query selects, in its order.
func (c *Costs) read(ctx context.Context, query string, args ...any) ([]Cost, error) {
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
	var out []Cost
	for _, id := range ids {
		cost, known := c.known[id]
		if !known {
			if cost, known, err = c.readRun(ctx, id); err != nil {
				return nil, err
			}
		}
		if known { // the run may have been removed meanwhile
			c.known[id] = cost
			out = append(out, cost)
		}
	}
	return out, nil
}

// readRun reads what one run took. ok is false where the run is not stored any more.
func (c *Costs) readRun(ctx context.Context, id string) (cost Cost, ok bool, err error) {
	err = c.ledger.Store().Each(ctx, func(rows *sql.Rows) error {
		r, err := scan(rows)
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
		cost, ok = Cost{Run: id, Repository: r.Repository, Finished: r.Finished, Calls: sum.Calls, Tokens: sum.Tokens}, true
		if cost.Unpriced = sum.CostUSD == nil && sum.Calls > 0; sum.CostUSD != nil {
			cost.USD = *sum.CostUSD
		}
		return nil
	}, selectRuns+" WHERE runs.id = ?", id)
	return cost, ok, err
}
