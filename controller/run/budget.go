package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// usualOutput is taken for the most tokens that a reply has where its target
// sets no max_tokens and has not written more before.
const usualOutput = 4096

// Means say what a run may spend, and where that is counted.
type Means struct {
	Budget config.Budget
	// Ledger counts what several runs spend together. It is needed where the
	// budget has limits for a pull request or for a day.
	Ledger *ledger.Ledger
	// Repository and PullRequest name the accounts; 0 is no pull request.
	Repository  string
	PullRequest int
	// Now tells which day it is. Defaults to time.Now.
	Now func() time.Time
}

// A Purse is what calls are paid from. Before a call the most that it may take
// is reserved, and afterwards what it took is put in the place of that, so that
// no limit is passed but by a reply that is larger than any before. Several
// runs may share a Purse.
type Purse struct {
	means     Means
	reserving sync.Mutex

	mu sync.Mutex
	// taken holds what was spent or is reserved, underway how many calls have
	// not been settled, and largest the most tokens of a reply by target.
	// settled is closed when a call is. All are guarded by mu.
	taken    ledger.Amount
	underway int
	largest  map[string]int64
	settled  chan struct{}
}

// NewPurse opens a purse that nothing was spent from in this run.
func NewPurse(m Means) *Purse {
	if m.Now == nil {
		m.Now = time.Now
	}
	return &Purse{means: m, largest: map[string]int64{}, settled: make(chan struct{})}
}

// A slip is what was reserved for one call.
type slip struct {
	amount   ledger.Amount
	accounts []ledger.Account
}

// A shortage says which limit a call would pass.
type shortage struct {
	account, unit       string
	limit, left, needed float64
}

func (s *shortage) Error() string {
	if s.left <= 0 || s.unit == "calls" {
		return s.summary()
	}
	return fmt.Sprintf("%s: %s are left, and the call may take %s", s.summary(), number(s.left), number(s.needed))
}

// summary is the same for all cases that the budget does not suffice for.
func (s *shortage) summary() string {
	return "not run: the budget of " + number(s.limit) + " " + s.unit + s.account + " is used up"
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 10, 64) }

// reserve allows one more call, or says which limit it may pass. While other
// calls are under way it waits for what they leave over.
func (p *Purse) reserve(ctx context.Context, t config.Target, req target.Request) (slip, error) {
	for {
		s, settled, err := p.try(ctx, t, req)
		var short *shortage
		if !errors.As(err, &short) || settled == nil || short.unit == "calls" {
			return s, err
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return slip{}, ctx.Err()
		}
	}
}

// try reserves if it can. Else settled tells when to try again; it is nil where
// no call is under way.
func (p *Purse) try(ctx context.Context, t config.Target, req target.Request) (s slip, settled <-chan struct{}, err error) {
	// One at a time, so that nobody sees what is taken back at once.
	p.reserving.Lock()
	defer p.reserving.Unlock()
	p.mu.Lock()
	s = slip{amount: p.most(t, req), accounts: p.accounts()}
	short := exceeds("", p.means.Budget.Limits, p.taken, s.amount)
	if p.underway > 0 {
		settled = p.settled
	}
	p.mu.Unlock()
	if short == nil {
		if short, err = p.charge(ctx, s); err != nil {
			return s, nil, &storeError{err}
		}
	}
	if short != nil {
		return s, settled, short
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = add(p.taken, s.amount)
	p.underway++
	return s, nil, nil
}

// charge reserves on the accounts that other runs share.
func (p *Purse) charge(ctx context.Context, s slip) (*shortage, error) {
	if len(s.accounts) == 0 {
		return nil, nil
	}
	i, on, err := p.means.Ledger.Reserve(ctx, s.accounts, s.amount)
	if err != nil || i < 0 {
		return nil, err
	}
	a := s.accounts[i]
	return exceeds(" for "+a.Name, config.Limits{Calls: a.Calls, Tokens: a.Tokens, USD: a.USD}, on, s.amount), nil
}

// settle puts what a call took in the place of what was reserved for it.
func (p *Purse) settle(ctx context.Context, s slip, name string, spent ledger.Amount) error {
	p.mu.Lock()
	p.largest[name] = max(p.largest[name], spent.Tokens)
	p.taken = add(p.taken, spent.Less(s.amount))
	p.underway--
	close(p.settled)
	p.settled = make(chan struct{})
	p.mu.Unlock()
	if len(s.accounts) == 0 {
		return nil
	}
	if err := p.means.Ledger.Settle(context.WithoutCancel(ctx), s.accounts, s.amount, spent); err != nil {
		return &storeError{err}
	}
	return nil
}

// accounts are those of the limits that several runs share.
func (p *Purse) accounts() []ledger.Account {
	var out []ledger.Account
	open := func(name string, l config.Limits) {
		if l != (config.Limits{}) {
			out = append(out, ledger.Account{Name: name, Calls: l.Calls, Tokens: l.Tokens, USD: l.USD})
		}
	}
	m := p.means
	if m.PullRequest != 0 {
		open(fmt.Sprintf("pull request %s#%d", m.Repository, m.PullRequest), m.Budget.PullRequest)
	}
	day := m.Now().UTC().Format(time.DateOnly)
	if m.Repository != "" {
		day = m.Repository + " on " + day
	}
	open(day, m.Budget.Day)
	return out
}

// most is the most that a call may take: a token has at least a byte, and a
// reply is no longer than the target allows, or than any before.
func (p *Purse) most(t config.Target, req target.Request) ledger.Amount {
	a := ledger.Amount{Calls: 1}
	if t.Provider == config.Replay || t.Provider == config.Mock {
		return a
	}
	in, out := int64(bytesOf(req)), int64(usualOutput)
	for _, name := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens"} {
		if json.Unmarshal(t.Parameters[name], &out) == nil {
			break
		}
	}
	a.Tokens = max(in+out, p.largest[t.Name])
	if t.Price != nil {
		a.USD = t.Price.Cost(in, max(out, a.Tokens-in))
	}
	return a
}

// bytesOf is how much a request says, with some for the frame of each message.
func bytesOf(req target.Request) int {
	raw, err := json.Marshal(struct {
		System, Messages, Tools, Format any
	}{req.System, req.Messages, req.Tools, req.Format})
	if err != nil {
		return 0 // such a request is refused by its target
	}
	return len(raw)
}

// exceeds says which limit an amount passes beside what is taken, nil where
// none.
func exceeds(account string, l config.Limits, taken, more ledger.Amount) *shortage {
	over := func(unit string, limit, taken, more float64) *shortage {
		if taken+more <= limit {
			return nil
		}
		return &shortage{account: account, unit: unit, limit: limit, left: limit - taken, needed: more}
	}
	var short *shortage
	if l.USD != nil {
		short = over("USD", *l.USD, taken.USD, more.USD)
	}
	if s := l.Tokens; s != nil && short == nil {
		short = over("tokens", float64(*s), float64(taken.Tokens), float64(more.Tokens))
	}
	if s := l.Calls; s != nil && float64(taken.Calls+more.Calls) > float64(*s) {
		short = over("calls", float64(*s), float64(taken.Calls), float64(more.Calls))
	}
	return short
}

func add(a, b ledger.Amount) ledger.Amount {
	return ledger.Amount{Calls: a.Calls + b.Calls, Tokens: a.Tokens + b.Tokens, USD: a.USD + b.USD}
}

// took is what a call took that was begun. What is not known of one that
// failed counts as the most that it may have taken; a provider that refuses
// takes nothing but the call.
func took(reserved ledger.Amount, u verdict.Usage, err error) ledger.Amount {
	var fault *target.Error
	switch {
	case err == nil:
		return ledger.Amount{Calls: 1, Tokens: u.Tokens(), USD: u.CostUSD}
	case errors.As(err, &fault) && fault.Status != 0:
		return ledger.Amount{Calls: 1}
	}
	return reserved
}

// atPrice is a usage with what it costs.
func atPrice(u verdict.Usage, price *config.Price) verdict.Usage {
	u.CostUSD, u.Unpriced = 0, u.Calls
	if price != nil {
		u.CostUSD, u.Unpriced = price.Cost(u.InputTokens, u.OutputTokens), 0
	}
	return u
}

// refused notes that a call of the job was not allowed.
func (w *work) refused(err error) {
	var short *shortage
	if !errors.As(err, &short) {
		return
	}
	w.counting.Lock()
	defer w.counting.Unlock()
	w.unrun = short.summary()
}
