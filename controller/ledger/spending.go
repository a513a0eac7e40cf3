package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// An Amount is what calls take.
type Amount struct {
	Calls, Tokens int64
	USD           float64
}

// Plus is the sum of a and b.
func (a Amount) Plus(b Amount) Amount {
	return Amount{a.Calls + b.Calls, a.Tokens + b.Tokens, a.USD + b.USD}
}

// Less is a without b.
func (a Amount) Less(b Amount) Amount {
	return Amount{a.Calls - b.Calls, a.Tokens - b.Tokens, a.USD - b.USD}
}

// Rest is what is left of a when b is taken of it, and never below 0.
func (a Amount) Rest(b Amount) Amount {
	return Amount{max(0, a.Calls-b.Calls), max(0, a.Tokens-b.Tokens), max(0, a.USD-b.USD)}
}

// An Account sums up what several runs spend, such as those of a day. Fields
// that are nil have no limit.
type Account struct {
	Name   string   `json:"name"`
	Calls  *int64   `json:"calls"`
	Tokens *int64   `json:"tokens"`
	USD    *float64 `json:"usd"`
}

// A Shortage names the account that is not enough.
type Shortage struct {
	// Account is its index among those that were asked for.
	Account int
	// On is what is spent, and Claimed what others in progress may still take.
	On, Claimed Amount
}

// Claim notes on all of the accounts what the holder of the lease is likely to
// take, if none of them passes its limit with peak in addition to all that is spent
// and claimed, in one step, even if others do so at the same time. Else it notes nothing and gives
// the first account that would. A claim ends with its lease.
func (x *Lease) Claim(ctx context.Context, accounts []Account, likely, peak Amount) (*Shortage, error) {
	return x.charge(ctx, accounts, peak, func(t *store.Tx, list string) error { return x.claim(t, list, likely) })
}

// Reserve counts an amount as spent on all of the accounts and leaves rest of
// the claim, if none of them passes its limit with it, in addition to what is spent and
// what those have claimed who came before. Else it changes nothing and gives
// the first account that would.
func (x *Lease) Reserve(ctx context.Context, accounts []Account, a, rest Amount) (*Shortage, error) {
	return x.charge(ctx, accounts, a, func(t *store.Tx, list string) error {
		return errors.Join(spend(t, list, a), x.claim(t, list, rest))
	})
}

// Settle counts more as spent than what was reserved, or less where it is
// below 0, and leaves rest of the claim.
func (x *Lease) Settle(ctx context.Context, accounts []Account, more, rest Amount) error {
	l := x.handle.ledger
	list, err := json.Marshal(accounts)
	if err == nil {
		err = l.store.Submit(ctx, func(t *store.Tx) error {
			return errors.Join(spend(t, string(list), more), x.claim(t, string(list), rest))
		})
	}
	return l.store.Fault("settle", err)
}

// charge makes a change unless an account would pass its limit with an amount
// more.
func (x *Lease) charge(ctx context.Context, accounts []Account, a Amount, change func(*store.Tx, string) error) (short *Shortage, err error) {
	l := x.handle.ledger
	list, err := json.Marshal(accounts)
	if err != nil {
		return nil, l.store.Fault("reserve", err)
	}
	err = l.store.Submit(ctx, func(t *store.Tx) error {
		var err error
		short, err = x.short(t, string(list), a)
		if err == nil && short != nil && short.Claimed != (Amount{}) {
			// The process that claimed it may be dead.
			if err = l.sweep(t); err == nil {
				short, err = x.short(t, string(list), a)
			}
		}
		if err != nil || short != nil {
			return err
		}
		return change(t, string(list))
	})
	return short, l.store.Fault("reserve", err)
}

// short returns the first of the accounts that passes its limit with an amount
// more; nil where none does. A lease without a claim comes after all that have
// one.
func (x *Lease) short(t *store.Tx, list string, a Amount) (*Shortage, error) {
	var s Shortage
	now := x.handle.ledger.now()
	err := t.Row(`WITH ahead AS (
			SELECT account, sum(calls) AS calls, sum(tokens) AS tokens, sum(usd) AS usd FROM claims c JOIN leases USING (epoch)
			WHERE epoch <> ?5 AND until > ?6 AND until <= ?7
			AND seq < coalesce((SELECT own.seq FROM claims own WHERE own.epoch = ?5 AND own.account = c.account), seq + 1)
			GROUP BY account
		), due AS (
			SELECT q.key, q.value, coalesce(s.calls, 0) AS calls, coalesce(s.tokens, 0) AS tokens, coalesce(s.usd, 0) AS usd,
				coalesce(h.calls, 0) AS h_calls, coalesce(h.tokens, 0) AS h_tokens, coalesce(h.usd, 0) AS h_usd
			FROM json_each(?1) q LEFT JOIN spending s ON s.account = q.value ->> 'name' LEFT JOIN ahead h ON h.account = q.value ->> 'name'
		)
		SELECT key, calls, tokens, usd, h_calls, h_tokens, h_usd FROM due
		WHERE calls + h_calls + ?2 > CAST(value ->> 'calls' AS BIGINT) OR tokens + h_tokens + ?3 > CAST(value ->> 'tokens' AS BIGINT)
		OR usd + h_usd + ?4 > CAST(value ->> 'usd' AS DOUBLE PRECISION)
		ORDER BY key LIMIT 1`, list, a.Calls, a.Tokens, a.USD, x.epoch,
		now.UnixMilli(), now.Add(leaseTime).UnixMilli()).Scan(
		&s.Account, &s.On.Calls, &s.On.Tokens, &s.On.USD, &s.Claimed.Calls, &s.Claimed.Tokens, &s.Claimed.USD)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &s, err
}

// spend counts an amount on all of the accounts.
func spend(t *store.Tx, list string, a Amount) error {
	return t.Exec(`INSERT INTO spending (account, calls, tokens, usd)
		SELECT value ->> 'name', ?2, ?3, ?4 FROM json_each(?1) WHERE true ON CONFLICT (account) DO UPDATE SET
		calls = spending.calls + excluded.calls, tokens = spending.tokens + excluded.tokens, usd = spending.usd + excluded.usd`,
		list, a.Calls, a.Tokens, a.USD)
}

// claim puts what is claimed in the place of what was. A lease that was lost
// has nothing to claim for.
func (x *Lease) claim(t *store.Tx, list string, rest Amount) error {
	return t.Exec(`INSERT INTO claims (epoch, account, calls, tokens, usd)
		SELECT ?5, value ->> 'name', ?2, ?3, ?4 FROM json_each(?1) WHERE EXISTS (SELECT 1 FROM leases WHERE epoch = ?5)
		ON CONFLICT (epoch, account) DO UPDATE SET calls = excluded.calls, tokens = excluded.tokens, usd = excluded.usd`,
		list, rest.Calls, rest.Tokens, rest.USD, x.epoch)
}

// A Balance is what is on an account.
type Balance struct {
	Name string
	Amount
}

// Accounts returns what is on every account, by name.
func (l *Ledger) Accounts(ctx context.Context) ([]Balance, error) {
	var all []Balance
	err := l.store.Each(ctx, func(rows *sql.Rows) error {
		var b Balance
		err := rows.Scan(&b.Name, &b.Calls, &b.Tokens, &b.USD)
		all = append(all, b)
		return err
	}, "SELECT account, calls, tokens, usd FROM spending ORDER BY account")
	return all, l.store.Fault("read the accounts", err)
}
