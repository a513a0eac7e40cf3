package run

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
)

// A Shortage is the limit that a case or a call would exceed.
type Shortage struct {
	account, unit       string
	limit, left, needed float64
	// who names the refused case or call, with its verb for needed.
	who string
	// waits means that budget may become free, and elsewhere that another process may
	// free it.
	waits, elsewhere bool
}

// Error gives the rest and the wanted amount.
func (s *Shortage) Error() string {
	if s.left <= 0 {
		return s.Summary()
	}
	verb := "are"
	if s.left == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%s: %s %s left, and the %s %s", s.Summary(), number(s.left), verb, s.who, number(s.needed))
}

// Summary gives the limit. It is the same for all cases that the limit stops.
func (s *Shortage) Summary() string {
	unit := s.unit
	if s.limit == 1 {
		unit = strings.TrimSuffix(unit, "s")
	}
	return "not run: the budget of " + number(s.limit) + " " + unit + s.account + " is not enough"
}

func number(x float64) string { return strconv.FormatFloat(rounded(x), 'f', -1, 64) }

// rounded has the first ten digits of a number, so that it shows no error of a sum.
func rounded(x float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 10, 64), 64)
	if err != nil || x == math.Trunc(x) {
		return x
	}
	return short
}

// exceeds returns the limit that taken and more exceed together, or nil.
func exceeds(l config.Limits, taken, more ledger.Amount) *Shortage {
	over := func(unit string, limit, taken, more float64) *Shortage {
		if taken+more <= limit {
			return nil
		}
		return &Shortage{unit: unit, limit: limit, left: limit - taken, needed: more}
	}
	var short *Shortage
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

// shared converts a shortage of an account in the ledger. It returns nil for nil.
func shared(accounts []ledger.Account, on *ledger.Shortage, more ledger.Amount) *Shortage {
	if on == nil {
		return nil
	}
	a := accounts[on.Account]
	short := exceeds(config.Limits{Calls: a.Calls, Tokens: a.Tokens, USD: a.USD}, on.On.Plus(on.Claimed), more)
	if short == nil {
		// The database rounds differently.
		short = &Shortage{unit: "USD", limit: *a.USD}
	}
	short.account, short.elsewhere = " for "+a.Name, on.Claimed != ledger.Amount{}
	return short
}

// accounts returns the ledger accounts of the limits that several runs share.
func (b *Budget) accounts() []ledger.Account {
	var out []ledger.Account
	open := func(name string, l config.Limits) {
		if l != (config.Limits{}) {
			out = append(out, ledger.Account{Name: name, Calls: l.Calls, Tokens: l.Tokens, USD: l.USD})
		}
	}
	m := b.cfg
	if m.Run != "" {
		open("run "+m.Run, m.Budget.Limits)
	}
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
