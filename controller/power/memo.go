package power

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/gavel-evals/gavel/controller/confirm"
)

// A memo has the latest statements by what they rest on. A server computes the statement of
// a suite once, and not for each push that finds the same stored verdicts. It is safe for
// concurrent use.
type memo struct {
	mu    sync.Mutex
	known map[rates]Statement
	// order has the keys, the oldest first.
	order []rates
}

// mostStatements bounds a memo.
const mostStatements = 256

// latest are the statements of this process.
var latest memo

// rates is the digest of everything that a statement rests on: the outcomes of each case as
// verdicts, without their scores and times, which nothing simulated has.
type rates [sha256.Size]byte

func ratesOf(cases []confirm.Case, o confirm.Options) rates {
	h := sha256.New()
	fmt.Fprintln(h, o.Alpha, o.Push, o.Looks, o.New, o.Scores, o.Spare, o.Width)
	for _, c := range cases {
		fmt.Fprintf(h, "%v %v %v %v %v %q", c.Fresh, c.Certain, c.Gone, c.Required, c.Weight, c.Conversation)
		outcomes := c.Base
		if c.Fresh {
			outcomes = append(outcomes[:len(outcomes):len(outcomes)], c.Head)
		}
		for _, out := range outcomes {
			fmt.Fprintf(h, " %q", out.Verdict)
		}
		fmt.Fprintln(h)
	}
	return rates(h.Sum(nil))
}

// find returns a known statement.
func (m *memo) find(key rates) (Statement, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.known[key]
	return s, ok
}

// keep adds a statement, and drops the oldest if there are too many.
func (m *memo) keep(key rates, s Statement) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[rates]Statement{}
	}
	if _, ok := m.known[key]; ok {
		return
	}
	if len(m.order) == mostStatements {
		delete(m.known, m.order[0])
		m.order = m.order[1:]
	}
	m.known[key], m.order = s, append(m.order, key)
}
