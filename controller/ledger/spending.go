package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
)

// An Amount is what calls take.
type Amount struct {
	Calls, Tokens int64
	USD           float64
}

// Less is a without b.
func (a Amount) Less(b Amount) Amount {
	return Amount{a.Calls - b.Calls, a.Tokens - b.Tokens, a.USD - b.USD}
}

// An Account sums up what several runs spend, such as those of a day. Fields
// that are nil have no limit.
type Account struct {
	Name   string   `json:"name"`
	Calls  *int64   `json:"calls"`
	Tokens *int64   `json:"tokens"`
	USD    *float64 `json:"usd"`
}

// Reserve puts an amount on all of the accounts if none of them passes its
// limit with it, in one step, whoever else does so. Else it puts it on none and
// gives the index of one that would, and what is on that.
func (l *Ledger) Reserve(ctx context.Context, accounts []Account, a Amount) (short int, on Amount, err error) {
	list, err := json.Marshal(accounts)
	if err != nil {
		return -1, on, l.fault("reserve", err)
	}
	err = l.submit(ctx, func(t *tx) error {
		short = -1
		err := t.exec(`INSERT INTO spending (account, calls, tokens, usd)
			SELECT value ->> 'name', 0, 0, 0 FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`, string(list))
		if err != nil {
			return err
		}
		var one string
		err = t.row(`UPDATE spending SET calls = calls + ?2, tokens = tokens + ?3, usd = usd + ?4
			WHERE account IN (SELECT value ->> 'name' FROM json_each(?1)) AND NOT EXISTS (SELECT 1 `+passed+`)
			RETURNING account`, string(list), a.Calls, a.Tokens, a.USD).Scan(&one)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return t.row("SELECT q.key, s.calls, s.tokens, s.usd "+passed+" ORDER BY q.key LIMIT 1",
			string(list), a.Calls, a.Tokens, a.USD).Scan(&short, &on.Calls, &on.Tokens, &on.USD)
	})
	return short, on, l.fault("reserve", err)
}

// passed are the accounts ?1 that pass a limit with ?2 calls, ?3 tokens and ?4
// dollars more.
const passed = `FROM json_each(?1) q JOIN spending s ON s.account = q.value ->> 'name'
	WHERE s.calls + ?2 > q.value ->> 'calls' OR s.tokens + ?3 > q.value ->> 'tokens' OR s.usd + ?4 > q.value ->> 'usd'`

// Settle puts what was spent in the place of what was reserved.
func (l *Ledger) Settle(ctx context.Context, accounts []Account, reserved, spent Amount) error {
	d := spent.Less(reserved)
	list, err := json.Marshal(accounts)
	if err == nil {
		err = l.submit(ctx, func(t *tx) error {
			return t.exec(`UPDATE spending SET calls = calls + ?2, tokens = tokens + ?3, usd = usd + ?4
				WHERE account IN (SELECT value ->> 'name' FROM json_each(?1))`, string(list), d.Calls, d.Tokens, d.USD)
		})
	}
	return l.fault("settle", err)
}

// A Balance is what is on an account.
type Balance struct {
	Name string
	Amount
}

// Accounts gives what is on every account, by name.
func (l *Ledger) Accounts(ctx context.Context) ([]Balance, error) {
	var all []Balance
	err := l.each(ctx, func(rows *sql.Rows) error {
		var b Balance
		err := rows.Scan(&b.Name, &b.Calls, &b.Tokens, &b.USD)
		all = append(all, b)
		return err
	}, "SELECT account, calls, tokens, usd FROM spending ORDER BY account")
	return all, l.fault("read the accounts", err)
}
