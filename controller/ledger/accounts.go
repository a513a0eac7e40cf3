package ledger

import (
	"context"
	"database/sql"
	"errors"

	"github.com/google/uuid"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// An Amount is the cost of calls.
type Amount struct {
	Calls, Tokens int64
	USD           float64
}

// Plus returns the sum of a and b.
func (a Amount) Plus(b Amount) Amount {
	return Amount{a.Calls + b.Calls, a.Tokens + b.Tokens, a.USD + b.USD}
}

// Less returns a without b.
func (a Amount) Less(b Amount) Amount {
	return Amount{a.Calls - b.Calls, a.Tokens - b.Tokens, a.USD - b.USD}
}

// Rest returns a without b, and at least 0.
func (a Amount) Rest(b Amount) Amount {
	return Amount{max(0, a.Calls-b.Calls), max(0, a.Tokens-b.Tokens), max(0, a.USD-b.USD)}
}

// An Account sums up the spending of several runs, such as all runs of a day. Fields
// that are nil have no limit.
type Account struct {
	Name   string   `json:"name"`
	Calls  *int64   `json:"calls"`
	Tokens *int64   `json:"tokens"`
	USD    *float64 `json:"usd"`
}

// A Shortage names the account that is not enough.
type Shortage struct {
	// Account is its index in the requested accounts.
	Account int
	// On is the spent amount, and Claimed the amount that others in progress may still
	// spend.
	On, Claimed Amount
}

// An accountCharge changes accounts for the holder of a lease.
type accountCharge struct {
	// List is JSON of the accounts.
	List string
	// Epoch is the epoch of the lease.
	Epoch int64
	// Now and Soon are the times, in milliseconds, between which leases end that last.
	Now, Soon int64
	// Peak is the amount that every account must have left.
	Peak Amount
	// Spent is counted as spent; nil changes nothing of that.
	Spent *Amount
	// Rest is claimed from now on.
	Rest Amount
}

const (
	// due are the accounts ?1 with their spent amounts, and with the claims of others
	// before the lease ?5. A lease without a claim comes after all that have one.
	due = `ahead AS (
			SELECT account, sum(calls) AS calls, sum(tokens) AS tokens, sum(usd) AS usd FROM claims c JOIN leases USING (epoch)
			WHERE epoch <> ?5 AND until > ?6 AND until <= ?7
			AND seq < coalesce((SELECT own.seq FROM claims own WHERE own.epoch = ?5 AND own.account = c.account), seq + 1)
			GROUP BY account
		), due AS (
			SELECT q.key, q.value, coalesce(s.calls, 0) AS calls, coalesce(s.tokens, 0) AS tokens, coalesce(s.usd, 0) AS usd,
				coalesce(h.calls, 0) AS h_calls, coalesce(h.tokens, 0) AS h_tokens, coalesce(h.usd, 0) AS h_usd
			FROM json_each(?1) q LEFT JOIN spending s ON s.account = q.value ->> 'name' LEFT JOIN ahead h ON h.account = q.value ->> 'name'
		)`
	// passes selects the accounts of due that pass a limit with ?2, ?3 and ?4 in
	// addition.
	passes = `calls + h_calls + ?2 > CAST(value ->> 'calls' AS BIGINT) OR tokens + h_tokens + ?3 > CAST(value ->> 'tokens' AS BIGINT)
		OR usd + h_usd + ?4 > CAST(value ->> 'usd' AS DOUBLE PRECISION)`
	// added adds to the spent amount, and replaced replaces the claim.
	added = ` ON CONFLICT (account) DO UPDATE SET
		calls = spending.calls + excluded.calls, tokens = spending.tokens + excluded.tokens, usd = spending.usd + excluded.usd`
	replacedAccounts = ` ON CONFLICT (epoch, account) DO UPDATE SET calls = excluded.calls, tokens = excluded.tokens, usd = excluded.usd`
)

// Short returns the first of the accounts that passes its limit with the peak; nil if
// none does.
func (c accountCharge) Short(t *store.Tx) (*Shortage, error) {
	var s Shortage
	err := t.Row("WITH "+due+" SELECT key, calls, tokens, usd, h_calls, h_tokens, h_usd FROM due WHERE "+passes+" ORDER BY key LIMIT 1",
		c.List, c.Peak.Calls, c.Peak.Tokens, c.Peak.USD, c.Epoch, c.Now, c.Soon).Scan(
		&s.Account, &s.On.Calls, &s.On.Tokens, &s.On.USD, &s.Claimed.Calls, &s.Claimed.Tokens, &s.Claimed.USD)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &s, err
}

// Make makes the charge, whatever the accounts have. A lost lease has nothing to claim
// for.
func (c accountCharge) Make(t *store.Tx) error {
	if c.Spent != nil {
		err := t.Exec(`INSERT INTO spending (account, calls, tokens, usd)
			SELECT value ->> 'name', ?2, ?3, ?4 FROM json_each(?1) WHERE true`+added, c.List, c.Spent.Calls, c.Spent.Tokens, c.Spent.USD)
		if err != nil {
			return err
		}
	}
	return t.Exec(`INSERT INTO claims (epoch, account, calls, tokens, usd)
		SELECT ?5, value ->> 'name', ?2, ?3, ?4 FROM json_each(?1) WHERE EXISTS (SELECT 1 FROM leases WHERE epoch = ?5)`+replacedAccounts,
		c.List, c.Rest.Calls, c.Rest.Tokens, c.Rest.USD, c.Epoch)
}

// Try makes the charge in one round trip. The error is [store.ErrRefused] if an account
// is short, or if the database cannot do so.
func (c accountCharge) Try(ctx context.Context, s *store.Store) error {
	var spent Amount
	if c.Spent != nil {
		spent = *c.Spent
	}
	var made bool
	err := s.Single(ctx, store.Alone, store.Statement{Text: "WITH " + due + `, before AS (SELECT 1 FROM submissions WHERE token = ?8::uuid), fresh AS (
			INSERT INTO submissions (token) SELECT ?8::uuid WHERE NOT EXISTS (SELECT 1 FROM before) AND NOT EXISTS (SELECT 1 FROM due WHERE ` + passes + `)
			RETURNING token
		), spent AS (
			INSERT INTO spending (account, calls, tokens, usd) SELECT q.value ->> 'name', ?9, ?10, ?11 FROM json_each(?1) q, fresh WHERE ?12 = 1` + added + `
		), claimed AS (
			INSERT INTO claims (epoch, account, calls, tokens, usd) SELECT ?5, q.value ->> 'name', ?13, ?14, ?15 FROM json_each(?1) q, fresh
			WHERE EXISTS (SELECT 1 FROM leases WHERE epoch = ?5)` + replacedAccounts + `
		)
		SELECT EXISTS (SELECT 1 FROM before) OR EXISTS (SELECT 1 FROM fresh)`,
		Args: []any{
			c.List, c.Peak.Calls, c.Peak.Tokens, c.Peak.USD, c.Epoch, c.Now, c.Soon, uuid.NewString(),
			spent.Calls, spent.Tokens, spent.USD, c.Spent != nil, c.Rest.Calls, c.Rest.Tokens, c.Rest.USD,
		}, Into: []any{&made}})
	if err == nil && !made {
		err = store.ErrRefused
	}
	return err
}

// Settle makes the charge in one round trip, whatever the accounts have. The error is
// [store.ErrRefused] if the database cannot do so.
func (c accountCharge) Settle(ctx context.Context, s *store.Store) error {
	return s.Single(ctx, store.Alongside, store.Statement{Text: `WITH fresh AS (INSERT INTO submissions (token) VALUES (?6::uuid)), held AS (
			SELECT epoch FROM leases WHERE epoch = ?5 FOR UPDATE
		), spent AS (
			INSERT INTO spending (account, calls, tokens, usd) SELECT value ->> 'name', ?2, ?3, ?4 FROM json_each(?1) WHERE true` + added + `
		)
		INSERT INTO claims (epoch, account, calls, tokens, usd) SELECT held.epoch, q.value ->> 'name', ?7, ?8, ?9 FROM json_each(?1) q, held WHERE true` + replacedAccounts,
		Args: []any{c.List, c.Spent.Calls, c.Spent.Tokens, c.Spent.USD, c.Epoch, uuid.NewString(), c.Rest.Calls, c.Rest.Tokens, c.Rest.USD}})
}
