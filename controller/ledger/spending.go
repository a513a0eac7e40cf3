package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// Claim records on all of the accounts the likely spending of the lease's holder, if
// none of them passes its limit with peak in addition to all that is spent and claimed.
// It does so in one step, even if others do so at the same time. Otherwise it records
// nothing and returns the first account that would pass its limit. A claim ends with
// its lease.
func (x *Lease) Claim(ctx context.Context, list []Account, likely, peak Amount) (*Shortage, error) {
	return x.charge(ctx, list, accountCharge{Peak: peak, Rest: likely})
}

// Reserve counts an amount as spent on all of the accounts and leaves rest of the
// claim, if none of them passes its limit with it, in addition to the spent amounts and
// the claims of earlier holders. Otherwise it changes nothing and returns the first
// account that would pass its limit.
func (x *Lease) Reserve(ctx context.Context, list []Account, a, rest Amount) (*Shortage, error) {
	return x.charge(ctx, list, accountCharge{Peak: a, Spent: &a, Rest: rest})
}

// Settle counts the difference to the reserved amount as spent, which may be below 0,
// and leaves rest of the claim.
func (x *Lease) Settle(ctx context.Context, list []Account, more, rest Amount) error {
	l := x.handle.ledger
	c, err := x.charged(list, accountCharge{Spent: &more, Rest: rest})
	if err == nil {
		err = c.Settle(ctx, l.store)
	}
	if errors.Is(err, store.ErrRefused) {
		err = l.store.Submit(ctx, func(t *store.Tx) error { return errors.Join(x.storeKept(t), c.Make(t)) })
	}
	return l.store.Fault("settle", err)
}

// storeKept makes the lease a row, which a claim belongs to.
func (x *Lease) storeKept(t *store.Tx) error {
	if !x.isKept() {
		return nil
	}
	_, err := x.handle.ledger.storeKept(t)
	return err
}

// charged returns a charge by the holder of the lease.
func (x *Lease) charged(list []Account, c accountCharge) (accountCharge, error) {
	text, err := json.Marshal(list)
	now := x.handle.ledger.now()
	c.List, c.Epoch, c.Now, c.Soon = string(text), x.epoch, now.UnixMilli(), now.Add(longestLease).UnixMilli()
	return c, err
}

// charge makes a change unless an account would pass its limit with the amount.
func (x *Lease) charge(ctx context.Context, list []Account, c accountCharge) (short *Shortage, err error) {
	l := x.handle.ledger
	if c, err = x.charged(list, c); err == nil {
		err = c.Try(ctx, l.store)
	}
	if err == nil || !errors.Is(err, store.ErrRefused) {
		return nil, l.store.Fault("reserve", err)
	}
	err = l.store.Submit(ctx, func(t *store.Tx) error {
		c, err := x.charged(list, c) // by now: it may have waited for its turn
		if err := errors.Join(err, x.storeKept(t)); err != nil {
			return err
		}
		short, err = c.Short(t)
		if err == nil && short != nil && short.Claimed != (Amount{}) {
			// The process that claimed it may be dead.
			if err = l.sweep(t); err == nil {
				short, err = c.Short(t)
			}
		}
		if err != nil || short != nil {
			return err
		}
		return c.Make(t)
	})
	return short, l.store.Fault("reserve", err)
}

// A Balance is the state of an account.
type Balance struct {
	Name string
	Amount
}

// Accounts returns the balance of every account, by name.
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
